"""What blocks of the synthetic sweep draw: sizes that models use, evenly in the logarithm, within bounds."""

import math
import random

import torch
from torch import nn

BLOCKS = []  # (kind, maker); a maker takes the random numbers, and gives a module and its inputs
MOST_FLOPS = 6e8  # of a block
MOST_ELEMENTS = 3e6  # of a tensor


def block(kind: str):
    def add(make):
        BLOCKS.append((kind, make))
        return make

    return add


class Draw(random.Random):
    def between(self, low: int, high: int) -> int:
        """Evenly in the logarithm."""
        return round(math.exp(self.uniform(math.log(low), math.log(high))))

    def channels(self, low: int = 8, high: int = 768) -> int:
        n = self.between(low, high)
        return n if self.random() < 0.1 else max(low, n // 8 * 8)

    def batch(self) -> int:
        return self.choice([1, 1, 1, 1, 2, 4, 8])

    def side(self, low: int = 7, high: int = 112) -> int:
        return self.choice([7, 8, 14, 14, 16, 28, 28, 32, 40, 56, 56, 64, 80, 112]) if self.random() < 0.7 else self.between(low, high)

    def image(self, low: int = 8, high: int = 512):
        while True:
            shape = (self.batch(), self.channels(low, high), self.side(), self.side())
            shape = shape if self.random() < 0.2 else (*shape[:3], shape[2])
            if math.prod(shape) <= MOST_ELEMENTS:
                return torch.randn(shape)

    def tokens(self, low: int = 32, high: int = 1024):
        while True:
            shape = (self.batch(), self.choice([self.between(1, 16), self.between(16, 1024), 49, 50, 128, 196, 197, 256]), self.channels(low, high))
            if math.prod(shape) <= MOST_ELEMENTS:
                return torch.randn(shape)

    def activation(self):
        return self.choice([nn.ReLU, nn.ReLU, nn.ReLU6, nn.SiLU, nn.GELU, nn.Hardswish, nn.LeakyReLU, nn.Sigmoid, nn.Tanh, nn.Identity, nn.Identity])()


class Of(nn.Module):
    """A function as a module; its parts are registered."""

    def __init__(self, function, *parts):
        super().__init__()
        self.parts, self.function = nn.ModuleList(parts), function

    def forward(self, *inputs):
        return self.function(*self.parts, *inputs)


def is_affordable(x, outputs: int, taps: int, stride: int = 1, groups: int = 1) -> bool:
    pixels = math.prod(x.shape[2:]) / stride ** (x.dim() - 2)
    return 2 * x.shape[0] * pixels * x.shape[1] * outputs * taps / groups <= MOST_FLOPS


def normed(r: Draw, conv: nn.Module, channels: int):
    return nn.Sequential(conv, nn.BatchNorm2d(channels), r.activation())


def any_shape(r):
    return r.tokens() if r.random() < 0.5 else r.image()
