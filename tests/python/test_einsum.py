"""torch.einsum and ONNX's Einsum: equations as PyTorch reads them, and those that say nothing."""

import onnx
import pytest
import torch
from onnx import TensorProto, helper

DONE, BAD_INPUT = 0, 2
# Equation: sizes of its operands.
EQUATIONS = {
    "ij,jk": ((3, 4), (4, 5)), "ij,jk->ki": ((3, 4), (4, 5)), "ii": ((3, 3),), "iii": ((3, 3, 3),), "...ii": ((2, 3, 3),), "ii->i": ((3, 3),),
    "iij,j": ((3, 3, 2), (2,)), "ba": ((2, 3),), "bhqd, bhkd -> bhqk": ((2, 3, 4, 5), (2, 3, 6, 5)), "...ij,...jk": ((2, 3, 4), (4, 5)),
    "i...->...": ((2, 3, 4),), "Aa,Ba->AB": ((2, 3), (4, 3)), "i,j,k->kij": ((2,), (3,), (4,)), ",i": ((), (3,)), "ij->": ((3, 4),),
}
WRONG = {
    "i1": "an index is a letter", "iij": "names 3 axes of a tensor of rank 2", "ijkl...": "names 4 axes", "ij->k": "is in no operand",
    "ij->ii": "stands twice", "i": "names 1 axes", "ij,jk": "with 1 operands",
}


def test_as_in_pytorch(run, tmp_path):
    class Net(torch.nn.Module):
        def forward(self, xs: list[torch.Tensor]):
            values, given = [], iter(xs)
            for equation, sizes in EQUATIONS.items():
                values.append(torch.einsum(equation, [next(given) for _ in sizes]))
            return values

    class Flat(torch.nn.Module):
        def forward(self, *xs):
            return tuple(Net()(list(xs)))

    inputs = tuple(torch.randn(s) for sizes in EQUATIONS.values() for s in sizes)
    torch.jit.trace(Flat(), inputs).save(tmp_path / "net.pt")
    assert "verified" in run("verify", "net.pt", code=DONE)


@pytest.mark.parametrize("equation", WRONG)
def test_what_an_equation_lacks_is_said(run, tmp_path, equation):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)  # noqa: E731
    node = helper.make_node("Einsum", ["x"], ["y"], equation=equation)
    onnx.save(helper.make_model(helper.make_graph([node], "g", [value("x", [3, 3])], [value("y", None)])), tmp_path / "model.onnx")
    said = run("convert", "model.onnx", "--print-ir", "imported", code=BAD_INPUT)
    assert WRONG[equation] in said and "bug in tenon" not in said
