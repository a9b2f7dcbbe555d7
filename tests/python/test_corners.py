"""Numbers where definitions differ: 16-bit limits, infinities, zero divisors, sums far from zero. PyTorch's eager numbers count."""

import subprocess

import numpy
import pytest
import torch
import torch.nn.functional as F

from compared import tenon_run

INF = float("inf")
CORNERS = [INF, -INF, float("nan"), 0.0, -0.0, 1.0, -1.0, 3.0, 100.0, -100.0, 6e4, -6e4, 1e-3, 5.5, -7.25]
NUMBERS = torch.Generator().manual_seed(1)


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def of_half(dtype, function):
    """The function on 16-bit numbers, which travel as f32."""
    return lambda *inputs: function(*(x.to(dtype) for x in inputs)).float()


def of_each(function):
    return lambda *inputs: torch.cat([function(x).flatten() for x in inputs])


def random(*shape):
    return torch.randn(*shape, generator=NUMBERS)


def written_through(write):
    """What is left in a tensor after a write through a view of it."""

    def function(x):
        y = x.clone()
        write(y)
        return y

    return function


def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1) @ v


def halves():
    x, y, z = torch.tensor(CORNERS), random(400) * 100, random(400)
    wide = torch.tensor([[6e4, -6e4, 3e4, 1e4], [1, 2, 3, 4]])
    for dtype in (torch.float16, torch.bfloat16):
        name = str(dtype).removeprefix("torch.")
        for what, function, inputs in (
            ("nan_to_num", lambda a: a.nan_to_num(), (x,)),
            ("nan_to_num to infinity", lambda a: a.nan_to_num(INF, 3.0, -2.0), (x,)),
            ("matrix_exp", of_each(torch.linalg.matrix_exp), tuple(random(*shape) * 2.0**e for shape in ((1, 1), (2, 2), (2, 1, 1), (3, 4, 4)) for e in (-27, -13, -10, -7, -3, 0, 6))),
            ("up", torch.nextafter, (x, torch.full_like(x, INF))),
            ("down", torch.nextafter, (x, torch.full_like(x, -INF))),
            ("beside", torch.nextafter, (y * z * z, z)),
            ("trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), (y, z)),
            ("root", lambda a: a.pow(0.5), (x,)),
            ("inverse root", lambda a: a.pow(-0.5), (x[:12],)),
            ("std", lambda a: a.std(-1), (wide,)),
            ("var", lambda a: a.var(-1), (wide,)),
        ):
            yield f"{what}, {name}", of_half(dtype, function), inputs
    for what, function, inputs in (
        ("times a number beyond float16", lambda a: a * 7e4, (z,)),
        ("times a number below float16", lambda a: a * 1e-6, (y,)),
        ("by a number beyond float16", lambda a: a / 7e4, (y,)),
        ("a number beyond float16 by", lambda a: 7e4 / (a.abs() + 2), (z,)),
    ):
        yield what, of_half(torch.float16, function), inputs


def others():
    far = random(8, 4096) + 1e5
    yield "std far from zero", lambda x: x.std(-1), (far,)
    yield "var far from zero", lambda x: x.var(0), (far,)
    yield "std of one number", lambda x: x.std(-1), (torch.full((3, 777), 0.1),)
    yield "long dot product", torch.dot, (random(1_000_000).abs(), random(1_000_000).abs())
    nothing = torch.full((1, 2, 5, 4), -INF)
    yield "attention to nothing", attention, (torch.ones(1, 2, 5, 4), nothing, random(1, 2, 5, 4))
    square = random(4, 4)
    yield "written diagonal of einsum", written_through(lambda y: torch.einsum("ii->i", y).fill_(7)), (square,)
    yield "written transpose of einsum", written_through(lambda y: torch.einsum("ij->ji", y)[1:].mul_(2)), (square,)
    yield "written batches of einsum", written_through(lambda y: torch.einsum("...ij->...ji", y)[0].zero_()), (random(2, 3, 4),)
    yield "written product of one vector", written_through(lambda y: torch.cartesian_prod(y).add_(1)), (random(5),)
    yield "view as int32", lambda x: (x.view(torch.int32) >> 23) - 127, (random(40),)
    yield "view as int16 and back", lambda x: (x.half().view(torch.int16) & 0x7FFF).view(torch.float16).float(), (random(40),)
    yield "full of a computed int", lambda n: torch.full((3,), n.item()), (torch.tensor(4),)
    yield "full of a computed float", lambda x: torch.full((3,), x.item()), (torch.tensor(0.25),)
    for dtype in (torch.int8, torch.int32, torch.int64):
        least = torch.iinfo(dtype).min
        a = torch.tensor([least, least, least, 0, 12, -8, least, 7], dtype=dtype)
        b = torch.tensor([least, 1, 3, least, -18, 0, 6, -1], dtype=dtype)
        yield f"lcm, {dtype}", torch.lcm, (a, b)
        yield f"gcd, {dtype}", torch.gcd, (a, b)


CASES = {name: (function, inputs) for source in (halves, others) for name, function, inputs in source()}


def exported(function, inputs, folder):
    module = Function(function).eval()
    torch.export.save(torch.export.export(module, inputs), folder / "model.pt2")
    return module


def files_of(inputs, folder):
    for i, tensor in enumerate(inputs):
        numpy.save(folder / f"in_{i}.npy", tensor.numpy())
    return [f"--input={folder / f'in_{i}.npy'}" for i in range(len(inputs))]


@pytest.mark.parametrize("name", CASES)
def test_equals_eager(tenon, tmp_path, name):
    function, inputs = CASES[name]
    want = exported(function, inputs, tmp_path)(*inputs)
    tenon_run(tenon, "run", tmp_path / "model.pt2", *files_of(inputs, tmp_path), "--output", tmp_path / "out.npz")
    got = torch.from_numpy(next(iter(numpy.load(tmp_path / "out.npz").values())))
    torch.testing.assert_close(got, want, rtol=1e-5 if name == "long dot product" else 1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "div"])
