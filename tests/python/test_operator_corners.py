"""Forms of operators that models hold and PyTorch's database does not: each is equal to PyTorch."""

import numpy
import pytest
import torch
from torch.nn import functional as F

T = torch.tensor
aten = torch.ops.aten


def triangles(x: torch.Tensor):
    return torch.triu_indices(4, 5, 1) + x.long(), torch.tril_indices(3, 4, -1)


def vander(x: torch.Tensor):
    return torch.vander(x), torch.vander(x, 3, True)


def filled(x: torch.Tensor):
    y, z = x.clone(), torch.cat([x, x]).clone()
    y.fill_diagonal_(3.0)
    z.fill_diagonal_(2.0, True)
    return y, z


def outer(x: torch.Tensor, y: torch.Tensor):
    return torch.outer(x, y)


def truth(x: torch.Tensor):
    return x.any(), x.all(dim=0)


x = torch.linspace(-3, 3, 24).reshape(4, 6)
SCRIPTED = {
    "triangles": (triangles, torch.zeros(1)), "vander": (vander, x[0, :4]), "fill_diagonal": (filled, x[:, :3].contiguous()),
    "outer of two dtypes": (outer, x[0], T([1, 2])), "any and all of u8": (truth, T([[1, 0], [2, 1]], dtype=torch.uint8)),
}  # fmt: skip
# Powers of two and their neighbours, the least and the largest of each type, subnormal numbers, what is no number.
FREXP = [0.0, -0.0, 1.0, -0.5, 0.99999994, 1.0000001, 2.0**-14, 2.0**-24, 2.0**-126, -(2.0**-149), 2.0**-1022, 2.0**-1074, 65504.0, 3.4028235e38, 1.7976931348623157e308,
         float("inf"), -float("inf"), float("nan")]  # fmt: skip
MEMBERS = torch.cat([torch.linspace(-1000, 1000, 77).round(), T([0.0, -0.0, float("inf"), float("nan"), 1.5])]).reshape(2, 41)

TRACED = {
    "linspace of ints": (lambda a, b: torch.linspace(a, b, 17, dtype=torch.int64), T(-7), T(91)),
    "logspace of ints": (lambda a, b: torch.logspace(a, b, 9, dtype=torch.int64), T(0), T(4)),
    "arange of ints with float bounds": (lambda x: (torch.arange(0, 10, 2.0, dtype=torch.int64) + x.long().sum() * 0, torch.arange(0.5, 7.9, dtype=torch.int64),
                                                    torch.arange(1.5, 9, 1.25, dtype=torch.int32), torch.arange(4, -3, -1.0)), x),
    "tensor_split by a tensor": (lambda x, i: torch.tensor_split(x, i, dim=1), x, T([4, 2, -1])),
    "rrelu in eval mode": (lambda x: F.rrelu(x), x),
    "_adaptive_avg_pool2d": (lambda x: aten._adaptive_avg_pool2d(x, [2, 3]), x.reshape(1, 2, 3, 4)),
    "flash attention for the CPU": (lambda q, k: aten._scaled_dot_product_flash_attention_for_cpu(q, k, k, 0.0, True), x.reshape(1, 2, 3, 4), x.reshape(1, 2, 3, 4) + 1),
    "nll_loss_forward": (lambda x, t: aten.nll_loss_forward(x, t, None, 1, -100), x, T([1, 0, 3, 2])),
    **{f"segment_reduce {r} {i}": (lambda d, n, r=r, i=i: torch.segment_reduce(d, r, lengths=n, axis=0, unsafe=True, initial=i), x, T([2, 0, 2]))
       for r in ("sum", "mean", "max", "min", "prod") for i in (None, 1)},
    **{f"segment_reduce {r} of rows between offsets": (lambda d, o, r=r: torch.segment_reduce(d, r, offsets=o, axis=0, unsafe=True), x, T([0, 1, 1, 3]))
       for r in ("sum", "max", "prod")},
    **{f"frexp of corners {str(d).removeprefix('torch.')}": (lambda v: torch.frexp(v), torch.tensor(FREXP, dtype=torch.float64).to(d)) for d in (torch.float32, torch.float64, torch.float16)},
    **{f"isin of many {str(d).removeprefix('torch.')}": (lambda a, b: (torch.isin(a, b), torch.isin(a, b, invert=True), torch.isin(a, b[:3])), MEMBERS.to(d), torch.cat([MEMBERS.flatten()[::3], torch.arange(-900, 900, 2)]).to(d))
       for d in (torch.float32, torch.float64, torch.int64, torch.int32)},
    **{f"{f.__name__} of less than a window {s}": (lambda x, f=f: f(x, 3, 2, ceil_mode=True), x.reshape(-1)[: s[0] * s[1]].reshape(1, 1, *s))
       for f in (F.max_pool2d, F.avg_pool2d) for s in ((2, 2), (2, 4))},
}  # fmt: skip


