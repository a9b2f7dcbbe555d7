"""The memory that a model takes in tenon and in the peers that read ONNX, each in a process of its own, in MiB."""

import json
import multiprocessing
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.models import peers
from bench.models.peers import Absent, Settings
from bench.models.turns import Tenon

RUNS = 3
LIBRARIES = {"ONNX Runtime": "onnxruntime", "OpenVINO": "openvino"}  # of which only what comes after their import counts
MIB = 2**20


@dataclass(frozen=True)
class Memory:
    own: float  # after the runs, of no file: no other process shares it
    peak: float  # the most that was resident, files among it


def now() -> Memory:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return Memory(*(int(lines[name].split()[0]) / 1024 for name in ("RssAnon", "VmHWM")))


def serve(pipe, peer: str, folder: Path, settings: Settings) -> None:
    """A peer's process: sends what the model added to the memory of Python and of the library, or why there is nothing."""
    try:
        inputs = peers.sample(folder)
        peers.installed(LIBRARIES[peer])
        before = now()
        call = peers.ALL[peer](folder, settings)
        for _ in range(RUNS):
            call()
        after = now()
        del inputs
        pipe.send(Memory(after.own - before.own, after.peak - before.peak))
    except Absent as reason:
        pipe.send(str(reason))


def of_peer(peer: str, folder: Path, settings: Settings) -> Memory:
    context = multiprocessing.get_context("spawn")
    pipe, child = context.Pipe()
    process = context.Process(target=serve, args=(child, peer, folder, settings), daemon=True)
    process.start()
    child.close()
    try:
        found = pipe.recv()
    except EOFError:
        found = "it failed, see above"
    process.join()
    if isinstance(found, str):
        raise Absent(found)
    return found


def of_tenon(binary: Path, folder: Path, settings: Settings, weights: str) -> Memory:
    """The whole process, its program among it."""
    tenon = Tenon(binary, folder, settings)
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        options = ["--warmup", "0", "--iters", str(RUNS), "--no-roofline", "--weights-memory", weights, "--json", report.name]
        subprocess.run(tenon.command + options, check=True, stdout=subprocess.DEVNULL)
        found = json.loads(Path(report.name).read_text())
    return Memory(found["process_own_bytes"] / MIB, found["process_peak_bytes"] / MIB)


def memory(folder: Path, names: list[str], binary: Path, settings: Settings) -> dict[str, dict | str]:
    """By program: what it takes, or why there is no number."""
    starts = {
        "tenon": lambda: of_tenon(binary, folder, settings, "fast"),
        "tenon, small weights": lambda: of_tenon(binary, folder, settings, "small"),
    }
    for name in names:
        if name in LIBRARIES:
            starts[name] = lambda name=name: of_peer(name, folder, settings)
    found: dict[str, dict | str] = {"file": {"mib": (folder / peers.of_precision("model.tenon", settings)).stat().st_size / MIB}}
    for name, start in starts.items():
        try:
            found[name] = asdict(start())
        except Absent as reason:
            found[name] = str(reason)
    return found


def table(models: dict[str, dict[str, dict | str]]) -> str:
    """A row a model: the size of its file; its own memory after the runs, and the peak, of each program."""
    names = [name for name in next(iter(models.values())) if name != "file"]
    lines = ["| MiB: own, peak | file | " + " | ".join(names) + " |", "| :--- | ---: |" + " ---: |" * len(names)]
    for model, found in models.items():
        cells = ["" if isinstance(found[name], str) else f"{found[name]['own']:.0f}, {found[name]['peak']:.0f}" for name in names]
        lines.append(f"| {model} | {found['file']['mib']:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
