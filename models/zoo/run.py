#!/usr/bin/env python3
"""Exports the zoo and checks that tenon computes what PyTorch does: python models/zoo/run.py [PATTERN...]

Each architecture is exported as .pt (traced) and .pt2, in a process of its own; `tenon verify` compares the file with
the outputs of eager PyTorch. What PyTorch itself cannot export is shown and does not count.
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
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)
os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}

from models.zoo import flat  # noqa: E402

FAMILIES = ("hugging_face", "vision", "graphs", "diffusion")
FORMATS = ("pt", "pt2")
VERDICTS = {0: "equal", 1: "DIFFERS", 3: "refused"}


def export(family: str, name: str, folder: Path) -> None:
    """Writes model.pt, model.pt2, in_K.npy and out_K.npy; FORMAT.error where PyTorch fails."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    model, inputs = importlib.import_module(f"models.zoo.{family}").ARCHITECTURES[name]()
    with torch.no_grad():
        outputs = flat(model(*inputs))
        for kind, values in (("in", inputs), ("out", outputs)):
            for index, value in enumerate(values):
                numpy.save(folder / f"{kind}_{index}.npy", value.numpy())
        for suffix, write in (
            ("pt", lambda file: torch.jit.trace(model, inputs, check_trace=False, strict=False).save(file)),
            ("pt2", lambda file: torch.export.save(torch.export.export(model, inputs), file)),
        ):
            file = folder / f"model.{suffix}"
            try:
                write(str(file))
            except Exception as e:  # noqa: BLE001 - whatever the exporter says
                file.unlink(missing_ok=True)
                (folder / f"{suffix}.error").write_text(f"{type(e).__name__}: {e}")


def run(command: list, seconds: float) -> tuple[int, str]:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=seconds,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 124, f"not done after {seconds} s"
    return done.returncode, done.stdout + done.stderr


def exported(family: str, name: str, folder: Path) -> None:
    """Exports once, in a process of its own that has the packages already: a folder with `done` is complete."""
    if (folder / "done").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    process = multiprocessing.get_context("fork").Process(target=export_quietly, args=(family, name, folder))
    process.start()
    process.join(600)
    if process.is_alive():
        process.kill()
    for suffix in FORMATS:
        if not (folder / f"model.{suffix}").exists() and not (folder / f"{suffix}.error").exists():
            (folder / f"{suffix}.error").write_text((folder / "error").read_text() if (folder / "error").exists()
                                                    else "the exporting process did not end well")
    (folder / "done").touch()


def export_quietly(family: str, name: str, folder: Path) -> None:
    try:
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            export(family, name, folder)
    except Exception as e:  # noqa: BLE001 - whatever the package says
        (folder / "error").write_text(f"{type(e).__name__}: {e}")


def check(tenon: Path, folder: Path, suffix: str) -> tuple[str, str]:
    """The verdict, and what was said of it."""
    model = folder / f"model.{suffix}"
    if not model.exists():
        return "not exported", (folder / f"{suffix}.error").read_text()
    code, said = run([tenon, "verify", model, "--against", folder, "--tolerance", "1e-3"], 300)
    return VERDICTS.get(code, "FAILED"), said


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
    totals, records = {suffix: Counter() for suffix in arguments.format or FORMATS}, []
    for family in FAMILIES:
        for name in importlib.import_module(f"models.zoo.{family}").ARCHITECTURES:
            if not any(fnmatch.fnmatch(name, p) or fnmatch.fnmatch(family, p) for p in arguments.patterns):
                continue
            folder = arguments.out / name
            exported(family, name, folder)
            for suffix, total in totals.items():
                verdict, said = check(arguments.tenon, folder, suffix)
                total[verdict] += 1
                records.append({"name": name, "family": family, "format": suffix, "verdict": verdict, "said": said})
                print(f"{name:24} {suffix:4} {verdict:12} {'' if verdict == 'equal' else reason(said)}", flush=True)
    for suffix, total in totals.items():
        print(f"{suffix}: " + ", ".join(f"{count} {verdict}" for verdict, count in total.most_common()))
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1))
    wanted = {"equal", "not exported"}
    return int(any(set(total) - wanted for total in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
