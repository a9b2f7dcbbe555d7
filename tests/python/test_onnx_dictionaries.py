"""Dictionaries of ai.onnx.ml: their keys and values are inputs and outputs of their own, with the numbers of ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, TypeProto, helper

DONE, BAD_INPUT = 0, 2
PROBABILITIES = np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3)


def model_of(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info(o) for o in outputs])
    opsets = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def dictionary(name, keys, values):
    element = TypeProto(tensor_type=TypeProto.Tensor(elem_type=values))
    return helper.make_value_info(name, TypeProto(map_type=TypeProto.Map(key_type=keys, value_type=element)))


def outputs_of(run, tmp_path, model, arrays):
    onnx.save(model, tmp_path / "model.onnx")
    given = []
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
        given += ["--input", f"{name}={name}.npy"]
    run("run", "model.onnx", *given, "--output", "out.npz", code=DONE)
    return np.load(tmp_path / "out.npz")


@pytest.mark.parametrize("labels", [{"classlabels_strings": ["a", "bc", "d"]}, {"classlabels_int64s": [7, 3, 5]}])
def test_probabilities_of_named_classes(run, tmp_path, labels):
    node = helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", **labels)
    model = model_of([node], [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])], ["y"])
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": PROBABILITIES})[0]
    given = outputs_of(run, tmp_path, model, {"x": PROBABILITIES})
    rows = [dict(zip(given["y.keys"].tolist(), row)) for row in given["y.values"].tolist()]
    assert rows == wanted


WORDS = {"apple": 3.0, "fig": -1.5, "plum": 0.25}


@pytest.mark.parametrize("vocabulary", [["fig", "plum", "apple"], ["kiwi", "apple"], ["kiwi"]])
def test_a_row_of_listed_keys(run, tmp_path, vocabulary):
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=vocabulary)
    model = model_of([node], [dictionary("x", TensorProto.STRING, TensorProto.FLOAT)], ["y"])
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": WORDS})[0]
    given = outputs_of(run, tmp_path, model, {"x.keys": np.array(list(WORDS)), "x.values": np.array(list(WORDS.values()), np.float32)})
    np.testing.assert_array_equal(given["y"], wanted.reshape(1, -1))


NUMBERS = {4: 0.5, 0: -2.0, 2: 7.25}


@pytest.mark.parametrize("form", [{"map_form": "DENSE"}, {"map_form": "SPARSE", "max_map": 6}])
@pytest.mark.parametrize("to", ["TO_FLOAT", "TO_INT64"])
def test_a_row_in_the_order_of_keys(run, tmp_path, form, to):
    node = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", cast_to=to, **form)
    model = model_of([node], [dictionary("x", TensorProto.INT64, TensorProto.FLOAT)], ["y"])
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": NUMBERS})[0]
    given = outputs_of(run, tmp_path, model, {"x.keys": np.array(list(NUMBERS)), "x.values": np.array(list(NUMBERS.values()), np.float32)})
    np.testing.assert_array_equal(given["y"], wanted)
    assert given["y"].dtype == wanted.dtype


def test_a_key_without_a_place_is_said(run, tmp_path):
    node = helper.make_node("CastMap", ["x"], ["y"], domain="ai.onnx.ml", map_form="SPARSE", max_map=3)
    onnx.save(model_of([node], [dictionary("x", TensorProto.INT64, TensorProto.FLOAT)], ["y"]), tmp_path / "model.onnx")
    np.save(tmp_path / "k.npy", np.array([1, 3]))
    np.save(tmp_path / "v.npy", np.array([1, 3], np.float32))
    said = run("run", "model.onnx", "--input", "x.keys=k.npy", "--input", "x.values=v.npy", code=BAD_INPUT)
    assert "a key of the dictionary is not in [0, 3)" in " ".join(said.split())
