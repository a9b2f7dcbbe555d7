"""What PyTorch's higher-order functions become in a .pt2: map, scans, vmap, autocast."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_over

from tests.python.compared import flat, tenon_run

ROOT = Path(__file__).resolve().parents[2]
X = torch.randn(5, 3, 4)


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *inputs):
        return self.f(*inputs)


def cumulated(a, b):
    return a * b + a


FUNCTIONS = {
    "map": (lambda xs, y: map_over(lambda x, y: (x + y).sin(), xs, y), (X, torch.randn(4))),
    "map of two results": (lambda xs: map_over(lambda x: (x.sum(0), x * 2), xs), (X,)),
    "associative_scan": (lambda xs: associative_scan(torch.add, xs, 0, combine_mode="generic"), (X,)),
    "associative_scan of pairs": (
        lambda a, b: associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), 1, combine_mode="generic"),
        (torch.rand(2, 7, 3), torch.randn(2, 7, 3))),
    "vmap": (lambda x, w: torch.vmap(lambda a: torch.relu(a @ w).sum(-1))(x), (X, torch.randn(4, 6))),
    "vmap of two": (lambda x: torch.vmap(torch.dot)(x[:, 0], x[:, 1]), (X,)),
    "vmap of vmap": (lambda x: torch.vmap(torch.vmap(lambda a: a.softmax(0) - a.mean()))(x), (X,)),
    "vmap of an outer product": (lambda x: torch.vmap(lambda a: torch.vmap(lambda b: (a @ b.T).amax(1))(x))(x), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_functions_equal_pytorch(tenon, tmp_path, name):
    function, inputs = FUNCTIONS[name]
    torch.export.save(torch.export.export(Function(function), inputs), tmp_path / "m.pt2")
    assert "equal to LibTorch" in tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon")


class Autocast(nn.Module):
    """One operator of each kind: 16 bits, 32 bits, as its operands are, the widest operand."""

    def __init__(self, dtype):
        super().__init__()
        self.conv, self.linear, self.dtype = nn.Conv2d(3, 4, 3), nn.Linear(6, 5), dtype

    def forward(self, x):
        with torch.autocast("cpu", dtype=self.dtype):
            y = self.conv(x)
            z = torch.relu(self.linear(y))
            a = z @ z.transpose(-1, -2)
            with torch.autocast("cpu", enabled=False):
                b = self.linear(y.float())
            c = nn.functional.mse_loss(z, b)
            d = torch.cat([z, b])
            e = nn.functional.scaled_dot_product_attention(z, z, z)
            f = nn.functional.normalize(z) + torch.linalg.norm(b, dim=-1, keepdim=True)
            g = torch.inner(b[0, 0], b[1, 0])
        return y, z, a, b, c, d, e, f, g, torch.softmax(a, -1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_computes_in_its_dtypes(tenon, tmp_path, dtype):
    torch.manual_seed(0)
    model, x = Autocast(dtype).eval(), torch.randn(2, 3, 8, 8)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    printed = tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon")
    assert "equal to LibTorch" in printed
    printed = tenon_run(tenon, "inspect", tmp_path / "m.tenon")
    for i, want in enumerate(flat(model(x))):
        kind = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}[want.dtype]
        assert f"out.{i}" in printed and kind in printed


def test_autocast_knows_the_operators_that_pytorch_lists():
    """Those with a kernel for autocast on the CPU; concatenations only promote, as they do in any case."""
    listed = set(re.findall(r'"(\w+)"', (ROOT / "converter/exported/autocast.cpp").read_text()))
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::") and has_kernel(name, "AutocastCPU")]
    known = {name.removeprefix("aten::").partition(".")[0] for name in names} - {"cat", "index_copy", "stack"}
    of_products = {"bilinear", "chain_matmul", "einsum", "inner", "linalg_matmul", "linalg_matrix_power", "linalg_multi_dot", "matrix_power",
                   "tensordot"}  # fmt: skip
    assert listed - of_products == known
