#!/usr/bin/env python3
"""Predicts exported models on this machine and compares that with what they take: python bench/predictions DIR/NAME...

Each DIR/NAME/model.tenon is profiled (runs that other programs disturb are left out), then predicted: by the cost model
as it is shipped, after tenon doctor --calibrate, and with the records of ten others that calibrate it, drawn at random,
as often as --draws says. Rows are over models that take a millisecond and more: mean absolute error of whole runs, its
median and 90th percentile, the share of runs that lie in their intervals of 90 %; the sum of all steps' errors over the
sum of their times, and the mean error of steps of 0.1 ms and more. All in %. What a machine's cache holds plays no part.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median, quantiles

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)

from bench.timing import machine  # noqa: E402

PATIENCE = 4  # seconds of a model, before the others have their turn
LEAST_RUN, LEAST_STEP = 1.0, 0.1  # ms: what is shorter is not counted
COLUMNS = {"mape": "MAPE", "median": "median", "p90": "p90", "held": "in their intervals", "weighted": "steps, weighted",
           "steps": "from 0.1 ms: MAPE"}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    ms: float
    steps: list[float]
    records: str  # lines of tenon.record


@dataclass
class Errors:
    """Of predictions, as shares of what was measured."""

    runs: list[float] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    steps_ms: list[float] = field(default_factory=list)  # measured

    def add(self, measured: Measured, predicted: dict) -> None:
        latency = predicted["latency_ms"]
        self.runs.append(abs(latency["median"] / measured.ms - 1))
        self.held.append(latency["low"] <= measured.ms <= latency["high"])
        for ms, step in zip(measured.steps, predicted["steps"], strict=True):
            self.steps.append(abs(step["ms"] / ms - 1) if ms > 0 else 0)
            self.steps_ms.append(ms)

    def row(self) -> dict[str, float]:
        long = [error for error, ms in zip(self.steps, self.steps_ms) if ms >= LEAST_STEP]
        shares = {
            "mape": mean(self.runs),
            "median": median(self.runs),
            "p90": quantiles(self.runs, n=10)[8] if len(self.runs) > 1 else self.runs[0],
            "held": mean(self.held),
            "weighted": sum(error * ms for error, ms in zip(self.steps, self.steps_ms)) / sum(self.steps_ms),
            "steps": mean(long) if long else 0,
        }
        return {name: 100 * share for name, share in shares.items()}


class Tenon:
    """The binary, with a cache of its own."""

    def __init__(self, arguments: argparse.Namespace, cache: Path):
        self.arguments, self.cache = arguments, cache

    def run(self, *command: str | Path | int, codes: tuple[int, ...] = (0,)) -> str:
        isa = ["--isa", self.arguments.isa] if self.arguments.isa else []
        done = subprocess.run([str(part) for part in [self.arguments.tenon, *command, *isa]], stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"XDG_CACHE_HOME": str(self.cache)})
        if done.returncode not in codes:
            sys.exit(f"{command[0]} ended with {done.returncode}")
        return done.stdout

    def calibrate(self) -> bool:
        """Whether half of the networks had calm runs with this number of threads; with others they may lack them."""
        said = json.loads(self.run("doctor", "--calibrate", "--json", codes=(0, 4)))
        return any(c["kept"] for c in said["calibrations"] if c["threads"] == self.arguments.threads)

    def report(self, verb: str, folder: Path, *more: str | Path | int) -> dict:
        """What a verb that takes a model writes as JSON."""
        inputs = json.loads((folder / "meta.json").read_text())["inputs"]
        given = [part for index, entry in enumerate(inputs) for part in ("--input", f"{entry['name']}={folder / f'in_{index}.npy'}")]
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            self.run(verb, folder / "model.tenon", "--threads", self.arguments.threads, *given, *more, "--json", report.name)
            return json.loads(Path(report.name).read_text())

    def profiled(self, folder: Path) -> Measured | None:
        """None where other programs took the machine's time in all of its runs."""
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as records:
            report = self.report("profile", folder, "--warmup", 2, "--iters", 8, "--undisturbed", PATIENCE, "--contribute", records.name)
            steps = [step["ms"] for step in report["steps"]]
            return Measured(report["latency_ms"]["median"], steps, Path(records.name).read_text()) if report["calm"]["runs"] else None

    def predicted(self, folders: list[Path], measured: dict[Path, Measured], records: str = "") -> dict[str, float]:
        errors = Errors()
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as known:
            known.write(records)
            known.flush()
            for folder in folders:
                errors.add(measured[folder], self.report("predict", folder, *(["--records", known.name] if records else [])))
        return errors.row()


def table(rows: dict[str, dict[str, float]]) -> str:
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    lines += [f"| {name} | " + " | ".join(f"{row[column]:.1f}" for column in COLUMNS) + " |" for name, row in rows.items()]
    return "\n".join(lines)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR/NAME", help="folders with meta.json, in_*.npy and model.tenon")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--isa", help="as an instruction set that is not this machine's best: avx2, baseline")
    parser.add_argument("--rounds", type=int, default=4, help="turns of a model, until it had calm runs (default 4)")
    parser.add_argument("--calibrate", type=int, default=10, help="models that calibrate (default 10)")
    parser.add_argument("--draws", type=int, default=2, help="how often they are drawn (default 2)")
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon", help="the tenon binary (default build/release/tenon)")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    return parser


def main() -> int:
    parser = options()
    arguments = parser.parse_args()
    if missing := [folder for folder in arguments.folders if not (folder / "model.tenon").exists()]:
        parser.error(f"{missing[0]} has no model.tenon")
    with tempfile.TemporaryDirectory() as plain, tempfile.TemporaryDirectory() as own:
        tenon, calibrated = Tenon(arguments, Path(plain)), Tenon(arguments, Path(own))
        is_calibrated = calibrated.calibrate()
        (tenon.cache / "tenon").mkdir()
        for known in ("roofline.json", "pulse.json"):  # all but the calibration
            shutil.copy(calibrated.cache / "tenon" / known, tenon.cache / "tenon")
        found: dict[Path, Measured] = {}
        for _ in range(arguments.rounds):
            for folder in [folder for folder in arguments.folders if folder not in found]:
                if calm := tenon.profiled(folder):
                    print(f"{folder.name}: {calm.ms:.3g} ms", file=sys.stderr, flush=True)
                    found[folder] = calm
        print(f"{len(arguments.folders) - len(found)} models had no calm run", file=sys.stderr)
        measured = {folder: found[folder] for folder in arguments.folders if folder in found and found[folder].ms >= LEAST_RUN}
        folders = list(measured)
        if len(folders) <= arguments.calibrate:
            parser.error(f"{len(folders)} models take {LEAST_RUN:g} ms and more: more than {arguments.calibrate} are needed")
        rows = {f"{len(folders)} models, as shipped": tenon.predicted(folders, measured)}
        if is_calibrated:
            rows["after tenon doctor --calibrate"] = calibrated.predicted(folders, measured)
        else:
            print("this machine was too busy to be calibrated", file=sys.stderr)
        for draw in range(arguments.draws):
            chosen = random.Random(draw).sample(folders, arguments.calibrate)
            others = [folder for folder in folders if folder not in chosen]
            records = "".join(measured[folder].records for folder in chosen)
            rows[f"{len(others)} others of {len(chosen)} that calibrate, draw {draw + 1}"] = tenon.predicted(others, measured, records)
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine(), "threads": arguments.threads, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
