"""Operators that ONNX took back, old versions and seldom forms, beside ONNX Runtime or ONNX's reference."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

DONE, BAD_INPUT = 0, 2
RANDOM = np.random.default_rng(8)
IMAGE = RANDOM.normal(size=(2, 3, 6, 5)).astype(np.float32)


def model_of(nodes, arrays, opset, outputs=("y",), weights=()):
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info(o) for o in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def given(run, tmp_path, model, arrays):
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    words = []
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        words += ["--input", f"{name}={name}.npy"]
    run("run", "model.onnx", *words, "--output", "out.npz", code=DONE)
    found = np.load(tmp_path / "out.npz")
    return [found[v.name] for v in model.graph.output]


def assert_same(got, wanted):
    for value, peer in zip(got, wanted, strict=True):
        assert value.shape == peer.shape
        np.testing.assert_allclose(value, peer, rtol=1e-5, atol=1e-6)


def by_onnxruntime(model, arrays):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, arrays)


TAKEN_BACK = {
    "Affine": {"alpha": 0.5, "beta": -1.0},
    "Crop": {"border": [1, 2, 1, 1]},
    "Crop of a size": {"border": [1, 2, 0, 0], "scale": [3, 2]},
    "ImageScaler": {"scale": 0.5, "bias": [0.1, -0.2, 0.3]},
    "ParametricSoftplus": {"alpha": 2.0, "beta": 0.5},
    "ScaledTanh": {"alpha": 2.0, "beta": 0.5},
    "Scale": {"scale": 3.0},
    "ThresholdedRelu": {"alpha": 0.5},
}


@pytest.mark.parametrize("name", TAKEN_BACK)
def test_what_onnx_took_back(run, tmp_path, name):
    node = helper.make_node(name.split()[0], ["x"], ["y"], **TAKEN_BACK[name])
    model = model_of([node], {"x": IMAGE}, 10 if name == "ThresholdedRelu" else 7)
    assert_same(given(run, tmp_path, model, {"x": IMAGE}), by_onnxruntime(model, {"x": IMAGE}))


def test_a_tensor_that_attributes_give(run, tmp_path):
    nodes = [helper.make_node("GivenTensorFill", [], ["g"], values=[1.0, 2.0, 3.0], shape=[3, 1, 1]), helper.make_node("Add", ["x", "g"], ["y"])]
    model = model_of(nodes, {"x": IMAGE}, 7)
    assert_same(given(run, tmp_path, model, {"x": IMAGE}), [IMAGE + np.array([1, 2, 3], np.float32).reshape(3, 1, 1)])


def test_the_first_casts_name_their_type(run, tmp_path):
    model = model_of([helper.make_node("Cast", ["x"], ["y"], to="INT64")], {"x": IMAGE}, 1)
    assert_same(given(run, tmp_path, model, {"x": IMAGE}), [IMAGE.astype(np.int64)])


def test_statistics_of_every_element(run, tmp_path):
    sizes = IMAGE.shape[1:]
    weights = [(n, RANDOM.random(sizes).astype(np.float32)) for n in ("scale", "bias", "mean", "var")]
    model = model_of([helper.make_node("BatchNormalization", ["x", "scale", "bias", "mean", "var"], ["y"], spatial=0)], {"x": IMAGE}, 8, weights=weights)
    assert_same(given(run, tmp_path, model, {"x": IMAGE}), by_onnxruntime(model, {"x": IMAGE}))


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("bins", [(2, 2), (3, 1), (7, 7)])
def test_the_largest_of_regions(run, tmp_path, bins, scale):
    corners = RANDOM.uniform(-2, 14, size=(8, 4)).astype(np.float32)
    regions = np.concatenate([RANDOM.integers(0, 2, (8, 1)).astype(np.float32), corners], axis=1)
    regions[0, 1:] = [2.5, 0.5, 7.5, 6.5]  # halves go away from zero
    node = helper.make_node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=bins, spatial_scale=scale)
    arrays = {"x": IMAGE, "r": regions}
    model = model_of([node], arrays, 17)
    assert_same(given(run, tmp_path, model, arrays), by_onnxruntime(model, arrays))


@pytest.mark.parametrize("sizes", [(5,), (4, 5), (3, 4, 5), (2, 3, 2, 3)])
@pytest.mark.parametrize("plain", [True, False])
def test_columns_of_any_rank(run, tmp_path, sizes, plain):
    rank = len(sizes)
    kernel = [2] * rank if plain else [2, 1, 2, 2][:rank]
    more = {} if plain else {"pads": [1] + [0] * (rank - 1) + [2] + [1] * (rank - 1), "strides": [2] + [1] * (rank - 1), "dilations": [1] * rank}
    pads = more.get("pads", [0] * 2 * rank)
    counts = [(s + pads[i] + pads[rank + i] - kernel[i]) // (more.get("strides", [1] * rank)[i]) + 1 for i, s in enumerate(sizes)]
    x = RANDOM.normal(size=(2, 3 * int(np.prod(kernel)), int(np.prod(counts)))).astype(np.float32)
    weights = [("image", np.array(sizes, np.int64)), ("block", np.array(kernel, np.int64))]
    model = model_of([helper.make_node("Col2Im", ["x", "image", "block"], ["y"], **more)], {"x": x}, 18, weights=weights)
    try:
        wanted = by_onnxruntime(model, {"x": x})
    except Exception:
        wanted = ReferenceEvaluator(model).run(None, {"x": x})
    assert_same(given(run, tmp_path, model, {"x": x}), wanted)


@pytest.mark.parametrize("lengths", [None, [4, 2]])
@pytest.mark.parametrize("direction", [0, 1])
def test_the_first_scans_have_samples(run, tmp_path, direction, lengths):
    """A state that is summed up, and its sums so far, of two samples."""
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "v"], ["t"]), helper.make_node("Identity", ["t"], ["o"])], "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("s", "v")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("t", "o")])
    node = helper.make_node("Scan", ["lengths" if lengths else "", "start", "x"], ["last", "all"], num_scan_inputs=1, directions=[direction], body=body)
    x, start = RANDOM.normal(size=(2, 4, 3)).astype(np.float32), RANDOM.normal(size=(2, 3)).astype(np.float32)
    arrays = {"start": start, "x": x, **({"lengths": np.array(lengths, np.int64)} if lengths else {})}
    last, sums = start.copy(), np.zeros_like(x)
    for sample in range(2):
        length = lengths[sample] if lengths else 4
        for step in range(length):
            last[sample] += x[sample, length - 1 - step if direction else step]
            sums[sample, step] = last[sample]
    model = model_of([node], arrays, 8, outputs=("last", "all"))
    assert_same(given(run, tmp_path, model, arrays), [last, sums])
    assert_same(by_onnxruntime(model, arrays), [last, sums])


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizers_pass_over_nan(run, tmp_path, norm):
    x = np.array([[1, -4, np.nan], [0, 0, 0], [np.nan, np.nan, 2], [-1, -2, -3]], np.float32)
    node = helper.make_node("Normalizer", ["x"], ["y"], domain="ai.onnx.ml", norm=norm)
    model = model_of([node], {"x": x}, 17)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 1))
    assert_same(given(run, tmp_path, model, {"x": x}), by_onnxruntime(model, {"x": x}))


def test_the_sign_of_nan_is_nan(run, tmp_path):
    x = np.array([np.nan, -2, 0, 3], np.float32)
    model = model_of([helper.make_node("Sign", ["x"], ["y"])], {"x": x}, 17)
    assert_same(given(run, tmp_path, model, {"x": x}), by_onnxruntime(model, {"x": x}))


ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
# Indices whose tuples name no place, which means all of x; and no tuples.
PLACES = [(2, 0), (0,), (1, 2, 0), (0, 1), (0, 2), (0, 0)]


@pytest.mark.parametrize("shape", PLACES)
def test_gathered_at_no_places(run, tmp_path, shape):
    arrays = {"x": ROWS, "i": np.zeros(shape, np.int64)}
    model = model_of([helper.make_node("GatherND", ["x", "i"], ["y"])], arrays, 18)
    assert_same(given(run, tmp_path, model, arrays), by_onnxruntime(model, arrays))


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
@pytest.mark.parametrize("shape", PLACES)
def test_scattered_to_no_places(run, tmp_path, shape, reduction):
    updates = RANDOM.normal(size=shape[:-1] + ROWS.shape[shape[-1]:]).astype(np.float32)
    arrays = {"x": ROWS, "i": np.zeros(shape, np.int64), "u": updates}
    model = model_of([helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction=reduction)], arrays, 18)
    assert_same(given(run, tmp_path, model, arrays), by_onnxruntime(model, arrays))


def test_attention_over_no_keys_is_zero(run, tmp_path):
    """As PyTorch has it; ONNX Runtime and ONNX's reference fail."""
    arrays = {"q": RANDOM.normal(size=(1, 2, 3, 4)).astype(np.float32), "k": np.zeros((1, 2, 0, 4), np.float32)}
    model = model_of([helper.make_node("Attention", ["q", "k", "k"], ["y"])], arrays, 23)
    (y,) = given(run, tmp_path, model, arrays)
    np.testing.assert_array_equal(y, np.zeros((1, 2, 3, 4)))
