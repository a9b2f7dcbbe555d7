#!/usr/bin/env python3
"""What a GPU says of Tenon, in one call without a network: python gpu_run.py --out FOLDER, in the folder that `./dev gpu` packs.

It asks the machine, runs `tenon doctor --selftest` and the device tests, exports the models here from their architectures (their weights
are seeded), verifies each on the GPU against PyTorch on the CPU, and times it by turns with eager PyTorch and torch.compile. Everything
is in FOLDER/report.json, which is written anew after each part: what is there when the time is over is whole. Float32, without TF32.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

PACK = Path(__file__).resolve().parent
BATCHES = [1, 8, 64]
ROUNDS, SECONDS = 3, 0.4  # of a turn, of which each peer has one a round
TEST_SECONDS = 240  # of the self-test, and of the device tests
COMPILE_SECONDS = 15  # left of a model's time, or torch.compile is left out


def environment() -> dict[str, str]:
    """The pack's libraries before the machine's, and NVRTC where pip installed it with PyTorch."""
    nvidia = importlib.util.find_spec("nvidia")
    folders = [f for place in (nvidia.submodule_search_locations or [] if nvidia else []) for f in Path(place).glob("*/lib")]
    libraries = [str(PACK / "lib"), *(str(f) for f in folders if any(f.glob("libnvrtc.so*"))), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"VIRTUAL_ENV": sys.prefix} | os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, libraries))}


def call(*command, seconds: float, **variables) -> subprocess.CompletedProcess:
    """Never raises: a program that is missing or takes too long has failed."""
    command = [str(c) for c in command]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=max(seconds, 1), stdin=subprocess.DEVNULL,
                              cwd=PACK, env=environment() | variables)
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
        return subprocess.CompletedProcess(command, 124, said if isinstance(said, str) else said.decode(), f"stopped after {seconds:.0f} s")
    except OSError as reason:
        return subprocess.CompletedProcess(command, 127, "", str(reason))


def tail(done: subprocess.CompletedProcess, lines: int = 30) -> str:
    return "\n".join((done.stdout + done.stderr).splitlines()[-lines:])


def as_json(done: subprocess.CompletedProcess) -> dict:
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": tail(done)}


class Report:
    def __init__(self, out: Path, seconds: float):
        out.mkdir(parents=True, exist_ok=True)
        self.out, self.end, self.parts, self.lock = out, time.monotonic() + seconds, {}, threading.Lock()

    def left(self) -> float:
        return self.end - time.monotonic()

    def add(self, part: str, value, line: str) -> None:
        with self.lock:
            self.parts[part] = value
            (self.out / "report.json").write_text(json.dumps(self.parts, indent=1) + "\n")
            print(f"{part:14} {line}", flush=True)


def ask_machine(report: Report) -> None:
    smi = call("nvidia-smi", seconds=30)
    print(tail(smi, 20), flush=True)
    doctor = call(PACK / "tenon", "doctor", seconds=60)
    print(doctor.stdout, flush=True)
    report.add("machine", {"nvidia_smi": tail(smi, 20), "doctor": doctor.stdout.splitlines()}, f"doctor says {doctor.returncode}")


def selftest(report: Report, device: str) -> None:
    done = call(PACK / "tenon", "doctor", "--selftest", device, "--json", seconds=min(TEST_SECONDS, report.left()))
    found = as_json(done)
    wrong = [case for case in found.get("cases", []) if case["status"] in ("failed", "not run")]
    passed = sum(family["passed"] for family in found.get("families", []))
    report.add("selftest", {"exit": done.returncode} | found, f"exit code {done.returncode}: {passed} passed, {len(wrong)} did not")
    for case in wrong[:10]:
        print(f"  {case['family']}, {case['dtype']}, {case['sizes']}: {case['why']}")


def device_tests(report: Report, device: str) -> None:
    """In several processes: most of the time is the compiler's."""
    shards = min(8, os.cpu_count() or 1)
    tests = (PACK / "device_tests.txt").read_text().strip()

    def shard(index: int) -> subprocess.CompletedProcess:
        return call(PACK / "test_runtime", f"--gtest_filter={tests}", seconds=min(TEST_SECONDS, report.left()), TENON_DEVICE=f"{device}:0",
                    TENON_FALLBACK="cpu", GTEST_TOTAL_SHARDS=str(shards), GTEST_SHARD_INDEX=str(index))

    with ThreadPoolExecutor(shards) as pool:
        done = list(pool.map(shard, range(shards)))
    log = "".join(d.stdout + d.stderr for d in done)
    (report.out / "device_tests.log").write_text(log)
    passed, failed = log.count("[       OK ]"), sorted({line for line in log.splitlines() if line.startswith("[  FAILED  ] ") and " ms)" in line})
    exits = [d.returncode for d in done]
    report.add("device_tests", {"exit": max(exits, key=abs), "exits": exits, "passed": passed, "failed": failed},
               f"exit codes {exits}: {passed} passed, {len(failed)} failed")


