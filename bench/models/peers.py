"""The programs that a model is timed on: each function makes a call of one, or says why there is none."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/peers"  # OpenVINO, ncnn and pnnx, where `./dev bench models` installed them
TOLERANCES = {"f32": 1e-3, "bf16": 5e-2, "f16": 1e-2, "int8": 0.5}  # of the largest value; a peer that is further off is not timed
PRECISION_HINTS = {"int8": "f32"}  # of OpenVINO, where it has another name: what is no product of integers
TORCH_NAMES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}


@dataclass(frozen=True)
class Settings:
    threads: int = 1
    precision: str = "f32"  # in which products are multiplied; inputs and outputs stay float32
    streams: int = 1  # callers at once


class Absent(Exception):
    """This peer cannot run this model; the text says why."""


def sample(folder: Path) -> list:
    import numpy

    count = len(json.loads((folder / "meta.json").read_text())["inputs"])
    return [numpy.load(folder / f"in_{index}.npy") for index in range(count)]


def torch_sample(folder: Path) -> list:
    import torch

    return [torch.from_numpy(value) if value.ndim else value.item() for value in sample(folder)]


def in_float32(settings: Settings) -> None:
    if settings.precision != "f32":
        raise Absent("it runs float32")


def check(result, folder: Path, tolerance: float = TOLERANCES["f32"]) -> None:
    """Refuses a peer that computes something else than the export did."""
    import numpy

    values = result if isinstance(result, (tuple, list)) else [result]
    for index, value in enumerate(values):
        want = numpy.load(folder / f"out_{index}.npy")
        got = numpy.asarray(value.float() if hasattr(value, "float") else value)
        if got.size != want.size:
            raise Absent(f"output {index} has {got.size} elements instead of {want.size}")
        error = abs(got.reshape(want.shape) - want).max() / abs(want).max()
        if not error <= tolerance:
            raise Absent(f"output {index} is wrong by {error:.2g} of its largest value")


def of_precision(file: str, settings: Settings) -> str:
    """model.onnx, or model.bf16.onnx."""
    stem, suffix = file.split(".")
    return file if settings.precision == "f32" else f"{stem}.{settings.precision}.{suffix}"


def existing(file: Path) -> Path:
    if not file.exists():
        raise Absent(f"there is no {file}")
    return file


def installed(package: str):
    """A package of build/peers."""
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    try:
        return __import__(package)
    except ImportError:
        raise Absent(f"{package} is not installed: ./dev bench models installs it") from None


def module(folder: Path, settings: Settings):
    """The model and its inputs, of this precision."""
    if settings.precision not in TORCH_NAMES:
        raise Absent("it runs floats")
    import torch

    import models

    meta = json.loads((folder / "meta.json").read_text())
    example = models.load(meta["name"], meta["tiny"])
    if example.source is not None:
        raise Absent("published as TorchScript only")
    torch.set_num_threads(settings.threads)  # loading sets one
    dtype = getattr(torch, TORCH_NAMES[settings.precision])
    inputs = [v.to(dtype) if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in torch_sample(folder)]
    return example.model.to(dtype), inputs


def eager(folder: Path, settings: Settings) -> Callable[[], object]:
    model, inputs = module(folder, settings)
    try:
        model(*inputs)
    except RuntimeError as error:
        raise Absent(f"eager: {str(error).splitlines()[0]}") from None
    return lambda: model(*inputs)


def compiled(folder: Path, settings: Settings) -> Callable[[], object]:
    import torch

    model, inputs = module(folder, settings)
    model = torch.compile(model)
    try:
        model(*inputs)
    except Exception as error:
        raise Absent(f"torch.compile: {str(error).splitlines()[0]}") from None
    return lambda: model(*inputs)


def torchscript(folder: Path, settings: Settings) -> Callable[[], object]:
    import torch

    in_float32(settings)
    torch.set_num_threads(settings.threads)
    script = torch.jit.load(str(existing(folder / "model.pt"))).eval()
    script = torch.jit.optimize_for_inference(torch.jit.freeze(script))
    inputs = torch_sample(folder)
    return lambda: script(*inputs)


def onnx_runtime(folder: Path, settings: Settings) -> Callable[[], object]:
    """Of 16 bits: the file that `tenon convert --precision` writes; of int8 that of quantise.py."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    name = of_precision("model.onnx", settings)
    try:
        session = onnxruntime.InferenceSession(str(existing(folder / name)), options, providers=["CPUExecutionProvider"])
    except RuntimeError as error:
        raise Absent(str(error).splitlines()[0]) from None
    feeds = {argument.name: value for argument, value in zip(session.get_inputs(), sample(folder))}
    return lambda: session.run(None, feeds)


@cache
def openvino_model(folder: Path, settings: Settings):
    """In the precision that is asked for: its own default would be bfloat16 on some CPUs."""
    name = of_precision("model.onnx", settings) if settings.precision == "int8" else "model.onnx"
    config = {
        "INFERENCE_PRECISION_HINT": PRECISION_HINTS.get(settings.precision, settings.precision),
        "INFERENCE_NUM_THREADS": settings.threads * settings.streams,
        "NUM_STREAMS": settings.streams,
        "PERFORMANCE_HINT": "LATENCY" if settings.streams == 1 else "THROUGHPUT",
    }
    return installed("openvino").Core().compile_model(str(existing(folder / name)), "CPU", config)


def openvino(folder: Path, settings: Settings) -> Callable[[], object]:
    request, inputs = openvino_model(folder, settings).create_infer_request(), sample(folder)
    return lambda: list(request.infer(inputs, share_inputs=True, share_outputs=True).values())


def ncnn(folder: Path, settings: Settings) -> Callable[[], object]:
    """Through pnnx, in float32; models of one image and one result."""
    in_float32(settings)
    package = installed("ncnn")
    inputs = sample(folder)
    if len(inputs) != 1 or inputs[0].ndim != 4 or inputs[0].shape[0] != 1:
        raise Absent("for single images only")
    work = folder / "ncnn"
    if not (work / "model.ncnn.param").exists():
        work.mkdir(exist_ok=True)
        (work / "model.pt").unlink(missing_ok=True)
        (work / "model.pt").symlink_to(existing(folder / "model.pt").resolve())
        shape = ",".join(str(size) for size in inputs[0].shape)
        command = [str(existing(PACKAGES / "pnnx/pnnx")), "model.pt", f"inputshape=[{shape}]f32", "fp16=0"]
        subprocess.run(command, cwd=work, capture_output=True)
    net = package.Net()
    net.opt.num_threads = settings.threads
    for precision in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, f"use_{precision}", False)
    net.load_param(str(existing(work / "model.ncnn.param")))
    net.load_model(str(work / "model.ncnn.bin"))
    image = package.Mat(inputs[0][0]).clone()  # the array goes

    def call():
        with net.create_extractor() as extractor:
            extractor.input("in0", image)
            return extractor.extract("out0")[1]

    return call


ALL = {
    "PyTorch eager": eager,
    "TorchScript": torchscript,
    "torch.compile": compiled,
    "ONNX Runtime": onnx_runtime,
    "OpenVINO": openvino,
    "ncnn": ncnn,
}
