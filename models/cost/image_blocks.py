"""Blocks of images: convolutions of every kind, pools, resizes."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from models.cost.draw import MOST_ELEMENTS, Of, block, is_affordable, normed


@block("convolution")
def convolution(r):
    while True:
        x, outputs, k = r.image(), r.channels(), r.choice([1, 1, 3, 3, 3, 5, 7])
        stride, dilation = r.choice([1, 1, 1, 2]), r.choice([1] * 9 + [2])
        if is_affordable(x, outputs, k * k, stride):
            return normed(r, nn.Conv2d(x.shape[1], outputs, k, stride, k // 2 * dilation, dilation), outputs), (x,)


def basic_block(r, channels: int, k: int):
    body = nn.Sequential(normed(r, nn.Conv2d(channels, channels, k, 1, k // 2), channels), nn.Conv2d(channels, channels, k, 1, k // 2), nn.BatchNorm2d(channels))
    return Of(lambda body, x: F.relu(body(x) + x), body)


@block("convolution")
def residual(r):
    while True:
        x, k = r.image(), r.choice([1, 3, 3])
        if is_affordable(x, x.shape[1], k * k * 2):
            return basic_block(r, x.shape[1], k), (x,)


@block("deep 3x3")
def deep(r):
    """Many channels and few pixels: a Winograd kernel of each size, and a plain product, are the fastest somewhere here."""
    is_basic = r.random() < 0.3
    side = lambda: r.choice([7, 7, 8, 10, 12, 14, 14, 16, 20, 28, 28, 32]) if r.random() < 0.8 else r.between(4, 32)  # noqa: E731
    width = lambda: r.channels(32, 1024) if r.random() < 0.3 else 32 * r.between(2, 32)  # noqa: E731
    while True:
        height = side()
        x = torch.randn(r.choice([1, 1, 1, 1, 1, 2, 4]), width(), height, height if r.random() < 0.8 else side())
        outputs = x.shape[1] if is_basic or r.random() < 0.4 else width()
        if is_affordable(x, outputs, 9 / 4):  # what Winograd's method multiplies, or less
            break
    if is_basic:
        return basic_block(r, outputs, 3), (x,)
    return normed(r, nn.Conv2d(x.shape[1], outputs, 3, 1, 1), outputs), (x,)


@block("convolution")
def bottleneck(r):
    while True:
        x = r.image(64, 1024)
        inner = max(8, x.shape[1] // r.choice([2, 4]))
        groups = r.choice([1, 1, inner // 8 if inner % 8 == 0 else 1])
        if is_affordable(x, inner, 2 + 9 * inner / x.shape[1] / groups):
            c = x.shape[1]
            body = nn.Sequential(normed(r, nn.Conv2d(c, inner, 1), inner), normed(r, nn.Conv2d(inner, inner, 3, 1, 1, groups=groups), inner),
                                 nn.Conv2d(inner, c, 1), nn.BatchNorm2d(c))
            return Of(lambda body, x: F.relu(body(x) + x), body), (x,)


@block("convolution")
def stem(r):
    k, stride = r.choice([(3, 2), (7, 2), (4, 4), (16, 16), (3, 1), (8, 8), (5, 2)])
    side, outputs = r.choice([64, 96, 128, 160, 224, 256]), r.channels(16, 96)
    x = torch.randn(r.choice([1, 1, 2]), r.choice([1, 3, 3, 3, 4]), side, side)
    return normed(r, nn.Conv2d(x.shape[1], outputs, k, stride, k // 2 if k % 2 else 0), outputs), (x,)


@block("depthwise")
def depthwise(r):
    x, k, stride = r.image(), r.choice([3, 3, 5, 7, 9, 11]), r.choice([1, 1, 2])
    c = x.shape[1]
    return normed(r, nn.Conv2d(c, c, k, stride, k // 2, groups=c), c), (x,)


@block("depthwise")
def inverted_residual(r):
    while True:
        x, k, stride = r.image(8, 192), r.choice([3, 3, 5, 7]), r.choice([1, 1, 2])
        c, outputs = x.shape[1], r.channels(8, 192)
        wide = c * r.choice([2, 3, 4, 6])
        if is_affordable(x, wide, 2) and math.prod(x.shape) / c * wide <= MOST_ELEMENTS:
            break
    act = r.activation()
    parts = [nn.Conv2d(c, wide, 1), nn.BatchNorm2d(wide), act, nn.Conv2d(wide, wide, k, stride, k // 2, groups=wide), nn.BatchNorm2d(wide), act]
    if r.random() < 0.4:
        few = max(8, wide // 16)
        excite = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, few, 1), nn.ReLU(), nn.Conv2d(few, wide, 1), r.choice([nn.Sigmoid(), nn.Hardsigmoid()]))
        parts.append(Of(lambda excite, x: x * excite(x), excite))
    body = nn.Sequential(*parts, nn.Conv2d(wide, outputs, 1), nn.BatchNorm2d(outputs))
    return (Of(lambda body, x: body(x) + x, body) if stride == 1 and outputs == c else body), (x,)


@block("depthwise")
def modern_block(r):
    while True:
        x, k = r.image(16, 512), r.choice([5, 7, 7, 9])
        if is_affordable(x, 8 * x.shape[1], 1):
            break
    c = x.shape[1]
    parts = nn.Conv2d(c, c, k, 1, k // 2, groups=c), nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def run(conv, norm, wide, narrow, x):
        return x + narrow(F.gelu(wide(norm(conv(x).permute(0, 2, 3, 1))))).permute(0, 3, 1, 2)

    return Of(run, *parts), (x,)


@block("other convolution")
def transposed(r):
    while True:
        x, outputs = r.image(8, 256), r.channels(8, 256)
        k, stride, pad = r.choice([(2, 2, 0), (4, 2, 1), (3, 1, 1), (3, 2, 1)])
        if is_affordable(x, outputs, k * k):
            return nn.Sequential(nn.ConvTranspose2d(x.shape[1], outputs, k, stride, pad), r.activation()), (x,)


@block("other convolution")
def volume(r):
    while True:
        x = torch.randn(1, r.choice([1, 3, 8, 16, 32, 64, 128]), r.between(2, 16), *[r.choice([7, 14, 28, 56])] * 2)
        outputs, k = r.choice([8, 16, 32, 64, 128]), r.choice([(3, 3, 3), (3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1)])
        if is_affordable(x, outputs, math.prod(k)) and x.numel() * outputs / x.shape[1] <= MOST_ELEMENTS:
            return nn.Sequential(nn.Conv3d(x.shape[1], outputs, k, r.choice([1, 1, 2]), tuple(n // 2 for n in k)), nn.BatchNorm3d(outputs), r.activation()), (x,)


@block("other convolution")
def line(r):
    while True:
        x, k = torch.randn(r.batch(), r.channels(1, 512), r.between(32, 16000)), r.choice([1, 3, 3, 5, 7, 10, 15, 31])
        outputs, stride, dilation = r.channels(8, 512), r.choice([1, 1, 2, 5]), r.choice([1, 1, 1, 2, 4, 8])
        groups = r.choice([1, 1, 1, x.shape[1]])
        outputs = outputs if groups == 1 else x.shape[1]
        if x.numel() <= MOST_ELEMENTS and x.shape[0] * outputs * x.shape[2] <= MOST_ELEMENTS and x.shape[2] > k * dilation and is_affordable(x, outputs, k, stride, groups):
            return nn.Sequential(nn.Conv1d(x.shape[1], outputs, k, stride, k // 2 * dilation, dilation, groups), r.activation()), (x,)


@block("pool")
def pool(r):
    x = r.image()
    k, stride = r.choice([(2, 2), (3, 2), (3, 1), (5, 1)])
    return r.choice([nn.MaxPool2d(k, stride, k // 2), nn.AvgPool2d(k, stride, k // 2), nn.AdaptiveAvgPool2d(1), nn.AdaptiveAvgPool2d(7), nn.AdaptiveMaxPool2d(1),
                     Of(lambda x: x.mean((2, 3))), Of(lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2))]), (x,)


@block("pool")
def volume_pool(r):
    x = torch.randn(1, r.choice([8, 16, 64]), r.between(4, 16), 28, 28)
    return r.choice([nn.MaxPool3d(2), nn.AvgPool3d(2), nn.MaxPool3d(3, 1, 1)]), (x,)


@block("resize")
def resize(r):
    while True:
        x, times = r.image(1, 256), r.choice([0.5, 2, 2, 4, 8])
        if x.numel() * max(1, times) ** 2 <= MOST_ELEMENTS and min(x.shape[2:]) >= 8:
            break
    mode = r.choice(["nearest", "nearest", "bilinear", "bilinear", "bicubic"])
    options = {} if mode == "nearest" else {"align_corners": r.choice([True, False])}
    size = [int(n * times) for n in x.shape[2:]]
    return Of(lambda x: F.interpolate(x, size, mode=mode, **options)), (x,)


@block("resize")
def sample(r):
    x, side = torch.randn(r.choice([1, 2]), r.channels(1, 128), *[r.between(14, 64)] * 2), r.between(14, 64)
    return Of(lambda x, g: F.grid_sample(x, g, align_corners=False)), (x, torch.rand(x.shape[0], side, side, 2) * 2 - 1)
