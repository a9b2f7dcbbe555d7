"""Python's arithmetic on numbers of a tensor (`n.item()`) in a .pt2: every function that torch.export writes."""

import json
import math
import operator
import subprocess
import zipfile

import numpy
import pytest
import torch
from torch import nn
from torch._export.serde.serialize import _SYM_OPS

from tests.python.compared import assert_equal, flat, run, tenon_run

# k and j are ints, 0 <= k <= 9 and 1 <= j <= 4.
NUMBERS = {
    "add": lambda k, j: k + j,
    "sub": lambda k, j: 3 - k,
    "mul": lambda k, j: k * j * 2,
    "truediv": lambda k, j: k / j,
    "truediv of a float": lambda k, j: (k / 2) / (j * 0.5),
    "floordiv": lambda k, j: k // j,
    "floordiv below zero": lambda k, j: (-k - 1) // j,
    "mod": lambda k, j: (k + 7) % 3,
    "pow": lambda k, j: k**2,
    "pow of a float": lambda k, j: (k / j) ** 2,
    "neg": lambda k, j: -k,
    "pos": lambda k, j: +k,
    "int and float": lambda k, j: k * 1.5 + 0.25 - j,
    "sym_max": lambda k, j: torch.sym_max(k, 4),
    "sym_min": lambda k, j: torch.sym_min(k, j + 2),
    "sym_max of floats": lambda k, j: torch.sym_max(k / 2, 1.75),
    "sym_float": lambda k, j: torch.sym_float(k) * 0.5,
    "sym_int": lambda k, j: torch.sym_int(k / 2),
    "trunc": lambda k, j: math.trunc(k * 0.75),
    "sym_sqrt": lambda k, j: torch.sym_sqrt(k + 1),
    "sym_ite": lambda k, j: torch.sym_ite(k > 4, k, j),
    "eq": lambda k, j: torch.sym_ite(k == 3, 2, 1),
    "ne": lambda k, j: torch.sym_ite(k != 3, 2, 1),
    "lt": lambda k, j: torch.sym_ite(k < j, 2, 1),
    "le": lambda k, j: torch.sym_ite(k <= j, 2, 1),
    "gt": lambda k, j: torch.sym_ite(k / 2 > j, 2, 1),
    "ge": lambda k, j: torch.sym_ite(k >= j, 2, 1),
    "and": lambda k, j: torch.sym_ite(operator.and_(k > 2, j > 1), 2, 1),
    "or": lambda k, j: torch.sym_ite(operator.or_(k > 6, j > 3), 2, 1),
    "not": lambda k, j: torch.sym_ite(torch.sym_not(k > 2), 2, 1),
    "lshift": lambda k, j: k << 2,
    "rshift": lambda k, j: k >> 1,
}
OPERATORS = {getattr(f, "__module__", "") + "." + f.__name__ for f in _SYM_OPS}


class Numbers(nn.Module):
    def forward(self, x, n, m):
        k, j = n.item(), m.item()
        for low, number, high in ((0, k, 9), (1, j, 4)):
            torch._check(number >= low)
            torch._check(number <= high)
        return tuple(x * f(k, j) for f in NUMBERS.values())


def test_every_function_of_a_number_equals_pytorch(tenon, tmp_path):
    program = torch.export.export(Numbers(), (torch.randn(3), torch.tensor(4), torch.tensor(2)))
    torch.export.save(program, tmp_path / "m.pt2")
    with zipfile.ZipFile(tmp_path / "m.pt2") as archive:
        text = json.loads(archive.read("m/models/model.json"))
    written = {node["target"] for node in text["graph_module"]["graph"]["nodes"]}
    never = {"_operator.pos", "torch.sym_int"}  # written as nothing and as math.trunc
    assert OPERATORS - written <= never, "a function without a case"
    tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon")
    for k, j in ((0, 1), (3, 2), (9, 4), (5, 3)):
        inputs = [torch.randn(3), torch.tensor(k), torch.tensor(j)]
        for name, got, want in zip(NUMBERS, run(tenon, tmp_path / "m.tenon", inputs, tmp_path), Numbers()(*inputs)):
            assert_equal([got], [want], f"{name} of {k} and {j}")


def checked_slice(x, n):
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 5)
    return x[:k] * 2, x[k:].sum(0), x.new_ones(k + 1)


def checked_shape(x, n):
    k = n.item()
    torch._check(k >= 2)
    torch._check(k <= 5)
    return torch.zeros(k // 2, 3) + x[0], torch.arange(max(k, 3)), x.narrow(0, 0, k).mean(0)


def last_of(x, n):
    k = n.item()
    torch._check(k >= 1)
    torch._check(k <= x.shape[0])
    return x[k - 1], x.select(0, k - 1)


@pytest.mark.parametrize("function", [checked_slice, checked_shape, last_of])
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
def test_numbers_of_a_tensor_are_sizes(tenon, tmp_path, function, dynamic):
    class Model(nn.Module):
        def forward(self, x, n):
            return function(x, n)

    dims = {"x": {0: torch.export.Dim("rows", min=5)}, "n": None} if dynamic else None
    program = torch.export.export(Model(), (torch.randn(6, 3), torch.tensor(4)), dynamic_shapes=dims)
    torch.export.save(program, tmp_path / "m.pt2")
    tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon")
    for k in (2, 5, 3):
        inputs = [torch.randn(6, 3), torch.tensor(k)]
        assert_equal(run(tenon, tmp_path / "m.tenon", inputs, tmp_path), flat(Model()(*inputs)), f"{k}")


class Sum(nn.Module):
    def forward(self, x):
        s = x.sum().item()
        torch._check(s > 0)
        return x / s


class Async(nn.Module):
    def forward(self, x):
        torch._assert_async((x > -1).all(), "positive please")
        return x.log1p()


class Size(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k > 3)
        torch._check(k <= x.shape[0])
        return x[:k].sum(0)


X = torch.rand(6)
ASSERTIONS = [  # a model, inputs that hold, inputs that do not, what is said of them
    (Sum, (X,), (-X,), "0"),
    (Async, (X,), (-2 * X - 1,), "positive please"),
    (Size, (X, torch.tensor(5)), (X, torch.tensor(3)), "u0 >= 4"),
    (Size, (X, torch.tensor(5)), (X, torch.tensor(7)), "6"),
    (Size, (X, torch.tensor(5)), (X, torch.tensor(-1)), "u0 >= 4"),
]


@pytest.mark.parametrize("model, good, bad, said", ASSERTIONS)
@pytest.mark.parametrize("decomposed", [False, True], ids=["", "decomposed"])
def test_what_the_model_asserts_of_its_data_is_checked(tenon, tmp_path, model, good, bad, said, decomposed):
    program = torch.export.export(model(), good)
    torch.export.save(program.run_decompositions() if decomposed else program, tmp_path / "m.pt2")
    tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon", *(["--no-verify"] if model is not Size else []))
    assert_equal(run(tenon, tmp_path / "m.tenon", good, tmp_path), flat(model()(*good)), "")
    with pytest.raises(RuntimeError):
        program.module()(*bad)
    for path in ("m.tenon", "m.pt2"):
        arguments = []
        for i, x in enumerate(bad):
            numpy.save(tmp_path / f"bad{i}.npy", x.numpy())
            arguments += ["--input", tmp_path / f"bad{i}.npy"]
        verb = "run" if path.endswith("tenon") else "verify"
        done = subprocess.run([tenon, verb, tmp_path / path, *arguments], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr, done.stdout + done.stderr