# ---- one model, in a process of its own


def batch_axes(example) -> dict[str, int]:
    """Of each input that has rows: their axis."""
    return {name: axis for name, axes in example.free.items() for axis, symbol in axes.items() if symbol in ("N", "B")}


def at_batch(example, batch: int) -> dict:
    """The inputs with so many rows: the example's, again and again."""
    import torch

    inputs = dict(example.inputs)
    for name, axis in batch_axes(example).items():
        rows = torch.arange(batch) % inputs[name].shape[axis]
        inputs[name] = inputs[name].index_select(axis, rows)
    return inputs


def export(example, batch: int, folder: Path) -> Path:
    """An artifact for this number of rows, with in_K.npy and out_K.npy of eager PyTorch on the CPU."""
    import numpy
    import torch

    inputs = at_batch(example, batch)
    torch.export.save(torch.export.export(example.model, tuple(inputs.values())), folder / "model.pt2")
    outputs = example.model(*inputs.values())
    outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    for kind, values in ("in", inputs.values()), ("out", outputs):
        for index, value in enumerate(values):
            numpy.save(folder / f"{kind}_{index}.npy", value.numpy())
    artifact = folder / "model.tenon"
    done = call(PACK / "tenon", "convert", folder / "model.pt2", "-o", artifact, "--no-verify", seconds=120)
    if done.returncode:
        raise SystemExit(tail(done))
    return artifact


def tenon_times(artifact: Path, device: str) -> dict:
    found = as_json(call(PACK / "tenon", "profile", artifact, "--device", device, "--fallback", "cpu", "--seconds", 2 * SECONDS,
                         "--no-roofline", "--json", "-", seconds=120))
    if "error" in found:
        return found
    return {"ms": found["latency_ms"]["median"], "steps_ms": sum(step["ms"] for step in found["steps"]), "steps": len(found["steps"]),
            "host_steps": sum(step["kernel"] == "reference" for step in found["steps"])}


def torch_times(model, inputs: list) -> dict:
    """ms: with copies from and to the host, as tenon's. device_ms: of the GPU alone, inputs and outputs there."""
    try:
        return timed(model, inputs)
    except Exception as reason:  # torch.compile raises what it likes
        return {"error": f"{type(reason).__name__}: {str(reason)[:2000]}"}


def timed(model, inputs: list) -> dict:
    import torch

    there = [value.cuda() for value in inputs]
    for _ in range(3):
        model(*there)
    whole, device, end = [], [], time.perf_counter() + SECONDS
    while len(whole) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        result = model(*[value.cuda() for value in inputs])
        for value in [result] if isinstance(result, torch.Tensor) else result:
            value.cpu()
        whole.append(1e3 * (time.perf_counter() - start))
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        model(*there)
        events[1].record()
        torch.cuda.synchronize()
        device.append(events[0].elapsed_time(events[1]))
    return {"ms": median(whole), "device_ms": median(device)}


def by_turns(peers: dict) -> dict:
    """Of each peer the median of its rounds."""
    rounds = {name: [] for name in peers}
    for turn in range(ROUNDS):
        for name in list(peers)[:: 1 if turn % 2 == 0 else -1]:
            rounds[name].append(peers[name]())
    good = {name: [r for r in list_ if "error" not in r] for name, list_ in rounds.items()}
    return {name: {key: median(r[key] for r in list_) for key in list_[0]} if list_ else rounds[name][0] for name, list_ in good.items()}


