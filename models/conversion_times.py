#!/usr/bin/env python3
"""Times the way from a model file to the first result: python models/conversion_times.py DIR/NAME.

Two tables: converting model.pt (tenon convert --no-verify; OpenVINO's convert_model and compile_model), and the first
result from what that left (tenon run model.tenon; a session on model.onnx and one run in ONNX Runtime; read_model,
compile_model and one run in OpenVINO). Every measurement is a process of its own; the peers take turns. A row shows the
least and the median wall time, the least processor time (which a busy machine disturbs less) and the largest peak of
resident memory, children included. Peers that are not installed are left out.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent

OPENVINO_CONVERT = """
import numpy, openvino, sys, torch
folder, target = sys.argv[1:3]
inputs = [torch.from_numpy(numpy.load(f"{folder}/in_{i}.npy")) for i in range(int(sys.argv[3]))]
model = openvino.convert_model(torch.jit.load(f"{folder}/model.pt"), example_input=tuple(inputs))
openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"})
if target: openvino.save_model(model, target, compress_to_fp16=False)
"""
OPENVINO_RUN = """
import numpy, openvino, sys
folder, target = sys.argv[1:3]
core = openvino.Core()
model = core.compile_model(core.read_model(target), "CPU",
                           {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"})
model([numpy.load(f"{folder}/in_{i}.npy") for i in range(int(sys.argv[3]))])
"""
ONNX_RUNTIME_RUN = """
import numpy, onnxruntime, sys
folder = sys.argv[1]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options, providers=["CPUExecutionProvider"])
names = [a.name for a in session.get_inputs()]
session.run(None, {n: numpy.load(f"{folder}/in_{i}.npy") for i, n in enumerate(names)})
"""


def run(command: list[str]) -> tuple[float, float, int]:
    """Wall seconds, processor seconds, and the most bytes that the process and its children had resident at once (looked at every 10 ms)."""
    begin = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    peak = 0
    while True:
        peak = max(peak, resident(pid))
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"{' '.join(command[:3])} failed")
    return seconds, usage.ru_utime + usage.ru_stime, max(peak, usage.ru_maxrss * 1024)


def resident(pid: int) -> int:
    """Of a process and its children, now."""
    total = 0
    for process in [pid, *children(pid)]:
        try:
            pages = Path(f"/proc/{process}/statm").read_text().split()[1]
        except OSError:
            continue
        total += int(pages) * os.sysconf("SC_PAGESIZE")
    return total


def children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def has(module: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


def table(title: str, peers: dict[str, list[str]], rounds: int, file_bytes: int) -> dict:
    print(f"\n{title}\n\n| | least s | median s | processor s | peak memory | of the file |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    taken = {name: [] for name in peers}
    for _ in range(rounds):
        for name, command in peers.items():
            taken[name].append(run(command))
    record = {}
    for name, runs in taken.items():
        seconds, processor, peaks = (list(column) for column in zip(*runs))
        record[name] = {"seconds": seconds, "processor_seconds": processor, "peak_bytes": max(peaks)}
        cells = [min(seconds), median(seconds), min(processor)]
        print(f"| {name} | {' | '.join(f'{c:.2f}' for c in cells)} | {max(peaks) / 2**30:.2f} GiB |"
              f" {max(peaks) / file_bytes:.2f} x |")
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tenon", default=str(ROOT / "build/release/tenon"))
    parser.add_argument("--input", action="append", default=[], help="for tenon convert: x=f32[N,3,224,224]")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    samples = sorted(folder.glob("in_*.npy"))
    given = [part for i in options.input for part in ("--input", i)]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        tenon, openvino = f"{scratch}/model.tenon", f"{scratch}/model.xml"
        source = folder / "model.pt"
        python = [sys.executable, "-W", "ignore", "-c"]
        rest = [str(folder), openvino, str(len(samples))]
        convert = {"tenon": [options.tenon, "convert", str(source), "--no-verify", "-o", tenon, *given]}
        inputs = [part for s in samples for part in ("--input", str(s))]
        first = {"tenon": [options.tenon, "run", tenon, *inputs]}
        run(convert["tenon"])
        if has("openvino"):
            convert["OpenVINO"] = [*python, OPENVINO_CONVERT, str(folder), "", str(len(samples))]
            first["OpenVINO"] = [*python, OPENVINO_RUN, *rest]
            run([*python, OPENVINO_CONVERT, *rest])
        if has("onnxruntime") and (folder / "model.onnx").exists():
            first["ONNX Runtime"] = [*python, ONNX_RUNTIME_RUN, str(folder)]
        size = source.stat().st_size
        record = {
            "convert": table(f"Converting {source.name} ({size / 2**30:.2f} GiB)", convert, options.rounds, size),
            "first_result": table("The first result", first, options.rounds, size),
        }
    if options.json:
        options.json.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
