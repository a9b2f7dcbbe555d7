"""ResNet-50 v1.5 (the stride sits in the 3x3): the structure and parameter names that are used everywhere."""

import torch
from torch import nn

from models.common import Example, calibrate, damp, images, randomise


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, blocks: list[int], width: int, classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = stage(width, width, blocks[0], stride=1)
        self.layer2 = stage(4 * width, 2 * width, blocks[1], stride=2)
        self.layer3 = stage(8 * width, 4 * width, blocks[2], stride=2)
        self.layer4 = stage(16 * width, 8 * width, blocks[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(32 * width, classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)


def stage(inputs: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    outputs = width * Bottleneck.expansion
    rest = [Bottleneck(outputs, width, 1) for _ in range(blocks - 1)]
    return nn.Sequential(Bottleneck(inputs, width, stride), *rest)


def make(tiny: bool) -> Example:
    model = ResNet([2, 1, 1, 1], 4, 10) if tiny else ResNet([3, 4, 6, 3], 64, 1000)
    size = 64 if tiny else 224
    randomise(model)
    for module in model.modules():
        if isinstance(module, Bottleneck):
            damp(module.bn3)
    calibrate(model, 4, size)
    return Example(model, {"x": images(1, size)}, {"x": {0: "N"}})
