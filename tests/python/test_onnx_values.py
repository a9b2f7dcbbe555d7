"""`convert` and `verify` compare ONNX models with ONNX Runtime whatever their inputs and outputs are: sequences, optionals, dictionaries,
types that NumPy lacks, numbers that conversion fixed."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, TypeProto, helper

DONE, DIFFERS, BAD_INPUT = 0, 1, 2
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
VERIFIED = "equal to ONNX Runtime (relative error 0.0e+00"

# Signature, body, the same body with another result, --input.
MODELS = {
    "a sequence": ("(float[2,3] x) => (seq(float[2,3]) y)", "{ n = Neg(x) y = SequenceConstruct(x, n) }", ("Neg", "Abs"), []),
    "a sequence of sizes of their own": ("(float[5,3] x) => (seq(float[A,3]) y, float[5,3] z)",
                                         "{ n = Constant<value_int = 2>() y = SplitToSequence<axis = 0>(x, n) z = Neg(x) }", ("Neg", "Abs"), []),
    "an empty sequence": ("(float[2,3] x) => (seq(float) y, float[2,3] z)", "{ y = SequenceEmpty() z = Neg(x) }", ("Neg", "Abs"), []),
    "a sequence of strings": ("(float[2] x) => (seq(string[2]) y)", "{ i = Cast<to = 7>(x) s = Cast<to = 8>(i) y = SequenceConstruct(s, s) }",
                              ("Cast<to = 7>(x)", "Constant<value_ints = [7, 8]>()"), []),
    "an optional": ("(float[2,3] x) => (optional(float[2,3]) y)", "{ n = Neg(x) y = Optional(n) }", ("Neg", "Abs"), []),
    "bf16": ("(float[2,3] x) => (bfloat16[2,3] y)", "{ n = Neg(x) y = Cast<to = 16>(n) }", ("Neg", "Abs"), []),
    "bf16 beside a sequence": ("(bfloat16[2,3] x) => (bfloat16[2,3] y, seq(float[2,3]) z)",
                               "{ f = Cast<to = 1>(x) n = Neg(f) y = Cast<to = 16>(n) z = SequenceConstruct(f, n) }", ("Neg", "Abs"), []),
    "a bf16 number": ("(float x) => (bfloat16 y)", "{ n = Neg(x) y = Cast<to = 16>(n) }", ("Neg", "Abs"), []),
    "no bf16 number": ("(float[N] x, float[3] w) => (bfloat16[N] y, float[3] z)", "{ y = Cast<to = 16>(x) z = Neg(w) }", ("Neg", "Abs"), ["x=f32[0]", "w=f32[3]"]),
    "float8e4m3fn": ("(float[2,3] x) => (float8e4m3fn[2,3] y)", "{ n = Neg(x) y = Cast<to = 17>(n) }", ("Neg", "Abs"), []),
    "float8e5m2": ("(float[2,3] x) => (float8e5m2[2,3] y)", "{ n = Neg(x) y = Cast<to = 19>(n) }", ("Neg", "Abs"), []),
    "int4": ("(int32[5] x) => (int4[5] y)", "{ n = Neg(x) y = Cast<to = 22>(n) }", ("Neg", "Abs"), []),
    "uint4": ("(int32[5] x) => (uint4[5] y)", "{ n = Abs(x) y = Cast<to = 21>(n) }", ("Abs(x)", "Constant<value_ints = [9, 9, 9, 9, 9]>()"), []),
    "input: a sequence": ("(seq(float[2,3]) x, float[2,3] w) => (float[2,3] y)",
                          "{ k = Constant<value_int = 1>() a = SequenceAt(x, k) y = Sub(a, w) }", ("Sub", "Add"),
                          ["x.0=f32[2,3]", "x.1=f32[2,3]", "w=f32[2,3]"]),
    "input: an optional": ("(optional(float[2,3]) x) => (float[2,3] y)", "{ a = OptionalGetElement(x) y = Neg(a) }", ("Neg", "Abs"), ["x=f32[2,3]"]),
    "input: a number that was fixed": ("(float[2,3] x, int64 n) => (float[2,3] y)", "{ f = Cast<to = 1>(n) y = Mul(x, f) }", ("Mul", "Sub"), ["n=3"]),
    "input: a float that was fixed": ("(float[2,3] x, float n) => (float[2,3] y)", "{ y = Mul(x, n) }", ("Mul", "Sub"), ["n=3"]),
}


def save(path, signature, body):
    onnx.save(onnx.parser.parse_model(f"{HEAD}g {signature} {body}"), path)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_compared(run, tmp_path, name):
    signature, body, (word, other), inputs = MODELS[name]
    save(tmp_path / "model.onnx", signature, body)
    save(tmp_path / "other.onnx", signature, body.replace(word, other))
    options = [o for text in inputs for o in ("--input", text)]
    assert VERIFIED in run("convert", "model.onnx", "-o", "m.tenon", *options, code=DONE)
    assert run("verify", "model.onnx", *options, "--source", "other.onnx", code=DIFFERS).endswith("DIFFERS\n")


def test_another_number_of_items_is_said(run, tmp_path):
    signature = "(float[2,3] x) => (seq(float[2,3]) y)"
    save(tmp_path / "model.onnx", signature, "{ y = SequenceConstruct(x, x) }")
    save(tmp_path / "other.onnx", signature, "{ y = SequenceConstruct(x, x, x) }")
    assert "the ONNX model has 3 outputs, the model has 2" in run("verify", "model.onnx", "--source", "other.onnx", code=BAD_INPUT)


def test_a_weight_that_is_an_input_takes_what_is_given(run, tmp_path):
    model = onnx.parser.parse_model(HEAD + "g (float[3] x, float[3] w = {1, 2, 3}) => (float[3] y) { y = Mul(x, w) }")
    assert len(model.graph.initializer) == 1
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "w.npy", np.array([4, 5, 6], np.float32))
    for given in ([], ["--input", "w=w.npy"]):
        assert run("verify", "model.onnx", *given, code=DONE).endswith("verified\n")


def zip_map(path, labels, negated=False):
    nodes = [helper.make_node("Neg" if negated else "Identity", ["x"], ["p"]), helper.make_node("ZipMap", ["p"], ["y"], domain="ai.onnx.ml", **labels)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])], [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


@pytest.mark.parametrize("labels", [{"classlabels_strings": ["b", "ä", "a"]}, {"classlabels_int64s": [7, -3, 5]}])
def test_a_list_of_dictionaries(run, tmp_path, labels):
    """Their keys are in ascending order, as in ONNX Runtime's."""
    zip_map(tmp_path / "model.onnx", labels)
    zip_map(tmp_path / "other.onnx", labels, negated=True)
    assert VERIFIED in run("convert", "model.onnx", "-o", "m.tenon", code=DONE)
    assert run("verify", "m.tenon", "--source", "other.onnx", code=DIFFERS).endswith("DIFFERS\n")
    x = np.array([[0.5, 1, 2]], np.float32)
    np.save(tmp_path / "x.npy", x)
    run("run", "m.tenon", "--input", "x.npy", "--output", "out.npz", code=DONE)
    out, listed = np.load(tmp_path / "out.npz"), next(iter(labels.values()))
    assert out["y.keys"].tolist() == sorted(listed)
    assert out["y.values"].tolist() == [[x[0, listed.index(key)] for key in sorted(listed)]]


