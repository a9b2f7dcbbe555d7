#!/usr/bin/env python3
"""Times exported models side by side: python models/times.py DIR/NAME...

PyTorch eager, TorchScript (frozen, optimised for inference), ONNX Runtime and tenon, where DIR/NAME holds model.pt,
model.onnx and model.tenon. Each peer lives in a process of its own; they take turns in short rounds, so that a busy
machine slows all of them alike. A row shows the least time of all rounds and the median of the rounds' medians.
"""

import argparse
import json
import multiprocessing
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

TENON = ROOT / "build/release/tenon"


TOLERANCE = 1e-3  # of the largest value; a peer that is further off is not timed


class Absent(Exception):
    """This peer cannot run this model; the text says why."""


@dataclass
class Times:
    """Milliseconds, a number a round."""

    minima: list[float] = field(default_factory=list)
    medians: list[float] = field(default_factory=list)

    def add(self, least: float, middle: float) -> None:
        self.minima.append(least)
        self.medians.append(middle)


def sample(folder: Path) -> list:
    import numpy

    count = len(json.loads((folder / "meta.json").read_text())["inputs"])
    return [numpy.load(folder / f"in_{index}.npy") for index in range(count)]


def torch_sample(folder: Path) -> list:
    import torch

    return [torch.from_numpy(value) if value.ndim else value.item() for value in sample(folder)]


def check(result, folder: Path) -> None:
    """Refuses a peer that computes something else than the export did."""
    import numpy

    values = result if isinstance(result, (tuple, list)) else [result]
    for index, value in enumerate(values):
        want = numpy.load(folder / f"out_{index}.npy")
        error = abs(numpy.asarray(value) - want).max() / abs(want).max()
        if not error <= TOLERANCE:
            raise Absent(f"output {index} is wrong by {error:.2g} of its largest value")


def existing(file: Path) -> Path:
    if not file.exists():
        raise Absent(f"there is no {file}")
    return file


def eager(folder: Path, threads: int) -> Callable[[], object]:
    import torch

    import models

    meta = json.loads((folder / "meta.json").read_text())
    example = models.load(meta["name"], meta["tiny"])
    if example.source is not None:
        raise Absent("published as TorchScript only")
    torch.set_num_threads(threads)
    inputs = torch_sample(folder)
    return lambda: example.model(*inputs)


def torchscript(folder: Path, threads: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(threads)
    module = torch.jit.load(str(existing(folder / "model.pt"))).eval()
    module = torch.jit.optimize_for_inference(torch.jit.freeze(module))
    inputs = torch_sample(folder)
    return lambda: module(*inputs)


def onnx_runtime(folder: Path, threads: int) -> Callable[[], object]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(existing(folder / "model.onnx")), options, providers=["CPUExecutionProvider"]
    )
    feeds = {argument.name: value for argument, value in zip(session.get_inputs(), sample(folder))}
    return lambda: session.run(None, feeds)


PEERS = {"PyTorch eager": eager, "TorchScript": torchscript, "ONNX Runtime": onnx_runtime}


def serve(pipe, peer: str, folder: Path, threads: int) -> None:
    """A peer's process: answers each turn of so many seconds with the (least, median) milliseconds of a call."""
    import torch

    with torch.inference_mode():
        try:
            call = PEERS[peer](folder, threads)
            for _ in range(3):
                check(call(), folder)
        except Absent as reason:
            pipe.send(str(reason))
            return
        pipe.send(None)
        while seconds := pipe.recv():
            pipe.send(measure(call, seconds))


