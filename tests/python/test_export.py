"""`tenon convert -o model.onnx` and the other forms: ONNX Runtime gives PyTorch's numbers, files are whole or not there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors import safe_open
from torch.nn.functional import interpolate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

DONE, DIFFERS, BAD_INPUT, UNSUPPORTED = 0, 1, 2, 3
TINY = ("bert_large", "decoder", "gcn", "lstm", "minilm", "mlp", "resnet50", "resnet9", "transformer", "unet", "vit_b16", "xml_cnn")
FULL = ("mlp", "resnet9", "resnet50", "unet", "minilm")

# Sizes that vary, as --input gives them; and others than those of the trace.
VARYING = {
    "resnet9": (["x=f32[N,3,32,32]"], {"x": (3, 3, 32, 32)}),
    "vit_b16": (["x=f32[N,3,32,32]"], {"x": (3, 3, 32, 32)}),
    "transformer": (["tokens=i64[N,S]"], {"tokens": (3, 7)}),
    "decoder": (
        ["tokens=i64[N,S]", "keys=f32[2,N,2,P,8]", "values=f32[2,N,2,P,8]"],
        {"tokens": (3, 4), "keys": (2, 3, 2, 7, 8), "values": (2, 3, 2, 7, 8)},
    ),
    "bert_large": (["input_ids=i64[N,S]", "attention_mask=i64[N,S]"], {"input_ids": (3, 7), "attention_mask": (3, 7)}),
}


def session_of(path: Path):
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def arrays(folder: Path, kind: str) -> list[np.ndarray]:
    return [np.load(f) for f in sorted(folder.glob(f"{kind}_*.npy"))]


def assert_near(got, expected):
    assert len(got) == len(expected)
    for value, wanted in zip(got, expected):
        assert value.dtype == wanted.dtype and value.shape == wanted.shape
        np.testing.assert_allclose(value, wanted, rtol=0, atol=2e-5 * np.abs(wanted).max())


def converted(run, tmp_path, source: Path, *options) -> Path:
    run("convert", source, "-o", "model.onnx", "--no-verify", *options, code=DONE)
    return tmp_path / "model.onnx"


@pytest.mark.parametrize("form", ("model.pt", "model.pt2"))
@pytest.mark.parametrize("name", TINY)
def test_tiny_models_in_onnx_runtime(run, tmp_path, exported_tiny, name, form):
    folder = exported_tiny(name)
    session = session_of(converted(run, tmp_path, folder / form))
    inputs = {i.name: value for i, value in zip(session.get_inputs(), arrays(folder, "in"))}
    assert_near(session.run(None, inputs), arrays(folder, "out"))


@pytest.mark.parametrize("name", FULL)
def test_full_models_in_onnx_runtime(run, tmp_path, exported, name):
    folder = exported(name)
    session = session_of(converted(run, tmp_path, folder / "model.pt"))
    inputs = {i.name: value for i, value in zip(session.get_inputs(), arrays(folder, "in"))}
    assert_near(session.run(None, inputs), arrays(folder, "out"))


@pytest.mark.parametrize("name", VARYING)
def test_sizes_vary(run, tmp_path, exported_tiny, name):
    types, shapes = VARYING[name]
    source = exported_tiny(name) / "model.pt"
    options = [o for t in types for o in ("--input", t)]
    session = session_of(converted(run, tmp_path, source, *options))
    assert all("N" in i.shape for i in session.get_inputs())
    random = np.random.default_rng(0)
    inputs = {}
    for i in session.get_inputs():
        shape = shapes[i.name]
        inputs[i.name] = random.random(shape, np.float32) if i.type == "tensor(float)" else random.integers(0, 2, shape)
        np.save(tmp_path / f"{i.name}.npy", inputs[i.name])
        options += ["--input", f"{i.name}={i.name}.npy"]
    run("convert", source, "-o", "model.tenon", "--no-verify", *options[: 2 * len(types)], code=DONE)
    run("run", "model.tenon", *options[2 * len(types) :], "--output", "out.npz", code=DONE)
    with np.load(tmp_path / "out.npz") as expected:
        assert_near(session.run(None, inputs), list(expected.values()))


def test_states_are_inputs_and_outputs(run, tmp_path, exported_tiny):
    folder = exported_tiny("silero_vad")
    session = session_of(converted(run, tmp_path, folder / "model.pt", "--input", "x=f32[1,512]", "--input", "sr=16000"))
    states = [i for i in session.get_inputs() if i.name.startswith("state.")]
    assert states and {s.name + "_out" for s in states} <= {o.name for o in session.get_outputs()}
    zeros = {s.name: np.zeros(s.shape, bool if s.type == "tensor(bool)" else np.float32) for s in states}
    first = session.run(None, {"x": arrays(folder, "in")[0], **zeros})
    assert_near(first[:1], arrays(folder, "out"))


@pytest.mark.parametrize("name", ("resnet9", "minilm", "lstm"))
def test_the_way_back(run, tmp_path, exported_tiny, name):
    """What is read again gives the same numbers; an artifact and the ONNX model itself can be written, too."""
    folder = exported_tiny(name)
    converted(run, tmp_path, folder / "model.pt")
    run("convert", "model.onnx", "-o", "again.onnx", "--no-verify", code=DONE)
    run("convert", folder / "model.pt", "-o", "model.tenon", "--no-verify", code=DONE)
    run("convert", "model.tenon", "-o", "fused.onnx", code=DONE)
    said = run("convert", "model.tenon", "-o", "other.onnx", "--input", "f32[1,3,8,8]", code=BAD_INPUT)
    assert "an artifact has its types" in said
    for file in ("again.onnx", "fused.onnx"):
        session = session_of(tmp_path / file)
        inputs = {i.name: value for i, value in zip(session.get_inputs(), arrays(folder, "in"))}
        assert_near(session.run(None, inputs), arrays(folder, "out"))
    given = [o for i, f in zip(session.get_inputs(), sorted(folder.glob("in_*.npy"))) for o in ("--input", f"{i.name}={f}")]
    run("run", "again.onnx", *given, "--output", "out.npz", code=DONE)
    with np.load(tmp_path / "out.npz") as out:
        assert_near(list(out.values()), arrays(folder, "out"))


def test_the_model_is_verified_and_so_is_the_file(run, tmp_path, exported_tiny):
    said = run("convert", exported_tiny("mlp") / "model.pt", "-o", "model.onnx", code=DONE)
    assert re.search(r"model.onnx: the model as ONNX, equal to LibTorch \(relative error .*\); "
                     r"ONNX Runtime gives the same from the file \(relative error", said)


def test_states_are_given_when_the_file_is_run(run, tmp_path, exported_tiny):
    source = exported_tiny("silero_vad") / "model.pt"
    said = run("convert", source, "-o", "model.onnx", "--input", "x=f32[1,512]", "--input", "sr=16000", code=DONE)
    assert "ONNX Runtime gives the same from the file" in said


def test_the_file_of_an_artifact_gives_the_outputs_it_holds(run, tmp_path, exported_tiny):
    run("convert", exported_tiny("lstm") / "model.pt", "-o", "model.tenon", code=DONE)
    assert "ONNX Runtime gives the same from the file" in run("convert", "model.tenon", "-o", "model.onnx", code=DONE)


def test_without_onnx_runtime_the_file_is_written_and_not_run(run_alone, tmp_path, exported_tiny):
    said = run_alone("convert", exported_tiny("mlp") / "model.pt", "-o", "model.onnx", code=DONE, TENON_PYTHON="no-such-python")
    assert "equal to LibTorch" in said and "; the file was not run: ONNX Runtime gives no result" in said
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]


def test_a_file_that_computes_something_else_is_not_written(run_alone, tmp_path, exported_tiny):
    wrong = tmp_path / "wrong_python"
    wrong.write_text(f"""#!/bin/sh
{sys.executable} "$@" && {sys.executable} -c '
import onnx, sys
from onnx.numpy_helper import from_array, to_array
onnx.save_tensor(from_array(to_array(onnx.load_tensor(sys.argv[1])) + 1), sys.argv[1])' "$5/out_0.pb"
""")
    wrong.chmod(0o755)
    (tmp_path / "model.onnx").write_text("what was there before")
    said = run_alone("convert", exported_tiny("mlp") / "model.pt", "-o", "model.onnx", code=DIFFERS, TENON_PYTHON=str(wrong))
    assert "ONNX Runtime computes another" in said and "from the written file" in said
    assert (tmp_path / "model.onnx").read_text() == "what was there before"
    assert {p.name for p in tmp_path.iterdir()} == {"model.onnx", "wrong_python"}


def test_onnx_own_cases_written_again(tenon):
    from round_trip import GOOD, measure

    records = measure(tenon, "test_[cflmrst][aeho]*_[abdeinot]*", ["node"], jobs=2)
    amiss = [r for r in records if r["verdict"] not in GOOD]
    assert not amiss, "\n".join(f"{r['verdict']} {r['case']}: {r['reason']}" for r in amiss)
    equal = [r for r in records if r["verdict"].startswith("equal")]
    assert len(records) > 300 and len(equal) > 0.9 * len(records)


def test_the_source_lines_are_kept(run, tmp_path, exported_tiny):
    model = onnx.load(converted(run, tmp_path, exported_tiny("resnet9") / "model.pt"))
    conv = next(n for n in model.graph.node if n.op_type == "Conv")
    lines = {p.key: p.value for p in conv.metadata_props}
    assert re.fullmatch(r'File "\w+\.py", line \d+', lines["pkg.torch.onnx.stack_trace"])
    said = run("convert", "model.onnx", "--print-ir=imported", code=DONE)
    own = run("convert", exported_tiny("resnet9") / "model.pt", "--print-ir=imported", code=DONE)
    place = next(line.split("# ")[1] for line in own.splitlines() if "= conv(" in line)
    assert place in said


def test_weights_as_safetensors(run, tmp_path, exported_tiny):
    run("convert", exported_tiny("resnet9") / "model.pt", "-o", "weights.safetensors", code=DONE)
    listed = run("inspect", exported_tiny("resnet9") / "model.pt", "--weights", code=DONE)
    with safe_open(tmp_path / "weights.safetensors", "np") as file:
        assert file.keys()
        for name in file.keys():
            assert re.search(rf"\b{re.escape(name)}$", listed, re.MULTILINE), name


WHOLE = torch.tensor([-7, 2**53 + 1, -(2**63 - 1), 5])  # some of which no double holds
LINE = torch.arange(4.0).reshape(1, 1, 4)


@pytest.mark.parametrize("function, x", [
    (lambda a: torch.fmod(a, 3), WHOLE),
    (lambda a: a % 3, WHOLE),
    (lambda a: a // -3, WHOLE),
    (lambda a: a >> 1, WHOLE),
    (lambda a: torch.clamp(a, max=2**63 - 1), WHOLE),
    (lambda a: torch.clamp(a, min=2**53 + 1), WHOLE),
    (lambda a: torch.full((4,), 2**53 + 1) + a * 0, WHOLE),
    (lambda x: interpolate(x, scale_factor=2, mode="nearest-exact"), LINE),
    (lambda x: interpolate(x, size=12, mode="nearest-exact"), LINE),
    (lambda x: interpolate(x, size=6, mode="nearest"), LINE),
])
def test_exactly_as_pytorch(run, tmp_path, function, x):
    """By our own kernels, and by ONNX Runtime from the exported model."""
    class Module(torch.nn.Module):
        def forward(self, x):
            return function(x)

    torch.jit.trace(Module(), x).save(str(tmp_path / "model.pt"))
    np.save(tmp_path / "x.npy", x.numpy())
    run("run", "model.pt", "--input", "x.npy", "--output", "y.npy", code=DONE)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), function(x).numpy())
    run("convert", "model.pt", "--input", "x.npy", "-o", "model.onnx", "--no-verify", code=DONE)
    session = session_of(tmp_path / "model.onnx")
    (y,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_array_equal(y, function(x).numpy())


@pytest.mark.parametrize("name", ("resnet9", "lstm"))
def test_a_drawing(run, tmp_path, exported_tiny, name):
    run("convert", exported_tiny(name) / "model.pt", "-o", "model.dot", code=DONE)
    drawn = subprocess.run(["dot", "-Tsvg", tmp_path / "model.dot"], capture_output=True, text=True)
    assert drawn.returncode == 0 and not drawn.stderr, drawn.stderr
    assert drawn.stdout.count('class="cluster"') > 3


def test_a_drawing_of_a_loop(run, tmp_path, exported_tiny):
    types = ("tokens=i64[B,S]", "hidden=f32[2,B,16]", "cell=f32[2,B,16]")
    run("convert", exported_tiny("lstm") / "model.scripted.pt", "-o", "model.dot", *[o for t in types for o in ("--input", t)],
        code=DONE)
    drawn = subprocess.run(["dot", "-Tplain", tmp_path / "model.dot"], capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    assert re.search(r'"loop\b', drawn.stdout)


def is_value(v) -> bool:
    return v.keys() == {"name", "dtype", "shape"} and all(isinstance(s, int | str) for s in v["shape"])


def check_nodes(nodes: list, known: set[str]) -> None:
    """Every node has the schema's fields, and its operands stand above it."""
    for node in nodes:
        assert node.keys() == {"op", "attributes", "inputs", "outputs", "regions", "source"}
        assert node["source"].keys() == {"modules", "file", "line"}
        for operand in node["inputs"]:
            assert operand in known if isinstance(operand, str) else operand.keys() == {"literal", "dtype"}
        for region in node["regions"]:
            assert region.keys() == {"parameters", "nodes", "results"}
            inner = known | {p["name"] for p in region["parameters"]}
            check_nodes(region["nodes"], inner)
        assert all(is_value(v) for v in node["outputs"])
        known |= {v["name"] for v in node["outputs"]}