def test_an_integer_divided_by_zero_ends_the_run(tenon, tmp_path, name):
    mode = {"rounding_mode": "trunc"} if name == "div" else {}
    inputs = torch.tensor([3, 4], dtype=torch.int32), torch.tensor([1, 2], dtype=torch.int32)
    exported(lambda a, b: getattr(torch, name)(a, b, **mode), inputs, tmp_path)
    files = files_of((inputs[0], torch.tensor([0, 2], dtype=torch.int32)), tmp_path)
    done = subprocess.run([tenon, "run", tmp_path / "model.pt2", *files], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "ZeroDivisionError" in done.stderr, done.stderr


def test_a_tuple_fills_the_places_of_a_format(tenon, tmp_path):
    @torch.jit.script
    def function(x, n: int):
        return x + len("%d %s" % (n, "words")) + len("%s" % "one")

    function.save(str(tmp_path / "model.pt"))
    x = random(3)
    tenon_run(tenon, "run", tmp_path / "model.pt", *files_of([x], tmp_path), "--input", "n=12", "--output", tmp_path / "out.npy")
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out.npy"), function(x, 12))


def test_views_of_one_storage_are_weights_of_their_own(tenon, tmp_path):
    base = random(64, 64, 3, 3)

    class Views(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList([base[:, :16], base, base.permute(1, 0, 2, 3), base.transpose(2, 3)])

        def forward(self, x):
            return torch.cat([F.conv2d(x[:, : w.shape[1]], w, padding=1) for w in self.weights], 1)

    module, x = Views().eval(), random(1, 64, 14, 14)
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "model.pt2")
    tenon_run(tenon, "run", tmp_path / "model.pt2", *files_of((x,), tmp_path), "--output", tmp_path / "out.npz")
    got = torch.from_numpy(next(iter(numpy.load(tmp_path / "out.npz").values())))
    torch.testing.assert_close(got, module(x).detach(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("value", [float("nan"), INF])
def test_a_value_that_is_not_finite_stays_in_its_group(tenon, tmp_path, value):
    module, x = torch.nn.Conv2d(8, 8, 3, groups=2, padding=1).eval(), random(1, 8, 9, 9)
    x[0, 2, 4, 4] = value
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "model.pt2")
    tenon_run(tenon, "run", tmp_path / "model.pt2", *files_of((x,), tmp_path), "--output", tmp_path / "out.npz")
    got = torch.from_numpy(next(iter(numpy.load(tmp_path / "out.npz").values())))
    torch.testing.assert_close(got, module(x).detach(), rtol=1e-4, atol=1e-5, equal_nan=True)
