#!/usr/bin/env python3
"""What a GPU says of Tenon, in one call without a network: python gpu_run.py --out FOLDER, in the folder that `./dev gpu` packs.

It asks the machine, runs `tenon doctor --selftest` and the device tests, exports the models here from their architectures (their weights
are seeded), several at once, verifies each on the GPU against PyTorch on the CPU, and times it by turns with eager PyTorch, eager PyTorch
in a CUDA graph, torch.compile (with CUDA graphs, and autotuned) and ONNX Runtime's providers, if it is there: in float32, bfloat16,
float16 and TF32, batch 1 first. Each model has an equal share of the time; --models, --skip, --batches, --precisions, --peers and several
calls give one more. Everything is in FOLDER/report.json, which is written anew after each part: what is there when the time is over is
whole.
"""

import argparse
import copy
import gzip
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median

PACK = Path(__file__).resolve().parent
sys.path.insert(0, str(PACK))

import numpy  # noqa: E402
import torch  # noqa: E402

import models  # noqa: E402

BATCHES = [1, 8, 64]
ROUNDS, SECONDS = 2, 0.4  # of a turn, of which each peer has one a round
TEST_SECONDS = 240  # of the self-test, and of the device tests
PREPARING = 8  # models at once


def unpack() -> None:
    """The programs, which travel compressed."""
    for file in PACK.glob("*.gz"):
        program = file.with_suffix("")
        program.write_bytes(gzip.decompress(file.read_bytes()))
        program.chmod(0o755)
        file.unlink()


def environment() -> dict[str, str]:
    """The caller's libraries (the soft GPU's), the pack's, and NVRTC where pip installed it with PyTorch."""
    nvidia = importlib.util.find_spec("nvidia")
    folders = [f for place in (nvidia.submodule_search_locations or [] if nvidia else []) for f in Path(place).glob("*/lib")]
    libraries = [os.environ.get("LD_LIBRARY_PATH", ""), str(PACK / "lib"), *(str(f) for f in folders if any(f.glob("libnvrtc.so*")))]
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


def selftest(report: Report, device: str, tiny: bool) -> None:
    some = ["--only", "activations"] if tiny else []
    done = call(PACK / "tenon", "doctor", "--selftest", device, *some, "--json", seconds=min(TEST_SECONDS, report.left()))
    found = as_json(done)
    wrong = [case for case in found.get("cases", []) if case["status"] in ("failed", "not run")]
    passed = sum(family["passed"] for family in found.get("families", []))
    report.add("selftest", {"exit": done.returncode} | found, f"exit code {done.returncode}: {passed} passed, {len(wrong)} did not")
    for case in wrong[:10]:
        print(f"  {case['family']}, {case['dtype']}, {case['sizes']}: {case['why']}")


def device_tests(report: Report, device: str, tiny: bool) -> None:
    """In several processes: most of the time is the compiler's."""
    shards = min(12, os.cpu_count() or 1)
    tests = "Pointwise*" if tiny else (PACK / "device_tests.txt").read_text().strip()

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

# What a model is converted to, what it is multiplied in, and PyTorch's dtype. The first ones are measured first, of each model.
PRECISIONS = {"f32": ([], [], "float32"), "bf16": (["--precision", "bf16"], [], "bfloat16"),
              "f16": (["--precision", "f16"], [], "float16"), "tf32": ([], ["--precision", "tf32"], "float32")}
TOLERANCES = {"f32": 1e-3, "f16": 1e-2, "bf16": 5e-2, "tf32": 5e-3}


@dataclass
class Workload:
    """One precision of a model, for one set of inputs."""

    set: str  # "batch 8", "prompt"
    precision: str
    inputs: dict

    @property
    def name(self) -> str:
        return f"{self.precision}, {self.set}"


def input_sets(example, batches: list[int]) -> dict[str, dict]:
    sets = {f"batch {batch}": models.at_batch(example, batch) for batch in (batches if models.batch_axes(example) else batches[:1])}
    first, *later = sets
    return {first: sets[first]} | example.others | {name: sets[name] for name in later}


def workloads(example, batches: list[int], precisions: list[str]) -> list[Workload]:
    return [Workload(name, precision, inputs) for name, inputs in input_sets(example, batches).items() for precision in precisions]


def artifact_of(folder: Path, precision: str) -> Path:
    return folder / f"{'_'.join(PRECISIONS[precision][0]).strip('-') or 'model'}.tenon"


