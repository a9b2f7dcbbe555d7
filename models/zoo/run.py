#!/usr/bin/env python3
"""Exports the zoo and checks that tenon computes what PyTorch does: python models/zoo/run.py [PATTERN...]

Each architecture is exported as .pt (traced), as .pt2 and as .onnx by both of PyTorch's exporters, in a process of its own;
`tenon verify` compares the file with the outputs of eager PyTorch, `tenon equiv` the numbers and the fused graph of a .onnx with
those of the .pt or .pt2 that was exported in the same way. What PyTorch itself cannot export is shown and does not count.
"""

import argparse
import fnmatch
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TENON_PYTHON": sys.executable}

from models.zoo import flat  # noqa: E402

FAMILIES = ("hugging_face", "vision", "graphs", "diffusion")
VERDICTS = {0: "equal", 1: "DIFFERS", 3: "refused"}


def to_onnx(model: torch.nn.Module, inputs: tuple, file: Path, dynamo: bool) -> None:
    torch.onnx.export(model, inputs, file, dynamo=dynamo, verbose=False, external_data=False)


@dataclass(frozen=True)
class Format:
    file: str
    write: Callable[[torch.nn.Module, tuple, Path], None]
    like: str | None = None  # the form whose fused graph it should have


FORMATS = {
    "pt": Format("model.pt", lambda model, inputs, file: torch.jit.trace(model, inputs, check_trace=False, strict=False).save(file)),
    "pt2": Format("model.pt2", lambda model, inputs, file: torch.export.save(torch.export.export(model, inputs), file)),
    "onnx": Format("model.onnx", lambda *what: to_onnx(*what, dynamo=True), "pt2"),
    "onnx-torchscript": Format("traced.onnx", lambda *what: to_onnx(*what, dynamo=False), "pt"),
}


def shake(model: torch.nn.Module) -> None:
    """Fresh biases are zero and fresh norms the identity: exporters drop those, and mistakes in them do not show."""
    running = [b for name, b in model.named_buffers() if "running_" in name]
    for tensor in [*model.parameters(), *running]:
        if tensor.numel() > 1 and tensor.is_floating_point() and bool((tensor == tensor.flatten()[0]).all()):
            tensor += torch.rand_like(tensor) / 8


def save_sample(model: torch.nn.Module, inputs: tuple, folder: Path) -> None:
    """Shakes the model, and writes its inputs and what it makes of them: in_K.npy and out_K.npy."""
    shake(model)
    for kind, values in (("in", inputs), ("out", flat(model(*inputs)))):
        for index, value in enumerate(values):
            numpy.save(folder / f"{kind}_{index}.npy", value.numpy())


def export(family: str, name: str, folder: Path, formats: list[str]) -> None:
    """Writes the files of the formats, in_K.npy and out_K.npy; FORMAT.error where PyTorch fails."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    model, inputs = importlib.import_module(f"models.zoo.{family}").ARCHITECTURES[name]()
    with torch.no_grad():
        save_sample(model, inputs, folder)
        for format in formats:
            file = folder / FORMATS[format].file
            try:
                FORMATS[format].write(model, inputs, str(file))
            except Exception as e:  # noqa: BLE001 - whatever the exporter says
                file.unlink(missing_ok=True)
                (folder / f"{format}.error").write_text(f"{type(e).__name__}: {e}")


def run(command: list, seconds: float) -> tuple[int, str]:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 124, f"not done after {seconds} s"
    return done.returncode, done.stdout + done.stderr


def exported(family: str, name: str, folder: Path, formats: list[str]) -> None:
    """Exports what the folder lacks, in a process of its own that has the packages already."""
    def lacking() -> list[str]:
        return [format for format in formats
                if not (folder / FORMATS[format].file).exists() and not (folder / f"{format}.error").exists()]

    if not lacking():
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "error").unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=export_quietly, args=(family, name, folder, lacking()))
    process.start()
    process.join(600)
    if process.is_alive():
        process.kill()
    for format in lacking():
        (folder / f"{format}.error").write_text((folder / "error").read_text() if (folder / "error").exists()
                                                else "the exporting process did not end well")


def export_quietly(family: str, name: str, folder: Path, formats: list[str]) -> None:
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)  # PyTorch's C++ writes to the descriptors
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        export(family, name, folder, formats)
    except Exception as e:  # noqa: BLE001 - whatever the package says
        (folder / "error").write_text(f"{type(e).__name__}: {e}")


def check(tenon: Path, folder: Path, format: str) -> tuple[str, str, str]:
    """The verdict, what was said of it, and what `tenon equiv` says of the fused graphs of the file and of the one it should be like."""
    model = folder / FORMATS[format].file
    if not model.exists():
        return "not exported", (folder / f"{format}.error").read_text(), ""
    code, said = run([tenon, "verify", model, "--against", folder, "--tolerance", "1e-3"], 300)
    if code == 0:
        code, said, graph = beside_its_like(tenon, folder, format)
    else:
        graph = ""
    others = [model, folder / FORMATS[FORMATS[format].like].file] if FORMATS[format].like else []
    if code == 1 and others and all(run([tenon, "verify", file], 300)[0] == 0 for file in others if file.exists()):
        return "wrong as exported", "ONNX Runtime computes the same from the file, and not what PyTorch does", graph
    return VERDICTS.get(code, "FAILED"), said, graph


def beside_its_like(tenon: Path, folder: Path, format: str) -> tuple[int, str, str]:
    """The exit code of a comparison of numbers for other inputs than the stored ones, what was said, and what of the graphs."""
    like = FORMATS[format].like
    if not like or not (folder / FORMATS[like].file).exists():
        return 0, "", ""
    code, said = run([tenon, "equiv", folder / FORMATS[like].file, folder / FORMATS[format].file, "--samples", "1"], 300)
    if code not in (0, 1):
        return 0, "", reason(said)
    graph = " ".join(line.strip() for line in said.splitlines() if "fused graph" in line or line.startswith("  "))
    return int("the numbers DIFFER" in said), said, graph


def reason(said: str) -> str:
    """The error, with its first two lines."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    begin = next((i for i, line in enumerate(lines) if line.startswith("error:")), 0)
    return " ".join(lines[begin:begin + 2]).removeprefix("error: the model uses something that Tenon does not support: ")[:200]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"], help="names of architectures or families: 'gpt*' vision")
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon")
    parser.add_argument("--out", type=Path, default=ROOT / "build/zoo", help="where exported models are kept")
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    formats = arguments.format or list(FORMATS)
    totals, records = {format: Counter() for format in formats}, []
    for family in FAMILIES:
        for name in importlib.import_module(f"models.zoo.{family}").ARCHITECTURES:
            if not any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(family, p) for p in arguments.patterns):
                continue
            folder = arguments.out / name
            exported(family, name, folder, formats)
            for format, total in totals.items():
                verdict, said, graph = check(arguments.tenon, folder, format)
                total[verdict] += 1
                records.append({"name": name, "family": family, "format": format, "verdict": verdict, "said": said, "graph": graph})
                print(f"{name:24} {format:16} {verdict:12} {graph if verdict == 'equal' else reason(said)}", flush=True)
    for format, total in totals.items():
        print(f"{format}: " + ", ".join(f"{count} {verdict}" for verdict, count in total.most_common()))
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1))
    wanted = {"equal", "not exported", "wrong as exported"}
    return int(any(set(total) - wanted for total in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
