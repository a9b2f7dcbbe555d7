"""What `tenon verify` and `tenon equiv` promise: a difference is never only "failed", and each reference works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

DONE, DIFFERS, BAD_INPUT, ENVIRONMENT = 0, 1, 2, 4


@pytest.fixture
def cli(tenon, tmp_path):
    def run(*arguments, code=None, **environment):
        done = subprocess.run([tenon, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, env={**os.environ, **environment})
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done

    return run


def record(cli, tmp_path, *arguments, **options):
    done = cli(*arguments, "--json", "record.json", **options)
    return done, json.loads((tmp_path / "record.json").read_text())


def stored(folder, values, what):
    folder.mkdir(exist_ok=True)
    for k, value in enumerate(values):
        numpy.save(folder / f"{what}_{k}.npy", value)


@pytest.mark.parametrize("model", ["resnet9", "unet", "minilm", "lstm"])
def test_torch_and_reference_agree(cli, tmp_path, exported_tiny, model):
    file = exported_tiny(model) / "model.pt"
    for against in ("torch", "reference"):
        done, found = record(cli, tmp_path, "verify", file, "--against", against, "--samples", 2, code=DONE)
        assert "verified" in done.stdout and found["ok"]
        assert len({o["sample"] for o in found["outputs"]}) == 2
        assert all(o["relative"] <= 1e-4 and o["cosine"] > 0.999 for o in found["outputs"])


@pytest.mark.parametrize("model", ["resnet9", "unet", "minilm", "lstm"])
def test_bisection_finds_nothing_in_right_models(cli, tmp_path, exported_tiny, model):
    """Nothing is named, and what rounding does is reported."""
    file = exported_tiny(model) / "model.pt"
    done, found = record(cli, tmp_path, "verify", file, "--bisect", code=DONE)
    assert found["bisect"]["first"] is None, done.stdout
    assert all(d["difference"]["relative"] < 1e-4 for d in found["bisect"]["largest"])
    done, found = record(cli, tmp_path, "verify", file, "--bisect=rewrites", code=DONE)
    assert found["bisect_rewrites"] is None, done.stdout


def test_a_difference_says_where_and_how_large(cli, tmp_path, exported_tiny):
    folder = exported_tiny("resnet9")
    expected = numpy.load(folder / "out_0.npy")
    expected[0, 3] += 0.5
    stored(tmp_path / "case", [numpy.load(folder / "in_0.npy")], "in")
    stored(tmp_path / "case", [expected], "out")
    done, found = record(cli, tmp_path, "verify", folder / "model.pt", "--against", "case", code=DIFFERS)
    for words in ("DIFFERS", "at [0,3]", "mean error", "needed: --tolerance", "errors, as a share of the largest value"):
        assert words in done.stdout, done.stdout
    (output,) = found["outputs"]
    assert output["worst"] == [0, 3] and abs(output["max_error"] - 0.5) < 1e-4
    assert sum(b["count"] for b in output["histogram"]) + output["exact"] == output["elements"]
    needed = output["needed_tolerance"]
    cli("verify", folder / "model.pt", "--against", "case", "--tolerance", needed * 1.01, code=DONE)
    cli("verify", folder / "model.pt", "--against", "case", "--tolerance", needed * 0.99, code=DIFFERS)
    cli("verify", folder / "model.pt", "--against", "case", "--rtol", output["needed_rtol"] * 1.01, code=DONE)
    cli("verify", folder / "model.pt", "--against", "case", "--atol", 0.51, code=DONE)
    cli("verify", folder / "model.pt", "--against", "case", "--atol", 0.49, code=DIFFERS)


def test_a_folder_says_the_types_that_torchscript_does_not(cli, tmp_path, exported_tiny):
    torch = pytest.importorskip("torch")
    x, n = torch.randn(3, 4), torch.tensor([5, 6])

    class Scaled(torch.nn.Module):
        def forward(self, x, n):
            return x * n.sum()

    function = torch.jit.script(Scaled())
    function.save(str(tmp_path / "model.pt"))
    folder = tmp_path / "stored"
    stored(folder, [x.numpy(), n.numpy()], "in")
    stored(folder, [function(x, n).numpy()], "out")
    assert "verified" in cli("verify", "model.pt", "--against", folder, code=DONE).stdout
    refused = cli("verify", "model.pt", "--against", folder, "--input", "x=f32[3,5]", "--input", "n=i64[2]", code=BAD_INPUT)
    assert "has shape [3,4]" in refused.stderr


def test_onnx_test_data(cli, tmp_path, exported_tiny):
    """test_data_set_N, as the onnx package writes it: raw and typed data."""
    onnx = pytest.importorskip("onnx")
    folder = exported_tiny("mlp")
    x, y = numpy.load(folder / "in_0.npy"), numpy.load(folder / "out_0.npy")
    for n, tensor in enumerate((
            lambda name, a: onnx.numpy_helper.from_array(a, name),
            lambda name, a: onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, a.shape, a.flatten()))):
        (tmp_path / f"case/test_data_set_{n}").mkdir(parents=True)
        (tmp_path / f"case/test_data_set_{n}/input_0.pb").write_bytes(tensor("x", x).SerializeToString())
        (tmp_path / f"case/test_data_set_{n}/output_0.pb").write_bytes(tensor("y", y).SerializeToString())
    done = cli("verify", folder / "model.pt", "--against", "case", code=DONE)
    assert "test_data_set_0" in done.stdout and "test_data_set_1" in done.stdout


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                   "float16", "float32", "float64"])
def test_tensor_protos_of_every_dtype(cli, tmp_path, dtype):
    """A model that returns its input gives the tensor back."""
    torch, onnx = pytest.importorskip("torch"), pytest.importorskip("onnx")
    values = (numpy.arange(6) - (0 if dtype[0] in "bu" else 2)).astype(dtype).reshape(2, 3)

    class Same(torch.nn.Module):
        def forward(self, x):
            return x.reshape(3, 2)

    torch.jit.trace(Same(), torch.from_numpy(values)).save(str(tmp_path / "same.pt"))
    for typed in (False, True):
        def tensor(array, typed=typed):
            if not typed:
                return onnx.numpy_helper.from_array(array)
            return onnx.helper.make_tensor("", onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape,
                                           array.flatten())

        case = tmp_path / "case/test_data_set_0"
        case.mkdir(parents=True, exist_ok=True)
        (case / "input_0.pb").write_bytes(tensor(values).SerializeToString())
        (case / "output_0.pb").write_bytes(tensor(values.reshape(3, 2)).SerializeToString())
        done, found = record(cli, tmp_path, "verify", "same.pt", "--against", "case", code=DONE)
        assert found["outputs"][0]["exact"] == 6


def test_onnxruntime(cli, run_alone, tmp_path):
    export = Path(__file__).parents[2] / "models/export.py"
    subprocess.run([sys.executable, export, "mlp", "--tiny", "--onnx", "--out", tmp_path], check=True, capture_output=True)
    folder = tmp_path / "mlp"
    onnx = folder / "model.onnx"
    compare = ["verify", folder / "model.pt", "--against", "onnxruntime", "--source", onnx]
    assert "verified" in run_alone(*compare, code=DONE, TENON_PYTHON=sys.executable)
    said = run_alone(*compare, code=ENVIRONMENT, TENON_PYTHON="no-such-python")
    assert "error: ONNX Runtime gives no result: there is no program no-such-python (TENON_PYTHON)" in said
    assert "pip install onnxruntime" in said
    done = cli("verify", folder / "model.pt", "--against", "onnxruntime", code=BAD_INPUT)
    assert "--source model.onnx" in done.stderr


def test_wrong_use(cli, tmp_path, exported_tiny):
    file = exported_tiny("mlp") / "model.pt"
    (tmp_path / "empty").mkdir()
    for arguments, words in [
        (["--against", "pytorch"], "nothing to compare with"),
        (["--against", "empty"], "holds no sample"),
        (["--bisect=nodes"], "--bisect"),
        (["--samples", "0"], "--samples"),
        (["--against", "onnxruntime", "--source", "none.onnx"], "none.onnx"),
    ]:
        done = cli("verify", file, *arguments, code=BAD_INPUT)
        assert words in done.stderr, done.stderr
    cli("convert", file, "-o", "m.tenon", code=DONE)
    assert "--source" in cli("verify", "m.tenon", code=BAD_INPUT).stderr
    assert "source model" in cli("verify", "m.tenon", "--against", "reference", "--bisect=rewrites",
                                 code=BAD_INPUT).stderr
    done = cli("verify", "m.tenon", "--against", "reference", "--bisect", code=DONE)
    assert "no node differs" in done.stdout


@pytest.mark.parametrize("model", ["resnet9", "unet", "minilm", "transformer", "gcn"])
def test_properties_hold(cli, tmp_path, exported_tiny, model):
    done, found = record(cli, tmp_path, "verify", exported_tiny(model) / "model.pt", "--properties", code=DONE)
    verdicts = {p["name"]: p for p in found["properties"]}
    assert verdicts["run twice"]["verdict"] == "identical", done.stdout
    assert all(p["ok"] for p in found["properties"])
    assert all(p["detail"] for p in found["properties"] if p["verdict"] == "not applicable")


def test_rows_that_are_mixed_on_purpose_are_no_failure(cli, tmp_path):
    torch = pytest.importorskip("torch")

    class Centred(torch.nn.Module):
        def forward(self, x):
            return x - x.mean(0, keepdim=True)

    torch.jit.trace(Centred(), torch.randn(4, 8)).save(str(tmp_path / "centred.pt"))
    done = cli("verify", "centred.pt", "--properties", code=DONE)
    assert "the model itself mixes rows" in done.stdout, done.stdout


def test_traced_and_scripted_are_equivalent(cli, tmp_path, exported_tiny):
    folder = exported_tiny("resnet9")
    size = "x=f32[N,3,32,32]"
    done, found = record(cli, tmp_path, "equiv", folder / "model.pt", folder / "model.scripted.pt", "-i", size,
                         "--strict", code=DONE)
    assert found["same_numbers"] and found["same_graph"], done.stdout
    assert "same numbers, same fused graph" in done.stdout


def test_equiv_tells_numbers_from_graphs(cli, tmp_path):
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(8, 4)
    x = torch.randn(3, 8)

    def save(name, *layers, example=x):
        torch.jit.trace(torch.nn.Sequential(*layers), example).save(str(tmp_path / name))
        return name

    class LongWay(torch.nn.Module):
        def forward(self, x):
            return torch.maximum(x, torch.zeros_like(x))

    a = save("a.pt", linear, torch.nn.ReLU())
    b = save("b.pt", linear, LongWay())
    done = cli("equiv", a, b, code=DONE)
    assert "same numbers, another fused graph" in done.stdout and "a: " in done.stdout and "b: " in done.stdout
    cli("equiv", a, b, "--strict", code=DIFFERS)
    done = cli("equiv", a, save("c.pt", torch.nn.Linear(8, 4), torch.nn.ReLU()), code=DIFFERS)
    assert "the weights" in done.stdout and "DIFFER" in done.stdout
    done = cli("equiv", a, save("d.pt", torch.nn.Linear(6, 4), example=torch.randn(3, 6)), code=BAD_INPUT)
    assert "other inputs" in done.stderr
    cli("convert", a, "-o", "a.tenon", code=DONE)
    assert "same numbers, same fused graph" in cli("equiv", a, "a.tenon", code=DONE).stdout