def prepare(name: str, batches: list[int], precisions: list[str], tiny: bool, root: str) -> str:
    """Of each set of inputs a folder with an artifact for each precision, and in_K.npy and out_K.npy of eager PyTorch on the CPU in
    float32. What went wrong, else nothing."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // PREPARING))
    try:
        example = models.load(name, tiny)
        for set_name, inputs in input_sets(example, batches).items():
            folder = Path(root) / name / set_name
            folder.mkdir(parents=True)
            with torch.no_grad():
                torch.export.save(torch.export.export(example.model, tuple(inputs.values())), folder / "model.pt2")
                outputs = example.model(*inputs.values())
            outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
            for kind, values in ("in", inputs.values()), ("out", outputs):
                for index, value in enumerate(values):
                    numpy.save(folder / f"{kind}_{index}.npy", value.numpy())
            files = {artifact_of(folder, precision): PRECISIONS[precision][0] for precision in precisions}
            for file, options in (files | ({folder / "model.onnx": []} if onnx_providers() else {})).items():
                done = call(PACK / "tenon", "convert", folder / "model.pt2", "-o", file, "--no-verify", *options, seconds=120)
                if done.returncode:
                    return tail(done)
    except Exception as reason:
        return in_words(reason)
    return ""


def on_device(work: Workload | None, device: str) -> list[str]:
    return ["--device", device, "--fallback", "cpu", *(PRECISIONS[work.precision][1] if work else [])]


def verified(artifact: Path, against, work: Workload | None, device: str) -> dict:
    tolerance = ["--tolerance", TOLERANCES[work.precision]] if work else []
    done = call(PACK / "tenon", "verify", artifact, "--against", against, *on_device(work, device), *tolerance, seconds=120)
    return {"exit": done.returncode, "says": done.stdout.splitlines()[-4:], "error": done.stderr[-2000:]}


def tenon_times(artifact: Path, work: Workload | None, device: str) -> dict:
    """ms: a run, whose steps start as one graph, with copies from and to the host. steps_ms: its steps by events of one stream that is held
    back until all are enqueued: without copies, each with the gap before it. beside_steps_ms: the rest of a run, copies and what the host
    does; below zero where the graph and its streams save more than that. roofline: the steps' share of what the device could do."""
    found = as_json(call(PACK / "tenon", "profile", artifact, *on_device(work, device), "--seconds", 2 * SECONDS, "--json", "-", seconds=120))
    if "error" in found:
        return found
    steps, ms = found["steps"], found["latency_ms"]["median"]
    steps_ms = sum(step["ms"] for step in steps)
    times = {"ms": ms, "steps_ms": steps_ms, "beside_steps_ms": ms - steps_ms, "steps": len(steps),
             "host_steps": sum(step["kernel"] == "reference" for step in steps)}
    known = [step for step in steps if step.get("roofline")]
    if known:
        times["roofline"] = sum(step["ms"] * step["roofline"] for step in known) / sum(step["ms"] for step in known)
    return times


def torch_times(model, inputs: list) -> dict:
    """ms: with copies from and to the host, as tenon's. device_ms: of the GPU alone, inputs and outputs there."""
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


def onnx_providers() -> dict[str, list]:
    """ONNX Runtime's ways to this GPU, if the machine has them. They run what `tenon convert` writes as ONNX."""
    try:
        import onnxruntime
    except ImportError:
        return {}
    here = set(onnxruntime.get_available_providers())
    ways = {"ONNX Runtime CUDA": "CUDAExecutionProvider", "TensorRT": "TensorrtExecutionProvider", "MIGraphX": "MIGraphXExecutionProvider"}
    return {name: [provider] for name, provider in ways.items() if provider in here}


class OnnxSession:
    def __init__(self, file: Path, providers: list, tf32: bool):
        import onnxruntime

        options = [{"use_tf32": int(tf32)} if p == "CUDAExecutionProvider" else {} for p in providers]
        self.session = onnxruntime.InferenceSession(str(file), providers=list(zip(providers, options)))
        if self.session.get_providers()[0] != providers[0]:
            raise RuntimeError(f"{providers[0]} does not take the model")

    def times(self, inputs: list) -> dict:
        feed = {i.name: value.numpy() for i, value in zip(self.session.get_inputs(), inputs)}
        for _ in range(3):
            self.session.run(None, feed)
        whole, end = [], time.perf_counter() + SECONDS
        while len(whole) < 5 or time.perf_counter() < end:
            start = time.perf_counter()
            self.session.run(None, feed)
            whole.append(1e3 * (time.perf_counter() - start))
        return {"ms": median(whole)}


def in_words(reason: Exception) -> str:
    return f"{type(reason).__name__}: {str(reason)[-2000:]}"


