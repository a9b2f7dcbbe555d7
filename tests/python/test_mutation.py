"""In-place writes, views and aliases: as PyTorch gives it, or refused; never different."""

import importlib.util
import inspect

import pytest
import torch
from torch import nn

from tests.python.compared import Refused, assert_equal, convert, flat, run, tenon_run

# Each takes x: f32[4,6]. They write into copies, but for those that say so.


def slice_assign(x):
    y = x.clone()
    y[:, 1:3] = 0.0
    return y


def slice_assign_tensor(x):
    y = x.clone()
    y[1:, ::2] = x[:3, :3] * 2
    return y


def row_assign(x):
    y = x.clone()
    y[2] = x[0] + 1
    return y


def element_assign(x):
    y = x.clone()
    y[1, 2] = 7.0
    y[-1, -1] = -7.0
    return y


def broadcast_assign(x):
    y = x.clone()
    y[:, :3] = x[0, 0]
    return y


def add_through_view(x):
    y = x.clone()
    v = y[:, 0]
    v.add_(10.0)
    return y, v


def add_through_two_views(x):
    y = x.clone()
    a = y[1:]
    b = a[:, 2:4]
    b.mul_(3.0)
    a.add_(1.0)
    return y, a, b


def view_sees_base(x):
    y = x.clone()
    v = y.view(2, 12)
    y.add_(1.0)
    return v, y


def base_sees_view(x):
    y = x.clone()
    v = y.view(24)
    v[3:7] = 0.0
    return y


def transpose_write(x):
    y = x.clone()
    y.t()[0] = 5.0
    return y


def permute_write(x):
    y = x.clone().view(2, 2, 6)
    z = y.permute(2, 0, 1)
    z[1].mul_(2.0)
    return y


def unsqueeze_write(x):
    y = x.clone()
    y.unsqueeze(0).add_(1.0)
    return y


def squeeze_write(x):
    y = x.clone().unsqueeze(1)
    y.squeeze(1).mul_(2.0)
    return y


def chunk_write(x):
    y = x.clone()
    a, b = y.chunk(2, 1)
    a.zero_()
    b.add_(a)
    return y


def split_write(x):
    y = x.clone()
    parts = y.split(2, 0)
    parts[1].fill_(3.0)
    return y, parts[0]


def unbind_write(x):
    y = x.clone()
    rows = y.unbind(0)
    rows[2].neg_()
    return y


def narrow_write(x):
    y = x.clone()
    y.narrow(1, 2, 3).exp_()
    return y


def select_write(x):
    y = x.clone()
    y.select(1, 3).sub_(x.select(1, 4))
    return y


def diagonal_write(x):
    y = x.clone()
    y.diagonal().fill_(9.0)
    return y


def copy_full(x):
    y = torch.zeros_like(x)
    y.copy_(x)
    return y


def copy_broadcast(x):
    y = torch.zeros_like(x)
    y.copy_(x[0])
    return y


def copy_dtype(x):
    y = torch.zeros_like(x, dtype=torch.int64)
    y.copy_(x * 3)
    return y


def copy_view_to_view(x):
    y = x.clone()
    y[:, :2].copy_(y[:, 4:])
    return y


def copy_overlapping(x):
    y = x.clone()
    y[1:].copy_(y[:-1].clone())
    return y


def masked_fill_expanded(x):
    mask = (x[0] > 0).expand(4, 6)
    y = x.clone()
    y.masked_fill_(mask, -1.0)
    return y


def masked_fill_view(x):
    y = x.clone()
    y[1:3].masked_fill_(x[1:3] > 0, 0.0)
    return y


def masked_assign(x):
    y = x.clone()
    y[y < 0] = 0.0
    return y


def index_put_rows(x):
    y = x.clone()
    y[torch.tensor([0, 2])] = 1.0
    return y


def index_put_view(x):
    y = x.clone()
    v = y[:, 1:4]
    v[torch.tensor([1, 3])] = x[:2, :3]
    return y


def index_put_accumulate(x):
    y = x.clone()
    y.index_put_([torch.tensor([0, 0, 1])], x[:3], accumulate=True)
    return y


def index_add_in_place(x):
    y = x.clone()
    y.index_add_(0, torch.tensor([1, 1]), x[:2])
    return y


def index_fill_in_place(x):
    y = x.clone()
    y.index_fill_(1, torch.tensor([0, 5]), 2.0)
    return y


