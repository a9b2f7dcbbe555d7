"""Processes that take turns: a peer in Python, and tenon. A turn of so many seconds gives (least, median) milliseconds."""

import json
import multiprocessing
import subprocess
import tempfile
from pathlib import Path

from bench.models import peers
from bench.models.peers import Absent, existing
from bench.timing import burst


def serve(pipe, peer: str, folder: Path, threads: int) -> None:
    """A peer's process: answers each turn of so many seconds with the (least, median) milliseconds of a call."""
    import torch

    with torch.inference_mode():
        try:
            call = peers.ALL[peer](folder, threads)
            for _ in range(3):
                peers.check(call(), folder)
        except Absent as reason:
            pipe.send(str(reason))
            return
        pipe.send(None)
        while seconds := pipe.recv():
            pipe.send(burst(call, seconds))


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
            raise Absent("it failed, see above") from None
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