def by_turns(peers: dict) -> dict:
    """Of each peer the median of its rounds, or why it has none."""
    rounds = {name: [] for name in peers}
    for turn in range(ROUNDS):
        for name in list(peers)[:: 1 if turn % 2 == 0 else -1]:
            try:
                rounds[name].append(peers[name]())
            except Exception as reason:  # torch.compile raises what it likes
                rounds[name].append({"error": in_words(reason)})
    good = {name: [r for r in list_ if "error" not in r] for name, list_ in rounds.items()}
    return {name: {key: median(r[key] for r in list_) for key in list_[0]} if list_ else rounds[name][0] for name, list_ in good.items()}


def in_a_graph(model, inputs: list):
    """Eager PyTorch's kernels as one CUDA graph, which copies its inputs to where it was captured."""
    there = [value.cuda() for value in inputs]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(*there)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        result = model(*there)

    def run(*values):
        for to, value in zip(there, values):
            to.copy_(value)
        graph.replay()
        return result

    return run


PEERS = {"eager": lambda model, inputs: model, "eager, CUDA graph": in_a_graph} | {
    f"torch.compile, {mode}": lambda model, inputs, mode=mode: torch.compile(model, dynamic=False, mode=mode)
    for mode in ("reduce-overhead", "max-autotune")}


def peers_of(example, work: Workload, folder: Path, wanted: list[str]) -> dict:
    """A function for each that can begin, which gives its times; else why it cannot."""
    dtype = getattr(torch, PRECISIONS[work.precision][2])
    model = copy.deepcopy(example.model).to("cuda", dtype)
    inputs = [value.to(dtype) if value.is_floating_point() else value for value in work.inputs.values()]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = work.precision == "tf32"

    def failed(reason):
        raise reason

    def begin(make):
        try:
            return make()
        except Exception as reason:
            return partial(failed, reason)

    def of_torch(name: str):
        module = PEERS[name](model, inputs)
        torch_times(module, inputs)  # compiles
        return lambda: torch_times(module, inputs)

    def of_onnx(providers: list):
        session = OnnxSession(folder / "model.onnx", providers, work.precision == "tf32")
        return lambda: session.times(list(work.inputs.values()))

    return ({name: begin(partial(of_torch, name)) for name in PEERS if name in wanted} |
            {name: begin(partial(of_onnx, providers)) for name, providers in onnx_providers().items()})


@dataclass
class Plan:
    """What is measured of each model."""

    device: str
    batches: list[int]
    precisions: list[str]
    peers: list[str]
    tiny: bool
    prepared: str  # the folder


def measure(name: str, plan: Plan, seconds: float, result: Path) -> None:
    """Writes what it knows after each workload."""
    end = time.monotonic() + seconds
    found = {"torch": torch.__version__, "workloads": {}}
    example = models.load(name, plan.tiny)
    with torch.no_grad():
        for work in workloads(example, plan.batches, plan.precisions):
            if found["workloads"] and time.monotonic() > end:
                break
            row = found["workloads"][work.name] = {}
            folder = Path(plan.prepared) / name / work.set
            artifact = artifact_of(folder, work.precision)
            try:
                row["verify"] = verified(artifact, folder, work, plan.device)
                of_torch = peers_of(example, work, folder, plan.peers) if torch.cuda.is_available() else {}
                times = by_turns({"tenon": partial(tenon_times, artifact, work, plan.device)} | of_torch)
                row |= {"tenon": times.pop("tenon"), "peers": times}
            except Exception as reason:  # the next one may still be measured
                row["error"] = in_words(reason)
            torch.compiler.reset()
            result.write_text(json.dumps(found))


def packed_artifact(file: Path, device: str) -> dict:
    return {"workloads": {"as it is": {"verify": verified(file, "reference", None, device)} |
                          by_turns({"tenon": partial(tenon_times, file, None, device)})}}


def best_peer(row: dict) -> tuple[str, float] | None:
    """Which was fastest, and tenon's time over its, measured by turns."""
    tenon = row.get("tenon", {}).get("ms")
    ratios = {name: tenon / times["ms"] for name, times in row.get("peers", {}).items() if tenon and "ms" in times}
    return max(ratios.items(), key=lambda item: item[1]) if ratios else None


def in_short(found: dict) -> str:
    """A row for each workload: "f32, batch 8: verified, tenon 1.2 ms, 0.71 of torch.compile, max-autotune"."""
    lines = []
    for name, row in found.get("workloads", {}).items():
        parts = [row["error"]] if "error" in row else ["not verified" if row.get("verify", {}).get("exit", 1) else "verified"]
        if "ms" in row.get("tenon", {}):
            parts.append(f"tenon {row['tenon']['ms']:.3f} ms")
        if best := best_peer(row):
            parts.append(f"{best[1]:.2f} of {best[0]}")
        lines.append(f"\n  {name}: {', '.join(parts)}")
    return "".join(lines)


