"""Quantised operators that ONNX Runtime's quantisers and Olive write: as ONNX Runtime computes them.

Codes may be one off where a sum of floats lies between two of them: ONNX Runtime sums integers, tenon floats.
"""

import numpy as np
import onnx
import onnxruntime
import pytest
from compared import Refused
from one_node import Case, assert_codes, assert_equal, run_onnxruntime, run_tenon, weight
from onnx import TensorProto, helper, numpy_helper

R = np.random.default_rng(11)


def f32(*shape):
    return R.standard_normal(shape).astype(np.float32)


def codes(*shape, dtype=np.uint8):
    bounds = np.iinfo(dtype)
    return R.integers(bounds.min, bounds.max + 1, shape).astype(dtype)


def at(scale, zero, dtype=np.uint8):
    """A scale and a zero point, as weights."""
    return [weight(np.float32(scale)), weight(np.array(zero, dtype=dtype))]


U, I = np.uint8, np.int8
X, Y = codes(2, 3, 8, 9), codes(2, 3, 8, 9)
SIGNED = codes(2, 3, 8, 9, dtype=I)

ELEMENTS = [
    Case("", "QLinearAdd", [X, *at(0.0213, 120), Y, *at(0.0517, 3), *at(0.0631, 100)]),
    Case("signed", "QLinearAdd", [SIGNED, *at(0.0213, -7, I), codes(9, dtype=I), *at(0.0517, 3, I), *at(0.0631, 0, I)]),
    Case("", "QLinearMul", [X, *at(0.0213, 120), Y, *at(0.0517, 3), *at(0.2, 100)]),
    Case("a number", "QLinearMul", [X, *at(0.02, 120), weight(np.array(77, dtype=U)), *at(0.01, 3), *at(0.2, 100)]),
    Case("", "QLinearSigmoid", [X, *at(0.04, 120), *at(1 / 256, 0)]),
    Case("", "QLinearLeakyRelu", [SIGNED, *at(0.04, 10, I), *at(0.03, -20, I)], {"alpha": 0.2}),
    Case("last axis", "QLinearSoftmax", [codes(4, 30), *at(0.04, 120), *at(1 / 256, 0)], {"opset": 13, "axis": -1}),
    Case("old", "QLinearSoftmax", [codes(4, 5, 6), *at(0.04, 120), *at(1 / 256, 0)], {"opset": 12, "axis": 1}),
    Case("", "QLinearConcat", [*at(0.05, 100), X, *at(0.02, 120), Y, *at(0.05, 3)], {"axis": 1}),
    Case("", "QLinearWhere", [R.random((2, 3, 8, 9)) > 0.5, X, *at(0.0213, 120), Y, *at(0.0517, 3), *at(0.0631, 100)]),
    Case("", "QuantizeLinear", [f32(4, 6), *at(0.02, 120)]),
    Case("along an axis", "QuantizeLinear", [f32(4, 6), weight(np.float32([0.01, 0.02, 0.03, 0.04])), weight(codes(4))], {"axis": 0}),
    Case("16 bits", "QuantizeLinear", [f32(4, 6) * 100, *at(0.02, 3000, np.uint16)]),
]