def scatter_in_place(x):
    y = x.clone()
    y.scatter_(1, torch.zeros(4, 1, dtype=torch.int64), 8.0)
    return y


def clamp_in_place(x):
    y = x.clone()
    return y.clamp_(-0.5, 0.5), y


def chained(x):
    y = x.clone()
    y.add_(1).mul_(2).sub_(x)
    return y


def relu_of_view(x):
    y = x.clone()
    z = torch.relu_(y[:, :2])
    return y, z


def out_argument(x):
    y = torch.zeros_like(x)
    torch.add(x, x, out=y)
    return y


def augmented(x):
    y = x.clone()
    z = y
    y += 1
    return z


def rebinding(x):
    y = x.clone()
    z = y
    y = y + 1
    return z, y


def augmented_slice(x):
    y = x.clone()
    y[0] += y[1]
    y[:, 0] *= 2
    return y


def addcmul_in_place(x):
    y = x.clone()
    y.addcmul_(x, x, value=0.5)
    return y


def lerp_in_place(x):
    y = x.clone()
    y.lerp_(x * 2, 0.25)
    return y


def where_then_write(x):
    y = torch.where(x > 0, x, x * 2)
    y[0].zero_()
    return y, x


def zero_fill(x):
    y = x.clone()
    y.zero_()
    z = x.clone()
    z.fill_(2.5)
    return y, z


def triangle_in_place(x):
    y = x.clone()
    y.tril_()
    return y


def swap_rows(x):
    y = x.clone()
    first = y[0].clone()
    y[0] = y[1]
    y[1] = first
    return y


def detach_shares(x):
    y = x.clone()
    d = y.detach()
    d.add_(1.0)
    return y


def flatten_shares(x):
    y = x.clone()
    f = y.flatten()
    f[0] = 100.0
    return y


def contiguous_shares(x):
    y = x.clone()
    c = y.contiguous()
    c[0, 0] = 100.0
    return y


def expand_reads_base(x):
    y = x[0].clone()
    e = y.expand(3, 6)
    y.add_(1.0)
    return e


def cat_copies(x):
    y = x.clone()
    z = torch.cat([y, y])
    y.zero_()
    return z


def stack_copies(x):
    y = x.clone()
    z = torch.stack([y, y], 1)
    y.zero_()
    return z


def list_of_views(x):
    y = x.clone()
    views = [y[i] for i in range(4)]
    for i, v in enumerate(views):
        v.mul_(float(i))
    return y


def bool_in_place(x):
    m = x > 0
    m[0] = True
    m.logical_not_()
    return m


def integer_in_place(x):
    n = (x * 4).to(torch.int64)
    n[:, 0] = 3
    n += 2
    n *= 3
    return n


def reads_between_writes(x):
    y = x.clone()
    a = y.sum()
    y.mul_(2.0)
    b = y.sum()
    y[0] = 0.0
    return a, b, y.sum()


def writes_through_select_of_slice(x):
    y = x.clone()
    y[1:3, 2:5].select(0, 1).copy_(x[0, :3])
    return y


def writes_argument(x):
    x.add_(1.0)
    return x * 2


def writes_view_of_argument(x):
    x[0] = 0.0
    return x.sum()


def returns_input(x):
    return x, x.view(6, 4)


def expand_write(x):
    y = x[0].clone()
    y.expand(3, 6)[0].add_(1.0)
    return y


def reshape_copies(x):
    y = x.clone().t()
    z = y.reshape(24)
    z[0] = 100.0
    return y, z


EXACT = [
    f
    for f in list(globals().values())
    if callable(f) and getattr(f, "__module__", "") == __name__
]


# Whether the second tensor shares memory with the first depends on strides that are not known: these are refused.


def reshape_of_einsum(x):
    y = torch.einsum("ij,kj->ki", x, x)
    z = y.reshape(-1)
    z[0] = 100.0
    return y


REFUSED = [reshape_of_einsum]