def measure(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return min(times), median(times)


class Peer:
    """A Python peer in its own process."""

    def __init__(self, name: str, folder: Path, threads: int):
        context = multiprocessing.get_context("spawn")
        self.pipe, child = context.Pipe()
        self.process = context.Process(target=serve, args=(child, name, folder, threads), daemon=True)
        self.process.start()
        child.close()
        try:
            reason = self.pipe.recv()
        except EOFError:
            raise SystemExit(f"{name} failed on {folder}: see above") from None
        if reason:
            raise Absent(reason)

    def turn(self, seconds: float) -> tuple[float, float]:
        self.pipe.send(seconds)
        return self.pipe.recv()

    def close(self) -> None:
        self.pipe.send(0)
        self.process.join()


class Tenon:
    """`tenon profile` on the artifact with the inputs that the others get, one process a turn."""

    def __init__(self, binary: Path, folder: Path, threads: int):
        artifact = existing(folder / "model.tenon")
        self.command = [str(existing(binary)), "profile", str(artifact), "--threads", str(threads)]
        for index, entry in enumerate(json.loads((folder / "meta.json").read_text())["inputs"]):
            self.command += ["--input", f"{entry['name']}={folder / f'in_{index}.npy'}"]
        self.latency = self.profile(3)[1]

    def profile(self, iterations: int) -> tuple[float, float]:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            options = ["--warmup", "3", "--iters", str(iterations), "--json", report.name]
            subprocess.run(self.command + options, check=True, stdout=subprocess.DEVNULL)
            latency = json.loads(Path(report.name).read_text())["latency_ms"]
        return latency["min"], latency["median"]

    def turn(self, seconds: float) -> tuple[float, float]:
        return self.profile(max(3, int(1e3 * seconds / self.latency)))

    def close(self) -> None:
        pass


def start_peers(folder: Path, binary: Path, threads: int) -> dict[str, Peer | Tenon]:
    peers: dict[str, Peer | Tenon] = {}
    starts = {"tenon": lambda: Tenon(binary, folder, threads)}
    for name in PEERS:
        starts[name] = lambda name=name: Peer(name, folder, threads)
    for name, start in starts.items():
        try:
            peers[name] = start()
        except Absent as reason:
            print(f"{folder.name}: without {name}: {reason}", file=sys.stderr)
    return peers


def compare(folder: Path, arguments: argparse.Namespace) -> dict[str, Times]:
    peers = start_peers(folder, arguments.tenon, arguments.threads)
    times = {name: Times() for name in peers}
    for _ in range(arguments.rounds):
        for name, peer in peers.items():
            times[name].add(*peer.turn(arguments.seconds))
    for peer in peers.values():
        peer.close()
    return times


def rows(times: dict[str, Times]) -> list[dict]:
    """Fastest first; the ratio is to tenon, or to the fastest where tenon did not run."""
    found = [{"peer": n, "median_ms": median(t.medians), "min_ms": min(t.minima)} for n, t in times.items()]
    found.sort(key=lambda row: row["median_ms"])
    base = next((row for row in found if row["peer"] == "tenon"), found[0])
    for row in found:
        row["ratio"] = row["median_ms"] / base["median_ms"]
        row["ratio_of_minima"] = row["min_ms"] / base["min_ms"]
    return found


def table(name: str, found: list[dict], threads: int) -> str:
    base = "tenon" if any(row["peer"] == "tenon" for row in found) else found[0]["peer"]
    lines = [
        f"| {name}, {threads} thread{'s' if threads > 1 else ''} | median ms | min ms | time / {base} |",
        "| :--- | ---: | ---: | ---: |",
    ]
    for row in found:
        lines.append(f"| {row['peer']} | {row['median_ms']:.2f} | {row['min_ms']:.2f} | {row['ratio']:.2f} |")
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


def machine() -> dict:
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    cpu = names[0].split(":", 1)[1].strip() if names else platform.processor()
    return {"cpu": cpu, "torch": version("torch"), "onnxruntime": version("onnxruntime")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR/NAME", help="folders written by models/export.py")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each peer (default 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a turn (default 1)")
    parser.add_argument("--tenon", type=Path, default=TENON, help="the tenon binary (default build/release/tenon)")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    arguments = parser.parse_args()
    report = {"machine": machine(), "threads": arguments.threads, "rounds": arguments.rounds, "models": {}}
    tables = []
    for folder in arguments.folders:
        if not (folder / "meta.json").exists():
            parser.error(f"{folder} has no meta.json: write it with models/export.py {folder.name}")
        found = rows(compare(folder, arguments))
        report["models"][folder.name] = found
        tables.append(table(folder.name, found, arguments.threads))
        print(plain(tables[-1]) + "\n", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text("\n\n".join(tables) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
