"""Decision trees, linear models and preprocessing of ai.onnx.ml: numbers and labels as ONNX Runtime gives them."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

DONE, BAD_INPUT, UNSUPPORTED = 0, 2, 3
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(40, 5)).astype(np.float32)
X[3, 2] = X[17, 0] = np.nan


def model_of(operator, x, outputs, attributes):
    node = helper.make_node(operator, ["X"], list(outputs), domain="ai.onnx.ml", **attributes)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("X", element, ["N", *x.shape[1:]])],
                              [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()])
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def assert_like_onnx_runtime(run, folder, model, x, rtol=1e-5, atol=1e-6):
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": x})
    onnx.save(model, folder / "model.onnx")
    np.save(folder / "x.npy", x)
    run("run", "model.onnx", "--input", "X=x.npy", "--output", "out.npz", code=DONE)
    given = np.load(folder / "out.npz")
    for output, wanted in zip(model.graph.output, expected, strict=True):
        got = given[output.name]
        assert got.dtype == wanted.dtype, output.name
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=output.name)


def trees(weights_of, count=5, depth=4, modes=("BRANCH_LEQ",), missing=False):
    """Random trees as lists; weights_of(tree) lists what a leaf of that tree adds: (id, weight)."""
    lists = {f"nodes_{k}": [] for k in ["treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                                        "falsenodeids", "missing_value_tracks_true"]}
    weights = {k: [] for k in ["treeids", "nodeids", "ids", "weights"]}
    for tree in range(count):
        numbers = iter(range(1000))

        def grow(level, tree=tree, numbers=numbers):
            number = next(numbers)
            leaf = level == 0 or (level < depth and RANDOM.random() < 0.2)
            at = len(lists["nodes_nodeids"])
            for key, value in [("treeids", tree), ("nodeids", number), ("featureids", int(RANDOM.integers(5))),
                               ("values", float(RANDOM.normal())), ("modes", "LEAF" if leaf else str(RANDOM.choice(modes))),
                               ("truenodeids", 0), ("falsenodeids", 0),
                               ("missing_value_tracks_true", int(missing and RANDOM.random() < 0.5))]:
                lists[f"nodes_{key}"].append(value)
            if leaf:
                for target, weight in weights_of(tree):
                    for key, value in [("treeids", tree), ("nodeids", number), ("ids", target), ("weights", weight)]:
                        weights[key].append(value)
            else:
                lists["nodes_truenodeids"][at] = grow(level - 1)
                lists["nodes_falsenodeids"][at] = grow(level - 1)
            return number

        grow(depth)
    return lists, weights


def regression(targets, **options):
    lists, weights = trees(lambda tree: [(t, float(RANDOM.normal())) for t in range(targets)], **options)
    return {"n_targets": targets, **lists, **{f"target_{k}": v for k, v in weights.items()}}


ALL_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@pytest.mark.parametrize("attributes", [
    regression(1),
    regression(3),
    regression(1, modes=ALL_MODES),
    regression(2, missing=True),
    regression(1, count=1, depth=0),
    {**regression(2), "base_values": [0.5, -0.25]},
    {**regression(3), "aggregate_function": "AVERAGE"},
    {**regression(3), "aggregate_function": "MIN"},
    {**regression(1), "aggregate_function": "MAX"},
    {**regression(3), "post_transform": "SOFTMAX"},
    {**regression(3), "post_transform": "LOGISTIC"},
    {**regression(1), "post_transform": "LOGISTIC"},
], ids=str)
def test_regression_by_trees(run, tmp_path, attributes):
    model = model_of("TreeEnsembleRegressor", X, {"Y": TensorProto.FLOAT}, attributes)
    assert_like_onnx_runtime(run, tmp_path, model, X)


def test_trees_of_doubles(run, tmp_path):
    x = X.astype(np.float64)
    model = model_of("TreeEnsembleRegressor", x, {"Y": TensorProto.FLOAT}, regression(2))
    assert_like_onnx_runtime(run, tmp_path, model, x)


def classification(classes, knows, positive, **more):
    def weight():
        return abs(float(RANDOM.normal())) / 10 if positive else float(RANDOM.normal())

    lists, weights = trees(lambda tree: [(c, weight()) for c in knows(tree)])
    return {"classlabels_int64s": [10 * c for c in range(classes)], **lists,
            **{f"class_{k}": v for k, v in weights.items()}, **more}


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("classes, knows", [
    (3, lambda tree: range(3)),   # a random forest
    (3, lambda tree: [tree % 3]),  # boosted trees, one after the other for each class
    (2, lambda tree: [0]),
    (2, lambda tree: [1]),
], ids=["forest", "boosted", "binary", "binary by the second class"])
@pytest.mark.parametrize("positive", [True, False], ids=["positive", "mixed"])
def test_classification_by_trees(run, tmp_path, classes, knows, positive, transform):
    attributes = classification(classes, knows, positive, post_transform=transform)
    model = model_of("TreeEnsembleClassifier", X, {"Y": TensorProto.INT64, "Z": TensorProto.FLOAT}, attributes)
    assert_like_onnx_runtime(run, tmp_path, model, X)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_classification_of_other_types(run, tmp_path, dtype):
    x = np.nan_to_num(X * 3).astype(dtype)
    attributes = classification(3, lambda tree: range(3), False)
    model = model_of("TreeEnsembleClassifier", x, {"Y": TensorProto.INT64, "Z": TensorProto.FLOAT}, attributes)
    assert_like_onnx_runtime(run, tmp_path, model, x)


def test_labels_that_are_strings(run, tmp_path):
    attributes = classification(3, lambda tree: range(3), False)
    attributes["classlabels_strings"] = [f"class {label}" for label in attributes.pop("classlabels_int64s")]
    model = model_of("TreeEnsembleClassifier", X, {"Y": TensorProto.STRING, "Z": TensorProto.FLOAT}, attributes)
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", X)
    run("run", "model.onnx", "--input", "X=x.npy", "--output", "out.npz", code=DONE)
    wanted, _ = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": X})
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["Y"], wanted.astype(str))


@pytest.mark.parametrize("base", [[0.2], [0.1, 0.2, 0.3]], ids=str)
def test_classification_from_base_values(run, tmp_path, base):
    classes = 2 if len(base) == 1 else 3
    attributes = classification(classes, lambda tree: range(classes) if classes > 2 else [0], False, base_values=base)
    model = model_of("TreeEnsembleClassifier", X, {"Y": TensorProto.INT64, "Z": TensorProto.FLOAT}, attributes)
    assert_like_onnx_runtime(run, tmp_path, model, X)


LABELS_AND_SCORES = {"Y": TensorProto.INT64, "Z": TensorProto.FLOAT}
NUMBERS = {"Y": TensorProto.FLOAT}
FEATURES = np.nan_to_num(X)
SUPPORTS = {"coefficients": [0.5, -0.25, 0.75], "support_vectors": FEATURES[:3].flatten().tolist(), "rho": [0.25],
            "n_supports": 3}


@pytest.mark.parametrize("operator, outputs, attributes", [
    ("LinearRegressor", NUMBERS, {"coefficients": [0.1, 0.2, 0.3, -0.4, 0.5], "intercepts": [0.1], "targets": 1}),
    ("LinearRegressor", NUMBERS, {"coefficients": [0.1 * i for i in range(10)], "targets": 2}),
    *(("LinearClassifier", LABELS_AND_SCORES,
       {"coefficients": [0.1 * i - 0.6 for i in range(15)], "intercepts": [0.1, 0.0, -0.1], "classlabels_ints": [3, 1, 2],
        "post_transform": how}) for how in ["NONE", "LOGISTIC", "SOFTMAX"]),
    *(("LinearClassifier", LABELS_AND_SCORES,
       {"coefficients": [0.1, 0.2, 0.3, -0.4, 0.5], "intercepts": [0.1], "classlabels_ints": [7, 8],
        "post_transform": how}) for how in ["NONE", "LOGISTIC", "SOFTMAX"]),
    ("Scaler", NUMBERS, {"offset": [0.1, 0.2, 0.3, 0.4, 0.5], "scale": [1.0, 2.0, 3.0, 4.0, 5.0]}),
    ("Scaler", NUMBERS, {"offset": [0.5], "scale": [2.0]}),
    *(("Normalizer", NUMBERS, {"norm": norm}) for norm in ["MAX", "L1", "L2"]),
    ("Imputer", NUMBERS, {"imputed_value_floats": [9.0], "replaced_value_float": 0.0}),
    ("Imputer", NUMBERS, {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0, 5.0], "replaced_value_float": 0.0}),
    ("FeatureVectorizer", NUMBERS, {"inputdimensions": [5]}),
    ("SVMRegressor", NUMBERS, {**SUPPORTS, "kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0]}),
    ("SVMRegressor", NUMBERS, {**SUPPORTS, "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0]}),
    ("SVMRegressor", NUMBERS, {**SUPPORTS, "kernel_type": "POLY", "kernel_params": [0.3, 1.0, 3.0]}),
    ("SVMRegressor", NUMBERS, {**SUPPORTS, "kernel_type": "SIGMOID", "kernel_params": [0.3, 0.5, 0.0]}),
    ("SVMRegressor", NUMBERS, {**SUPPORTS, "kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "one_class": 1}),
], ids=lambda v: v if isinstance(v, str) else None)
def test_linear_models_and_preprocessing(run, tmp_path, operator, outputs, attributes):
    assert_like_onnx_runtime(run, tmp_path, model_of(operator, FEATURES, outputs, attributes), FEATURES, rtol=1e-4)


def test_missing_numbers_are_imputed(run, tmp_path):
    model = model_of("Imputer", X, NUMBERS, {"imputed_value_floats": [0.5], "replaced_value_float": float("nan")})
    assert_like_onnx_runtime(run, tmp_path, model, X)


def break_list(name, index, value):
    def broken(attributes):
        attributes[name] = list(attributes[name])
        attributes[name][index] = value
        return attributes

    return broken


@pytest.mark.parametrize("broken, message", [
    (break_list("nodes_truenodeids", 0, 0), "no trees"),
    (break_list("nodes_truenodeids", 0, 999), "does not exist"),
    (break_list("nodes_featureids", 0, 77), "asks for feature 77"),
    (break_list("nodes_modes", 0, "BRANCH_MAYBE"), "BRANCH_MAYBE"),
    (lambda a: {**a, "nodes_modes": ["LEAF"] * len(a["nodes_modes"])}, "several roots"),
    (lambda a: {**a, "n_targets": 0}, "n_targets is 0"),
    (lambda a: {**a, "n_targets": 2**62}, "n_targets is"),
    (break_list("target_ids", 0, 5), "does not exist"),
    (lambda a: {**a, "nodes_values": a["nodes_values"][1:]}, "nodes_values has"),
], ids=["cycle", "child outside", "feature outside", "mode", "leaves alone", "no targets",
        "too many targets", "target outside", "lengths"])
def test_damaged_trees_are_an_error(run, tmp_path, broken, message):
    model = model_of("TreeEnsembleRegressor", X, NUMBERS, broken(dict(regression(1, count=1, depth=2))))
    onnx.save(model, tmp_path / "model.onnx")
    said = run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=BAD_INPUT)
    assert message in said