class Traced(nn.Module):
    """All functions in one module: one conversion instead of sixty."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, x):
        return tuple(f(x.clone()) for f in self.functions)


def scripted(functions, folder):
    """The same as text that TorchScript compiles."""
    lines = ["import torch", "from torch import Tensor, nn", "", "", "class Scripted(nn.Module):"]
    for f in functions:
        body = inspect.getsource(f).split("\n", 1)[1]
        lines += [f"    def {f.__name__}(self, x: Tensor):"] + ["    " + line for line in body.splitlines()]
    calls = ", ".join(f"self.{f.__name__}(x.clone())" for f in functions)
    lines += ["    def forward(self, x: Tensor):", f"        return ({calls},)", ""]
    path = folder / "scripted.py"
    path.write_text("\n".join(lines))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return torch.jit.script(module.Scripted())


def sample():
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("kind", ["traced", "scripted"])
def test_equals_pytorch(tenon, tmp_path, kind):
    model = torch.jit.trace(Traced(EXACT), sample()) if kind == "traced" else scripted(EXACT, tmp_path)
    artifact = convert(tenon, model, ["x=f32[4,6]"], tmp_path)
    got = run(tenon, artifact, [sample()], tmp_path)
    for function in EXACT:
        want = flat(function(sample()))
        assert_equal([got.pop(0) for _ in want], want, function.__name__)
    assert not got


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_depends_on_strides_is_refused(tenon, tmp_path, function):
    with pytest.raises(Refused):
        convert(tenon, torch.jit.trace(Traced([function]), sample(), check_trace=False), ["x=f32[4,6]"], tmp_path)


# f is the memory of a, or another, as the data say: then neither may be written and the other read.
CHOICES = {
    "an if": "if s > -100: f = a",
    "two ifs": "e = x * 2\nif s > -100: e = a\nif s > -99: f = e",
    "an if in an if": "if s > -100:\n    e = x * 2\n    if s > -99: e = a\n    f = e",
    "a slice of a choice": "e = x * 2\nif s > -100: e = a\nif s > -99: f = e[1:]\nelse: f = e[:3]",
    "two ternaries": "e = a if s > -100 else x * 2\nf = e if s > -99 else x * 3",
    "an item of a list": "l = [x, x * 2]\nif s > 100: l[0] = x * 7\nelse: l[1] = a\nif s > -100: f = l[1]",
    "a loop": "for i in range(n): f = a",
    "a loop, then an if": "e = x * 2\nfor i in range(n): e = a\nif s > -99: f = e",
    "an if, then a loop": "e = x * 2\nif s > -100: e = a\nfor i in range(n): f = e",
    "a loop that passes on": "e = x * 2\nfor i in range(n):\n    f = e\n    e = a",
    "a loop that exchanges": "e = a\nfor i in range(n): f, e = e, f",
}
WRITES = {"no write": "pass", "a write to the choice": "f.add_(1)", "to what may be chosen": "a.add_(1)", "to a part of the choice": "f[1] = 7"}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("choice", CHOICES)
def test_choices_of_memory(tenon, tmp_path, choice, write):
    lines = ["a, f = x.clone(), x * 4", "s, n = float(x.sum()), int((x > -100).sum())", *CHOICES[choice].splitlines(), WRITES[write], "return a, f"]
    (tmp_path / "chosen.py").write_text("def chosen(x):\n" + "".join(f"    {line}\n" for line in lines))
    spec = importlib.util.spec_from_file_location("chosen", tmp_path / "chosen.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = torch.jit.script(module.chosen)
    try:
        got = run(tenon, convert(tenon, function, ["x=f32[4,6]"], tmp_path), [sample()], tmp_path)
    except Refused:
        assert write != "no write"
    else:
        assert_equal(got, function(sample()))


def chosen_expand(x):
    y = x * 1.0
    if bool(x.sum() > -100):
        y = x[0].expand(4, 6)
    y[0] = 7.0
    return y


def looped_expand(x):
    y = x * 1.0
    for i in range(int((x > -100).sum())):
        y = x[0].expand(4, 6)
    y[0] = 7.0
    return y


@pytest.mark.parametrize("function", [chosen_expand, looped_expand])
def test_a_write_to_a_choice_that_may_repeat_is_refused(tenon, tmp_path, function):
    with pytest.raises(Refused):
        convert(tenon, torch.jit.script(function), ["x=f32[4,6]"], tmp_path)


class InPlace(nn.Module):
    def forward(self, x):
        return x.add_(1.0) * 2


def test_a_write_to_an_input_is_said(tenon, tmp_path):
    torch.jit.trace(InPlace(), sample()).save(str(tmp_path / "model.pt"))
    said = tenon_run(tenon, "convert", tmp_path / "model.pt", "-o", tmp_path / "model.tenon")
    assert "the model writes into its input x" in said
