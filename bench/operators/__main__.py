#!/usr/bin/env python3
"""Times single operators beside eager PyTorch: python bench/operators [PATTERN].

Each case of rows.py (or, with --database, of PyTorch's own operator database, enlarged) is exported once, converted and compared with PyTorch's result. Then PyTorch (in this process) and
tenon (`tenon profile`, a process a burst) take turns; the first run of each burst is not counted. A row shows the median
of the bursts' medians and the least time of all bursts; the ratio is tenon's least time to that of the faster peer.
"""

import argparse
import fnmatch
import hashlib
import json
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean, median

import onnx
import torch
from case import DTYPES, SMALL, Case, name_of, of_row
from rows import ROWS
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench.timing import Times, burst, machine  # noqa: E402

# of onnx.TensorProto
ONNX_TYPES = {"f32": 1, "u8": 2, "i8": 3, "i16": 5, "i32": 6, "i64": 7, "b": 9, "f16": 10, "f64": 11, "bf16": 16}
NOISE = 1.05  # a row is slower where its best burst is so many times the worst burst before


class Failed(Exception):
    """Tenon does not run this case as PyTorch does; the text says why."""


class NotExported(Exception):
    """PyTorch does not take these sizes, or cannot export the case."""


class Operator(nn.Module):
    """The case as a model: its weights are buffers, its other operands inputs. Complex numbers go in and out as pairs."""

    def __init__(self, case: Case):
        super().__init__()
        self.function = case.function
        self.places = []
        self.complex = set()
        for place, value in enumerate(case.operands()):
            if value.is_complex():
                self.complex.add(place)
            if place in case.weights:
                self.register_buffer(f"weight{place}", value)
            else:
                self.places.append(place)

    def inputs(self, case: Case) -> tuple[torch.Tensor, ...]:
        values = case.operands()
        return tuple(torch.view_as_real(values[p]) if p in self.complex else values[p] for p in self.places)

    def forward(self, *inputs):
        given = {p: torch.view_as_complex(v) if p in self.complex else v for p, v in zip(self.places, inputs, strict=True)}
        count = len(given) + len(self._buffers)
        results = self.function(*(given[p] if p in given else self._buffers[f"weight{p}"] for p in range(count)))
        results = tuple(results) if isinstance(results, tuple) else (results,)
        return tuple(torch.view_as_real(r) if r.is_complex() else r for r in results)


def write_tensor(value: torch.Tensor, file: Path) -> None:
    """As ONNX's TensorProto, which has every dtype."""
    value = value.contiguous()
    raw = value.reshape(-1).view(torch.uint8).numpy().tobytes()
    proto = onnx.TensorProto(data_type=ONNX_TYPES[name_of(value.dtype)], dims=value.shape, raw_data=raw)
    file.write_bytes(proto.SerializeToString())


def export(case: Case, folder: Path) -> None:
    """Writes model.pt2 and test_data_set_0, unless they are there."""
    if (folder / "done").exists():
        return
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    model = Operator(case).eval()
    inputs = model.inputs(case)
    with torch.no_grad():
        try:
            results = model(*inputs)
            torch.export.save(torch.export.export(model, inputs), folder / "model.pt2")
        except Exception as reason:
            raise NotExported(str(reason).strip().splitlines()[0]) from reason
        for place, value in enumerate(inputs):
            write_tensor(value, data / f"input_{place}.pb")
        for place, value in enumerate(results):
            write_tensor(value, data / f"output_{place}.pb")
    (folder / "done").touch()


class Tenon:
    """`tenon profile` of one converted case."""

    def __init__(self, binary: Path, folder: Path, threads: int, tolerance: list[str]):
        artifact = folder / "model.tenon"
        self.binary = binary
        self.tenon("convert", folder / "model.pt2", "-o", artifact, "--no-verify")
        inputs = sorted((folder / "test_data_set_0").glob("input_*.pb"))
        given = [option for file in inputs for option in ("--input", file)]
        self.tenon("verify", artifact, "--against", folder, *tolerance)
        self.command = ["profile", artifact, *given, "--threads", threads, "--no-roofline", "--warmup", 1]
        self.latency, _, self.kernels = self.profile(3)

    def tenon(self, *arguments) -> None:
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise Failed(f"{arguments[0]}: {lines[0] if lines else f'exit code {done.returncode}'}")

    def profile(self, iterations: int) -> tuple[float, float, list[str]]:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            self.tenon(*self.command, "--iters", iterations, "--json", report.name)
            found = json.loads(Path(report.name).read_text())
        latency = found["latency_ms"]
        return latency["min"], latency["median"], [step["kernel"] for step in found["steps"]]

    def burst(self, seconds: float) -> tuple[float, float]:
        least, middle, _ = self.profile(max(3, min(2000, int(1e3 * seconds / max(self.latency, 1e-3)))))
        return least, middle


def folder_of(case: Case) -> Path:
    """Its name has a hash of the tables, so that a changed table is exported again."""
    tables = "".join(path.read_text() for path in sorted(Path(__file__).parent.glob("[a-z]*.py")))
    digest = hashlib.sha256((tables + torch.__version__ + case.name).encode()).hexdigest()[:8]
    return ROOT / "build/operators" / f"{case.name.split(f' {case.dtype} ')[0].replace(' ', '_')}_{case.dtype}_{digest}"