def measure(name: str, device: str, tiny: bool, seconds: float, result: Path) -> None:
    """Writes what it knows after each step."""
    import torch

    sys.path.insert(0, str(PACK))
    import models

    end = time.monotonic() + seconds
    example = models.load(name, tiny)
    torch.set_num_threads(os.cpu_count() or 1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    found = {"torch": torch.__version__, "batches": {}}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        for batch in BATCHES if batch_axes(example) else [1]:
            row = found["batches"][batch] = {}
            artifact = export(example, batch, Path(folder))
            verified = call(PACK / "tenon", "verify", artifact, "--against", folder, "--device", device, "--fallback", "cpu", seconds=120)
            row["verify"] = {"exit": verified.returncode, "says": verified.stdout.splitlines()[-4:], "error": verified.stderr[-2000:]}
            peers = {"tenon": lambda: tenon_times(artifact, device)}
            if torch.cuda.is_available():
                inputs = list(at_batch(example, batch).values())
                on_gpu = example.model.cuda()
                row |= by_turns(peers | {"eager": lambda: torch_times(on_gpu, inputs)})
                result.write_text(json.dumps(found))
                if end - time.monotonic() > COMPILE_SECONDS:
                    compiled = torch.compile(on_gpu, dynamic=False)
                    row["compiled"] = by_turns(peers | {"compiled": lambda: torch_times(compiled, inputs)})
                    torch.compiler.reset()
                example.model.cpu()
            else:
                row |= by_turns(peers)
            result.write_text(json.dumps(found))


def packed_artifact(file: Path, device: str) -> dict:
    verified = call(PACK / "tenon", "verify", file, "--against", "reference", "--device", device, "--fallback", "cpu", seconds=120)
    return {"verify": {"exit": verified.returncode, "says": verified.stdout.splitlines()[-4:], "error": verified.stderr[-2000:]}} | by_turns(
        {"tenon": lambda: tenon_times(file, device)})


def in_short(found: dict) -> str:
    """A row for each batch: "8: verified, tenon 1.2 ms, eager 3.4 ms"."""
    lines = []
    for batch, row in found.get("batches", {"as it is": found}).items():
        verified = "not verified" if row.get("verify", {}).get("exit", 1) else "verified"
        times = {name: row[name] for name in ("tenon", "eager") if name in row} | row.get("compiled", {})
        peers = [f"{name} {value['ms']:.3f} ms" if "ms" in value else f"{name} failed" for name, value in times.items()]
        lines.append(f"\n  {batch}: {', '.join([verified, *peers])}")
    return "".join(lines)


def all_models(report: Report, names: list[str], device: str, tiny: bool) -> None:
    results = {}
    for file in sorted(PACK.glob("artifacts/*.tenon")):
        results[file.stem] = packed_artifact(file, device)
        report.add("models", results, f"{file.stem}: {in_short(results[file.stem])}")
    for count, name in enumerate(names):
        seconds = report.left() / (len(names) - count)
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            command = [sys.executable, __file__, "--one", name, "--device", device, "--seconds", seconds, "--result", result]
            done = call(*command, *(["--tiny"] if tiny else []), seconds=min(2 * seconds, report.left()))
            results[name] = json.loads(result.read_text()) if result.exists() else {}
        if done.returncode:
            results[name]["error"] = tail(done, 8)
        report.add("models", results, "\n".join([f"{name}: {in_short(results[name])}", results[name].get("error", "")]).strip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out")), help="default: $OUT")
    parser.add_argument("--device", default="cuda", help="cuda or hip")
    parser.add_argument("--seconds", type=float, default=540, help="after which nothing is begun")
    parser.add_argument("--tiny", action="store_true", help="the models with tiny widths")
    parser.add_argument("--models", nargs="*", help="default: those of the pack's models.txt")
    parser.add_argument("--skip", nargs="*", default=[], choices=["selftest", "tests", "models"])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, options.device, options.tiny, options.seconds, options.result)
        return 0
    report = Report(options.out.resolve(), options.seconds)
    ask_machine(report)
    correctness = {"selftest": selftest, "tests": device_tests}
    with ThreadPoolExecutor() as pool:  # neither is timed
        running = [pool.submit(part, report, options.device) for name, part in correctness.items() if name not in options.skip]
        for part in running:
            part.result()
    if "models" not in options.skip:
        names = (PACK / "models.txt").read_text().split() if options.models is None else options.models
        all_models(report, names, options.device, options.tiny)
    parts = report.parts
    wrong = [part for part in ("selftest", "device_tests") if parts.get(part, {}).get("exit", 0)]
    wrong += [name for name, found in parts.get("models", {}).items() if "error" in found or not_verified(found)]
    print("nothing is wrong" if not wrong else f"wrong: {', '.join(wrong)}")
    return int(bool(wrong))


def not_verified(found: dict) -> bool:
    return any(row.get("verify", {}).get("exit", 1) for row in found.get("batches", {"": found}).values())


if __name__ == "__main__":
    sys.exit(main())
