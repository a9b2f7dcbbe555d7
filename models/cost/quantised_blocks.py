"""Blocks whose activations and weights are bytes, as PyTorch's static quantisation makes them."""

import torch
from torch import nn
from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

from models.cost.draw import MOST_FLOPS, block, is_affordable, normed


class Residual(nn.Module):
    def __init__(self, body: nn.Module):
        super().__init__()
        self.body = body

    def forward(self, x):
        return torch.relu(self.body(x) + x)


class Joined(nn.Module):
    def __init__(self, *parts: nn.Module):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return torch.cat([part(x) for part in self.parts], 1)


def quantised(module: nn.Module, x: torch.Tensor):
    """Calibrated with the block's own input; it begins and ends with floats."""
    prepared = prepare_fx(module.eval(), get_default_qconfig_mapping("x86"), (x,))
    prepared(x)
    return convert_fx(prepared), (x,)


@block("bytes")
def byte_convolutions(r):
    while True:
        x, outputs, k, stride = r.image(), r.channels(), r.choice([1, 1, 3, 3, 3, 5, 7]), r.choice([1, 1, 1, 2])
        if is_affordable(x, outputs, k * k + outputs / x.shape[1], stride):
            conv = normed(r, nn.Conv2d(x.shape[1], outputs, k, stride, k // 2), outputs)
            return quantised(nn.Sequential(conv, normed(r, nn.Conv2d(outputs, outputs, 1), outputs)), x)


@block("bytes")
def byte_residual(r):
    while True:
        x, k = r.image(), r.choice([1, 3, 3])
        c = x.shape[1]
        if is_affordable(x, c, k * k * 2):
            return quantised(Residual(nn.Sequential(normed(r, nn.Conv2d(c, c, k, 1, k // 2), c), nn.Conv2d(c, c, k, 1, k // 2), nn.BatchNorm2d(c))), x)


@block("bytes")
def byte_stem(r):
    k, stride = r.choice([(3, 2), (7, 2), (4, 4), (16, 16), (3, 1)])
    side, outputs = r.choice([64, 96, 128, 160, 224]), r.channels(16, 96)
    return quantised(nn.Sequential(normed(r, nn.Conv2d(3, outputs, k, stride, k // 2 if k % 2 else 0), outputs), nn.MaxPool2d(3, 2, 1)),
                     torch.randn(1, 3, side, side))


@block("bytes")
def byte_inverted_residual(r):
    while True:
        x, k, stride = r.image(8, 192), r.choice([3, 3, 5, 7]), r.choice([1, 1, 2])
        c, wide = x.shape[1], x.shape[1] * r.choice([1, 2, 4, 6])
        if is_affordable(x, wide, 2):
            depthwise = normed(r, nn.Conv2d(wide, wide, k, stride, k // 2, groups=wide), wide)
            return quantised(nn.Sequential(normed(r, nn.Conv2d(c, wide, 1), wide), depthwise, nn.Conv2d(wide, c, 1), nn.BatchNorm2d(c)), x)


@block("bytes")
def byte_groups(r):
    while True:
        x = r.image(64, 512)
        c = x.shape[1] // 32 * 32
        groups = r.choice([2, 4, 8, c // 8])
        if is_affordable(x, c, 2 + 9 / groups):
            return quantised(nn.Sequential(nn.Conv2d(x.shape[1], c, 1), nn.ReLU(), nn.Conv2d(c, c, 3, 1, 1, groups=groups), nn.ReLU(), nn.Conv2d(c, c, 1)), x)


@block("bytes")
def byte_pools(r):
    x = r.image()
    c = x.shape[1]
    while not is_affordable(x, c, 1):
        x = r.image()
        c = x.shape[1]
    pool = r.choice([nn.MaxPool2d(2), nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1)])
    return quantised(nn.Sequential(nn.Conv2d(x.shape[1], c, 1), r.activation(), pool, nn.Conv2d(c, 16, 1)), x)


@block("bytes")
def byte_join(r):
    while True:
        x, a, b = r.image(), r.channels(8, 128), r.channels(8, 128)
        if is_affordable(x, a + b, 9):
            c = x.shape[1]
            parts = (nn.Sequential(nn.Conv2d(c, n, k, 1, k // 2), nn.ReLU()) for n, k in ((a, 1), (b, 3)))
            return quantised(nn.Sequential(Joined(*parts), nn.Conv2d(a + b, 16, 1)), x)


@block("bytes")
def byte_linear(r):
    while True:
        x, outputs = r.tokens(), r.channels(8, 2048)
        if 4 * x.numel() * outputs <= MOST_FLOPS:
            return quantised(nn.Sequential(nn.Linear(x.shape[-1], outputs), r.activation(), nn.Linear(outputs, x.shape[-1])), x)
