"""Measures how many of ONNX's own backend tests Tenon passes: coverage.py [PATTERN] [--kind node] [--table FILE].

Every case is a folder that `tenon check` runs, in a process of its own. The exit code is 1 when a result is wrong or tenon
crashes. Example: coverage.py 'test_resize*' --verbose
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from backend_cases import KINDS, Case, write_cases
from coverage_table import VERDICTS, write_table

ROOT = Path(__file__).resolve().parents[2]


def verdict_of(record: dict) -> tuple[str, str]:
    """"equal", "types only" (random numbers decide an output), "refused", "wrong" or "crash", and why."""
    if record["status"] == "passed":
        return ("types only" if record["types_only"] else "equal"), record["types_only"]
    failure = record["failures"][0]
    reason = failure["message"]
    details = failure.get("details", "").strip().splitlines()
    if details and reason.endswith(":"):
        reason += " " + details[0].strip()
    if failure["kind"] == "outputs":
        return "wrong", reason
    if failure["kind"] in ("crash", "timeout", "memory") or reason.startswith("a bug in tenon"):
        return "crash", reason
    return "refused", reason


def run(tenon: Path, root: Path, cases: list[Case], jobs: int) -> list[dict]:
    report = root / "report.json"
    subprocess.run([tenon, "check", root, "--json", report, "--jobs", str(jobs)], stdout=subprocess.DEVNULL, check=False)
    by_name = {r["name"]: r for r in json.loads(report.read_text())["cases"]}
    records = []
    for case in cases:
        found = by_name[f"{case.kind}/{case.name}"]
        verdict, reason = verdict_of(found)
        records.append({"case": case.name, "kind": case.kind, "operator": case.operator, "verdict": verdict, "reason": reason,
                        "reference_steps": max(0, found["reference_steps"])})  # fmt: skip
    return sorted(records, key=lambda r: (r["kind"], r["operator"], r["case"]))


def measure(tenon: Path, pattern: str = "*", kinds=KINDS, jobs: int = 1, as_onnx: bool = False) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return run(tenon, root, write_cases(root, kinds, pattern, as_onnx), jobs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="*", help="cases, as in 'test_resize*' (default: all)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all kinds")
    parser.add_argument("--check", action="store_true", help="in ONNX's own layout, with the tolerances of tenon check alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table", type=Path, help="write the table here, as Markdown")
    parser.add_argument("--json", type=Path, help="write every verdict here")
    parser.add_argument("--verbose", action="store_true", help="print the cases that are not equal")
    options = parser.parse_args()
    tenon = Path(os.environ.get("TENON", ROOT / "build/release/tenon"))
    if not tenon.exists():
        parser.error(f"there is no {tenon}: run ./dev build, or set TENON")
    records = measure(tenon, options.pattern, options.kind or KINDS, options.jobs, options.check)
    for r in records:
        if r["verdict"] in ("wrong", "crash") or options.verbose and r["verdict"] not in ("equal", "types only"):
            print(f"{r['verdict']}: {r['case']} ({r['operator']}): {r['reason']}")
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    if options.table:
        write_table(options.table, records)
    counts = collections.Counter((r["kind"], r["verdict"]) for r in records)
    for kind in options.kind or KINDS:
        words = [f"{counts[kind, v]} {v}" for v in VERDICTS]
        print(f"{kind}: {', '.join(words)}")
    return 1 if any(r["verdict"] in ("wrong", "crash") for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
