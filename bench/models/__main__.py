#!/usr/bin/env python3
"""Times exported models side by side: python bench/models DIR/NAME...

tenon and the peers of peers.py, where DIR/NAME holds model.pt, model.onnx and model.tenon. Each lives in a process of
its own; they take turns in short rounds, so that a busy machine slows all of them alike, and the first call of a turn is
not counted. A row shows the median of the rounds' medians, the least time of all rounds, and tenon's time as a share
of the peer's: the geometric mean of the rounds' ratios of least times, with an interval that holds it in 90 of 100 such runs.
"""

import argparse
import json
import random
import sys
from pathlib import Path
from statistics import geometric_mean, median

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)

from bench.models import memory, peers  # noqa: E402
from bench.models.peers import Absent, Settings  # noqa: E402
from bench.models.turns import Peer, Tenon  # noqa: E402
from bench.timing import Times, machine  # noqa: E402

TENON = ROOT / "build/release/tenon"
DEFAULT_PEERS = ["PyTorch eager", "TorchScript", "ONNX Runtime"]


def start_peers(folder: Path, names: list[str], binary: Path, settings: Settings) -> dict[str, Peer | Tenon]:
    started: dict[str, Peer | Tenon] = {}
    starts = {"tenon": lambda: Tenon(binary, folder, settings)}
    for name in names:
        starts[name] = lambda name=name: Peer(name, folder, settings)
    for name, start in starts.items():
        try:
            started[name] = start()
        except Absent as reason:
            print(f"{folder.name}: without {name}: {reason}", file=sys.stderr)
    return started


def compare(folder: Path, threads: int, arguments: argparse.Namespace) -> dict[str, Times]:
    started = start_peers(folder, arguments.peers, arguments.tenon, Settings(threads, arguments.precision, arguments.streams))
    times = {name: Times() for name in started}
    for _ in range(arguments.rounds):
        for name, peer in started.items():
            times[name].add(*peer.turn(arguments.seconds))
    for peer in started.values():
        peer.close()
    return times


def ratio(of: Times, to: Times) -> dict:
    """The geometric mean of the rounds' ratios of least times, and its interval of 90 % by the bootstrap."""
    rounds = [a / b for a, b in zip(of.minima, to.minima)]
    draw = random.Random(0)
    means = sorted(geometric_mean(draw.choices(rounds, k=len(rounds))) for _ in range(1000))
    return {"ratio": geometric_mean(rounds), "low": means[50], "high": means[-51]}


def rows(times: dict[str, Times]) -> list[dict]:
    """Fastest first; with tenon's time as a share of each."""
    found = []
    for name, t in times.items():
        row = {"peer": name, "median_ms": median(t.medians), "min_ms": min(t.minima)}
        found.append(row | (ratio(times["tenon"], t) if "tenon" in times else {}))
    found.sort(key=lambda row: row["median_ms"])
    return found


def table(name: str, found: list[dict], threads: int) -> str:
    lines = [
        f"| {name}, {threads} thread{'s' if threads > 1 else ''} | median ms | min ms | tenon / it | 90 % |",
        "| :--- | ---: | ---: | ---: | ---: |",
    ]
    for row in found:
        share = f"{row['ratio']:.2f} | {row['low']:.2f}-{row['high']:.2f}" if "ratio" in row else "|"
        lines.append(f"| {row['peer']} | {row['median_ms']:.3g} | {row['min_ms']:.3g} | {share} |")
    return "\n".join(lines)


def best_peer(found: list[dict]) -> dict | None:
    others = [row for row in found if row["peer"] != "tenon" and "ratio" in row]
    return min(others, key=lambda row: row["min_ms"], default=None)


