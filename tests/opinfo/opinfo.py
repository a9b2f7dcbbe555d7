"""Measures how much of PyTorch's operator database Tenon converts: opinfo.py [PATTERN] [--format pt|pt2].

Every case is traced or exported, run by tenon and compared with PyTorch by PyTorch's own tolerances. The exit code is 1 when a
result is wrong or tenon crashes. Example: opinfo.py 'nn.functional.*' --limit 8 --verbose
"""

import argparse
import collections
import json
import multiprocessing
import os
import sys
from pathlib import Path

import torch

from cases import DTYPES, Case, cases_of, full_name, operators
from table import write_table
from verdict import Judge, Kind, Verdict

ROOT = Path(__file__).resolve().parents[2]
BATCH = 60  # cases in one file


def measure(arguments) -> list[dict]:
    """The verdicts of the cases of some operators."""
    tenon, form, limit, dtypes, names = arguments
    torch.set_num_threads(1)
    by_name = {full_name(op): op for op in operators()}
    cases = [c for name in names for c in cases_of(by_name[name], limit, dtypes)]
    judge = Judge(Path(tenon), form)
    verdicts = [v for i in range(0, len(cases), BATCH) for v in judge.judge(cases[i : i + BATCH])]
    return [as_record(v) for v in verdicts]


def as_record(v: Verdict) -> dict:
    c: Case = v.case
    return {
        "operator": c.operator, "family": c.family, "dtype": str(c.dtype).removeprefix("torch."), "sample": c.number,
        "arguments": c.arguments, "verdict": v.kind.value, "reason": v.reason,
    }  # fmt: skip


def measure_all(tenon: Path, form: str, pattern: str, limit: int, jobs: int, dtypes=DTYPES,
                on_records=lambda records: None, part=slice(None)) -> list[dict]:  # fmt: skip
    names = [full_name(op) for op in operators(pattern)][part]
    at_once = max(1, 64 // (limit * (2 if callable(dtypes) else len(dtypes))))
    chunks = [(str(tenon), form, limit, dtypes, names[i : i + at_once]) for i in range(0, len(names), at_once)]
    records = []
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=20) as pool:
        for some in pool.imap_unordered(measure, chunks):
            records += some
            on_records(some)
    return sorted(records, key=lambda r: (r["operator"], r["dtype"], r["sample"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="*", help="operators, as in 'nn.functional.*' (default: all)")
    parser.add_argument("--format", choices=("pt", "pt2"), default="pt")
    parser.add_argument("--limit", type=int, default=8, help="float32 cases an operator; half of it for other dtypes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", type=Path, help="write the table here, as Markdown")
    parser.add_argument("--json", type=Path, help="write every verdict here")
    parser.add_argument("--verbose", action="store_true", help="print the cases that are not equal")
    options = parser.parse_args()
    tenon = Path(os.environ.get("TENON", ROOT / "build/release/tenon"))
    if not tenon.exists():
        parser.error(f"there is no {tenon}: run ./dev build, or set TENON")

    def show(some: list[dict]) -> None:
        for r in some:
            bad = r["verdict"] in (Kind.WRONG, Kind.CRASH)
            if bad or options.verbose and r["verdict"] != Kind.EQUAL:
                print(f"{r['verdict']}: {r['operator']} {r['dtype']} {r['sample']}({r['arguments']}): {r['reason']}", flush=True)

    records = measure_all(tenon, options.format, options.pattern, options.limit, options.jobs, on_records=show)
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    if options.table:
        write_table(options.table, records)
    counts = collections.Counter(r["verdict"] for r in records)
    print(", ".join(f"{counts[kind.value]} {kind.value}" for kind in Kind))
    return 1 if counts[Kind.WRONG] + counts[Kind.CRASH] else 0


if __name__ == "__main__":
    sys.exit(main())
