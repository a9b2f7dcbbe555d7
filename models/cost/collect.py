#!/usr/bin/env python3
"""Collects records for the cost model: exports models, converts them, and profiles them on this machine.

    python models/cost/collect.py export  [PATTERN...]      # needs the packages of ./dev zoo
    python models/cost/collect.py sweep   [--models N]      # synthetic ones: sweep.py
    python models/cost/collect.py convert [PATTERN...] [--source FOLDER]
    python models/cost/collect.py profile [PATTERN...] [--isa avx512 avx2 baseline] [--threads 1 2] [--seconds 50]

Each stage skips what is done already: it may be interrupted and started again. FOLDER holds more exported models, each
as NAME/model.pt or .pt2, such as those of ./dev bench architectures. `profile` keeps the records of calm runs (tenon
profile --undisturbed): start it again for models that had none.
Records come to lie in OUT/records/NAME@ISA@THREADS.jsonl (docs/prediction.md says what they hold).
"""

import argparse
import fnmatch
import functools
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
FAMILIES = ("vision", "hugging_face", "graphs")
PATIENCE = 4  # seconds that a model has for calm runs
PRECISIONS = {0: "bf16", 1: "f16", 2: "bf16", 3: "int8w", 4: "bf16", 5: "bf16w", 7: "int4w"}  # of a sweep's model, by its number modulo 8
LARGER = 160  # pixels of convolutional models: beside the zoo's 64, for steps that do not fit caches


def larger(vision) -> dict:
    """The convolutional models of timm once more, one image of a larger size."""
    from torch import randn
    names = [name for name, make in vision.ARCHITECTURES.items() if make.__qualname__.startswith("from_timm") and make.__closure__
             and not name.startswith(("vit", "deit", "mixer", "gmlp", "resmlp", "xcit", "coat", "pit", "levit", "mvit", "swin"))]

    def make(name):
        model, _ = vision.ARCHITECTURES[name]()
        return model, (randn(1, 3, LARGER, LARGER),)

    return {f"{name}-{LARGER}": functools.partial(make, name) for name in names}


def export(out: Path, wanted) -> None:
    arguments, sys.argv = sys.argv, [str(ROOT / "models/zoo/run.py")]
    sys.path.insert(0, "")  # run.py replaces the first path
    from models.zoo import run
    sys.argv = arguments
    for family in FAMILIES:
        module = importlib.import_module(f"models.zoo.{family}")
        if family == "vision":
            module.ARCHITECTURES.update(larger(module))
        for name in filter(wanted, module.ARCHITECTURES):
            run.exported(family, name, out / "models" / name, ["pt2"])
            print(name, "exported" if (out / "models" / name / "model.pt2").exists() else "cannot be exported", flush=True)


def sweep(out: Path, count: int | None) -> None:
    import torch

    from models.cost.sweep import MODELS, make

    for number in range(count or MODELS):
        file = out / "models" / f"sweep{number:03}" / "model.pt"
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            model, inputs = make(number)
            with torch.no_grad():
                torch.jit.trace(model, inputs, check_trace=False).save(str(file))


def convert(out: Path, wanted, tenon: Path, more: list[Path]) -> None:
    from models.cost.sweep import FLOATS

    folders = [out / "models", ROOT / "build/models", *more]
    sources = {file.parent.name: file for folder in folders for file in sorted(folder.glob("*/model.pt*"))}
    (out / "artifacts").mkdir(parents=True, exist_ok=True)
    for name in filter(wanted, sources):
        precision = PRECISIONS.get(int(name[5:]) % 8) if name.startswith("sweep") and int(name[5:]) < FLOATS else None
        for suffix, options in [("", []), *([(f"-{precision}", ["--precision", precision])] if precision else [])]:
            artifact = out / "artifacts" / f"{name}{suffix}.tenon"
            if artifact.exists():
                continue
            done = subprocess.run([tenon, "convert", sources[name], "-o", artifact, "--no-verify", *options], capture_output=True, text=True)
            print(artifact.stem, "converted" if done.returncode == 0 else done.stderr.strip().splitlines()[:1], flush=True)


def profile(out: Path, wanted, tenon: Path, isas: list[str], threads: list[int], iterations: int, seconds: float) -> int:
    begin, records = time.monotonic(), out / "records"
    records.mkdir(exist_ok=True)
    for isa in isas:
        for count in threads:
            for artifact in filter(lambda file: wanted(file.stem), sorted((out / "artifacts").glob("*.tenon"))):
                target = records / f"{artifact.stem}@{isa}@{count}.jsonl"
                if target.exists():
                    continue
                if time.monotonic() - begin > seconds:
                    print("out of time at", target.name)
                    return 1
                command = [tenon, "profile", artifact, "--isa", isa, "--threads", str(count), "--iters", str(iterations),
                           "--warmup", "2", "--undisturbed", str(PATIENCE), "--contribute", target, "--json", "-"]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
                    if done.returncode:
                        print(target.name, done.stderr.strip().splitlines()[:1], flush=True)
                    elif not json.loads(done.stdout)["calm"]["runs"]:
                        print(target.name, "was disturbed: start again for it", flush=True)
                        target.unlink()
                except subprocess.TimeoutExpired:
                    print(target.name, "takes too long", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["export", "sweep", "convert", "profile"])
    parser.add_argument("patterns", nargs="*", default=["*"], help="names of models: 'resnet*'")
    parser.add_argument("--out", type=Path, default=ROOT / "build/cost")
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon")
    parser.add_argument("--isa", nargs="+", default=["avx512", "avx2", "baseline"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--models", type=int, help="of the sweep (default: all)")
    parser.add_argument("--source", type=Path, nargs="+", default=[], help="folders of more models to convert")
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1e9, help="of profiling; start it again for the rest")
    o = parser.parse_intermixed_args()
    wanted = lambda name: any(fnmatch.fnmatch(name, p) for p in o.patterns)  # noqa: E731
    if o.stage == "export":
        export(o.out, wanted)
    elif o.stage == "convert":
        convert(o.out, wanted, o.tenon, o.source)
    elif o.stage == "sweep":
        sweep(o.out, o.models)
    else:
        return profile(o.out, wanted, o.tenon, o.isa, o.threads, o.iterations, o.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