WINDOWS = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
FILTERS = [weight(codes(6, 3, 3, 3, dtype=I)), weight(R.random(6).astype(np.float32) * 0.01), weight(np.zeros(6, I))]
OFFSETS = weight(R.integers(-900, 900, 6).astype(np.int32))
IMAGES = [
    Case("", "QLinearAveragePool", [X, *at(0.02, 120), *at(0.015, 100)], WINDOWS),
    Case("with pads", "QLinearAveragePool", [X, *at(0.02, 120), *at(0.015, 100)], {**WINDOWS, "count_include_pad": 1}),
    Case("channels last", "QLinearAveragePool", [X, *at(0.02, 120), *at(0.015, 100)], {**WINDOWS, "channels_last": 1}),
    Case("", "QLinearGlobalAveragePool", [X, *at(0.02, 120), *at(0.01, 100)]),
    Case("channels last", "QLinearGlobalAveragePool", [X, *at(0.02, 120), *at(0.01, 100)], {"channels_last": 1}),
    Case("channels last", "NhwcMaxPool", [X], {"kernel_shape": [3, 2], "strides": [2, 1]}),
    Case("", "QLinearConv", [X, *at(0.02, 120), *FILTERS, *at(0.1, 90), OFFSETS], WINDOWS, domain=""),
    Case("same size", "QLinearConv", [X, *at(0.02, 120), *FILTERS, *at(0.1, 90)], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, domain=""),
    # Filters of 7 bits: sums of 8 bits saturate in ONNX Runtime's own on CPUs with AVX2, whatever it is asked for.
    Case("channels last", "QLinearConv", [X.transpose(0, 2, 3, 1).copy(), *at(0.02, 120), weight(FILTERS[0] // 2), *FILTERS[1:], *at(0.1, 90)],
         {**WINDOWS, "channels_last": 1}),
]


def gemm(name, b, scale, zero, c=None, out=(), **attributes):
    return Case(name, "QGemm", [codes(5, 8), *at(0.02, 120), b, weight(scale), weight(zero), c, *out], attributes)


B, SCALE, ZERO = weight(codes(8, 6, dtype=I)), np.float32(0.03), np.array(4, dtype=I)
SCALES, ZEROS = R.random(6).astype(np.float32) * 0.03, codes(6, dtype=I)
C = weight(R.integers(-9000, 9000, 6).astype(np.int32))
GEMMS = [
    gemm("", B, SCALE, ZERO, C, at(0.3, 100)),
    gemm("by columns", B, SCALES, ZEROS, C, at(0.3, 100), alpha=0.5),
    gemm("transposed", weight(codes(6, 8, dtype=I)), SCALE, ZERO, None, at(0.3, 100), transB=1),
]


@pytest.mark.parametrize("case", ELEMENTS + IMAGES + GEMMS, ids=lambda c: c.id)
def test_codes(tenon, tmp_path, case):
    model, feeds = case.model(), case.feeds()
    assert_codes(run_tenon(tenon, model, feeds, tmp_path), run_onnxruntime(model, feeds, exact_bytes=True))


A, BIAS = f32(2, 5, 8), weight(f32(6))
H = 16
QKV = [codes(2, 5, 24), weight(codes(24, 3 * 2 * H, dtype=I)), weight(f32(3 * 2 * H))]
INPUT, WEIGHT, COLUMNS = at(0.02, 120), at(0.005, 3, I), weight(R.random(6 * H).astype(np.float32) * 0.01)
LENGTHS = np.array([3, 5], np.int32)
FLOATS = [
    gemm("to floats", B, SCALE, ZERO, C),
    Case("", "DequantizeLinear", [codes(4, 6), *at(0.02, 120)]),
    Case("by columns", "DequantizeLinear", [codes(4, 6), weight(SCALES), weight(codes(6))], {"axis": 1}),
    Case("", "DynamicQuantizeMatMul", [A, B, weight(SCALE), weight(ZERO), BIAS]),
    Case("by columns", "DynamicQuantizeMatMul", [A, B, weight(SCALES), weight(ZEROS)]),
    Case("nothing but zeros", "DynamicQuantizeMatMul", [A * 0, B, weight(SCALES), None, BIAS]),
    Case("", "MatMulIntegerToFloat", [codes(2, 5, 8), B, INPUT[0], weight(SCALE), INPUT[1], weight(ZERO), BIAS]),
    Case("by columns", "MatMulIntegerToFloat", [codes(5, 8), B, weight(np.float32(0.02)), weight(SCALES)]),
    Case("", "QAttention", [*QKV, INPUT[0], WEIGHT[0], None, INPUT[1], WEIGHT[1]], {"num_heads": 2}),
    Case("causal mask", "QAttention", [*QKV, INPUT[0], COLUMNS, LENGTHS, INPUT[1]], {"num_heads": 2, "unidirectional": 1}, 2),
]


def few_bits(name, bits, k, zeros=None, bias=None, block=32, n=6):
    blocks = -(-k // block)
    packed, scales = weight(codes(n, blocks, block * bits // 8)), weight((R.random((n, blocks)) * 0.1).astype(np.float32))
    zero = {
        None: None,
        "packed": weight(codes(n, -(-blocks * bits // 8))),
        "float": weight((R.random((n, blocks)) * 8).astype(np.float32)),
    }[zeros]
    inputs = [f32(2, 5, k), packed, scales, zero, None, bias]
    return Case(name, "MatMulNBits", inputs, {"K": k, "N": n, "bits": bits, "block_size": block})


def bnb(name, kind, k=48, n=6, block=16):
    packed, largest = weight(codes(k * n // 2)), weight(R.random(k * n // block).astype(np.float32))
    return Case(name, "MatMulBnb4", [f32(3, k), packed, largest], {"K": k, "N": n, "block_size": block, "quant_type": kind})


def gathered(name, bits, zeros=False, n=10, k=64, block=16):
    packed, scales = weight(codes(n, k * bits // 8)), weight(R.random((n, k // block)).astype(np.float32))
    zero = weight(codes(n, k // block * bits // 8)) if zeros else None
    attributes = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
    return Case(name, "GatherBlockQuantized", [packed, np.array([[3, 0], [9, -1]]), scales, zero], attributes)


FLOATS += [
    few_bits("4 bits", 4, 64),
    few_bits("4 bits and zero points", 4, 96, "packed"),
    few_bits("a block that is not full", 4, 80, "packed", weight(f32(6))),
    few_bits("zero points that are floats", 4, 64, "float"),
    few_bits("8 bits", 8, 64, "packed"),
    few_bits("2 bits", 2, 64, "packed"),
    few_bits("small blocks", 4, 64, block=16),
    bnb("fp4", 0),
    bnb("nf4", 1),
    gathered("4 bits", 4),
    gathered("4 bits and zero points", 4, True),
    gathered("8 bits", 8, True),
]


@pytest.mark.parametrize("case", FLOATS, ids=lambda c: c.id)
def test_floats(tenon, tmp_path, case):
    model, feeds = case.model(), case.feeds()
    assert_equal(run_tenon(tenon, model, feeds, tmp_path), run_onnxruntime(model, feeds, exact_bytes=True))


SIZES = {"K": 32, "N": 6, "block_size": 32}
GROUPS = weight(np.arange(32, dtype=np.int32))
REFUSED = [
    (Case("", "MatMulNBits", [f32(2, 32), weight(codes(6, 1, 16)), weight(f32(6, 1)), None, GROUPS], {**SIZES, "bits": 4}), "g_idx"),
    (Case("", "MatMulNBits", [f32(2, 32), weight(codes(6, 1, 12)), weight(f32(6, 1))], {**SIZES, "bits": 3}), "weights of 3 bits"),
]


@pytest.mark.parametrize("case, reason", REFUSED, ids=lambda c: c if isinstance(c, str) else c.id)
def test_refused(tenon, tmp_path, case, reason):
    with pytest.raises(Refused, match=reason):
        run_tenon(tenon, case.model(), case.feeds(), tmp_path)


def test_scales_of_dynamic_quantisation_are_those_of_onnx_runtime(run, tmp_path):
    """To the last bit, which decides codes."""
    names = {"y": TensorProto.UINT8, "scale": TensorProto.FLOAT, "zero": TensorProto.UINT8}
    node = helper.make_node("DynamicQuantizeLinear", ["x"], list(names))
    outputs = [helper.make_tensor_value_info(name, dtype, None) for name, dtype in names.items()]
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for seed in range(8):
        x = np.random.default_rng(seed).normal(0, 1 + seed, 500).astype(np.float32)
        np.save(tmp_path / "x.npy", x)
        run("run", "model.onnx", "--input", "x=x.npy", "--output", "out.npz", code=0)
        given = np.load(tmp_path / "out.npz")
        for name, wanted in zip(names, session.run(None, {"x": x})):
            np.testing.assert_array_equal(given[name], wanted)


@pytest.mark.parametrize("scales", [(0.1, 0.05, 0.15), (0.02, 0.04, 0.03), (0.037, 0.11, 0.09)])
def test_sums_of_codes_round_as_their_operators_do(run, tmp_path, scales):
    """Many sums lie in the middle of two codes: a product that is not rounded by itself (fma) would move them."""
    given = codes(2, 64, 1024)
    weights = [numpy_helper.from_array(np.float32(s), f"s{i}") for i, s in enumerate(scales)]
    weights += [numpy_helper.from_array(np.uint8(z), f"z{i}") for i, z in enumerate((128, 120, 128))]
    nodes = [helper.make_node("DequantizeLinear", [f"x{i}", f"s{i}", f"z{i}"], [f"d{i}"]) for i in range(2)]
    nodes += [helper.make_node("Add", ["d0", "d1"], ["sum"]), helper.make_node("QuantizeLinear", ["sum", "s2", "z2"], ["y"])]
    x0, x1, y = (helper.make_tensor_value_info(n, TensorProto.UINT8, [64, 1024]) for n in ("x0", "x1", "y"))
    model = helper.make_model(helper.make_graph(nodes, "g", [x0, x1], [y], weights), opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, tmp_path / "model.onnx")
    for i in range(2):
        np.save(tmp_path / f"x{i}.npy", given[i])
    run("run", "model.onnx", "--input", "x0=x0.npy", "--input", "x1=x1.npy", "--output", "y.npy", code=0)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", options)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), session.run(None, {"x0": given[0], "x1": given[1]})[0])
