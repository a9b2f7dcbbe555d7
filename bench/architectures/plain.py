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


class SelectiveScan(nn.Module):
    """A state space whose step sizes depend on the input, step by step."""

    def __init__(self, width: int = 128, states: int = 16, steps: int = 32):
        super().__init__()
        self.states, self.steps = states, steps
        self.spread, self.local = nn.Linear(64, 2 * width), nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.choose, self.step = nn.Linear(width, 8 + 2 * states), nn.Linear(8, width)
        self.decay, self.skip = nn.Parameter(-torch.rand(width, states)), nn.Parameter(torch.rand(width))
        self.last = nn.Linear(width, 64)

    def forward(self, x):
        x, gate = self.spread(x).chunk(2, -1)
        x = functional.silu(self.local(x.transpose(1, 2))[..., : self.steps].transpose(1, 2))
        step, inward, outward = self.choose(x).split([8, self.states, self.states], -1)
        step = functional.softplus(self.step(step)).unsqueeze(-1)
        kept, added = torch.exp(step * self.decay), step * inward.unsqueeze(2) * x.unsqueeze(-1)
        state, outputs = torch.zeros_like(added[:, 0]), []
        for t in range(self.steps):
            state = kept[:, t] * state + added[:, t]
            outputs.append((state * outward[:, t, None]).sum(-1))
        return self.last((torch.stack(outputs, 1) + x * self.skip) * functional.silu(gate))


def selective_scan():
    return SelectiveScan().eval(), (torch.randn(1, 32, 64),)


def digits():
    layers = [nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten()]
    layers += [nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)]
    return nn.Sequential(*layers).eval(), (torch.rand(8, 1, 28, 28),)
