"""Programs of Python code: lists, dicts, control flow, modules, sizes with symbols, state; and refused ones."""

import math
from typing import Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from program_cases import arange, case, randn, refused
from torch import Tensor, nn


# ---- lists, dicts, strings, control flow ----


@case((randn(2, 3),), script=True)
class Lists(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, Dict[str, Tensor], List[Tensor]]:
        parts: List[Tensor] = []
        for i in range(4):
            if i % 2 == 0:
                parts.append(x * i)
            else:
                parts.insert(0, x + i)
        parts.extend([x, -x])
        last = parts.pop()
        alias = parts
        alias[0] = last
        named: Dict[str, Tensor] = {"a": x}
        named["b"] = torch.cat(parts[1:], 0)
        if "a" in named and len(named) == 2:
            named["c"] = named["a"] + 1
        sizes = [len(parts), x.size(0), x.dim()]
        total = 0
        for s in sizes:
            total += s
        return torch.stack(parts) * total, named, [x, parts[-1]]


@case((randn(2, 4),), specs="x=f32[2,4]", script=True)
class OptionalArgument(nn.Module):
    def forward(self, x: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        y = x
        if bias is not None:
            y = y + bias
        name = "mode_{}".format(2)
        if name == "mode_2" and not self.training:
            y = y * 2
        while y.dim() < 4:
            y = y.unsqueeze(0)
        return y


class Gate(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.scale = 0.5
        self.mode = "tanh"

    def forward(self, x: Tensor, steps: int = 2) -> Tensor:
        for _ in range(steps):
            x = self.linear(x) * self.scale
            if self.mode == "tanh":
                x = x.tanh()
            elif self.mode == "relu":
                x = x.relu()
            else:
                raise ValueError("unknown mode")
        return x


@case((randn(5, 8),), specs="x=f32[N,8]", script=True)
class Modules(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList([Gate(8) for _ in range(3)])
        self.norm = nn.Sequential(nn.LayerNorm(8), nn.Dropout(0.1), nn.GELU())
        self.register_buffer("offset", torch.arange(8).float())

    def forward(self, x: Tensor) -> Tensor:
        for i, gate in enumerate(self.gates):
            x = x + gate(x, i)
        if x.size(1) != 8:
            raise ValueError("eight features")
        return self.norm(x) + self.offset


# ---- shapes with symbols ----


@case((randn(2, 6, 5),), (randn(3, 4, 5),), specs="x=f32[N,2*T,5]")
def dynamic_shapes(x):
    n, t, c = x.shape
    heads = x.view(n, t // 2, 2, c).permute(0, 2, 1, 3)
    pos = torch.arange(t, device=x.device)
    mask = pos[None, :] <= pos[:, None]
    scores = (x @ x.transpose(1, 2) / (c**0.5)).masked_fill(~mask, float("-inf")).softmax(-1)
    return (
        heads.reshape(n * 2, -1), scores @ x, x[:, 1:].mean(1), x[:, -1], torch.zeros(n, t, 2) + pos[:, None],
        x.flatten(0, 1), torch.cat([x, x[:, :1]], 1), x.new_ones(n, t * 2).cumsum(1), x.expand(2, n, t, c),
        torch.ones(t, t).tril() * (t - 1), F.pad(x, (1, 2, 0, 1)), x.roll(1, 1), x.repeat(1, 2, 1), pos + n,
    )  # fmt: skip


@case((randn(2, 3, 8, 8),), (randn(1, 3, 16, 8),), specs="x=f32[N,3,2*H,2*W]")
class DynamicImage(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, stride=2)
        self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        y = F.relu(self.bn(self.conv(x)), inplace=True)
        z = self.up(y)
        pooled = F.adaptive_avg_pool2d(y, 1).flatten(1)
        return z + x, pooled, F.interpolate(y, scale_factor=2.0), F.max_pool2d(x, 3, 2, 1), F.pixel_shuffle(y, 2)


@case((torch.tensor([[1, 2, 3]]),), (torch.tensor([[1, 2, 3, 0], [3, 2, 1, 1]]),), specs="x=i64[B,S]")
class PositionTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 4)
        self.positions = nn.Embedding(6, 4)
        self.register_buffer("ids", torch.arange(6)[None])

    def forward(self, x):
        return self.words(x) + self.positions(self.ids[:, : x.shape[1]])


@case((randn(2, 3),))
class SharedWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        keep = torch.tensor([True, False, True])
        return self.second(self.first(x)) * self.scale, x[:, keep], x * torch.linspace(0, 1, 5)[2].item()


@case((randn(2, 3),), (randn(4, 7),), specs="x=f32[N,M]", script=True)
def floats_of_sizes(x: Tensor) -> Tensor:
    scale = math.sqrt(x.size(1)) + float(x.size(0)) * 0.5
    return x / scale + x.size(0) / 3 + x.numel() * 1.5


@case((randn(4),), (-randn(4).abs(),), specs="x=f32[4]", script=True)
def if_on_data(x: Tensor) -> Tensor:
    if x.sum() > 0:
        x = x + 1
    return x


@case((randn(2, 3),))
class WritesBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x + self.total


# ---- what cannot be converted ----


@refused(randn(4, 3))
def several_unsupported(x):
    a = torch.randn_like(x)
    b = x[:3].to_sparse().to_dense()
    c = torch.randn_like(x[:2])
    return a.float().sum() + b.sum(), c, x * 2


@refused(randn(2, 3, 4))
def may_share_memory(x):
    y = torch.einsum("bij,bkj->bki", x, x)
    z = y.reshape(2, 9)
    z.add_(1)
    return y


@refused(randn(5, 3), arange(4), torch.tensor([0, 2]))
def sizes_of_bags(weight, indices, offsets):
    return torch.embedding_bag(weight, indices, offsets)[2]


@refused(randn(4, 3))
def training_dropout(x):
    return F.dropout(x, 0.5, training=True)
