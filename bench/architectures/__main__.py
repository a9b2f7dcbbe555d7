#!/usr/bin/env python3
"""Exports the architectures of table.py for bench/models: python bench/architectures --out DIR [PATTERN...]

Each becomes DIR/NAME with model.pt (traced), model.onnx, meta.json, and the inputs and outputs of eager PyTorch, in a process
of its own. What is there already stays. Prints the folders that are whole. With --draw N, N models of timm that the table
does not name are exported instead; another --seed draws others.
"""

import argparse
import fnmatch
import json
import multiprocessing
import os
import sys
import warnings
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)
sys.path.append(str(ROOT / "build/architectures"))  # where `./dev bench architectures` installs the packages
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

from bench.architectures.drawn import drawn  # noqa: E402
from bench.architectures.table import ARCHITECTURES, Architecture  # noqa: E402
from models.export import spec  # noqa: E402
from models.zoo.run import save_sample  # noqa: E402


def save_onnx(model: torch.nn.Module, inputs: tuple, names: list[str], file: Path) -> None:
    """By the exporter of traces, which takes a second where the other takes ten; by the other what that cannot write."""
    try:
        torch.onnx.export(model, inputs, str(file), dynamo=False, opset_version=18, input_names=names)
    except Exception:  # noqa: BLE001 - whatever the exporter says
        torch.onnx.export(model, inputs, str(file), dynamo=True, opset_version=18, input_names=names, external_data=False)


def export(name: str, architecture: Architecture, folder: Path) -> None:
    """Writes meta.json last: a folder that has it is whole."""
    nothing = os.open(os.devnull, os.O_WRONLY)  # PyTorch's C++ writes to the descriptors
    os.dup2(nothing, 1)
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs = architecture()
    names = [f"x{index}" for index in range(len(inputs))]
    with torch.no_grad():
        save_sample(model, inputs, folder)
        save_onnx(model, inputs, names, folder / "model.onnx")
        torch.jit.trace(model, inputs, check_trace=False, strict=False).save(str(folder / "model.pt"))
    arguments = torch.jit.load(str(folder / "model.pt")).forward.schema.arguments[1:]
    described = [{"name": argument.name} | spec(value, {}) for argument, value in zip(arguments, inputs)]
    (folder / "meta.json").write_text(json.dumps({"name": name, "inputs": described}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"], metavar="PATTERN", help="names of architectures: 'mobilenet*'")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--draw", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("fork")
    chosen = drawn(arguments.draw, arguments.seed, set(ARCHITECTURES)) if arguments.draw else ARCHITECTURES
    for name, architecture in chosen.items():
        if not any(fnmatch.fnmatch(name, pattern) for pattern in arguments.patterns):
            continue
        folder = arguments.out / name
        if not (folder / "meta.json").exists():
            process = context.Process(target=export, args=(name, architecture, folder))
            process.start()
            process.join()
        if (folder / "meta.json").exists():
            print(folder, flush=True)
        else:
            print(f"{name}: not exported", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
