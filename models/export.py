#!/usr/bin/env python3
"""Exports models: python models/export.py NAME... → DIR/NAME/{model.pt, in_K.npy, out_K.npy, meta.json, …}.

Without options three forms are written: model.pt is traced, model.scripted.pt scripted, model.pt2 exported by
torch.export. The outputs are those of eager PyTorch in float32 on one thread; each TorchScript file is loaded again
and compared with them.
"""

import argparse
import io
import json
import logging
import multiprocessing
import multiprocessing.connection
import os
import shutil
import sys
import time
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import models  # noqa: E402

TOLERANCE = 1e-5  # of the largest value of an output
DTYPES = {torch.float32: "f32", torch.int64: "i64"}


def tensors(result) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)


def relative_error(got: list[torch.Tensor], want: list[torch.Tensor]) -> float:
    return max(float((g - w).abs().max() / w.abs().max()) for g, w in zip(got, want, strict=True))


def spec(value: torch.Tensor | int, free: dict[int, str]) -> dict:
    """dtype, shape and dims of an input: what `tenon convert --input NAME=f32[N,3,224,224]` needs."""
    if isinstance(value, int):
        return {"dtype": "i64", "shape": [], "dims": []}
    shape = list(value.shape)
    return {"dtype": DTYPES[value.dtype], "shape": shape, "dims": [free.get(i, d) for i, d in enumerate(shape)]}


def write_samples(example: models.Example, outputs: list[torch.Tensor], folder: Path) -> None:
    for kind, values in (("in", example.inputs.values()), ("out", outputs)):
        for index, value in enumerate(values):
            numpy.save(folder / f"{kind}_{index}.npy", numpy.asarray(value))


def write_meta(name: str, tiny: bool, example: models.Example, outputs: list[torch.Tensor], folder: Path) -> None:
    meta = {
        "name": name,
        "tiny": tiny,
        "torch": torch.__version__,
        "parameters": sum(p.numel() for p in example.model.parameters()),
        "inputs": [{"name": key} | spec(value, example.free.get(key, {})) for key, value in example.inputs.items()],
        "outputs": [{"dtype": DTYPES[value.dtype], "shape": list(value.shape)} for value in outputs],
    }
    (folder / "meta.json").write_text(json.dumps(meta | example.notes, indent=1) + "\n")


def check(file: Path, inputs: tuple, want: list[torch.Tensor]) -> None:
    error = relative_error(tensors(torch.jit.load(str(file))(*inputs)), want)
    if not error <= TOLERANCE:
        raise SystemExit(f"{file}: differs from eager PyTorch by {error:.2g} of the largest value")


def save_torchscript(example: models.Example, inputs: tuple, folder: Path, forms: list[str]) -> list[Path]:
    if example.source is not None:
        shutil.copyfile(example.source, folder / "model.pt")
        return [folder / "model.pt"]
    files = []
    if "trace" in forms:
        files.append(folder / "model.pt")
        torch.jit.trace(example.model, inputs, check_trace=False).save(str(files[-1]))
    if "script" in forms:
        files.append(folder / "model.scripted.pt")
        torch.jit.script(example.model).save(str(files[-1]))
    return files


def save_onnx(example: models.Example, inputs: tuple, file: Path) -> None:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        torch.onnx.export(
            example.model,
            inputs,
            str(file),
            dynamo=True,
            opset_version=18,
            external_data=False,
            input_names=list(example.inputs),
        )


def export(name: str, out: Path, tiny: bool, forms: list[str], batch: int | None = None) -> None:
    """Writes one model; `forms` names what: trace, script, onnx, pt2."""
    start = time.perf_counter()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    example = models.load(name, tiny)
    if batch:
        example.inputs = models.at_batch(example, batch)
    inputs = tuple(example.inputs.values())
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        outputs = [value.clone() for value in tensors(example.model(*inputs))]
        for file in save_torchscript(example, inputs, folder, forms):
            check(file, inputs, outputs)
        if "onnx" in forms and example.source is None:
            save_onnx(example, inputs, folder / "model.onnx")
        if "pt2" in forms and example.source is None:
            torch.export.save(torch.export.export(example.model, inputs), folder / "model.pt2")
    write_samples(example, outputs, folder)
    write_meta(name, tiny, example, outputs, folder)
    size = (folder / "model.pt").stat().st_size if (folder / "model.pt").exists() else 0
    print(f"{name:12} {size / 1e6:8.2f} MB  {time.perf_counter() - start:6.1f} s  {folder}", flush=True)


def fix_hash_seed() -> None:
    """Starts this script again with a fixed order of sets: torch.jit.script writes constants in that order."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="see --list")
    parser.add_argument("--all", action="store_true", help="every model")
    parser.add_argument("--list", action="store_true", help="list the names and exit")
    parser.add_argument("--tiny", action="store_true", help="the same architectures with tiny widths")
    parser.add_argument("--out", type=Path, help="default: build/models, or build/models/tiny with --tiny")
    parser.add_argument("--batch", type=int, help="samples in a batch, of models that have one")
    for form in ("trace", "script", "onnx", "pt2"):
        parser.add_argument(f"--{form}", dest="forms", action="append_const", const=form)
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(models.NAMES))
        return 0
    names = models.NAMES if arguments.all else arguments.names
    unknown = sorted(set(names) - set(models.NAMES))
    if unknown or not names:
        parser.error(f"unknown model: {', '.join(unknown)}" if unknown else "name a model, or --all")
    forms = list(arguments.forms or ["trace", "script", "pt2"])
    if not {"trace", "script"} & set(forms):
        forms += ["trace", "script"]
    out = arguments.out or ROOT / "build/models" / ("tiny" if arguments.tiny else "")
    # A process a model: TorchScript numbers its types as they come, so the bytes would depend on the models before.
    context = multiprocessing.get_context("fork")
    at_once = len(os.sched_getaffinity(0))
    processes = [context.Process(target=export, args=(name, out, arguments.tiny, forms, arguments.batch)) for name in dict.fromkeys(names)]
    waiting, running = processes.copy(), []
    while waiting or running:
        while waiting and len(running) < at_once:
            running.append(waiting.pop(0))
            running[-1].start()
        multiprocessing.connection.wait([p.sentinel for p in running])
        running = [p for p in running if p.is_alive()]
    return int(any(p.exitcode != 0 for p in processes))


if __name__ == "__main__":
    fix_hash_seed()
    sys.exit(main())
