"""Processes that take turns: a peer in Python, and tenon. A turn of so many seconds gives (least, median) milliseconds."""

import json
import multiprocessing
import subprocess
import tempfile
from pathlib import Path

from bench.models import peers
from bench.models.peers import Absent, Settings, existing
from bench.timing import burst, crowd


def serve(pipe, peer: str, folder: Path, settings: Settings) -> None:
    """A peer's process: answers each turn of so many seconds with the (least, median) milliseconds of a call; of several callers
    at once, with those from one end of a call to the next, whoever's."""
    import torch

    torch.set_grad_enabled(False)  # of this thread
    try:
        calls = [without_gradients(peers.ALL[peer](folder, settings)) for _ in range(settings.streams)]
        for _ in range(3):
            for call in calls:
                peers.check(call(), folder, peers.TOLERANCES[settings.precision])
    except Absent as reason:
        pipe.send(str(reason))
        return
    pipe.send(None)
    while seconds := pipe.recv():
        pipe.send(burst(calls[0], seconds) if len(calls) == 1 else crowd(calls, seconds))


def without_gradients(call):
    """The same in any thread."""
    import torch

    def called():
        with torch.inference_mode():
            return call()

    return called


class Peer:
    """A Python peer in its own process."""

    def __init__(self, name: str, folder: Path, settings: Settings):
        context = multiprocessing.get_context("spawn")
        self.pipe, child = context.Pipe()
        self.process = context.Process(target=serve, args=(child, name, folder, settings), daemon=True)
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

    def __init__(self, binary: Path, folder: Path, settings: Settings):
        artifact = existing(folder / peers.of_precision("model.tenon", settings))
        self.settings = settings
        self.command = [str(existing(binary)), "profile", str(artifact), "--threads", str(settings.threads)]
        for index, entry in enumerate(json.loads((folder / "meta.json").read_text())["inputs"]):
            self.command += ["--input", f"{entry['name']}={folder / f'in_{index}.npy'}"]
        self.latency = self.profile(3)[1]

    def profile(self, iterations: int) -> tuple[float, float]:
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            options = ["--warmup", "3", "--iters", str(iterations), "--json", report.name]
            if self.settings.streams > 1:
                options += ["--streams", str(self.settings.streams)]
            subprocess.run(self.command + options, check=True, stdout=subprocess.DEVNULL)
            found = json.loads(Path(report.name).read_text())
        if self.settings.streams > 1:
            rate = found["streams"][0]
            return 1e3 / rate["ci95"][1], 1e3 / rate["runs_per_s"]
        return found["latency_ms"]["min"], found["latency_ms"]["median"]

    def turn(self, seconds: float) -> tuple[float, float]:
        if self.settings.streams > 1:
            return self.profile(3)
        return self.profile(max(3, int(1e3 * seconds / self.latency)))

    def close(self) -> None:
        pass