QUERY, NO_KEYS = x.reshape(1, 2, 3, 4), torch.ones(1, 2, 0, 4)
TRACED |= {
    "attention over no keys": (lambda q, k: F.scaled_dot_product_attention(q, k, k), QUERY, NO_KEYS),
    "attention over no keys, causal": (lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True), QUERY, NO_KEYS),
    "attention over no keys, masked": (lambda q, k, m: F.scaled_dot_product_attention(q, k, k, m), QUERY, NO_KEYS, torch.ones(3, 0, dtype=torch.bool)),
    "attention over no keys, by hand": (lambda q, k: torch.softmax(q @ k.transpose(-1, -2), -1) @ k, QUERY, NO_KEYS),
    "log_softmax of nothing": (lambda q, k: torch.log_softmax(q @ k.transpose(-1, -2), -1) @ k, QUERY, NO_KEYS),
}  # fmt: skip


def resized(x, factor):
    numbers = torch.arange(64.0) + x.sum() * 0
    places = ((1, 7), (2, 5), (3, 4))
    return tuple(
        F.interpolate(numbers[: size**axes].reshape(1, 1, *[size] * axes), scale_factor=factor, mode=mode)
        for axes, size in places
        for mode in ("nearest", "nearest-exact")
    )


# Where the size stays or doubles, PyTorch has another rule for maps than for lines and volumes.
TRACED |= {f"nearest, {factor}": (lambda x, factor=factor: resized(x, factor), x) for factor in (1.1, 1.3, 1.7, 2.01, 2.2, 0.9)}


