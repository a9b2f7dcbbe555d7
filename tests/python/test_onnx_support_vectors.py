"""Support vector machines of ai.onnx.ml: labels and scores as ONNX Runtime gives them."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from test_onnx_ml import assert_like_onnx_runtime, model_of

UNSUPPORTED = 3
RANDOM = np.random.default_rng(11)
WIDTH = 4
X = RANDOM.normal(size=(30, WIDTH)).astype(np.float32)
KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "RBF": [0.3, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "SIGMOID": [0.2, 0.1, 0.0]}
SCORES = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
WORDS = {"label": TensorProto.STRING, "scores": TensorProto.FLOAT}


def machine(classes, kernel="RBF", probabilities=False, words=False, **more):
    counts = [3 + i % 3 for i in range(classes)]
    pairs = classes * (classes - 1) // 2
    labels = {"classlabels_strings": [f"class {i}" for i in range(classes)]} if words else {"classlabels_ints": list(range(3, 3 + classes))}
    proba = {"prob_a": (-1 - RANDOM.random(pairs)).tolist(), "prob_b": RANDOM.normal(size=pairs).tolist()} if probabilities else {}
    return {"vectors_per_class": counts, "support_vectors": RANDOM.normal(size=sum(counts) * WIDTH).tolist(),
            "coefficients": RANDOM.normal(size=(classes - 1) * sum(counts)).tolist(), "rho": RANDOM.normal(size=pairs).tolist(),
            "kernel_type": kernel, "kernel_params": KERNELS[kernel], **labels, **proba, **more}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_classifies(run, tmp_path, classes, probabilities, kernel):
    model = model_of("SVMClassifier", X, SCORES, machine(classes, kernel, probabilities))
    assert_like_onnx_runtime(run, tmp_path, model, X, rtol=1e-4, atol=1e-5)


def test_distances_far_from_zero_keep_their_accuracy(run, tmp_path):
    far = machine(3)
    far["support_vectors"] = (np.array(far["support_vectors"]) + 1000).tolist()
    model = model_of("SVMClassifier", X, SCORES, far)
    assert_like_onnx_runtime(run, tmp_path, model, X + np.float32(1000), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("how", ["LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_transforms_scores(run, tmp_path, classes, probabilities, how):
    model = model_of("SVMClassifier", X, SCORES, machine(classes, probabilities=probabilities, post_transform=how))
    if classes == 2 and not probabilities and how != "LOGISTIC":  # ONNX's reference and ONNX Runtime give different numbers
        onnx.save(model, tmp_path / "model.onnx")
        assert "runtimes disagree" in run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=UNSUPPORTED)
        return
    assert_like_onnx_runtime(run, tmp_path, model, X, rtol=1e-4, atol=1e-5)


def test_labels_are_words(run, tmp_path):
    model = model_of("SVMClassifier", X, WORDS, machine(3, words=True))
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"X": X})
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", X)
    run("run", "model.onnx", "--input", "X=x.npy", "--output", "out.npz", code=0)
    given = np.load(tmp_path / "out.npz")
    assert given["label"].tolist() == wanted[0].tolist()
    np.testing.assert_allclose(given["scores"], wanted[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positive", [False, True])
def test_two_classes_by_their_signs(run, tmp_path, positive):
    attributes = machine(2)
    if positive:
        attributes["coefficients"] = np.abs(attributes["coefficients"]).tolist()
    assert_like_onnx_runtime(run, tmp_path, model_of("SVMClassifier", X, SCORES, attributes), X, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("classes", "offsets"), [(3, 3), (3, 1), (2, 1), (2, 3)])
def test_without_support_vectors_it_is_linear(run, tmp_path, classes, offsets):
    attributes = {"coefficients": RANDOM.normal(size=classes * WIDTH).tolist(), "rho": [0.25] * offsets, "kernel_type": "LINEAR",
                  "kernel_params": KERNELS["LINEAR"], "classlabels_ints": list(range(classes))}
    model = model_of("SVMClassifier", X, SCORES, attributes)
    if classes > 2 and offsets > 1:
        assert_like_onnx_runtime(run, tmp_path, model, X)
        return
    onnx.save(model, tmp_path / "model.onnx")
    assert "runtimes disagree" in run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=UNSUPPORTED)


def test_a_linear_regression(run, tmp_path):
    attributes = {"coefficients": RANDOM.normal(size=WIDTH).tolist(), "rho": [0.5], "kernel_type": "LINEAR", "kernel_params": KERNELS["LINEAR"]}
    assert_like_onnx_runtime(run, tmp_path, model_of("SVMRegressor", X, {"y": TensorProto.FLOAT}, attributes), X)