def summary(results: dict) -> dict:
    """Of each precision the geometric mean and the worst of the ratios to the best peer."""
    ratios = {}
    for model, found in results.items():
        for name, row in found.get("workloads", {}).items():
            if best := best_peer(row):
                ratios.setdefault(name.split(",")[0], []).append((best[1], f"{model}, {name}"))
    return {precision: {"workloads": len(list_), "geometric_mean": geometric_mean(ratio for ratio, _ in list_), "worst": max(list_)}
            for precision, list_ in ratios.items()}


def all_models(report: Report, names: list[str], plan: Plan) -> None:
    results = {}
    for file in sorted(PACK.glob("artifacts/*.tenon")):
        results[file.stem] = packed_artifact(file, plan.device)
        report.add("models", results, f"{file.stem}: {in_short(results[file.stem])}")
    with ProcessPoolExecutor(PREPARING) as pool:
        preparing = {name: pool.submit(prepare, name, plan.batches, plan.precisions, plan.tiny, plan.prepared) for name in names}
        failures = {name: done.result() for name, done in preparing.items()}
    for count, name in enumerate(names):
        seconds = report.left() / (len(names) - count)
        result = Path(plan.prepared) / f"{name}.json"
        if failures[name]:
            results[name] = {"error": failures[name]}
        else:
            command = [sys.executable, __file__, "--one", name, "--seconds", seconds, "--result", result, "--plan", json.dumps(asdict(plan))]
            done = call(*command, seconds=min(2 * seconds, report.left()))
            results[name] = json.loads(result.read_text()) if result.exists() else {}
            if done.returncode == 124:
                results[name]["stopped"] = tail(done, 8)  # its time was over
            elif done.returncode:
                results[name]["error"] = tail(done, 8)
        why = results[name].get("error") or results[name].get("stopped", "")
        report.add("models", results, "\n".join([f"{name}: {in_short(results[name])}", why]).strip())
    for precision, of in summary(results).items():
        report.add(f"summary {precision}", of, f"{of['geometric_mean']:.2f} of the best peer, {of['workloads']} workloads; worst: "
                   f"{of['worst'][0]:.2f} ({of['worst'][1]})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "out")), help="default: $OUT")
    parser.add_argument("--device", default="cuda", help="cuda or hip")
    parser.add_argument("--seconds", type=float, default=540, help="after which nothing is begun")
    parser.add_argument("--tiny", action="store_true", help="the models with tiny widths, and a few of the tests")
    parser.add_argument("--models", nargs="*", help="default: those of the pack's models.txt")
    parser.add_argument("--batches", nargs="*", type=int, default=BATCHES, help="default: 1 8 64")
    parser.add_argument("--precisions", nargs="*", default=list(PRECISIONS), choices=PRECISIONS)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS, help="of PyTorch")
    parser.add_argument("--skip", nargs="*", default=[], choices=["selftest", "tests", "models"])
    for name, kind in ("--one", str), ("--result", Path), ("--plan", json.loads):
        parser.add_argument(name, type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one, Plan(**options.plan), options.seconds, options.result)
        return 0
    report = Report(options.out.resolve(), options.seconds)
    unpack()
    ask_machine(report)
    correctness = {"selftest": selftest, "tests": device_tests}
    with ThreadPoolExecutor() as pool:  # neither is timed
        running = [pool.submit(part, report, options.device, options.tiny) for name, part in correctness.items() if name not in options.skip]
        for part in running:
            part.result()
    if "models" not in options.skip:
        names = (PACK / "models.txt").read_text().split() if options.models is None else options.models
        precisions = [p for p in options.precisions if p != "tf32" or options.device.startswith("cuda")]
        with tempfile.TemporaryDirectory() as folder:
            all_models(report, names, Plan(options.device, options.batches, precisions, options.peers, options.tiny, folder))
    parts = report.parts
    wrong = [part for part in ("selftest", "device_tests") if parts.get(part, {}).get("exit", 0)]
    wrong += [name for name, found in parts.get("models", {}).items() if "error" in found or not_verified(found)]
    print("nothing is wrong" if not wrong else f"wrong: {', '.join(wrong)}")
    return int(bool(wrong))


def not_verified(found: dict) -> bool:
    return any(row.get("verify", {}).get("exit", 1) for row in found.get("workloads", {}).values())


if __name__ == "__main__":
    sys.exit(main())
