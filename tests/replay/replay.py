#!/usr/bin/env python3
"""Shows that a change of the code changes no result: replay.py record; change and build; replay.py compare.

Of each model the planned text and the bits of every output are recorded, on one thread: the models in build/models and build/zoo, as far as they
were exported, for random inputs of a fixed seed, and samples of PyTorch's operators on their own inputs, which `record` writes as files.
`compare` prints what is no longer the same, and exits with 1. Planned texts may differ in words that were renamed: --renamed OLD=NEW. On another
device than the one that was recorded (--device) only the bits are compared: its plans are its own.
"""

import argparse
import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("model.pt", "model.scripted.pt", "model.pt2", "model.onnx", "traced.onnx")
SAMPLES, SAMPLES_IN_A_FILE = 500, 4


def write_samples(folder: Path) -> None:
    """Files with samples of op_db, at most one of each operator, and their inputs."""
    sys.path.insert(0, str(ROOT / "tests/opinfo"))
    import torch
    from cases import cases_of, family, full_name, operators
    from export import inputs_of, write

    torch.set_num_threads(1)
    by_name = {full_name(op): op for op in operators("*") if family(op)}
    cases = [case for name in sorted(by_name) for case in cases_of(by_name[name], 1, (torch.float32,))[:1]]
    for number, start in enumerate(range(0, min(SAMPLES, len(cases)), SAMPLES_IN_A_FILE)):
        some = cases[start : start + SAMPLES_IN_A_FILE]
        place = folder / f"operators_{number:03}"
        place.mkdir(parents=True, exist_ok=True)
        try:
            write(some, place / "model.pt", "pt")
        except Exception as e:  # noqa: BLE001 - what PyTorch cannot trace
            print(f"not traced: {', '.join(c.operator for c in some)}: {type(e).__name__}")
            continue
        for i, tensor in enumerate(inputs_of(some)):
            numpy.save(place / f"in_{i}.npy", tensor.contiguous().numpy())


def models(samples: Path) -> list[Path]:
    places = (ROOT / "build/models", ROOT / "build/zoo", samples)
    return sorted(Path(folder) / f for place in places for folder, _, files in os.walk(place, followlinks=True) for f in files if f in NAMES)


def tenon(*words) -> subprocess.CompletedProcess:
    binary = os.environ.get("TENON", ROOT / "build/release/tenon")
    return subprocess.run([str(w) for w in (binary, *words)], capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)


def inputs_beside(model: Path) -> list[Path]:
    return sorted(model.parent.glob("in_*.npy"), key=lambda f: int(f.stem.split("_")[1]))


def seen(model: Path, device: str) -> dict:
    """The planned text (of the CPU) and a hash of each output, or what refuses the model."""
    given = [word for file in inputs_beside(model) for word in ("--input", file)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "out.npz"
        plan = tenon("inspect", model, "--ir", "planned", "--device", "cpu", *given)
        run = tenon("run", model, "--seed", 1, "--device", device, "--output", file, *given)
        for done in (plan, run):
            if done.returncode:
                return {"refused": done.stderr.splitlines()[0] if done.stderr else f"exit code {done.returncode}"}
        with numpy.load(file) as outputs:
            bits = {name: hashlib.sha256(repr((a.dtype, a.shape)).encode() + a.tobytes()).hexdigest() for name, a in outputs.items()}
    return {"plan": plan.stdout, "outputs": bits}


def changes(before: dict, after: dict, renamed: dict[str, str]) -> list[str]:
    if "refused" in before or "refused" in after:
        return [] if before == after else [f"before: {before.get('refused', 'it ran')}", f"after: {after.get('refused', 'it ran')}"]
    found = [f"output {name} has other bits" for name in before["outputs"] | after["outputs"]
             if before["outputs"].get(name) != after["outputs"].get(name)]
    plan = re.sub(r"\w+", lambda word: renamed.get(word[0], word[0]), before["plan"])
    return found + list(difflib.unified_diff(plan.splitlines(), after["plan"].splitlines(), "before", "after", n=0, lineterm=""))[:12]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose path holds this")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/replay", help="where the record is kept")
    parser.add_argument("--device", default="cpu", help="where the models run")
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW", help="a word of planned texts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    samples, record = arguments.folder / "samples", arguments.folder / "record.json"
    if arguments.what == "compare" and not record.exists():
        parser.error(f"there is no {record}: record first")
    if arguments.what == "record" and not samples.exists():
        write_samples(samples)
    found = [f for f in models(samples) if arguments.only in str(f)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        now = {os.path.relpath(f, ROOT): s for f, s in zip(found, pool.map(lambda f: seen(f, arguments.device), found), strict=True)}
    if arguments.what == "record":
        record.write_text(json.dumps(now, indent=1))
        for name, s in now.items():
            if "refused" in s:
                print(f"{name}: {s['refused']}")
        print(f"{len(now)} models, {sum('refused' in s for s in now.values())} of them refused")
        return 0
    before = {name: s for name, s in json.loads(record.read_text()).items() if arguments.only in name}
    renamed = dict(pair.split("=", 1) for pair in arguments.renamed)
    changed = {name: changes(s, now[name], renamed) if name in now else ["it is no longer there"] for name, s in before.items()}
    for name, lines in changed.items():
        if lines:
            print(name, *lines, sep="\n  ")
    count = sum(bool(lines) for lines in changed.values())
    print(f"{len(changed) - count} of {len(changed)} models are the same")
    return int(count > 0 or not before)


if __name__ == "__main__":
    sys.exit(main())
