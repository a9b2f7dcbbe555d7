"""--precision: asked for, named, measured."""

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
    assert "narrowed, close to ONNX Runtime" in said
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
    (tmp_path / "cases" / "narrow").mkdir(parents=True)
    run("convert", "model.onnx", "--precision", precision, "-o", "cases/narrow/model.tenon", code=0)
    assert "1 passed" in run("check", "cases", code=0)
    assert (tmp_path / "model.tenon").stat().st_size < weight.size * (bits + 3) / 8 + 20000


def saved_chain(path, layers, large):
    """Linears with a tanh between them; the weights of one are large: its rounding is what the outputs show."""
    rng = np.random.default_rng(2)
    nodes, weights, name = [], [], "x"
    for i in range(layers):
        weight = rng.standard_normal((64, 64)).astype(np.float32) * (2 if i == large else 0.1)
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"m{i}"]), helper.make_node("Tanh", [f"m{i}"], [f"t{i}"])]
        name = f"t{i}"
    nodes[-1].output[0] = "y"
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["M", 64]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)


@pytest.mark.parametrize("precision, limit", [("bf16", 0.05), ("f16", 0.01)])
def test_products_in_16_bits(run, tmp_path, precision, limit):
    saved_chain(tmp_path / "model.onnx", 4, large=None)
    assert "narrowed, close to ONNX Runtime" in run("convert", "model.onnx", "--precision", precision, code=0)
    facts = json.loads(run("inspect", "model.tenon", "--json", code=0))["facts"]
    assert facts["precision"] == precision
    assert 1e-5 < float(facts["verified"].split()[2]) < limit
    assert f": {precision}[M,64]" in run("inspect", "model.tenon", "--ir", "fused", code=0)
    assert "verified" in run("verify", "model.tenon", code=0)
    assert "verified" in run("verify", "model.tenon", "--against", "reference", code=0)


def test_products_stay_float32_as_far_as_the_error_asks(run, tmp_path):
    saved_chain(tmp_path / "model.onnx", 6, large=4)
    all_of_them = run("convert", "model.onnx", "--precision", "bf16", "--tolerance", "1", code=0)
    error = float(all_of_them.split("relative error ")[1].split()[0].rstrip(")"))
    said = run("convert", "model.onnx", "--precision", "bf16", "--max-error", str(0.8 * error), code=0)
    kept = int(said.split("float32 for ")[1].split(" of 6 products")[0])
    assert 0 < kept < 6
    facts = json.loads(run("inspect", "model.tenon", "--json", code=0))["facts"]
    assert facts["float32"] == f"{kept} of 6 products"
    assert float(facts["verified"].split()[2]) <= 0.8 * error
    refusals = run("convert", "model.onnx", "--precision", "bf16", "--max-error", str(0.8 * error), "--explain-fusion", code=0)
    assert refusals.count("its error is beyond --max-error") == kept
    wide = run("convert", "model.onnx", "--precision", "bf16", "--max-error", "1", code=0)
    assert "float32 for 0 of 6 products" in wide


def test_products_that_cannot_become_16_bits_are_not_counted(run, tmp_path):
    saved_chain(tmp_path / "model.onnx", 3, large=None)
    model = onnx.load(tmp_path / "model.onnx")
    weight = numpy_helper.to_array(model.graph.initializer[1]).copy()
    weight[0, 0] = 1e6
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(weight, "w1"))
    onnx.save(model, tmp_path / "model.onnx")
    said = run("convert", "model.onnx", "--precision", "f16", "--max-error", "1", code=0)
    assert "float32 for 0 of 2 products" in said
    assert "no product can become f16" in run("convert", "model.onnx", "--precision", "f16", "--max-error", "1e-9", code=2)


def test_products_behind_many_views_take_no_time(run, tmp_path):
    rng = np.random.default_rng(5)
    weight = numpy_helper.from_array(rng.standard_normal((16, 16)).astype(np.float32), "w")
    sizes = numpy_helper.from_array(np.array([5, 11], np.int64), "sizes")
    nodes, name = [helper.make_node("MatMul", ["x", "w"], ["t0"])], "t0"
    for i in range(60):
        nodes += [helper.make_node("Split", [name, "sizes"], [f"a{i}", f"b{i}"], axis=1),
                  helper.make_node("Concat", [f"b{i}", f"a{i}"], [f"t{i + 1}"], axis=1)]
        name = f"t{i + 1}"
    nodes.append(helper.make_node("MatMul", [name, "w"], ["y"]))
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 16]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], [weight, sizes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "model.onnx")
    assert "narrowed, close to ONNX Runtime" in run("convert", "model.onnx", "--precision", "bf16", code=0)


def test_errors_that_no_product_keeps(run, tmp_path):
    saved_chain(tmp_path / "model.onnx", 2, large=None)
    assert "no product can become bf16" in run("convert", "model.onnx", "--precision", "bf16", "--max-error", "1e-9", code=2)
    assert "without --precision bf16 or f16" in run("convert", "model.onnx", "--max-error", "0.1", code=2)
    assert "without --precision bf16 or f16" in run("convert", "model.onnx", "--precision", "int8w", "--max-error", "0.1", code=2)


def test_what_cannot_be_narrowed_is_refused(run, tmp_path):
    saved(tmp_path / "small.onnx", np.ones((16, 16), np.float32))
    assert "no weight of the model becomes int8w" in run("convert", "small.onnx", "--precision", "int8w", code=3)
    run("convert", "small.onnx", code=0)
    assert "give the source model" in run("inspect", "small.tenon", "--precision", "int8w", code=2)
