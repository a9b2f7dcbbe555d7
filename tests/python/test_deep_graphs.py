"""A chain of 20,000 nodes goes through every verb: nothing walks a graph by calling itself, or all of it for each node."""

import onnx
import pytest
from onnx import TensorProto, helper

LENGTH = 20_000
OPERATORS = ["Relu", "Neg", "Abs", "Sigmoid"]


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    nodes = [helper.make_node(OPERATORS[i % 4], [f"v{i}"], [f"v{i + 1}"]) for i in range(LENGTH)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("v0", f"v{LENGTH}")]
    path = tmp_path_factory.mktemp("chain") / "chain.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 21)]), path)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "--no-fuse"],
        ["inspect", "--ops"],
        ["inspect", "--no-fuse", "--html", "page.html"],
        ["convert", "--no-verify", "-o", "chain.tenon"],
        ["convert", "--no-verify", "-o", "again.onnx"],
        ["profile", "--iters", "1", "--no-roofline", "--no-fuse"],
    ],
    ids=" ".join,
)
def test_a_long_chain_goes_through(run, chain, arguments):
    run(arguments[0], chain, *arguments[1:], code=0)


def test_a_long_chain_is_compared_with_itself(run, chain):
    assert "same fused graph" in run("equiv", chain, chain, "--no-fuse", "--samples", "1", code=0)
