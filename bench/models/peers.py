"""The programs that a model is timed on: each function makes a call of one, or says why there is none."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/peers"  # OpenVINO, ncnn and pnnx, where `./dev bench models` installed them
TOLERANCE = 1e-3  # of the largest value; a peer that is further off is not timed


class Absent(Exception):
    """This peer cannot run this model; the text says why."""


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
        got = numpy.asarray(value)
        if got.size != want.size:
            raise Absent(f"output {index} has {got.size} elements instead of {want.size}")
        error = abs(got.reshape(want.shape) - want).max() / abs(want).max()
        if not error <= TOLERANCE:
            raise Absent(f"output {index} is wrong by {error:.2g} of its largest value")


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


def module(folder: Path, threads: int):
    import torch

    import models

    torch.set_num_threads(threads)
    meta = json.loads((folder / "meta.json").read_text())
    example = models.load(meta["name"], meta["tiny"])
    if example.source is not None:
        raise Absent("published as TorchScript only")
    torch.set_num_threads(threads)  # loading sets one
    return example.model


def eager(folder: Path, threads: int) -> Callable[[], object]:
    model, inputs = module(folder, threads), torch_sample(folder)
    return lambda: model(*inputs)


def compiled(folder: Path, threads: int) -> Callable[[], object]:
    import torch

    model, inputs = torch.compile(module(folder, threads)), torch_sample(folder)
    try:
        model(*inputs)
    except Exception as error:
        raise Absent(f"torch.compile: {str(error).splitlines()[0]}") from None
    return lambda: model(*inputs)


def torchscript(folder: Path, threads: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(threads)
    script = torch.jit.load(str(existing(folder / "model.pt"))).eval()
    script = torch.jit.optimize_for_inference(torch.jit.freeze(script))
    inputs = torch_sample(folder)
    return lambda: script(*inputs)


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


def openvino(folder: Path, threads: int) -> Callable[[], object]:
    """In float32: its own default would be bfloat16 on some CPUs."""
    package = installed("openvino")
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    model = package.Core().compile_model(str(existing(folder / "model.onnx")), "CPU", config)
    request, inputs = model.create_infer_request(), sample(folder)
    return lambda: list(request.infer(inputs, share_inputs=True, share_outputs=True).values())


def ncnn(folder: Path, threads: int) -> Callable[[], object]:
    """Through pnnx, in float32; models of one image and one result."""
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
    net.opt.num_threads = threads
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