LIMITS = {i: torch.iinfo(i) for i in (torch.int8, torch.int16, torch.int32, torch.uint8)}
TRACED |= {
    f"lcm of {i} that overflows": (torch.lcm, T([n.max, n.max, n.min, 100, n.max // 2], dtype=i), T([n.max - 1, 3, 3, 77, -7 if n.min else 7], dtype=i)) for i, n in LIMITS.items()
} | {
    f"{f} far away": (getattr(torch.special, f), T([1e300, 2.95e307, -1.5e308, 700.0, -720.0], dtype=torch.float64)) for f in ("i0", "i0e", "i1", "i1e", "scaled_modified_bessel_k0")
} | {
    f"digamma just below zero, {d}": (torch.digamma, T([-1e-10, -1e-20, -1e-30, -0.5, -1.5, -3.25], dtype=d)) for d in (torch.float32, torch.float64)
}  # fmt: skip


INFINITE = x.reshape(1, 1, 3, 8).clone()
INFINITE[0, 0, 1, 0] = float("inf")
NO_NUMBERS = T([[float("nan"), 0.0], [0.5, float("nan")], [0.0, 0.25], [float("nan")] * 2]).reshape(1, 1, 4, 2)
TRACED |= {
    f"antialiased {mode} to {size} of infinity": (lambda x, mode=mode, size=size: F.interpolate(x, size, mode=mode, antialias=True), INFINITE)
    for mode in ("bilinear", "bicubic") for size in ((3, 3), (3, 16), (2, 5), (5, 8))
} | {
    f"{mode} by {factor}, antialias={antialias}": (
        lambda x, factor=factor, mode=mode, antialias=antialias: F.interpolate(x, scale_factor=factor, mode=mode, antialias=antialias), x.reshape(1, 1, 4, 6))
    for mode in ("bilinear", "bicubic") for factor in (1.05, 0.95, (1.1, 2.0), (0.6, 1.15)) for antialias in (False, True)
} | {
    f"grid_sample at no number, {mode}, {outside}": (lambda x, at, mode=mode, outside=outside: F.grid_sample(x, at, mode, outside, align_corners=False),
                                                     x.reshape(1, 2, 3, 4), NO_NUMBERS)
    for mode in ("bilinear", "nearest") for outside in ("border", "reflection")
} | {
    f"affine_grid of {size}, align_corners={corners}": (lambda t, size=size, corners=corners: F.affine_grid(t, size, align_corners=corners),
                                                        T(range(size[0] * n * (n + 1)), dtype=torch.float32).reshape(size[0], n, n + 1) / 7)
    for size, n in (((2, 3, 5, 4), 2), ((1, 1, 1, 6), 2), ((2, 1, 2, 3, 4), 3)) for corners in (False, True)
} | {
    f"bytes between {low} and {high}": (lambda x, low=low, high=high: x.clamp(low, high), T([0, 1, 11, 200, 253, 255], dtype=torch.uint8))
    for low, high in ((-1, 10), (-5, -1), (None, -3), (-7, None), (3, 250))
} | {
    f"sign of a clamped zero of {dtype}": (lambda x: 1 / x.clamp(0, 6), T([-0.0, 0.0, -1.0, 7.0, -0.0], dtype=dtype)) for dtype in (torch.float16, torch.float32, torch.float64)
}  # fmt: skip


WITH_NAN = x.reshape(1, 1, 4, 6).clone()
WITH_NAN[0, 0, 1, 2:4] = float("nan")
PLACES = torch.tensor([[[0.3, 0.9], [0.0, 0.6]], [[0.999, 0.5], [0.7, 0.1]]])
VOLUME = torch.arange(2 * 7 * 8 * 9.0).mul(37).remainder(101).reshape(1, 2, 7, 8, 9)
NOWHERE = torch.linspace(-1.2, 1.2, 54).reshape(1, 2, 3, 3, 3).clone()
NOWHERE[0, 0, 0, 0, 0] = NOWHERE[0, 0, 1, 1, 1] = NOWHERE[0, 1, 2, 2, 2] = NOWHERE[0, 1, 0, 1] = float("nan")
NOWHERE[0, 1, 1, 0, 0], NOWHERE[0, 1, 1, 1, 2], NOWHERE[0, 0, 2, 2, 1] = float("inf"), float("-inf"), 1e20
ENDS_IN_NAN = T([[1.0, 2, 2, 3, 4, float("nan")], [0, 1, 2, float("nan"), float("nan"), float("nan")], [1, 2, 3, 4, 5, 6]])
SOUGHT = T([[0.0, 2, 4, float("nan")], [float("inf"), 2.5, 1, float("nan")], [6, 7, 3.5, float("nan")]])
DEFICIENT = torch.cat([x, x[:1] * 2]).reshape(5, 6)[:, :3]
TRACED |= {
    **{f"grid_sample of a volume at no number, {mode}, {outside}, align_corners={corners}": (
        lambda x, at, mode=mode, outside=outside, corners=corners: F.grid_sample(x, at, mode, outside, align_corners=corners), VOLUME[:, :1], NOWHERE)
       for mode in ("bilinear", "nearest") for outside in ("zeros", "border", "reflection") for corners in (False, True)},
    **{f"searchsorted in rows that end in NaN, right={right}": (
        lambda rows, values, right=right: (torch.searchsorted(rows, values, right=right), torch.searchsorted(torch.cat([torch.arange(99.0), rows[0, 4:]]), values, right=right)),
        ENDS_IN_NAN, SOUGHT) for right in (False, True)},
    "median of what may be nothing": (lambda x: (x[x > 0].median(), x[x > 0].nanmedian(), x[x > 9].median(), x[x > 9].nanmedian()), x),
    "fractional_max_pool2d": (lambda x, r: F.fractional_max_pool2d(x, (3, 2), output_size=(4, 5), _random_samples=r, return_indices=True),
                              torch.arange(2 * 2 * 11 * 9.0).mul(31).remainder(97).reshape(2, 2, 11, 9), PLACES),
    "fractional_max_pool2d of a ratio, one sample, f64": (lambda x, r: F.fractional_max_pool2d(x, 2, output_ratio=(0.6, 0.6), _random_samples=r, return_indices=True),
                                                          torch.arange(2 * 12 * 9.0).mul(31).remainder(97).reshape(2, 12, 9).double(), PLACES[:1].double()),
    "fractional_max_pool2d of NaN": (lambda x, r: F.fractional_max_pool2d(x, 3, output_size=(2, 3), _random_samples=r, return_indices=True), WITH_NAN, PLACES[:1, :1]),
    "fractional_max_pool2d to one": (lambda x, r: F.fractional_max_pool2d(x, 2, output_size=(1, 1), _random_samples=r), x.reshape(1, 1, 4, 6), PLACES[:1, :1]),
    "fractional_max_pool3d": (lambda x, r: F.fractional_max_pool3d(x, (2, 3, 2), output_size=(3, 4, 5), _random_samples=r, return_indices=True), VOLUME,
                              T([[[0.3, 0.9, 0.2], [0.0, 0.6, 0.95]]])),
    "pinv with a tolerance for each matrix": (lambda x, a, r: (torch.linalg.pinv(x, atol=a, rtol=r), torch.linalg.pinv(x, atol=a), torch.linalg.pinv(x, rtol=r)),
                                              torch.stack([DEFICIENT, DEFICIENT.flip(0) + torch.eye(5, 3)]), T([0.0, 1.0]), T([1e-3, 0.2])),
    **{f"lstsq by {driver} with rcond": (lambda a, b, driver=driver: torch.linalg.lstsq(a, b, rcond=0.05, driver=driver).solution, DEFICIENT, x[:, :5].t().contiguous())
       for driver in ("gelsd", "gelss")},
}  # fmt: skip


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


@pytest.mark.parametrize("name", [*SCRIPTED, *TRACED])
def test_equal_to_pytorch(run, tmp_path, name):
    function, *inputs = SCRIPTED.get(name) or TRACED[name]
    model = torch.jit.script(function) if name in SCRIPTED else torch.jit.trace(Module(function), tuple(inputs), check_trace=False)
    model.save(str(tmp_path / "model.pt"))
    given = []
    for i, tensor in enumerate(inputs):
        numpy.save(tmp_path / f"in_{i}.npy", tensor.numpy())
        given += ["--input", f"in_{i}.npy"]
    run("run", "model.pt", *given, "--output", "out.npz", code=0)
    expected = model(*inputs)
    expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
    got = list(numpy.load(tmp_path / "out.npz").values())
    assert len(got) == len(expected)
    for actual, wanted in zip(got, expected):
        torch.testing.assert_close(torch.from_numpy(actual), wanted, equal_nan=True)


@pytest.mark.parametrize("function, says", [
    (lambda x: x[x > 0].median(0)[0], "median of no elements"),
    (lambda x: x.unfold(0, 5, 1), "windows of 5 along an axis of N"),
    (lambda x: F.fractional_max_pool2d(x.reshape(1, 1, 1, -1), (1, 3), output_size=(1, 3), _random_samples=torch.full((1, 1, 2), 0.5)), "windows of 3 along"),
], ids=["median", "unfold", "fractional_max_pool2d"])  # fmt: skip
def test_what_has_too_few_elements_for_it(run, tmp_path, function, says):
    """Of sizes that the graph leaves open, a run says so."""
    torch.jit.trace(Module(function), torch.arange(1.0, 9), check_trace=False).save(str(tmp_path / "model.pt"))
    run("convert", "model.pt", "--input", "x=f32[N]", "--no-verify", "-o", "model.tenon", code=0)
    numpy.save(tmp_path / "short.npy", -numpy.ones(4, "float32"))
    assert says in run("run", "model.tenon", "--input", "short.npy", code=2)