def summary(models: dict[str, dict[str, list[dict]]]) -> str:
    """A row a model and number of threads: the fastest peer, tenon, and their ratio; the geometric mean last."""
    lines = ["| model | threads | best peer | ms | tenon ms | ratio | 90 % |", "| :--- | ---: | :--- | ---: | ---: | ---: | ---: |"]
    by_threads: dict[str, list[float]] = {}
    for name, runs in models.items():
        for threads, found in runs.items():
            best = best_peer(found)
            if best is None:
                continue
            own = next(row for row in found if row["peer"] == "tenon")
            by_threads.setdefault(threads, []).append(best["ratio"])
            lines.append(
                f"| {name} | {threads} | {best['peer']} | {best['min_ms']:.3g} | {own['min_ms']:.3g} "
                f"| {best['ratio']:.2f} | {best['low']:.2f}-{best['high']:.2f} |"
            )
    for threads, ratios in by_threads.items():
        lines.append(f"| geometric mean of {len(ratios)} | {threads} | | | | {geometric_mean(ratios):.2f} | |")
    return "\n".join(lines)


def plain(markdown: str) -> str:
    """The same table in aligned columns."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in markdown.splitlines()]
    del cells[1]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(zip(line, widths)))
        for line in cells
    )


def slower(models: dict[str, dict[str, list[dict]]], before: dict[str, dict[str, list[dict]]]) -> list[str]:
    """Rows whose ratio to some peer is worse than in an earlier report, beyond both intervals."""
    found = []
    for name, runs in models.items():
        for threads, now in runs.items():
            then = {row["peer"]: row for row in before.get(name, {}).get(threads, [])}
            for row in now:
                old = then.get(row["peer"], {})
                if row["peer"] != "tenon" and "ratio" in row and "ratio" in old and row["low"] > old["high"]:
                    found.append(f"{name}, {threads} thread(s), beside {row['peer']}: {old['ratio']:.2f} -> {row['ratio']:.2f}")
    return found


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR/NAME", help="folders written by models/export.py")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="one run for each number (default 1)")
    parser.add_argument("--precision", choices=peers.TOLERANCES, default="f32",
                        help="products of 16 bits: model.bf16.tenon, and the peers' own ways; int8: model.int8.onnx of quantise.py (default f32)")  # fmt: skip
    parser.add_argument("--streams", type=int, default=1, help="so many callers at once, with --threads each: a row shows milliseconds a call of any")
    parser.add_argument("--memory", action="store_true", help="the memory that each takes instead of times: tenon, ONNX Runtime, OpenVINO")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each peer (default 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn (default 1)")
    parser.add_argument("--peers", nargs="+", default=DEFAULT_PEERS, choices=[*peers.ALL, "all"], metavar="PEER",
                        help=f"of {', '.join(peers.ALL)}, or all (default {', '.join(DEFAULT_PEERS)})")  # fmt: skip
    parser.add_argument("--tenon", type=Path, default=TENON, help="the tenon binary (default build/release/tenon)")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--compare", type=Path, metavar="JSON", help="an earlier --json: exit code 1 if a row became slower")
    return parser


def main() -> int:
    parser = options()
    arguments = parser.parse_args()
    if "all" in arguments.peers:
        arguments.peers = list(peers.ALL)
    before = json.loads(arguments.compare.read_text())["models"] if arguments.compare else {}
    report: dict = {"machine": machine("torch", "onnxruntime"), "rounds": arguments.rounds, "models": {}}
    tables = []
    for folder in arguments.folders:
        if not (folder / "meta.json").exists():
            parser.error(f"{folder} has no meta.json: write it with models/export.py {folder.name}")
    if arguments.memory:
        settings = Settings(arguments.threads[0], arguments.precision)
        report["models"] = {folder.name: memory.memory(folder, arguments.peers, arguments.tenon, settings) for folder in arguments.folders}
        tables.append(memory.table(report["models"]))
        print(plain(tables[0]))
        arguments.folders = []
    for folder in arguments.folders:
        runs = report["models"].setdefault(folder.name, {})
        for threads in arguments.threads:
            runs[str(threads)] = found = rows(compare(folder, threads, arguments))
            tables.append(table(folder.name, found, threads))
            print(plain(tables[-1]) + "\n", flush=True)
    if len(tables) > 1:
        tables.insert(0, summary(report["models"]))
        print(plain(tables[0]))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text("\n\n".join(tables) + "\n")
    worse = [] if arguments.memory else slower(report["models"], before)
    for line in worse:
        print(f"slower: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
