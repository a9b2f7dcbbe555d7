"""Every operator of ONNX's own cases with an operand, an attribute or its operands' number damaged: one sentence, never a crash."""

import math
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import onnx
import pytest
from onnx import AttributeProto, TensorProto
from onnx.backend.test.loader import load_model_tests

from chosen import chosen

DONE, BAD_INPUT, UNSUPPORTED = 0, 2, 3
HUGE = 2**62


def changed(model, change):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    change(copy.graph)
    return copy


def of_operands(model):
    for k, given in enumerate(model.graph.input):
        if not given.type.HasField("tensor_type"):
            continue
        dims = [d.dim_value for d in given.type.tensor_type.shape.dim]
        shapes = {"a number": [], "one axis": [max(1, math.prod(dims))], "an axis more": [1, *dims], "an axis less": dims[1:],
                  "nothing": [0] * len(dims), "much": [d * 7919 for d in dims]}
        for axis in range(len(dims)):
            for size in (0, 10**9):
                shapes[f"{size} on axis {axis}"] = [*dims[:axis], size, *dims[axis + 1:]]
        for damage, shape in shapes.items():
            def reshape(graph, k=k, shape=shape):
                sizes = graph.input[k].type.tensor_type.shape
                del sizes.dim[:]
                for size in shape:
                    sizes.dim.add().dim_value = size

            yield f"input {k} as {damage}", changed(model, reshape)
        for dtype in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL, TensorProto.COMPLEX64):
            def retype(graph, k=k, dtype=dtype):
                graph.input[k].type.tensor_type.elem_type = dtype

            yield f"input {k} as {TensorProto.DataType.Name(dtype)}", changed(model, retype)


def of_attributes(model, n):
    for k, attribute in enumerate(model.graph.node[n].attribute):
        def remove(graph, k=k):
            del graph.node[n].attribute[k]

        yield f"without {attribute.name}", changed(model, remove)
        values = []
        if attribute.type == AttributeProto.INTS:
            given = list(attribute.ints)
            values = [[], given[:-1], [*given, 1, 1], [-1 - v for v in given], [HUGE for _ in given], [0 for _ in given]]
        elif attribute.type == AttributeProto.INT:
            values = [0, -1, 3, 99, HUGE, -(2**63)]
        elif attribute.type == AttributeProto.STRING:
            values = [b"", b"zzz"]
        for value in values:
            def set_value(graph, k=k, value=value):
                graph.node[n].attribute[k].CopyFrom(onnx.helper.make_attribute(attribute.name, value, attr_type=attribute.type))

            yield f"{attribute.name}={value}", changed(model, set_value)


def of_counts(model, n):
    node = model.graph.node[n]
    if node.input:
        yield "an operand less", changed(model, lambda graph: graph.node[n].input.pop())
        yield "no operand", changed(model, lambda graph: graph.node[n].ClearField("input"))
        yield "no first operand", changed(model, lambda graph: graph.node[n].input.__setitem__(0, ""))
    yield "results too many", changed(model, lambda graph: graph.node[n].output.extend(["more", "and more"]))


def damaged():
    """Name and model, one of each damage to each sequence of operators."""
    seen = set()
    for case in load_model_tests(kind="node"):
        model = case.model
        operators = tuple(node.op_type for node in model.graph.node)
        variants = list(of_operands(model))
        for n in range(min(3, len(operators))):
            variants += [*of_attributes(model, n), *of_counts(model, n)]
        for damage, variant in variants:
            if (operators, damage) not in seen:
                seen.add((operators, damage))
                yield f"{case.name} {damage}", variant


def test_is_no_crash(tenon, tmp_path):
    def complaint(numbered):
        number, (name, model) = numbered
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(model.SerializeToString())
        done = subprocess.run([tenon, "convert", path, "--print-ir", "fused"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=60)
        path.unlink()
        fine = done.returncode in (DONE, BAD_INPUT, UNSUPPORTED) and "bug in tenon" not in done.stderr
        return None if fine else f"{name}: {done.returncode} {done.stderr}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [c for c in pool.map(complaint, enumerate(chosen(damaged(), 3))) if c]
    if complaints:
        pytest.fail("\n".join(complaints[:20]))