def measure(case: Case, arguments: argparse.Namespace) -> dict:
    folder = folder_of(case)
    export(case, folder)
    tolerance = ["--tolerance", "2e-2"] if case.dtype in ("f16", "bf16") else []
    model = Operator(case).eval()
    inputs = model.inputs(case)
    calls = {"eager": lambda: model(*inputs)}
    if arguments.compile:
        torch._dynamo.reset()
        compiled = torch.compile(model)
        calls["compile"] = lambda: compiled(*inputs)
    try:
        tenon = Tenon(arguments.tenon, folder, arguments.threads, tolerance)
    except Failed as reason:
        tenon, why = None, str(reason)
    times = {name: Times() for name in [*calls, *(["tenon"] if tenon else [])]}
    for _ in range(arguments.rounds):
        for name, call in calls.items():
            times[name].add(*burst(call, arguments.seconds))
        if tenon:
            times["tenon"].add(*tenon.burst(arguments.seconds))
    found = {
        name: {"min_ms": min(t.minima), "median_ms": median(t.medians), "bursts_ms": t.minima} for name, t in times.items()
    }
    if tenon:
        peer = min(found[name]["min_ms"] for name in calls)
        found |= {"ratio": found["tenon"]["min_ms"] / peer, "kernels": tenon.kernels}
    else:
        found["failed"] = why
    return found


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    patterns = [f"*{pattern}*" for pattern in arguments.patterns + arguments.only] or ["*"]
    if arguments.database:
        import database  # it takes seconds

        for operator in database.operators(patterns):
            yield from database.cases_of(operator, arguments.dtypes.split(), arguments.samples)
        return
    for row in ROWS:
        for dtype in row.dtypes.split():
            case = of_row(row, dtype, arguments.scale)
            if dtype in arguments.dtypes.split() and any(fnmatch.fnmatch(case.name, p) for p in patterns):
                yield case


def line(name: str, found: dict, peers: list[str]) -> str:
    times = "".join(f"{found[p]['median_ms']:10.3f}{found[p]['min_ms']:10.3f}" for p in peers)
    if "failed" in found:
        return f"{name[:58]:58}{times}  {found['failed'][:90]}"
    tenon = found["tenon"]
    reference = "  reference" if any("reference" in kernel for kernel in found["kernels"]) else ""
    return f"{name[:58]:58}{times}{tenon['median_ms']:10.3f}{tenon['min_ms']:10.3f}{found['ratio']:8.2f}{reference}"


def slower(before: dict, now: dict) -> list[str]:
    """Rows whose best ratio to PyTorch is beyond the worst one before: both are made of single bursts."""

    def ratios(found: dict) -> list[float]:
        return [tenon / eager for tenon, eager in zip(found["tenon"]["bursts_ms"], found["eager"]["bursts_ms"])]

    lines = []
    for name in now.keys() & before.keys():
        if "tenon" not in before[name]:
            continue
        if "tenon" not in now[name]:
            lines.append(f"{name}: {now[name]['failed']}")
        elif min(ratios(now[name])) > NOISE * max(ratios(before[name])):
            lines.append(f"{name}: ratio {before[name]['ratio']:.2f} before, {now[name]['ratio']:.2f} now")
    return sorted(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/operators", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="cases that contain one of them; * and ? match anything")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="the same, as an option")
    parser.add_argument("--list", action="store_true", help="list the cases and exit")
    parser.add_argument("--compile", action="store_true", help="torch.compile as a second peer")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="bursts of each peer (default 3)")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a burst (default 0.1)")
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon", help="default: build/release/tenon")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="numbers of an earlier --json: exit code 1 where a row is slower")
    parser.add_argument("--scale", type=float, default=1, metavar="X", help=f"multiply all sizes of {SMALL} or more by X")
    parser.add_argument("--dtypes", default=" ".join(DTYPES), metavar="NAMES", help="only these dtypes, as in 'f32 i8'")
    parser.add_argument("--database", action="store_true", help="the operators of PyTorch's own database, at larger sizes; PATTERN chooses operators")
    parser.add_argument("--samples", type=int, default=1, metavar="N", help="with --database: N samples of each dtype (default 1)")
    arguments = parser.parse_args()
    chosen = cases(arguments)
    warnings.simplefilter("ignore")
    if arguments.list:
        for case in chosen:
            print(case.name, flush=True)
        return 0
    torch.set_num_threads(arguments.threads)
    peers = ["eager", "compile"] if arguments.compile else ["eager"]
    print(f"{'median and least ms of':58}" + "".join(f"{peer:>20}" for peer in [*peers, "tenon"]) + "   ratio")
    rows = {}
    for case in chosen:
        try:
            with torch.inference_mode():
                rows[case.name] = measure(case, arguments)
        except NotExported as reason:
            print(f"{case.name[:58]:58}  left out: {reason}"[:160], flush=True)
            continue
        print(line(case.name, rows[case.name], peers), flush=True)
    if not rows:
        parser.error("there is no such case; --list names all")
    ratios = [found["ratio"] for found in rows.values() if "ratio" in found]
    if ratios:
        print(f"{len(rows)} cases, {len(rows) - len(ratios)} failed; geometric mean {geometric_mean(ratios):.3f}, "
              f"{sum(ratio > 1 for ratio in ratios)} above 1, worst {max(ratios):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine("torch"), "threads": arguments.threads, "cases": rows}, indent=1) + "\n")
    if arguments.compare:
        lines = slower(json.loads(arguments.compare.read_text())["cases"], rows)
        print("\n".join(lines) if lines else "no row is slower")
        return int(bool(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
