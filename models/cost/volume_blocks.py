"""Blocks of volumes, of wide filters, and of convolutions and products with few results."""

import math

import torch
from torch import nn

from models.cost.draw import MOST_ELEMENTS, Of, block, is_affordable, normed


def draw_volume(r, low: int, high: int):
    while True:
        x = torch.randn(r.choice([1, 1, 1, 2]), r.channels(low, high), r.choice([2, 4, 4, 8, 8, 16, 32]), *[r.choice([7, 14, 14, 16, 28, 32, 56, 64])] * 2)
        if x.numel() <= MOST_ELEMENTS:
            return x


@block("volumes")
def volume(r):
    """3x3x3 filters: what Winograd's method in three dimensions multiplies is a fraction."""
    while True:
        x, k = draw_volume(r, 8, 256), r.choice([(3, 3, 3), (3, 3, 3), (3, 3, 3), (1, 3, 3), (3, 1, 1), (5, 3, 3)])
        outputs = x.shape[1] if r.random() < 0.5 else r.channels(8, 256)
        if is_affordable(x, outputs, math.prod(k) / 3) and x.numel() * outputs / x.shape[1] <= MOST_ELEMENTS:
            break
    conv = lambda inputs: nn.Conv3d(inputs, outputs, k, 1, tuple(n // 2 for n in k))  # noqa: E731
    if outputs == x.shape[1] and r.random() < 0.5:
        return Of(lambda conv, act, x: act(conv(x) + x), conv(outputs), r.activation()), (x,)
    return nn.Sequential(conv(x.shape[1]), nn.BatchNorm3d(outputs), r.activation()), (x,)


@block("volumes")
def depthwise_volume(r):
    x, k = draw_volume(r, 8, 256), r.choice([(3, 3, 3), (3, 3, 3), (5, 3, 3), (1, 5, 5)])
    c = x.shape[1]
    return nn.Sequential(nn.Conv3d(c, c, k, r.choice([1, 1, 2]), tuple(n // 2 for n in k), groups=c), nn.BatchNorm3d(c), r.activation()), (x,)


@block("volumes")
def five_by_five(r):
    while True:
        x, outputs = r.image(8, 256), r.channels(8, 256)
        if is_affordable(x, outputs, 25 / 3):
            return normed(r, nn.Conv2d(x.shape[1], outputs, 5, 1, 2), outputs), (x,)


@block("volumes")
def group_norm(r):
    """As decoders of images have them: behind a convolution, and before one."""
    while True:
        x = r.image(32, 512)
        c = x.shape[1]
        if is_affordable(x, 16, 9) and c % 8 == 0:
            norm = nn.GroupNorm(r.choice([g for g in (1, 4, 8, 16, 32) if c % g == 0]), c)
            return nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, groups=c), norm, r.activation(), nn.Conv2d(c, 16, 1)), (x,)


@block("few results")
def few_channels(r):
    while True:
        x, outputs, k = r.image(4, 256), r.choice([1, 1, 2, 3, 3, 4, 6, 8]), r.choice([1, 3, 3, 5, 7, 9])
        if is_affordable(x, outputs, k * k):
            return nn.Sequential(nn.Conv2d(x.shape[1], outputs, k, 1, k // 2), r.activation()), (x,)


@block("few results")
def few_transposed(r):
    while True:
        x, outputs, (k, stride) = r.image(4, 128), r.choice([1, 1, 2, 3]), r.choice([(2, 2), (3, 2), (4, 2), (5, 1), (8, 4), (9, 3)])
        if is_affordable(x, outputs, k * k) and x.numel() / x.shape[1] * stride**2 * outputs <= MOST_ELEMENTS:
            return nn.ConvTranspose2d(x.shape[1], outputs, k, stride, (k - stride) // 2), (x,)


@block("few results")
def few_columns(r):
    x = r.tokens(16, 2048)
    return nn.Sequential(nn.Linear(x.shape[-1], r.choice([1, 1, 2, 3, 4, 6, 8])), r.activation()), (x,)


@block("few results")
def small_images(r):
    """Few channels and small windows, as in nets for digits."""
    x, outputs, k = torch.randn(r.choice([1, 1, 8, 32]), r.choice([1, 1, 3]), *[r.choice([28, 28, 32, 64])] * 2), r.between(4, 32), r.choice([3, 5])
    return nn.Sequential(nn.Conv2d(x.shape[1], outputs, k), nn.ReLU(), r.choice([nn.MaxPool2d, nn.AvgPool2d])(2), nn.Conv2d(outputs, 2 * outputs, k), nn.ReLU()), (x,)
