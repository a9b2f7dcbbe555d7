"""A small file that asks for much memory ends with one sentence, and one option allows it more."""

import numpy
import onnx
import pytest
import torch
from onnx import TensorProto, helper


class DoubledList(torch.nn.Module):
    def forward(self, x):
        values = [1]
        for _ in range(40):
            values += values
        return x + len(values)


class DoubledText(torch.nn.Module):
    def forward(self, x):
        text = "a"
        for _ in range(40):
            text += text
        return x + len(text)


class MultipliedList(torch.nn.Module):
    def forward(self, x):
        return x + len([0] * 10_000_000_000)


class LongRange(torch.nn.Module):
    def forward(self, x):
        values = [i for i in range(10_000_000_000)]
        return x + values[-1]


class TextMadeWide(torch.nn.Module):
    def forward(self, x):
        text = "a".ljust(1_000_000)
        for _ in range(20):
            text = text.replace(" ", "  ")
        return x + len(text)


class Integers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.values = list(range(4_000_000))

    def forward(self, x):
        return x + self.values[3]


def laughs():
    """Calls of calls: 2 to the 40th additions."""
    module = torch.jit.ScriptModule()
    module.define("def f0(self, x):\n    return x + 1\n")
    for i in range(1, 40):
        module.define(f"def f{i}(self, x):\n    return self.f{i - 1}(self.f{i - 1}(x))\n")
    module.define("def forward(self, x):\n    return self.f39(x)\n")
    return module


GROWING = {
    "doubled list": DoubledList,
    "doubled text": DoubledText,
    "multiplied list": MultipliedList,
    "long range": LongRange,
    "wide text": TextMadeWide,
    "integers": Integers,
    "laughs": laughs,
}
BY_STEPS = {"long range": "loop steps"}  # which has a limit of its own


@pytest.mark.parametrize("name", GROWING)
def test_what_a_script_grows_has_a_limit(run, tmp_path, name):
    torch.jit.script(GROWING[name]()).save(str(tmp_path / "model.pt"))
    said = run("inspect", "model.pt", "--input", "x=f32[2]", "--memory", "100MiB", code=3 if name in BY_STEPS else 2)
    assert said.count("error:") == 1 and BY_STEPS.get(name, "takes more than 100MiB of memory") in said
    assert name in BY_STEPS or "--memory 400MiB" in said


def test_constants_that_a_graph_computes_have_a_limit(run, tmp_path):
    """Each node four times as large as the last: 1.4 kB for what would be gigabytes."""
    nodes = [helper.make_node("ConstantOfShape", ["shape"], ["v0"])]
    nodes += [helper.make_node("Concat", [f"v{i}"] * 4, [f"v{i + 1}"], axis=0) for i in range(16)]
    nodes.append(helper.make_node("ReduceSum", ["v16"], ["s"], keepdims=0))
    nodes.append(helper.make_node("Add", ["x", "s"], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy"]
    shape = onnx.numpy_helper.from_array(numpy.array([16], numpy.int64), "shape")
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], [shape]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
              tmp_path / "model.onnx")
    run("inspect", "model.onnx", "--memory", "64MiB", code=0)  # nothing is computed that large


def test_constants_together_have_a_limit(run, tmp_path):
    """Each node's result is as large as the weight, which is what folding may make of it; there are many."""
    weight = onnx.numpy_helper.from_array(numpy.ones([1 << 20], numpy.float32), "w")
    nodes = [helper.make_node("Mul", ["w", "w"], ["v0"])]
    nodes += [helper.make_node("Concat", ["w", f"v{i}"], [f"v{i + 1}"], axis=0) for i in range(40)]
    nodes += [helper.make_node("ReduceSum", [f"v{i}"], [f"s{i}"], keepdims=0) for i in range(41)]
    nodes.append(helper.make_node("Sum", ["x", *(f"s{i}" for i in range(41))], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in "xy"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight]), opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
              tmp_path / "model.onnx")
    assert "takes more than 64MiB of memory" in run("inspect", "model.onnx", "--memory", "64MiB", code=2)
    run("inspect", "model.onnx", "--memory", "8GiB", code=0)


def test_a_model_takes_what_it_needs(run, tmp_path):
    """Weights count with their file, and the limit is no larger than what a verb was told."""
    torch.jit.trace(torch.nn.Linear(2048, 2048), torch.randn(1, 2048)).save(str(tmp_path / "model.pt"))
    run("run", "model.pt", "--input", "f32[1,2048]", "--memory", "64MiB", code=0)
    assert "no amount of memory" in run("run", "model.pt", "--memory", "much", code=2)
