"""Recurrent layers of ONNX, beside ONNX Runtime: sequences of several lengths (sequence_lens), many steps, and none."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

DONE, BAD_INPUT = 0, 2
STEPS, BATCH, INPUT, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
LAYERS = [("LSTM", {}), ("GRU", {"linear_before_reset": 0}), ("GRU", {"linear_before_reset": 1}), ("RNN", {})]


def layer(operator, more, direction, steps="S", ends=True, begins=False):
    random = np.random.default_rng(3)
    sides = 2 if direction == "bidirectional" else 1
    rows = GATES[operator] * HIDDEN
    weights = {"W": (sides, rows, INPUT), "R": (sides, rows, HIDDEN), "B": (sides, 2 * rows)}
    outputs = ["Y", "Y_h", "Y_c"][: 3 if operator == "LSTM" else 2]
    states = [name for name in ("h0", "c0")[: 2 if operator == "LSTM" else 1] if begins]
    operands = ["X", "W", "R", "B", "lengths" if ends else "", *states]
    node = helper.make_node(operator, operands, outputs, hidden_size=HIDDEN, direction=direction, **more)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [steps, "N", INPUT]),
         *([helper.make_tensor_value_info("lengths", TensorProto.INT32, ["N"])] if ends else []),
         *(helper.make_tensor_value_info(name, TensorProto.FLOAT, [sides, "N", HIDDEN]) for name in states)],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        [numpy_helper.from_array(random.normal(scale=0.4, size=s).astype(np.float32), n) for n, s in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def compare(run, tmp_path, model, inputs):
    for name, value in inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
    given_inputs = [word for name in inputs for word in ("--input", f"{name}={name}.npy")]
    run("run", "m.tenon", *given_inputs, "--output", "out.npz", code=DONE)
    given = np.load(tmp_path / "out.npz")
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    for output, want in zip(model.graph.output, wanted, strict=True):
        np.testing.assert_allclose(given[output.name], want, rtol=1e-4, atol=1e-5, err_msg=output.name)


def samples(steps):
    return np.random.default_rng(1).normal(size=(steps, BATCH, INPUT)).astype(np.float32)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("operator", "more"), LAYERS)
def test_sequences_end_where_they_end(run, tmp_path, operator, more, direction):
    model = layer(operator, more, direction)
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    for lengths in [[5, 2, 4], [1, 1, 5], [5, 5, 5]]:
        compare(run, tmp_path, model, {"X": samples(STEPS), "lengths": np.array(lengths, dtype=np.int32)})


@pytest.mark.parametrize(("operator", "more"), LAYERS)
def test_an_empty_sequence_leaves_zeros(run, tmp_path, operator, more):
    model = layer(operator, more, "bidirectional", begins=True)
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    states = {i.name: np.ones((2, BATCH, HIDDEN), np.float32) for i in model.graph.input if i.name in ("h0", "c0")}
    compare(run, tmp_path, model, {"X": samples(STEPS), "lengths": np.array([3, 0, 5], dtype=np.int32), **states})


@pytest.mark.parametrize(("operator", "more"), LAYERS)
def test_many_steps_are_a_loop(run, tmp_path, operator, more):
    model = layer(operator, more, "bidirectional", steps=600, ends=False)
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    compare(run, tmp_path, model, {"X": samples(600)})


@pytest.mark.parametrize(("operator", "more"), LAYERS)
def test_no_steps_leave_the_state_as_it_was(run, tmp_path, operator, more):
    onnx.save(layer(operator, more, "forward", steps=0, ends=False), tmp_path / "model.onnx")
    np.save(tmp_path / "X.npy", samples(0))
    run("run", "model.onnx", "--input", "X=X.npy", "--output", "out.npz", code=DONE)
    given = np.load(tmp_path / "out.npz")
    assert given["Y"].shape == (0, 1, BATCH, HIDDEN)
    np.testing.assert_array_equal(given["Y_h"], np.zeros((1, BATCH, HIDDEN), np.float32))


def test_lengths_beyond_the_steps_are_an_error(run, tmp_path):
    onnx.save(layer("LSTM", {}, "forward"), tmp_path / "model.onnx")
    np.save(tmp_path / "X.npy", np.zeros((STEPS, BATCH, INPUT), np.float32))
    np.save(tmp_path / "lengths.npy", np.array([5, 9, 1], np.int32))
    said = run("run", "model.onnx", "--input", "X=X.npy", "--input", "lengths=lengths.npy", code=BAD_INPUT)
    assert "a length in sequence_lens is larger than the number of steps" in said


ACTIVATIONS = [("Relu", {}), ("LeakyRelu", {"alpha": 0.1}), ("ThresholdedRelu", {"alpha": 0.2}), ("ScaledTanh", {"alpha": 0.7, "beta": 1.3}),
               ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("Elu", {"alpha": 0.8}), ("Softsign", {}), ("Softplus", {}),
               ("Affine", {"alpha": 0.5, "beta": 0.1}), ("Sigmoid", {}), ("Tanh", {})]


def styled(operator, count, rotate, direction):
    """Attributes that name `count` activations a direction, other ones with each `rotate`."""
    sides = 2 if direction == "bidirectional" else 1
    chosen = [ACTIVATIONS[(rotate + i) % len(ACTIVATIONS)] for i in range(count * sides)]
    return {"activations": [name for name, _ in chosen],
            "activation_alpha": [p["alpha"] for _, p in chosen if "alpha" in p],
            "activation_beta": [p["beta"] for _, p in chosen if "beta" in p]}


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("rotate", range(0, len(ACTIVATIONS), 2))
@pytest.mark.parametrize(("operator", "count"), [("LSTM", 3), ("GRU", 2), ("RNN", 1)])
def test_other_activations(run, tmp_path, operator, count, rotate, direction):
    more = {name: values for name, values in styled(operator, count, rotate, direction).items() if values}
    model = layer(operator, more, direction, steps=STEPS, ends=False)
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    compare(run, tmp_path, model, {"X": samples(STEPS)})


@pytest.mark.parametrize(("operator", "more"), [*LAYERS, ("LSTM", {"input_forget": 1})])
def test_clip(run, tmp_path, operator, more):
    model = layer(operator, {**more, "clip": 0.3}, "bidirectional", steps=STEPS, ends=False)
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    compare(run, tmp_path, model, {"X": samples(STEPS)})


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("steps", [STEPS, "S"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_peepholes(run, tmp_path, direction, steps, ends):
    model = layer("LSTM", {}, direction, steps=steps, ends=ends, begins=True)
    sides = 2 if direction == "bidirectional" else 1
    peepholes = np.random.default_rng(5).normal(size=(sides, 3 * HIDDEN)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(peepholes, "P"))
    model.graph.node[0].input.append("P")
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    states = {n: np.random.default_rng(2).normal(size=(sides, BATCH, HIDDEN)).astype(np.float32) for n in ("h0", "c0")}
    lengths = {"lengths": np.array([5, 2, 4], np.int32)} if ends else {}
    compare(run, tmp_path, model, {"X": samples(STEPS), **lengths, **states})
