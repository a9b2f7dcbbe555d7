"""Nets whose results are images, in plain PyTorch: styles, generators, denoisers, decoders."""

import torch
from torch import nn
from torch.nn import functional


def padded(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.ReflectionPad2d(kernel // 2), nn.Conv2d(inputs, outputs, kernel, stride))


class Style(nn.Module):
    """Strides down, residual blocks, nearest neighbours up; instance norms everywhere."""

    def __init__(self, width: int = 32, blocks: int = 3):
        super().__init__()

        def layer(inputs, outputs, kernel, stride=1):
            return nn.Sequential(padded(inputs, outputs, kernel, stride), nn.InstanceNorm2d(outputs, affine=True))

        self.down = nn.ModuleList([layer(3, width, 9), layer(width, 2 * width, 3, 2), layer(2 * width, 4 * width, 3, 2)])
        self.blocks = nn.ModuleList(
            nn.Sequential(layer(4 * width, 4 * width, 3), nn.ReLU(), layer(4 * width, 4 * width, 3)) for _ in range(blocks)
        )
        self.up = nn.ModuleList([layer(4 * width, 2 * width, 3), layer(2 * width, width, 3)])
        self.last = padded(width, 3, 9)

    def forward(self, x):
        for layer in self.down:
            x = functional.relu(layer(x))
        for block in self.blocks:
            x = x + block(x)
        for layer in self.up:
            x = functional.relu(layer(functional.interpolate(x, scale_factor=2.0)))
        return self.last(x)


def style():
    return Style().eval(), (torch.rand(1, 3, 192, 192),)


def image_generator():
    """Images of 64 x 64 from 100 numbers, by transposed convolutions."""
    layers, inputs = [], 100
    for outputs, stride, padding in ((512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        inputs = outputs
    model = nn.Sequential(*layers, nn.ConvTranspose2d(inputs, 3, 4, 2, 1, bias=False), nn.Tanh())
    return model.eval(), (torch.randn(4, 100, 1, 1),)


class Denoiser(nn.Module):
    """The noise is what a column of 3x3 convolutions finds."""

    def __init__(self, channels: int = 3, width: int = 48, layers: int = 8):
        super().__init__()
        column = [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        for _ in range(layers - 2):
            column += [nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        self.noise = nn.Sequential(*column, nn.Conv2d(width, channels, 3, padding=1))

    def forward(self, x):
        return x - self.noise(x)


def denoiser():
    return Denoiser().eval(), (torch.rand(1, 3, 96, 96),)


def small_super_resolution():
    """Few channels, then pixels by a transposed convolution of stride 3."""
    layers = [nn.Conv2d(1, 56, 5, padding=2), nn.PReLU(56), nn.Conv2d(56, 12, 1), nn.PReLU(12)]
    for _ in range(4):
        layers += [nn.Conv2d(12, 12, 3, padding=1), nn.PReLU(12)]
    layers += [nn.Conv2d(12, 56, 1), nn.PReLU(56), nn.ConvTranspose2d(56, 1, 9, 3, 4, output_padding=2)]
    return nn.Sequential(*layers).eval(), (torch.rand(1, 1, 96, 96),)


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.GroupNorm(32, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1),
        )  # fmt: skip
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.shortcut(x) + self.layers(x)


def image_decoder():
    """Of latent diffusion: group norms, nearest neighbours up."""
    up = nn.Upsample(scale_factor=2.0)
    model = nn.Sequential(
        nn.Conv2d(4, 256, 3, padding=1), Residual(256, 256),
        up, nn.Conv2d(256, 256, 3, padding=1), Residual(256, 128),
        up, nn.Conv2d(128, 128, 3, padding=1), Residual(128, 64),
        nn.GroupNorm(32, 64), nn.SiLU(), nn.Conv2d(64, 3, 3, padding=1),
    )  # fmt: skip
    return model.eval(), (torch.randn(1, 4, 32, 32),)


class ChannelNorm(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.rand(channels, 1, 1)), nn.Parameter(torch.rand(channels, 1, 1))

    def forward(self, x):
        centred = x - x.mean(1, keepdim=True)
        return centred / (centred.pow(2).mean(1, keepdim=True) + 1e-6).sqrt() * self.weight + self.bias


class Gated(nn.Module):
    """Halves of the channels times each other, in place of activations."""

    def __init__(self, channels: int):
        super().__init__()
        self.norms = nn.ModuleList([ChannelNorm(channels), ChannelNorm(channels)])
        self.spread = nn.Sequential(nn.Conv2d(channels, 2 * channels, 1), nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels))
        self.attend = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, channels, 1))
        self.join, self.mix, self.last = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, 2 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        left, right = self.spread(self.norms[0](x)).chunk(2, 1)
        gated = left * right
        x = x + self.join(gated * self.attend(gated))
        left, right = self.mix(self.norms[1](x)).chunk(2, 1)
        return x + self.last(left * right)


class Restorer(nn.Module):
    def __init__(self, width: int = 32):
        super().__init__()
        self.first, self.outer = nn.Conv2d(3, width, 3, padding=1), Gated(width)
        self.inner = nn.Sequential(
            nn.Conv2d(width, 2 * width, 2, 2), Gated(2 * width), Gated(2 * width), nn.Conv2d(2 * width, 4 * width, 1, bias=False), nn.PixelShuffle(2)
        )
        self.after, self.last = Gated(width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        y = self.outer(self.first(x))
        return x + self.last(self.after(y + self.inner(y)))


def restorer():
    return Restorer().eval(), (torch.rand(1, 3, 96, 96),)
