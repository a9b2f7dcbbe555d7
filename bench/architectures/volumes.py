"""Nets of videos and volumes, in plain PyTorch."""

import torch
from torch import nn
from torch.nn import functional


class Unet3d(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()

        def block(inputs, outputs):
            return nn.Sequential(
                nn.Conv3d(inputs, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True), nn.LeakyReLU(0.01),
                nn.Conv3d(outputs, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True), nn.LeakyReLU(0.01),
            )  # fmt: skip

        self.down = nn.ModuleList([block(1, width), block(width, 2 * width), block(2 * width, 4 * width)])
        self.raise_ = nn.ModuleList([nn.ConvTranspose3d(4 * width, 2 * width, 2, 2), nn.ConvTranspose3d(2 * width, width, 2, 2)])
        self.up = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)])
        self.head = nn.Conv3d(width, 3, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](functional.max_pool3d(a, 2))
        c = self.down[2](functional.max_pool3d(b, 2))
        b = self.up[0](torch.cat([self.raise_[0](c), b], 1))
        return self.head(self.up[1](torch.cat([self.raise_[1](b), a], 1))).softmax(1)


def unet_3d():
    return Unet3d().eval(), (torch.randn(1, 1, 32, 32, 32),)


class Volumes(nn.Module):
    """5x5x5 convolutions on three scales, whose inputs are added to what they give."""

    def __init__(self, width: int = 16):
        super().__init__()

        def layer(convolution):
            return nn.Sequential(convolution, nn.BatchNorm3d(convolution.out_channels), nn.PReLU(convolution.out_channels))

        def wide(inputs, outputs):
            return layer(nn.Conv3d(inputs, outputs, 5, padding=2))

        self.first = wide(1, width)
        self.down = nn.ModuleList([layer(nn.Conv3d(width, 2 * width, 2, 2)), layer(nn.Conv3d(2 * width, 4 * width, 2, 2))])
        self.left = nn.ModuleList([wide(2 * width, 2 * width), nn.Sequential(wide(4 * width, 4 * width), wide(4 * width, 4 * width))])
        self.up = nn.ModuleList([nn.ConvTranspose3d(4 * width, 2 * width, 2, 2), nn.ConvTranspose3d(4 * width, width, 2, 2)])
        self.right = nn.ModuleList([wide(4 * width, 4 * width), wide(2 * width, 2 * width)])
        self.last = nn.Conv3d(2 * width, 2, 1)

    def forward(self, x):
        x = self.first(x) + x
        kept = [x]
        for down, left in zip(self.down, self.left):
            x = down(x)
            x = x + left(x)
            kept.append(x)
        for up, right, skipped in zip(self.up, self.right, (kept[1], kept[0])):
            x = torch.cat([up(x), skipped], 1)
            x = x + right(x)
        return self.last(x).softmax(1)


def volumes():
    return Volumes().eval(), (torch.rand(1, 1, 32, 32, 32),)


class Thin(nn.Module):
    """A depthwise 3x3x3 convolution between two 1x1x1 ones."""

    def __init__(self, channels: int, inner: int, stride: int, attends: bool):
        super().__init__()
        self.spread = nn.Sequential(nn.Conv3d(channels, inner, 1, bias=False), nn.BatchNorm3d(inner), nn.ReLU())
        self.move = nn.Sequential(nn.Conv3d(inner, inner, 3, (1, stride, stride), 1, groups=inner, bias=False), nn.BatchNorm3d(inner))
        gate = [nn.AdaptiveAvgPool3d(1), nn.Conv3d(inner, 16, 1), nn.ReLU(), nn.Conv3d(16, inner, 1), nn.Sigmoid()]
        self.gate = nn.Sequential(*gate) if attends else None
        self.join = nn.Sequential(nn.Conv3d(inner, channels, 1, bias=False), nn.BatchNorm3d(channels))
        self.adds = stride == 1

    def forward(self, x):
        y = self.move(self.spread(x))
        if self.gate is not None:
            y = y * self.gate(y)
        y = self.join(functional.silu(y))
        return functional.relu(x + y) if self.adds else y


class ThinVideo(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv3d(3, 24, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False),
            nn.Conv3d(24, 24, (5, 1, 1), padding=(2, 0, 0), groups=24, bias=False), nn.BatchNorm3d(24), nn.ReLU(),
        )  # fmt: skip
        blocks = [Thin(24, 54, 1 + (i == 0), i % 2 == 0) for i in range(3)] + [nn.Conv3d(24, 48, 1)]
        self.blocks = nn.Sequential(*blocks, *[Thin(48, 108, 1 + (i == 0), i % 2 == 0) for i in range(5)])
        self.classes = nn.Linear(48, 400)

    def forward(self, x):
        return self.classes(self.blocks(self.stem(x)).mean((2, 3, 4)))


def thin_video():
    return ThinVideo().eval(), (torch.rand(1, 3, 8, 112, 112),)


def plain_video():
    layers, inputs = [], 3
    for outputs, pool in ((32, (1, 2, 2)), (64, 2), (128, 2), (128, None)):
        layers += [nn.Conv3d(inputs, outputs, 3, padding=1), nn.ReLU()] + ([nn.MaxPool3d(pool)] if pool else [])
        inputs = outputs
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(inputs, 101))
    return model.eval(), (torch.rand(1, 3, 8, 56, 56),)
