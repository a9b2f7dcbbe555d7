"""ONNX files as exporters leave them: sizes that say nothing, names that are none, what may be missing. Each runs as ONNX Runtime runs it."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

DONE, BAD_INPUT, UNSUPPORTED = 0, 2, 3
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
W = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)


def value(name, shape, dtype=TensorProto.FLOAT):
    """shape: numbers (any), texts, None."""
    info = helper.make_tensor_value_info(name, dtype, [])
    for size in shape:
        dim = info.type.tensor_type.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size is not None:
            dim.dim_param = size
    return info


def model(shape=("N", "L", 4), nodes=None, inputs=None, outputs=None, weights=None, opsets=(("", 17),), ir_version=8, values=()):
    nodes = nodes or [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    weights = [numpy_helper.from_array(W, "w")] if weights is None else weights
    graph = helper.make_graph(nodes, "g", inputs or [value("x", shape)], outputs or [helper.make_empty_tensor_value_info("y")],
                              weights, value_info=values)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets], ir_version=ir_version)
    if not opsets:
        del made.opset_import[:]
    return made


def edited(made, change):
    change(made)
    return made


def expected(made):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(made.SerializeToString(), options).run(None, {"x": X})[0]


PLAIN = np.maximum(X @ W, 0)
BRANCH = helper.make_graph([helper.make_node("Relu", ["h"], ["inner"])], "", [], [helper.make_empty_tensor_value_info("inner")])

WILD = {
    "-1 for any size": model((-1, -1, 4)),
    "0 for any size": model((0, 0, 4)),
    "-1 for a size that is one": model((-1, 3, -1)),
    "a question mark for every size": model(("?", "?", "?")),
    "the text -1": model(("-1", "-1", "4")),
    "None as a text": model(("None", "None", 4)),
    "nothing at all": model((None, None, None)),
    "names of TensorFlow": model(("unk__12", "unk__13", 4)),
    "names that are arithmetic": model(("batch*2", "floor(H/2)", 4)),
    "names that become the same": model(("a b", "a_b", "a-b")),
    "a name that is a digit first": model(("3d", "日本", 4)),
    "wrong sizes of an intermediate value": model(values=[value("h", (7, 7, 7, 7))]),
    "an intermediate value without a type": model(values=[helper.make_empty_tensor_value_info("h")]),
    "weights that are inputs": model(inputs=[value("x", ("N", "L", 4)), value("w", (4, 5))]),
    "weights that are the first inputs": model(inputs=[value("w", (4, 5)), value("x", ("N", "L", 4))]),
    "outputs of wrong sizes": model(outputs=[value("y", (-1, 0, "?"))]),
    "empty names of nodes and the graph": edited(model(), lambda m: (m.graph.ClearField("name"), m.graph.node[0].ClearField("name"))),
    "optional inputs that are not given": model(nodes=[
        helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Clip", ["h", "zero", ""], ["y"])],
        weights=[numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.float32(0), "zero")]),
    "nodes in no order": edited(model(), lambda m: m.graph.node.reverse()),
    "a branch before what it reads": model(nodes=[
        helper.make_node("If", ["c"], ["y"], then_branch=BRANCH, else_branch=BRANCH), helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0), helper.make_node("MatMul", ["x", "w"], ["h"])],
        weights=[numpy_helper.from_array(W, "w"), numpy_helper.from_array(np.float32(0), "zero")]),
    "the domain ai.onnx": edited(model(), lambda m: [n.__setattr__("domain", "ai.onnx") for n in m.graph.node]),
    "an operator set too many": model(opsets=(("", 17), ("com.example", 3))),
    "com.microsoft without a version": model(nodes=[
        helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Gelu", ["h"], ["y"], domain="com.microsoft")]),
    "ai.onnx.ml without a version": model(nodes=[helper.make_node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml", threshold=1.5)]),
    "strange names of values": model(nodes=[
        helper.make_node("MatMul", ["x", "w"], ["a/b:0 %\"'"]), helper.make_node("Relu", ["a/b:0 %\"'"], ["y"])]),
}


@pytest.mark.parametrize("name", WILD)
def test_runs_as_onnx_runtime_runs_it(run, tmp_path, name):
    onnx.save(WILD[name], tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", X)
    run("run", "model.onnx", "--input", "x=x.npy", "--output", "out.npy", code=DONE)
    # ONNX Runtime takes 0 at its word, and wants what a branch reads before it.
    wanted = PLAIN if name in ("0 for any size", "a branch before what it reads") else expected(WILD[name])
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["-1 for any size", "0 for any size", "a question mark for every size", "names that become the same"])
def test_a_size_that_says_nothing_stays_open(run, tmp_path, name):
    onnx.save(WILD[name], tmp_path / "model.onnx")
    if name == "a question mark for every size":  # that the last one is 4 follows from the weights
        run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", "--input", "x=f32[A,B,4]", code=DONE)
    else:
        run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", *(["--input", "x=f32[A,B,4]"] if "same" in name else []), code=DONE)
    for sizes in [(2, 3, 4), (1, 1, 4), (5, 2, 4)]:
        x = np.ones(sizes, np.float32)
        np.save(tmp_path / "x.npy", x)
        run("run", "m.tenon", "--input", "x=x.npy", "--output", "out.npy", code=DONE)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.maximum(x @ W, 0), rtol=1e-5, atol=1e-6)


def test_zero_may_be_meant(run, tmp_path):
    onnx.save(model((0, 3, 4)), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.zeros((0, 3, 4), np.float32))
    run("run", "model.onnx", "--input", "x=x.npy", "--output", "out.npy", code=DONE)
    assert np.load(tmp_path / "out.npy").shape == (0, 3, 5)


def test_the_first_file_formats_name_no_operator_set(run, tmp_path):
    made = model(opsets=(), ir_version=2, nodes=[helper.make_node("Sigmoid", ["x"], ["y"])], weights=[])
    onnx.save(made, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", X)
    run("run", "model.onnx", "--input", "x=x.npy", "--output", "out.npy", code=DONE)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), 1 / (1 + np.exp(-X)), rtol=1e-5)


def test_attributes_may_leave_out_their_type(run, tmp_path):
    made = model(nodes=[helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.25)], weights=[])
    made.graph.node[0].attribute[0].ClearField("type")
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    np.save(tmp_path / "x.npy", X)
    run("run", "model.onnx", "--input", "x=x.npy", "--output", "out.npy", code=DONE)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), np.where(X > 0, X, X / 4))


@pytest.mark.parametrize(("made", "sentence"), [
    (model(opsets=()), "does not say which operator set"),
    (model(opsets=(("com.example", 1),)), "without naming the version"),
    (edited(model(), lambda m: m.graph.node[0].input.__setitem__(0, "nobody")), "it reads 'nobody'"),
    (edited(model(), lambda m: m.graph.node[0].input.__setitem__(0, "y")), "which nothing before it gives"),
])
def test_what_cannot_be_known_is_said(run, tmp_path, made, sentence):
    onnx.save(made, tmp_path / "model.onnx")
    assert sentence in " ".join(run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=BAD_INPUT).split())
