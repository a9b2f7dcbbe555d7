#!/usr/bin/env python3
"""What tenon needs for an ONNX model with weights of many gigabytes beside it: python models/large_onnx.py FOLDER [--gib 10]

Writes the model, converts it, runs the artifact once and writes it as ONNX again; prints the time of each and the most memory
it held: of its own (anonymous), and with the pages of files that the kernel may drop.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 8192
LAYER = WIDTH * WIDTH * 4  # bytes


def weight(name: str, layer: int) -> onnx.TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[WIDTH, WIDTH], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "model.onnx.data"), ("offset", layer * LAYER), ("length", LAYER)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def write_model(folder: Path, layers: int) -> None:
    values = np.random.default_rng(0).standard_normal(LAYER // 4, np.float32) / WIDTH**0.5
    with open(folder / "model.onnx.data", "wb") as data:
        for layer in range(layers):
            np.roll(values, layer).tofile(data)
    nodes, current = [], "x"
    for layer in range(layers):
        nodes += [helper.make_node("MatMul", [current, f"w{layer}"], [f"m{layer}"]),
                  helper.make_node("Tanh", [f"m{layer}"], [f"y{layer}"])]
        current = f"y{layer}"
    row = (TensorProto.FLOAT, ["N", WIDTH])
    graph = helper.make_graph(nodes, "large", [helper.make_tensor_value_info("x", *row)],
                              [helper.make_tensor_value_info(current, *row)], [weight(f"w{i}", i) for i in range(layers)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), folder / "model.onnx")


def measured(command: list) -> None:
    """Runs it; what it holds is read twenty times a second."""
    most = {"RssAnon": 0, "VmRSS": 0}
    begin = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        for key in most:
            found = re.search(rf"^{key}:\s+(\d+) kB", status, re.M)
            most[key] = max(most[key], int(found[1]) if found else 0)
        time.sleep(0.05)
    if process.wait() != 0:
        sys.exit(f"{command} ended with {process.returncode}")
    print(f"{command[1]:8} {' '.join(Path(w).name for w in map(str, command[2:])):44} {time.monotonic() - begin:7.1f} s   "
          f"own {most['RssAnon'] / 2**20:5.2f} GiB   with files {most['VmRSS'] / 2**20:5.2f} GiB", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gib", type=int, default=10)
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon")
    arguments = parser.parse_args()
    folder, tenon = arguments.folder, arguments.tenon
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder, arguments.gib * 2**30 // LAYER)
    measured([tenon, "convert", folder / "model.onnx", "-o", folder / "model.tenon", "--no-verify"])
    measured([tenon, "run", folder / "model.tenon", "--shape", "N=1"])
    measured([tenon, "convert", folder / "model.onnx", "-o", folder / "again.onnx", "--no-verify"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
