"""ResNet-9 for CIFAR-10 (32x32): conv+bn+relu blocks, two residual blocks, max pools."""

import torch
from torch import nn

from models.common import Example, calibrate, damp, images, randomise


class ConvBlock(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, pool: bool = False):
        layers = [
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]
        if pool:
            layers.append(nn.MaxPool2d(2))
        super().__init__(*layers)


class Residual(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.conv1 = ConvBlock(channels, channels)
        self.conv2 = ConvBlock(channels, channels)

    def forward(self, x):
        return x + self.conv2(self.conv1(x))


class ResNet9(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.prep = ConvBlock(3, width)
        self.layer1 = ConvBlock(width, 2 * width, pool=True)
        self.residual1 = Residual(2 * width)
        self.layer2 = ConvBlock(2 * width, 4 * width, pool=True)
        self.layer3 = ConvBlock(4 * width, 8 * width, pool=True)
        self.residual3 = Residual(8 * width)
        self.pool = nn.MaxPool2d(4)
        self.fc = nn.Linear(8 * width, 10, bias=False)

    def forward(self, x):
        x = self.residual1(self.layer1(self.prep(x)))
        x = self.residual3(self.layer3(self.layer2(x)))
        x = torch.flatten(self.pool(x), 1)
        return self.fc(x) * 0.125


def make(tiny: bool) -> Example:
    model = ResNet9(4 if tiny else 64)
    randomise(model)
    damp(model.residual1.conv2[1])
    damp(model.residual3.conv2[1])
    calibrate(model, 8, 32)
    return Example(model, {"x": images(4, 32)}, {"x": {0: "N"}})
