"""How many operands an ONNX operator takes: one too many or one too few is one sentence, for every operator with a schema."""

import importlib.util
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

BAD_INPUT = 2
SCHEMAS = {s.name: s for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}
ANY = 2**31 - 1


def model(name, count, opset):
    names = [f"x{i}" for i in range(count)]
    graph = helper.make_graph([helper.make_node(name, names, ["y"])], "g", [helper.make_tensor_value_info(n, TensorProto.INT64, [2]) for n in names],
                              [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def said(run, tmp_path, name, count):
    onnx.save(model(name, count, onnx.defs.onnx_opset_version()), tmp_path / "model.onnx")
    return run("inspect", "model.onnx", code=BAD_INPUT)


@pytest.mark.parametrize("first", sorted({name[0] for name in SCHEMAS}))
def test_no_operator_takes_more_or_fewer_operands_than_its_schema(run, tmp_path, first):
    for name in sorted(n for n in SCHEMAS if n[0] == first):
        schema = SCHEMAS[name]
        if schema.max_input != ANY:
            assert f"is given {schema.max_input + 1}" in said(run, tmp_path, name, schema.max_input + 1), name
        required = [i for i, operand in enumerate(schema.inputs) if operand.option == onnx.defs.OpSchema.FormalParameterOption.Single]
        if required:
            assert f"its input {required[-1]} is missing" in said(run, tmp_path, name, required[-1]), name


def test_three_sizes_are_not_added(run, tmp_path):
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Add", ["s", "s", "s"], ["t"]), helper.make_node("Expand", ["x", "t"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])], [helper.make_empty_tensor_value_info("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "model.onnx")
    assert "it takes 2 inputs and is given 3" in run("inspect", "model.onnx", code=BAD_INPUT)


def test_an_optional_without_a_value_is_an_operand(run, tmp_path):
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    nodes = [helper.make_node("Optional", [], ["o"], type=kind), helper.make_node("OptionalHasElement", ["o"], ["has"]),
             helper.make_node("Cast", ["has"], ["number"], to=TensorProto.FLOAT), helper.make_node("Add", ["x", "number"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], [helper.make_empty_tensor_value_info("y")])
    for opset in 15, 18:
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), tmp_path / "model.onnx")
        run("inspect", "model.onnx", code=0)


def test_the_counts_are_those_of_the_installed_onnx():
    script = Path(__file__).parents[2] / "converter/onnx/write_operand_counts.py"
    spec = importlib.util.spec_from_file_location("write_operand_counts", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.OUT.read_text() == module.counts(), "run ./dev schemas"
