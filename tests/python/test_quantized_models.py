"""PyTorch's quantised modules: dynamic, static, prepared with FX or for training; scripted and traced."""

import warnings

import pytest
import torch
import torch.ao.quantization as quantization
from torch import nn
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

from tests.python.compared import Refused, convert, flat, run

warnings.filterwarnings("ignore")


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 4)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Recurrent(nn.Module):
    def __init__(self, kind, **how):
        super().__init__()
        self.layer = kind(8, 16, batch_first=True, **how)
        self.out = nn.Linear(16 * (2 if how.get("bidirectional") else 1), 3)

    def forward(self, x):
        return self.out(self.layer(x)[0])


class Convs(nn.Module):
    """What static quantisation knows: convolutions, additions, concatenation, pools, views."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.a, self.norm, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.b = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.out, self.pool = nn.Linear(8, 5), nn.MaxPool2d(2)
        self.ops = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        y = self.pool(self.relu(self.norm(self.a(self.quant(x)))))
        z = self.ops.add_relu(y, self.b(y))
        z = self.ops.cat([z, y], 1)[:, :8]
        z = nn.functional.adaptive_avg_pool2d(z, 1).flatten(1)
        return self.dequant(self.out(z))


def calibrated(model, shape):
    for _ in range(4):
        model(torch.randn(shape))
    return model


def dynamic(model, dtype=torch.qint8):
    return quantization.quantize_dynamic(model.eval(), {nn.Linear, nn.LSTM, nn.GRU}, dtype=dtype)


def static(engine):
    torch.backends.quantized.engine = engine
    model = Convs().eval()
    model.qconfig = quantization.get_default_qconfig(engine)
    model = quantization.prepare(quantization.fuse_modules(model, [["a", "norm", "relu"]]))
    model = quantization.convert(calibrated(model, (2, 3, 16, 16)))
    torch.backends.quantized.engine = "x86"
    return model


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Hardswish(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(72, 6), nn.Sigmoid())

    def forward(self, x):
        return self.body(x)


def by_fx():
    mapping = quantization.get_default_qconfig_mapping("x86")
    model = prepare_fx(Body().eval(), mapping, (torch.randn(2, 3, 8, 8),))
    return convert_fx(calibrated(model, (2, 3, 8, 8)))


def for_training():
    model = Convs().train()
    model.qconfig = quantization.get_default_qat_qconfig("x86")
    model = quantization.prepare_qat(quantization.fuse_modules_qat(model, [["a", "norm", "relu"]]))
    calibrated(model, (2, 3, 16, 16)).eval().apply(quantization.disable_observer)
    return model


class Faked(nn.Module):
    def forward(self, x):
        scales, zeros = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, 2], dtype=torch.int32)
        return (
            torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127),
            torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, 0, 255),
            torch.quantize_per_tensor(x, 0.05, 10, torch.quint8).int_repr(),
        )


# The model, the shape of its input, how many steps of the last grid its results may be off: PyTorch multiplies
# integers and rounds, Tenon multiplies what they stand for; where a sum lies between two, both are right.
MODELS = {
    "dynamic": (lambda: dynamic(Mlp()), (3, 16), 0.02),
    "dynamic halves": (lambda: dynamic(Mlp(), torch.float16), (3, 16), 1e-4),
    "lstm": (lambda: dynamic(Recurrent(nn.LSTM, num_layers=2)), (2, 5, 8), 0.02),
    "lstm both ways": (lambda: dynamic(Recurrent(nn.LSTM, bidirectional=True)), (2, 5, 8), 0.02),
    "gru": (lambda: dynamic(Recurrent(nn.GRU)), (2, 5, 8), 0.02),
    "static x86": (lambda: static("x86"), (2, 3, 16, 16), 0.03),
    "static qnnpack": (lambda: static("qnnpack"), (2, 3, 16, 16), 0.03),
    "fx": (by_fx, (2, 3, 8, 8), 0.02),
    "trained": (for_training, (2, 3, 16, 16), 0.03),
    "faked": (Faked, (4, 3), 1e-5),
}
CASES = [(name, form) for name in MODELS for form in ("scripted", "traced") if (name, form) != ("trained", "scripted")]


@pytest.mark.parametrize("name, form", CASES)
def test_quantised_models_equal_pytorch(tenon, tmp_path, name, form):
    torch.manual_seed(0)
    make, shape, tolerance = MODELS[name]
    model, x = make(), torch.randn(shape)
    source = torch.jit.script(model) if form == "scripted" else torch.jit.trace(model, x)
    artifact = convert(tenon, source, [f"x=f32[{','.join(map(str, shape))}]"] if form == "scripted" else [], tmp_path)
    got, want = run(tenon, artifact, [x], tmp_path), flat(model(x))
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        torch.testing.assert_close(g, w, rtol=0, atol=tolerance)


def test_an_observer_that_is_on_is_refused(tenon, tmp_path):
    model = for_training().apply(quantization.enable_observer)
    with pytest.raises(Refused, match="disable_observer"):
        convert(tenon, torch.jit.trace(model, torch.randn(2, 3, 16, 16)), [], tmp_path)


class WithNumbers(nn.Module):
    """The integers stay and the grid moves; beyond the ends of the integers it grows."""

    def forward(self, x):
        q = torch.quantize_per_tensor(x, 0.05, 100, torch.quint8)
        ops = torch.ops.quantized
        sums = [ops.add_scalar(q, b).dequantize() for b in (0.7, 9.0, -9.0)] + [ops.add_scalar_relu(q, 0.7).dequantize()]
        return sums + [ops.mul_scalar(q, b).dequantize() for b in (1.7, -0.3)] + [ops.mul_scalar_relu(q, -0.3).dequantize()]


class Normalised(nn.Module):
    def __init__(self):
        super().__init__()
        self.w, self.b, self.m, self.v = (nn.Parameter(torch.rand(3) + 0.5) for _ in range(4))

    def forward(self, x):
        q = torch.quantize_per_tensor(x.view(1, 3, 4, 5), 0.05, 100, torch.quint8)
        return [
            op(q, self.w, self.b, self.m, self.v, 1e-5, 0.1, 50).dequantize()
            for op in (torch.ops.quantized.batch_norm2d, torch.ops.quantized.batch_norm2d_relu, torch.ops.quantized.batch_norm)
        ]


class Tables(nn.Module):
    """Of a scale and a zero point for each row; they are floats."""

    def __init__(self):
        super().__init__()
        self.e, self.bags = nn.Embedding(10, 8), nn.EmbeddingBag(10, 8, mode="sum", include_last_offset=True)
        for layer in (self.e, self.bags):
            layer.qconfig = quantization.float_qparams_weight_only_qconfig

    def forward(self, x):
        i = (x.abs() * 3).to(torch.int64).clamp(max=9).flatten()
        return self.e(i), self.bags(i, torch.tensor([0, 2, 2, 60]))


@pytest.mark.parametrize("make", [WithNumbers, Normalised, Tables])
def test_operators_and_tables_equal_pytorch(tenon, tmp_path, make):
    torch.manual_seed(0)
    model = quantization.convert(quantization.prepare(make().eval()))
    x = torch.randn(12, 5) * 3
    traced = torch.jit.trace(model, x)
    got = run(tenon, convert(tenon, traced, ["x=f32[12,5]"], tmp_path), [x], tmp_path)
    for g, w in zip(got, flat(traced(x)), strict=True):
        torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-5)
