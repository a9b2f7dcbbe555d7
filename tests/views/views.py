"""Runs random programs over views and in-place writes and compares them with PyTorch: views.py [--seconds S] [--seed N].

A round is a batch of programs, as one model: traced, scripted or exported. A failure prints the program, made as short as it goes, with the
command that runs it again. The exit code is 1 when a result is wrong or tenon crashes."""

import argparse
import collections
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/views"), str(ROOT / "tests/opinfo")]

from programs import NUMBERS, Program, program  # noqa: E402
from verdict import difference  # noqa: E402

FORMS = ("traced", "scripted", "exported")
HEAD = "from typing import List\n\nimport torch\nimport torch.nn.functional as F\nfrom torch import Tensor, nn\n\n\n"


def module_of(programs: list[Program], folder: Path) -> torch.nn.Module:
    """Each program is a module of its own name in the batch."""
    parts = [HEAD]
    for p in programs:
        parts.append(f"class {p.name.title()}(nn.Module):\n{p.text()}\n\n")
    parts.append("class Batch(nn.Module):\n    def __init__(self):\n        super().__init__()\n")
    parts += [f"        self.{p.name} = {p.name.title()}()\n" for p in programs]
    parts.append("\n    def forward(self, x: Tensor) -> List[Tensor]:\n        out: List[Tensor] = []\n")
    parts += [f"        out += self.{p.name}(x)\n" for p in programs]
    path = folder / f"batch_{time.monotonic_ns()}.py"
    path.write_text("".join(parts) + "        return out\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # torch.jit.script looks its source up there
    spec.loader.exec_module(module)
    return module.Batch().eval()


def save(module: torch.nn.Module, x: torch.Tensor, form: str, folder: Path) -> Path:
    path = folder / ("model.pt2" if form == "exported" else "model.pt")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if form == "exported":
            torch.export.save(torch.export.export(module, (x.clone(),), strict=False), path)
        elif form == "scripted":
            torch.jit.script(module).save(path)
        else:
            torch.jit.trace(module, x.clone(), check_trace=False, strict=False).save(path)
    return path


def own_results(path: Path, x: torch.Tensor) -> list[torch.Tensor]:
    """What PyTorch gives for the file; nothing where it fails."""
    try:
        module = torch.export.load(path).module() if path.suffix == ".pt2" else torch.jit.load(path)
        return list(module(x.clone()))
    except Exception:
        return []


class Judge:
    def __init__(self, tenon: Path, form: str):
        self.tenon, self.form, self.x = tenon, form, torch.randn(NUMBERS, generator=torch.Generator().manual_seed(1))
        self.counts: collections.Counter = collections.Counter()
        self.reasons: collections.Counter = collections.Counter()

    def judge(self, programs: list[Program]) -> list[tuple[Program, str]]:
        """What is wrong of which program."""
        if not programs:
            return []
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            module = module_of(programs, folder)
            try:
                path = save(module, self.x, self.form, folder)
            except Exception:
                return self.apart(programs, "not exportable", "")
            numpy.save(folder / "x.npy", self.x.numpy())
            command = [self.tenon, "run", path, "--input", folder / "x.npy", "--output", folder / "out.npz"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
            if done.returncode == 3:
                return self.without_refused(programs, done.stderr)
            if done.returncode != 0:
                if len(programs) == 1 and not own_results(path, self.x):
                    return self.apart(programs, "not exportable", "")
                return self.apart(programs, "crash", f"exit code {done.returncode}: {done.stderr.strip()}")
            with numpy.load(folder / "out.npz") as arrays:
                got = [torch.from_numpy(arrays[n]) for n in arrays.files]
            with torch.no_grad():
                want = [getattr(module, p.name)(self.x.clone()) for p in programs]
            return self.compared(programs, got, want, path)

    def apart(self, programs: list[Program], kind: str, reason: str) -> list[tuple[Program, str]]:
        if len(programs) > 1:
            half = len(programs) // 2
            return self.judge(programs[:half]) + self.judge(programs[half:])
        self.counts[kind] += 1
        return [(programs[0], reason)] if reason else []

    def without_refused(self, programs: list[Program], message: str) -> list[tuple[Program, str]]:
        from verdict import refusals

        named = {f"case_{number}": reason for number, reason in refusals(message).items()}
        refused = [p for p in programs if p.name in named]
        if not refused:
            refused, named = (programs, {p.name: message for p in programs}) if len(programs) == 1 else ([], {})
            if not refused:
                return self.apart(programs, "refused", "")
        self.counts["refused"] += len(refused)
        for p in refused:
            self.reasons[named[p.name]] += 1
        return self.judge([p for p in programs if p.name not in named])

    def compared(self, programs: list[Program], got: list, want: list[list], path: Path) -> list[tuple[Program, str]]:
        wrong, own, start = [], None, 0
        for p, expected in zip(programs, want):
            end = start + len(expected)
            reason = difference(got[start:end], expected)
            if reason and own is None:
                own = own_results(path, self.x)
            if reason and difference(own[start:end], expected):
                self.counts["not exportable"] += 1
            else:
                self.counts["wrong" if reason else "equal"] += 1
                wrong += [(p, reason)] if reason else []
            start = end
        return wrong


def shortened(tenon: Path, form: str, p: Program) -> Program:
    """The program without the lines that it fails without."""
    for i in reversed(range(len(p.lines))):
        for results in (p.results, p.results[-1:]):
            lines = p.lines[:i] + p.lines[i + 1 :]
            shorter = Program(p.name, lines, [r for r in results if any(line.startswith(f"{r} = ") for line in lines)])
            if not shorter.results:
                continue
            try:
                with tempfile.TemporaryDirectory() as folder, torch.no_grad():
                    module_of([shorter], Path(folder))(torch.randn(NUMBERS))
            except Exception:
                continue
            judge = Judge(tenon, form)
            if judge.judge([shorter]):
                p = shorter
                break
    return p


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="default: another each time; it is printed")
    parser.add_argument("--number", type=int, help="run this program of the seed alone")
    parser.add_argument("--form", choices=FORMS, action="append", help="default: all three, in turn")
    parser.add_argument("--batch", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tenon = Path(os.environ.get("TENON", ROOT / "build/release/tenon"))
    forms = options.form or FORMS
    judges = {form: Judge(tenon, form) for form in forms}
    numbers = [options.number] if options.number is not None else None
    print(f"seed {options.seed}", flush=True)
    end, failed, done = time.monotonic() + options.seconds, 0, 0
    while numbers or time.monotonic() < end:
        chosen = numbers or range(done, done + options.batch)
        programs = [program(options.seed, n) for n in chosen]
        for form in forms if numbers else [forms[done // options.batch % len(forms)]]:
            for p, reason in judges[form].judge(programs):
                failed += 1
                print(f"\n{form}, --seed {options.seed} --number {p.name[5:]} --form {form}: {reason}")
                print(shortened(tenon, form, p).text(), flush=True)
        done += options.batch
        if numbers:
            break
    for form, judge in judges.items():
        total = sum(judge.counts.values())
        share = 100 * judge.counts["refused"] / max(1, total - judge.counts["not exportable"])
        print(f"{form}: {', '.join(f'{n} {kind}' for kind, n in judge.counts.items())} ({share:.1f} % refused)")
        for reason, n in judge.reasons.most_common(8):
            print(f"    {n} x {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
