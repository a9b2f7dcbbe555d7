"""--precision bf16w, f16w, int8w and int4w: asked for, named, measured."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def saved(path, weight):
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["M", weight.shape[0]])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["M", weight.shape[1]])
    graph = helper.make_graph([node], "g", [x], [y], [numpy_helper.from_array(weight, "w")])
    opset = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)


@pytest.mark.parametrize(
    "precision, bits, kernel, limit",
    [("bf16w", 16, "gemm", 0.02), ("f16w", 16, "gemm", 0.002), ("int8w", 8, "int8 gemm", 0.02), ("int4w", 4, "int4 gemm", 0.2)],
)
def test_weights_are_narrowed(run, tmp_path, precision, bits, kernel, limit):
    rng = np.random.default_rng(1)
    weight, x = rng.standard_normal((256, 128)).astype(np.float32), rng.standard_normal((3, 256)).astype(np.float32)
    saved(tmp_path / "model.onnx", weight)
    np.save(tmp_path / "x.npy", x)
    said = run("convert", "model.onnx", "--precision", precision, code=0)
    assert "with narrowed weights close to ONNX Runtime" in said
    facts = json.loads(run("inspect", "model.tenon", "--json", code=0))["facts"]
    assert facts["precision"] == precision
    error = float(facts["verified"].split()[2])
    assert 1e-5 < error < limit
    assert kernel in run("inspect", "model.tenon", "--ir", "planned", code=0)
    run("run", "model.tenon", "--input", "x=x.npy", "--output", "y.npy", code=0)
    expected = x.astype(np.float64) @ weight
    off = np.abs(np.load(tmp_path / "y.npy") - expected).max() / np.abs(expected).max()
    assert 1e-5 < off < limit
    assert "verified" in run("verify", "model.tenon", code=0)
    assert "DIFFERS" in run("verify", "model.tenon", "--tolerance", "1e-5", code=1)
    assert (tmp_path / "model.tenon").stat().st_size < weight.size * (bits + 3) / 8 + 20000


def test_what_cannot_be_narrowed_is_refused(run, tmp_path):
    saved(tmp_path / "small.onnx", np.ones((16, 16), np.float32))
    assert "no weight of the model becomes int8w" in run("convert", "small.onnx", "--precision", "int8w", code=3)
    run("convert", "small.onnx", code=0)
    assert "give the source model" in run("inspect", "small.tenon", "--precision", "int8w", code=2)
