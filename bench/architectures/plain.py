"""Small nets of kinds that the packages lack, in plain PyTorch."""

import torch
from torch import nn
from torch.nn import functional


def convolution(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, **options) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False, **options), nn.BatchNorm2d(outputs), nn.SiLU()
    )


def super_resolution():
    """A column of 3x3 convolutions, then pixels from channels."""
    layers = [nn.Conv2d(1, 64, 5, padding=2), nn.PReLU()]
    for _ in range(4):
        layers += [nn.Conv2d(64, 64, 3, padding=1), nn.PReLU(64)]
    model = nn.Sequential(*layers, nn.Conv2d(64, 9, 3, padding=1), nn.PixelShuffle(3), nn.Hardtanh(0, 1))
    return model.eval(), (torch.rand(1, 1, 96, 96),)


class Detector(nn.Module):
    """Three levels joined by nearest neighbours upwards, with heads that predict boxes on a grid."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.stem = nn.Sequential(convolution(3, width, 5, 2), convolution(width, 2 * width, 3, 2))
        self.stages = nn.ModuleList(
            nn.Sequential(convolution(2 * width << i, 4 * width << i, 3, 2), convolution(4 * width << i, 4 * width << i)) for i in range(3)
        )
        self.pool = nn.MaxPool2d(5, 1, 2)
        self.joined = convolution(4 * 16 * width, 16 * width, 1)
        self.narrow = nn.ModuleList([convolution(16 * width, 8 * width, 1), convolution(8 * width, 4 * width, 1)])
        self.merge = nn.ModuleList([convolution(16 * width, 8 * width), convolution(8 * width, 4 * width)])
        self.heads = nn.ModuleList(nn.Conv2d(channels * width, 85, 1) for channels in (16, 8, 4))

    def forward(self, x):
        levels = [self.stem(x)]
        for stage in self.stages:
            levels.append(stage(levels[-1]))
        pools = [levels[-1]]
        for _ in range(3):
            pools.append(self.pool(pools[-1]))
        outputs = [self.joined(torch.cat(pools, 1))]
        for narrow, merge, level in zip(self.narrow, self.merge, (levels[2], levels[1])):
            upper = functional.interpolate(narrow(outputs[-1]), scale_factor=2.0, mode="nearest")
            outputs.append(merge(torch.cat([upper, level], 1)))
        boxes = [head(output).flatten(2).transpose(1, 2) for head, output in zip(self.heads, outputs)]
        return torch.cat(boxes, 1).sigmoid()


def detector():
    return Detector().eval(), (torch.rand(1, 3, 256, 256),)


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


class Separation(nn.Module):
    """Masks of a learned spectrum from a column of dilated depthwise convolutions over time."""

    def __init__(self, width: int = 256, hidden: int = 256, blocks: int = 16):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, width, 16, 8), nn.ConvTranspose1d(width, 1, 16, 8)
        self.norm = nn.GroupNorm(1, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(width, hidden, 1), nn.PReLU(), nn.GroupNorm(1, hidden),
                nn.Conv1d(hidden, hidden, 3, padding=1 << index % 8, dilation=1 << index % 8, groups=hidden),
                nn.PReLU(), nn.GroupNorm(1, hidden), nn.Conv1d(hidden, width, 1),
            )
            for index in range(blocks)
        )  # fmt: skip
        self.masks = nn.Conv1d(width, 2 * width, 1)

    def forward(self, wave):
        spectrum = functional.relu(self.encode(wave))
        x = self.norm(spectrum)
        for block in self.blocks:
            x = x + block(x)
        masks = self.masks(x).view(x.shape[0], 2, -1, x.shape[2]).sigmoid()
        return torch.cat([self.decode(masks[:, source] * spectrum) for source in range(2)], 1)


def separation():
    return Separation().eval(), (torch.randn(1, 1, 8000),)


class TextReader(nn.Module):
    """Convolutions over a line of text, two LSTMs in both directions, letters."""

    def __init__(self):
        super().__init__()
        layers, inputs = [], 1
        for outputs, pool in ((64, (2, 2)), (128, (2, 2)), (256, None), (256, (2, 1)), (512, None), (512, (2, 1))):
            layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
            layers += [nn.MaxPool2d(pool)] if pool else []
            inputs = outputs
        self.look = nn.Sequential(*layers, nn.Conv2d(512, 512, (2, 1)), nn.ReLU())
        self.read = nn.LSTM(512, 256, num_layers=2, bidirectional=True)
        self.letters = nn.Linear(512, 97)

    def forward(self, line):
        steps = self.look(line).squeeze(2).permute(2, 0, 1)
        return self.letters(self.read(steps)[0]).log_softmax(-1)


def text_reader():
    return TextReader().eval(), (torch.randn(1, 1, 32, 128),)


class GruTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5000, 200)
        self.read = nn.GRU(200, 256, num_layers=2, bidirectional=True, batch_first=True)
        self.tag = nn.Linear(512, 17)

    def forward(self, words):
        return self.tag(self.read(self.embed(words))[0]).softmax(-1)


def gru_tagger():
    return GruTagger().eval(), (torch.randint(0, 5000, (4, 64)),)


class DilatedTcn(nn.Module):
    """Causal convolutions of growing dilation with gates, as generators of sound have them."""

    def __init__(self, width: int = 64, layers: int = 10):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.gates = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=1 << i) for i in range(layers))
        self.outs = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, width, 1), nn.ReLU(), nn.Conv1d(width, 256, 1))

    def forward(self, wave):
        x, total = self.first(wave), 0
        for index, (gate, out) in enumerate(zip(self.gates, self.outs)):
            a, b = gate(functional.pad(x, (1 << index, 0))).chunk(2, 1)
            residual, skip = out(a.tanh() * b.sigmoid()).chunk(2, 1)
            x, total = x + residual, total + skip
        return self.last(total)


def dilated_tcn():
    return DilatedTcn().eval(), (torch.randn(1, 1, 2048),)


class PointNet(nn.Module):
    """The same layers for every point, their maximum, and that beside each point again."""

    def __init__(self, classes: int = 13):
        super().__init__()

        def column(*widths):
            return nn.Sequential(
                *[
                    layer
                    for a, b in zip(widths, widths[1:])
                    for layer in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())
                ]
            )

        self.near, self.far = column(3, 64, 64), column(64, 128, 1024)
        self.head = nn.Sequential(column(1088, 512, 256, 128), nn.Conv1d(128, classes, 1))

    def forward(self, points):
        near = self.near(points)
        whole = self.far(near).amax(2, keepdim=True).expand(-1, -1, points.shape[2])
        return self.head(torch.cat([near, whole], 1)).log_softmax(1)


def pointnet():
    return PointNet().eval(), (torch.randn(1, 3, 1024),)