def test_class_labels_are_different(run, tmp_path):
    zip_map(tmp_path / "model.onnx", {"classlabels_int64s": [7, 3, 7]})
    assert "two of its class labels are '7'" in run("convert", "model.onnx", "-o", "m.tenon", code=BAD_INPUT)


def test_a_dictionary_is_given(run, tmp_path):
    node = helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["fig", "apple"])
    element = TypeProto(tensor_type=TypeProto.Tensor(elem_type=TensorProto.FLOAT))
    words = helper.make_value_info("x", TypeProto(map_type=TypeProto.Map(key_type=TensorProto.STRING, value_type=element)))
    graph = helper.make_graph([node], "g", [words], [helper.make_empty_tensor_value_info("y")])
    opsets = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "model.onnx")
    np.save(tmp_path / "k.npy", np.array(["apple", "fig"]))
    np.save(tmp_path / "v.npy", np.array([1, 2], np.float32))
    assert run("verify", "model.onnx", "--input", "x.keys=k.npy", "--input", "x.values=v.npy", code=DONE).endswith("verified\n")


def test_a_written_file_with_bf16_is_run(run, tmp_path):
    torch = pytest.importorskip("torch")

    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) * 2, x.float().sum(-1)

    torch.jit.trace(Module(), torch.randn(2, 3, dtype=torch.bfloat16)).save(str(tmp_path / "model.pt"))
    said = run("convert", "model.pt", "-o", "written.onnx", "--json", "report.json", code=DONE)
    assert "ONNX Runtime gives the same from the file (relative error 0.0e+00)" in said
    assert json.loads((tmp_path / "report.json").read_text())["verified"].startswith("relative error")
