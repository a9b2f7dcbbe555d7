"""UNet with 32 base channels: double conv+bn+relu blocks, transposed-convolution up path, cat skips."""

import torch
from torch import nn

from models.common import Example, calibrate, images, randomise


class DoubleConv(nn.Sequential):
    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.encoder1 = DoubleConv(3, width)
        self.encoder2 = DoubleConv(width, 2 * width)
        self.encoder3 = DoubleConv(2 * width, 4 * width)
        self.encoder4 = DoubleConv(4 * width, 8 * width)
        self.bottleneck = DoubleConv(8 * width, 16 * width)
        self.upconv4 = nn.ConvTranspose2d(16 * width, 8 * width, 2, stride=2)
        self.decoder4 = DoubleConv(16 * width, 8 * width)
        self.upconv3 = nn.ConvTranspose2d(8 * width, 4 * width, 2, stride=2)
        self.decoder3 = DoubleConv(8 * width, 4 * width)
        self.upconv2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.decoder2 = DoubleConv(4 * width, 2 * width)
        self.upconv1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.decoder1 = DoubleConv(2 * width, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skip1 = self.encoder1(x)
        skip2 = self.encoder2(self.pool(skip1))
        skip3 = self.encoder3(self.pool(skip2))
        skip4 = self.encoder4(self.pool(skip3))
        x = self.bottleneck(self.pool(skip4))
        x = self.decoder4(torch.cat((self.upconv4(x), skip4), dim=1))
        x = self.decoder3(torch.cat((self.upconv3(x), skip3), dim=1))
        x = self.decoder2(torch.cat((self.upconv2(x), skip2), dim=1))
        x = self.decoder1(torch.cat((self.upconv1(x), skip1), dim=1))
        return torch.sigmoid(self.head(x))


def make(tiny: bool) -> Example:
    model = UNet(2 if tiny else 32)
    size = 32 if tiny else 256
    randomise(model)
    calibrate(model, 2, size)
    return Example(model, {"x": images(1, size)}, {"x": {0: "N"}})