@pytest.mark.parametrize("name", TINY)
def test_a_graph_as_json(run, tmp_path, exported_tiny, name):
    run("convert", exported_tiny(name) / "model.pt", "-o", "model.json", code=DONE)
    graph = json.loads((tmp_path / "model.json").read_text())
    assert list(graph) == ["schema", "tenon", "name", "symbols", "weights", "inputs", "nodes", "outputs"]
    assert graph["schema"] == "tenon.graph/1"
    known = {v["name"] for v in graph["weights"] + graph["inputs"]}
    assert all(is_value(v) for v in graph["weights"] + graph["inputs"])
    check_nodes(graph["nodes"], known)
    assert all(o.keys() == {"name", "value"} and o["value"] in known for o in graph["outputs"])


@pytest.mark.parametrize("suffix", (".onnx", ".safetensors", ".dot", ".json", ".tenon"))
def test_nothing_is_left_where_nothing_can_be_written(run, tmp_path, exported_tiny, suffix):
    source = exported_tiny("mlp") / "model.pt"
    (tmp_path / f"folder{suffix}").mkdir()
    said = run("convert", source, "-o", f"folder{suffix}", "--no-verify", code=BAD_INPUT)
    assert "this is a folder, not a file" in said
    said = run("convert", source, "-o", f"no/such/m{suffix}", "--no-verify", code=BAD_INPUT)
    assert "there is no folder no/such" in said
    assert [p.name for p in tmp_path.iterdir()] == [f"folder{suffix}"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_locked(run, tmp_path, exported_tiny):
    (tmp_path / "locked").mkdir(mode=0o555)
    assert "cannot be written" in run("convert", exported_tiny("mlp") / "model.pt", "-o", "locked/m.onnx", code=BAD_INPUT)


def test_an_unknown_suffix(run, exported_tiny):
    said = run("convert", exported_tiny("mlp") / "model.pt", "-o", "model.onxx", code=BAD_INPUT)
    assert "'.onxx' is none that Tenon knows" in said
    assert ".onnx the model as ONNX" in said


def test_what_onnx_cannot_hold_is_one_list(run, tmp_path):
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.fft.rfft(x).abs(), torch.lgamma(x), torch.cumprod(x, 0)

    torch.jit.trace(Net(), torch.ones(4)).save(tmp_path / "net.pt")
    said = run("convert", "net.pt", "-o", "net.onnx", "--no-verify", code=UNSUPPORTED)
    assert "error: ONNX cannot hold the model:" in said
    for line in ("lgamma: operator set 21 has nothing", "cumprod: operator set 21 has nothing", "real_fft: ONNX's operators do not take"):
        assert f"  {line}" in said
    assert not (tmp_path / "net.onnx").exists()


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_scattered_reductions(run, tmp_path, reduce, include_self, dtype):
    class Scattered(torch.nn.Module):
        def forward(self, x, index, src):
            return x.scatter_reduce(1, index, src, reduce, include_self=include_self)

    torch.manual_seed(0)
    x, src = (torch.randint(-5, 6, (3, 6)).to(dtype) for _ in range(2))
    index = torch.randint(0, 4, (3, 5))
    torch.jit.trace(Scattered(), (x, index, src)).save(tmp_path / "model.pt")
    if reduce == "mean" and dtype == torch.int64:
        assert "the average of whole numbers" in run("convert", "model.pt", "-o", "model.onnx", "--no-verify", code=UNSUPPORTED)
        return
    session = session_of(converted(run, tmp_path, tmp_path / "model.pt"))
    given = {i.name: v.numpy() for i, v in zip(session.get_inputs(), (x, index, src))}
    np.testing.assert_allclose(session.run(None, given)[0], Scattered()(x, index, src).numpy(), rtol=1e-6)


def test_the_sign_of_nan_is_zero(run, tmp_path):
    class Sign(torch.nn.Module):
        def forward(self, x):
            return torch.sign(x)

    x = torch.tensor([float("nan"), -2.0, 0.0, 3.0])
    torch.jit.trace(Sign(), x).save(tmp_path / "model.pt")
    session = session_of(converted(run, tmp_path, tmp_path / "model.pt"))
    np.testing.assert_array_equal(session.run(None, {session.get_inputs()[0].name: x.numpy()})[0], Sign()(x).numpy())
