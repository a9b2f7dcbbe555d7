"""Recurrent layers of ONNX over sequences of several lengths (sequence_lens), beside ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

DONE, BAD_INPUT = 0, 2
STEPS, BATCH, INPUT, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def layer(operator, direction):
    random = np.random.default_rng(3)
    sides = 2 if direction == "bidirectional" else 1
    rows = GATES[operator] * HIDDEN
    weights = {"W": (sides, rows, INPUT), "R": (sides, rows, HIDDEN), "B": (sides, 2 * rows)}
    outputs = ["Y", "Y_h", "Y_c"][: 3 if operator == "LSTM" else 2]
    more = {"linear_before_reset": 1} if operator == "GRU" else {}
    node = helper.make_node(operator, ["X", "W", "R", "B", "lengths"], outputs, hidden_size=HIDDEN, direction=direction, **more)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["S", "N", INPUT]),
         helper.make_tensor_value_info("lengths", TensorProto.INT32, ["N"])],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        [numpy_helper.from_array(random.normal(size=s).astype(np.float32), n) for n, s in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", GATES)
def test_sequences_end_where_they_end(run, tmp_path, operator, direction):
    model = layer(operator, direction)
    onnx.save(model, tmp_path / "model.onnx")
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=DONE)
    for lengths in [[5, 2, 4], [1, 1, 5], [5, 5, 5]]:
        inputs = {"X": np.random.default_rng(1).normal(size=(STEPS, BATCH, INPUT)).astype(np.float32),
                  "lengths": np.array(lengths, dtype=np.int32)}
        wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
        for name, value in inputs.items():
            np.save(tmp_path / f"{name}.npy", value)
        run("run", "m.tenon", "--input", "X=X.npy", "--input", "lengths=lengths.npy", "--output", "out.npz", code=DONE)
        given = np.load(tmp_path / "out.npz")
        for output, want in zip(model.graph.output, wanted, strict=True):
            np.testing.assert_allclose(given[output.name], want, rtol=1e-4, atol=1e-6, err_msg=f"{output.name} {lengths}")


def test_lengths_beyond_the_steps_are_an_error(run, tmp_path):
    onnx.save(layer("LSTM", "forward"), tmp_path / "model.onnx")
    np.save(tmp_path / "X.npy", np.zeros((STEPS, BATCH, INPUT), np.float32))
    np.save(tmp_path / "lengths.npy", np.array([5, 9, 1], np.int32))
    said = run("run", "model.onnx", "--input", "X=X.npy", "--input", "lengths=lengths.npy", code=BAD_INPUT)
    assert "a length in sequence_lens is larger than the number of steps" in said
