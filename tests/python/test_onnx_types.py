"""ONNX's types of few bits and their bits: powers of two, floats of six bits, BitCast between all types of one size."""

import itertools

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.numpy_helper import to_float8e8m0

DONE, BAD_INPUT = 0, 2
RANDOM = np.random.default_rng(4)
SIZES = {1: ("uint8", "int8"), 2: ("uint16", "int16", "float16", "bfloat16"), 4: ("uint32", "int32", "float32"), 8: ("uint64", "int64", "float64")}
PAIRS = [pair for types in SIZES.values() for pair in itertools.permutations(types, 2)]


def number(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype) if dtype != "bfloat16" else np.dtype(ml_dtypes.bfloat16))


def outputs(run, tmp_path, nodes, x, result, opset, constant=None):
    """`x` is an array, or a weight of the model when `constant`."""
    inputs = [] if constant else [helper.make_tensor_value_info("x", number(x.dtype.name), x.shape)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", result, None)], [constant] if constant else [])
    (tmp_path / "model.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString())
    given = []
    if not constant:
        np.save(tmp_path / "x.npy", x)
        given = ["--input", "x=x.npy"]
    run("run", "model.onnx", *given, "--output", "y.npy", code=DONE)
    return np.load(tmp_path / "y.npy")


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_bits_are_read_as_another_type(run, tmp_path, source, target):
    """bfloat16 goes in and comes out as its own bits: NumPy's files do not have it."""
    plain = {"bfloat16": "uint16"}
    size = np.dtype(plain.get(source, source)).itemsize
    bits = RANDOM.integers(0, 256, 12 * size).astype(np.uint8)
    x = bits.view(plain.get(source, source))
    nodes, name = [], "x"
    if source == "bfloat16":
        nodes.append(helper.make_node("BitCast", ["x"], ["b"], to=TensorProto.BFLOAT16))
        name = "b"
    nodes.append(helper.make_node("BitCast", [name], ["y" if target != "bfloat16" else "c"], to=number(target)))
    if target == "bfloat16":
        nodes.append(helper.make_node("BitCast", ["c"], ["y"], to=TensorProto.UINT16))
    y = outputs(run, tmp_path, nodes, x, number(plain.get(target, target)), 26)
    assert y.tobytes() == bits.tobytes()


@pytest.mark.parametrize("value", ["1.5", "3", "0.1"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "int32", "uint8"])
def test_a_number_is_of_the_type_that_the_model_asks_for(run, tmp_path, dtype, value):
    """Of an input without axes, for Tenon and for ONNX Runtime."""
    of = number(dtype)
    if "int" in dtype:
        value = "3"
    node = helper.make_node("Cast", ["n"], ["y"], to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("n", of, [])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "model.onnx")
    assert "verified" in run("verify", "model.onnx", "--input", f"n={value}", code=DONE)


def test_bits_of_another_size_are_refused(run, tmp_path):
    node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.INT64)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.INT64, None)])
    (tmp_path / "model.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)]).SerializeToString())
    assert "another size" in run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=BAD_INPUT)


NUMBERS = np.array([0, 1, 1.25, 1.5, 1.75, 3, 0.1, -6, 1e-40, 6e-39, 1.7e38, 3.4e38, np.inf, -np.inf, np.nan, 2.0**-126, 2.0**-127], np.float32)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_numbers_become_powers_of_two(run, tmp_path, mode, saturate):
    nodes = [helper.make_node("Cast", ["x"], ["p"], to=TensorProto.FLOAT8E8M0, round_mode=mode, saturate=saturate),
             helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)]
    wanted = to_float8e8m0(NUMBERS, bool(saturate), mode).astype(np.float32)
    np.testing.assert_array_equal(outputs(run, tmp_path, nodes, NUMBERS, TensorProto.FLOAT, 25), wanted)


@pytest.mark.parametrize("dtype", ["float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("count", [5, 64])
def test_weights_of_few_bits(run, tmp_path, dtype, count):
    numpy_type = np.dtype(getattr(ml_dtypes, dtype))
    bits = {"float6": 6, "float4": 4}.get(dtype.split("_")[0], 8)
    codes = np.arange(count) * (1 << bits) // count
    weight = numpy_helper.from_array(codes.astype(np.uint8).view(numpy_type), "x")
    wanted = codes.astype(np.uint8).view(numpy_type).astype(np.float32)
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)]
    np.testing.assert_array_equal(outputs(run, tmp_path, nodes, None, TensorProto.FLOAT, 28, weight), wanted)


@pytest.mark.parametrize("target", ["FLOAT6E2M3", "FLOAT6E3M2"])
def test_numbers_of_six_bits(run, tmp_path, target):
    x = np.concatenate([np.linspace(-9, 9, 73), RANDOM.normal(size=20) * 4, [0.03, 0.07, -0.06]]).astype(np.float32)
    nodes = [helper.make_node("Cast", ["x"], ["p"], to=getattr(TensorProto, target)), helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)]
    numpy_type = {"FLOAT6E2M3": ml_dtypes.float6_e2m3fn, "FLOAT6E3M2": ml_dtypes.float6_e3m2fn}[target]
    wanted = np.clip(x, -float(ml_dtypes.finfo(numpy_type).max), float(ml_dtypes.finfo(numpy_type).max)).astype(numpy_type).astype(np.float32)
    np.testing.assert_array_equal(outputs(run, tmp_path, nodes, x, TensorProto.FLOAT, 28), wanted)


def test_scales_are_powers_of_two(run, tmp_path):
    x = np.array([[-8, 3, 7, 0], [1, 2, -3, 5]], np.int8)
    scale = numpy_helper.from_array(np.array([126, 130], np.uint8).view(ml_dtypes.float8_e8m0fnu), "s")
    node = helper.make_node("DequantizeLinear", ["x", "s"], ["y"], axis=0, output_dtype=TensorProto.FLOAT)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.INT8, [2, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [scale])
    (tmp_path / "model.onnx").write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)]).SerializeToString())
    np.save(tmp_path / "x.npy", x)
    run("run", "model.onnx", "--input", "x=x.npy", "--output", "y.npy", code=DONE)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x * np.array([[0.5], [8]], np.float32))
