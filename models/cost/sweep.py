"""A synthetic sweep: models of random blocks, of sizes that models use, so that each kernel of the CPU has records.

A block is a few operators in an order that models have them in. A model is a dozen blocks that do not depend on each
other; its number is the seed: the same number is the same model.
"""

import math
import random

import torch
import torch.nn.functional as F
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


# Images.
@block("convolution")
def convolution(r):
    while True:
        x, outputs, k = r.image(), r.channels(), r.choice([1, 1, 3, 3, 3, 5, 7])
        stride, dilation = r.choice([1, 1, 1, 2]), r.choice([1] * 9 + [2])
        if is_affordable(x, outputs, k * k, stride):
            return normed(r, nn.Conv2d(x.shape[1], outputs, k, stride, k // 2 * dilation, dilation), outputs), (x,)


@block("convolution")
def residual(r):
    while True:
        x, k = r.image(), r.choice([1, 3, 3])
        if is_affordable(x, x.shape[1], k * k * 2):
            c = x.shape[1]
            body = nn.Sequential(normed(r, nn.Conv2d(c, c, k, 1, k // 2), c), nn.Conv2d(c, c, k, 1, k // 2), nn.BatchNorm2d(c))
            return Of(lambda body, x: F.relu(body(x) + x), body), (x,)


@block("convolution")
def bottleneck(r):
    while True:
        x = r.image(64, 1024)
        inner = max(8, x.shape[1] // r.choice([2, 4]))
        groups = r.choice([1, 1, inner // 8 if inner % 8 == 0 else 1])
        if is_affordable(x, inner, 2 + 9 * inner / x.shape[1] / groups):
            c = x.shape[1]
            body = nn.Sequential(normed(r, nn.Conv2d(c, inner, 1), inner), normed(r, nn.Conv2d(inner, inner, 3, 1, 1, groups=groups), inner),
                                 nn.Conv2d(inner, c, 1), nn.BatchNorm2d(c))
            return Of(lambda body, x: F.relu(body(x) + x), body), (x,)


@block("convolution")
def stem(r):
    k, stride = r.choice([(3, 2), (7, 2), (4, 4), (16, 16), (3, 1), (8, 8), (5, 2)])
    side, outputs = r.choice([64, 96, 128, 160, 224, 256]), r.channels(16, 96)
    x = torch.randn(r.choice([1, 1, 2]), r.choice([1, 3, 3, 3, 4]), side, side)
    return normed(r, nn.Conv2d(x.shape[1], outputs, k, stride, k // 2 if k % 2 else 0), outputs), (x,)


@block("depthwise")
def depthwise(r):
    x, k, stride = r.image(), r.choice([3, 3, 5, 7, 9, 11]), r.choice([1, 1, 2])
    c = x.shape[1]
    return normed(r, nn.Conv2d(c, c, k, stride, k // 2, groups=c), c), (x,)


@block("depthwise")
def inverted_residual(r):
    while True:
        x, k, stride = r.image(8, 192), r.choice([3, 3, 5, 7]), r.choice([1, 1, 2])
        c, outputs = x.shape[1], r.channels(8, 192)
        wide = c * r.choice([2, 3, 4, 6])
        if is_affordable(x, wide, 2) and math.prod(x.shape) / c * wide <= MOST_ELEMENTS:
            break
    act = r.activation()
    parts = [nn.Conv2d(c, wide, 1), nn.BatchNorm2d(wide), act, nn.Conv2d(wide, wide, k, stride, k // 2, groups=wide), nn.BatchNorm2d(wide), act]
    if r.random() < 0.4:
        few = max(8, wide // 16)
        excite = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, few, 1), nn.ReLU(), nn.Conv2d(few, wide, 1), r.choice([nn.Sigmoid(), nn.Hardsigmoid()]))
        parts.append(Of(lambda excite, x: x * excite(x), excite))
    body = nn.Sequential(*parts, nn.Conv2d(wide, outputs, 1), nn.BatchNorm2d(outputs))
    return (Of(lambda body, x: body(x) + x, body) if stride == 1 and outputs == c else body), (x,)


@block("depthwise")
def modern_block(r):
    while True:
        x, k = r.image(16, 512), r.choice([5, 7, 7, 9])
        if is_affordable(x, 8 * x.shape[1], 1):
            break
    c = x.shape[1]
    parts = nn.Conv2d(c, c, k, 1, k // 2, groups=c), nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def run(conv, norm, wide, narrow, x):
        return x + narrow(F.gelu(wide(norm(conv(x).permute(0, 2, 3, 1))))).permute(0, 3, 1, 2)

    return Of(run, *parts), (x,)


@block("other convolution")
def transposed(r):
    while True:
        x, outputs = r.image(8, 256), r.channels(8, 256)
        k, stride, pad = r.choice([(2, 2, 0), (4, 2, 1), (3, 1, 1), (3, 2, 1)])
        if is_affordable(x, outputs, k * k):
            return nn.Sequential(nn.ConvTranspose2d(x.shape[1], outputs, k, stride, pad), r.activation()), (x,)


@block("other convolution")
def volume(r):
    while True:
        x = torch.randn(1, r.choice([1, 3, 8, 16, 32, 64, 128]), r.between(2, 16), *[r.choice([7, 14, 28, 56])] * 2)
        outputs, k = r.choice([8, 16, 32, 64, 128]), r.choice([(3, 3, 3), (3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1)])
        if is_affordable(x, outputs, math.prod(k)) and x.numel() * outputs / x.shape[1] <= MOST_ELEMENTS:
            return nn.Sequential(nn.Conv3d(x.shape[1], outputs, k, r.choice([1, 1, 2]), tuple(n // 2 for n in k)), nn.BatchNorm3d(outputs), r.activation()), (x,)


@block("other convolution")
def line(r):
    while True:
        x, k = torch.randn(r.batch(), r.channels(1, 512), r.between(32, 16000)), r.choice([1, 3, 3, 5, 7, 10, 15, 31])
        outputs, stride, dilation = r.channels(8, 512), r.choice([1, 1, 2, 5]), r.choice([1, 1, 1, 2, 4, 8])
        groups = r.choice([1, 1, 1, x.shape[1]])
        outputs = outputs if groups == 1 else x.shape[1]
        if x.numel() <= MOST_ELEMENTS and x.shape[0] * outputs * x.shape[2] <= MOST_ELEMENTS and x.shape[2] > k * dilation and is_affordable(x, outputs, k, stride, groups):
            return nn.Sequential(nn.Conv1d(x.shape[1], outputs, k, stride, k // 2 * dilation, dilation, groups), r.activation()), (x,)


@block("pool")
def pool(r):
    x = r.image()
    k, stride = r.choice([(2, 2), (3, 2), (3, 1), (5, 1)])
    return r.choice([nn.MaxPool2d(k, stride, k // 2), nn.AvgPool2d(k, stride, k // 2), nn.AdaptiveAvgPool2d(1), nn.AdaptiveAvgPool2d(7), nn.AdaptiveMaxPool2d(1),
                     Of(lambda x: x.mean((2, 3))), Of(lambda x: F.max_pool2d(x, 2) + F.avg_pool2d(x, 2))]), (x,)


@block("pool")
def volume_pool(r):
    x = torch.randn(1, r.choice([8, 16, 64]), r.between(4, 16), 28, 28)
    return r.choice([nn.MaxPool3d(2), nn.AvgPool3d(2), nn.MaxPool3d(3, 1, 1)]), (x,)


@block("resize")
def resize(r):
    while True:
        x, times = r.image(1, 256), r.choice([0.5, 2, 2, 4, 8])
        if x.numel() * max(1, times) ** 2 <= MOST_ELEMENTS and min(x.shape[2:]) >= 8:
            break
    mode = r.choice(["nearest", "nearest", "bilinear", "bilinear", "bicubic"])
    options = {} if mode == "nearest" else {"align_corners": r.choice([True, False])}
    size = [int(n * times) for n in x.shape[2:]]
    return Of(lambda x: F.interpolate(x, size, mode=mode, **options)), (x,)


@block("resize")
def sample(r):
    x, side = torch.randn(r.choice([1, 2]), r.channels(1, 128), *[r.between(14, 64)] * 2), r.between(14, 64)
    return Of(lambda x, g: F.grid_sample(x, g, align_corners=False)), (x, torch.rand(x.shape[0], side, side, 2) * 2 - 1)


# Tokens.
@block("linear")
def linear(r):
    while True:
        x, outputs = r.tokens(), r.channels(8, 4096)
        if 2 * x.numel() * outputs <= MOST_FLOPS:
            return nn.Sequential(nn.Linear(x.shape[-1], outputs, r.random() < 0.8), r.activation()), (x,)


@block("linear")
def head(r):
    x = torch.randn(r.choice([1, 1, 2, 4, 8, 32]), r.channels(32, 4096))
    outputs = r.between(1, 4096)
    return nn.Sequential(nn.Linear(x.shape[-1], outputs), r.activation(), nn.Linear(outputs, r.between(1, 1000))), (x,)


@block("linear")
def feed_forward(r):
    while True:
        x, times = r.tokens(), r.choice([2, 3, 4])
        if 4 * x.numel() * x.shape[-1] * times <= MOST_FLOPS:
            c = x.shape[-1]
            body = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, times * c), r.choice([nn.GELU(), nn.ReLU(), nn.GELU("tanh")]), nn.Linear(times * c, c))
            return Of(lambda body, x: x + body(x), body), (x,)


@block("linear")
def gated(r):
    while True:
        x = r.tokens()
        if 12 * x.numel() * x.shape[-1] <= MOST_FLOPS:
            c = x.shape[-1]
            norm = Of(lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
            parts = norm, nn.Linear(c, 2 * c, False), nn.Linear(c, 2 * c, False), nn.Linear(2 * c, c, False)
            return Of(lambda n, a, b, o, x: x + o(F.silu(a(n(x))) * b(n(x))), *parts), (x,)


@block("linear")
def mixer(r):
    while True:
        x, inner = r.tokens(), r.between(16, 512)
        if 4 * x.numel() * inner <= MOST_FLOPS:
            body = nn.Sequential(nn.Linear(x.shape[1], inner), nn.GELU(), nn.Linear(inner, x.shape[1]))
            return Of(lambda norm, body, x: x + body(norm(x).transpose(1, 2)).transpose(1, 2), nn.LayerNorm(x.shape[-1]), body), (x,)


class SelfAttention(nn.Module):
    def __init__(self, channels: int, heads: int, by_hand: bool, causal: bool, bias):
        super().__init__()
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.heads, self.by_hand, self.causal = heads, by_hand, causal
        self.bias = None if bias is None else nn.Parameter(bias)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        if self.by_hand:
            scores = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5
            out = F.softmax(scores if self.bias is None else scores + self.bias, -1) @ v
        else:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(out.transpose(1, 2).reshape(b, t, c))


@block("attention")
def attention(r):
    while True:
        x, heads, by_hand = r.tokens(64, 768), r.choice([1, 2, 3, 4, 6, 8, 12]), r.random() < 0.5
        b, t, c = x.shape
        if c % heads == 0 and c // heads >= 16 and 8 * x.numel() * c + 4 * x.numel() * t <= MOST_FLOPS and b * heads * t * t <= MOST_ELEMENTS:
            bias = torch.randn(heads, t, t) if by_hand and r.random() < 0.4 else None
            return SelfAttention(c, heads, by_hand, not by_hand and r.random() < 0.3, bias), (x,)


@block("attention")
def cross_attention(r):
    b, heads, d = r.choice([1, 1, 2]), r.choice([1, 4, 8, 12]), r.choice([16, 32, 64, 80, 128])
    queries, keys = r.choice([1, 1, r.between(1, 512)]), r.between(16, 1024)
    return Of(F.scaled_dot_product_attention), tuple(torch.randn(b, heads, n, d) for n in (queries, keys, keys))


@block("attention")
def windows(r):
    side, c, heads = r.choice([7, 8, 14]), r.choice([32, 64, 96, 192]), r.choice([1, 2, 4])
    n = r.choice([1, 2, 4])
    body, shift = SelfAttention(c, heads, True, False, torch.randn(heads, side * side, side * side)), r.choice([0, side // 2])

    def run(body, x):
        x = torch.roll(x, (-shift, -shift), (1, 2)) if shift else x
        x = x.view(1, n, side, n, side, c).permute(0, 1, 3, 2, 4, 5).reshape(n * n, side * side, c)
        x = body(x).view(1, n, n, side, side, c).permute(0, 1, 3, 2, 4, 5).reshape(1, n * side, n * side, c)
        return torch.roll(x, (shift, shift), (1, 2)) if shift else x

    return Of(run, body), (torch.randn(1, n * side, n * side, c),)


@block("product")
def product(r):
    while True:
        b, m, n, k = r.between(1, 64), r.between(1, 512), r.between(1, 512), r.between(8, 512)
        if 2 * b * m * n * k <= MOST_FLOPS and b * max(m * n, m * k, n * k) <= MOST_ELEMENTS:
            break
    if r.random() < 0.5:
        return Of(lambda x, y: x @ y.transpose(1, 2) * 0.1), (torch.randn(b, m, k), torch.randn(b, n, k))
    return Of(torch.matmul), (torch.randn(b, m, k), torch.randn(b, k, n))


@block("product")
def channel_attention(r):
    heads, d, t = r.choice([4, 8]), r.choice([16, 32, 48]), r.between(49, 784)

    def run(q, k, v):
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return (F.softmax(q @ k.transpose(-2, -1), -1) @ v).permute(0, 3, 1, 2).reshape(1, t, heads * d)

    return Of(run), tuple(torch.randn(1, heads, d, t) for _ in range(3))


@block("recurrent")
def recurrent(r):
    x = torch.randn(r.between(4, 64), r.choice([1, 1, 4]), r.channels(16, 256))
    kind = r.choice([nn.LSTM, nn.GRU])
    return Of(lambda net, x: net(x)[0], kind(x.shape[-1], r.channels(16, 256), bidirectional=r.random() < 0.4)), (x,)


# Norms, loops, reductions.
def any_shape(r):
    return r.tokens() if r.random() < 0.5 else r.image()


@block("norm")
def norm(r):
    if r.random() < 0.5:
        x = r.tokens()
        c = x.shape[-1]
        root = Of(lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
        return r.choice([nn.LayerNorm(c), root, nn.Softmax(-1), nn.LogSoftmax(-1), Of(lambda x: F.normalize(x, dim=-1)), Of(lambda x: F.gelu(F.layer_norm(x, (c,)) * 2))]), (x,)
    x = r.image()
    c = x.shape[1]
    groups = next(g for g in (32, 16, 8, 4, 1) if c % g == 0)
    over = Of(lambda n, x: n(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), nn.LayerNorm(c))
    response = Of(lambda x: x / (torch.norm(x, dim=(2, 3), keepdim=True).mean(1, keepdim=True) + 1e-6))
    return r.choice([nn.GroupNorm(groups, c), nn.GroupNorm(1, c), nn.InstanceNorm2d(c), over, nn.Softmax(1), response, nn.Sequential(nn.BatchNorm2d(c), nn.ReLU())]), (x,)


@block("loop")
def pointwise(r):
    x = any_shape(r)
    steps = [torch.sigmoid, torch.tanh, torch.exp, F.gelu, F.silu, F.relu, torch.sqrt, torch.sin, F.softplus, torch.abs, lambda v: v * 0.5 + 1, lambda v: v * v,
             lambda v: v.clamp(-1, 1), lambda v: 1 / (v + 2), lambda v: torch.where(v > 0, v, v * 0.1), torch.erf, lambda v: torch.log(v.abs() + 1), F.hardswish,
             lambda v: v.pow(3), F.elu]
    chosen = [r.choice(steps) for _ in range(r.between(1, 6))]

    def run(x):
        for step in chosen:
            x = step(x)
        return x

    return Of(run), (x,)


@block("loop")
def pairs(r):
    x = any_shape(r)
    shape = list(x.shape)
    for axis in range(len(shape)):
        if r.random() < 0.3:
            shape[axis] = 1
    y = torch.randn(shape)
    do = r.choice([torch.add, torch.mul, torch.sub, lambda a, b: a * torch.sigmoid(b), lambda a, b: F.relu(a + b), lambda a, b: a * b + a, torch.maximum, lambda a, b: a / (b.abs() + 1)])
    return Of(do), (x, y)


@block("loop")
def integers(r):
    x = torch.randint(0, 100, (r.between(1, 512), r.between(8, 2048)))
    do = r.choice([lambda x: x + 1, lambda x: (x == 3).float(), lambda x: (x > 5) & (x < 50), lambda x: x.float() * 0.5, lambda x: x.int() * 3, lambda x: torch.where(x > 4, x, 0)])
    return Of(do), (x,)


@block("loop")
def scaled(r):
    x = r.image()
    c = x.shape[1]
    scale = nn.Parameter(torch.randn(c, 1, 1))
    module = Of(lambda m, x: x + m.scale * F.avg_pool2d(x, 3, 1, 1), nn.Identity())
    module.parts[0].scale = scale
    return module, (x,)


@block("reduction")
def reduction(r):
    x = any_shape(r)
    axis = r.randrange(1, x.dim())
    axes = [axis] if r.random() < 0.7 else list(range(1, x.dim()))
    return r.choice([Of(lambda x: x.sum(axes)), Of(lambda x: x.amax(axes)), Of(lambda x: x.argmax(axis)), Of(lambda x: x.var(axes)), Of(lambda x: torch.logsumexp(x, axes)),
                     Of(lambda x: (x * x).mean(axes)), Of(lambda x: x - x.mean(axes, keepdim=True)), Of(lambda x: x.mean(axis))]), (x,)


# Places.
@block("copy")
def turn(r):
    x = any_shape(r)
    order = list(range(x.dim()))
    while order == sorted(order):
        r.shuffle(order)
    return Of(lambda x: x.permute(order).contiguous()), (x,)


@block("copy")
def join(r):
    x = any_shape(r)
    axis = r.randrange(1, x.dim())
    shape = list(x.shape)
    shape[axis] = max(1, shape[axis] // r.choice([1, 2, 4]))
    return Of(lambda x, y: torch.cat([F.relu(x), y, x], axis)), (x, torch.randn(shape))


@block("copy")
def split(r):
    x = r.image()
    half = max(1, x.shape[1] // 2)
    return Of(lambda x: torch.cat([x[:, half:] * 2, F.max_pool2d(x[:, :half], 3, 1, 1)], 1)), (x,)


@block("copy")
def shuffle(r):
    while True:
        x = r.image(16, 256)
        b, c, h, w = x.shape
        if c % 4 == 0 and h % 2 == 0 and w % 2 == 0:
            break
    return r.choice([Of(lambda x: x.view(b, 2, c // 2, h, w).transpose(1, 2).reshape(b, c, h, w)), nn.PixelShuffle(2), nn.PixelUnshuffle(2), Of(lambda x: torch.roll(x, (3, 3), (2, 3))),
                     Of(lambda x: x.flip(-1)), Of(lambda x: x[:, :, ::2, ::2].contiguous()),
                     Of(lambda x: torch.cat([x[:, :, ::2, ::2], x[:, :, 1::2, ::2], x[:, :, ::2, 1::2], x[:, :, 1::2, 1::2]], 1)),
                     Of(lambda x: x.flatten(2).transpose(1, 2).contiguous())]), (x,)


@block("copy")
def pad(r):
    x = r.image()
    n = r.choice([1, 1, 2, 3])
    return Of(lambda x: F.pad(x, (n, n, n, n), mode=mode)) if (mode := r.choice(["constant", "reflect", "replicate"])) else None, (x,)


@block("copy")
def heads(r):
    while True:
        x = r.tokens(64)
        b, t, c = x.shape
        if c % 8 == 0:
            return r.choice([Of(lambda x: x.view(b, t, 8, c // 8).transpose(1, 2).contiguous()), Of(lambda x: x[:, :, None].expand(b, t, 2, c).reshape(b, 2 * t, c)),
                             Of(lambda x: x[:, 0]), Of(lambda x: torch.stack([x, x * 2], -1))]), (x,)


@block("copy")
def unfold(r):
    x = torch.randn(1, r.channels(1, 64), *[r.choice([14, 28, 56])] * 2)
    return r.choice([nn.Unfold(3, padding=1), nn.Unfold(2, stride=2)]), (x,)


@block("gather")
def lookup(r):
    table = nn.Embedding(r.between(16, 20000), r.channels(8, 768))
    index = torch.randint(0, table.num_embeddings, (r.batch(), r.between(1, 512)))
    return Of(lambda table, i: table(i) + 1, table), (index,)


@block("gather")
def choose(r):
    rows, columns, count = r.between(16, 4096), r.between(4, 512), r.between(16, 4096)
    x, i = torch.randn(rows, columns), torch.randint(0, rows, (count,))
    wide = i[:, None].expand(count, columns).contiguous()
    return r.choice([(Of(lambda x, i: x.index_select(0, i)), (x, i)), (Of(lambda x, i: x.gather(0, i)), (x, wide)),
                     (Of(lambda x, i: x.scatter(0, i, 1.0)), (x, wide)), (Of(lambda x, i, y: x.scatter_add(0, i, y)), (x, wide, torch.randn(count, columns))),
                     (Of(lambda x, i, y: x.index_add(0, i, y)), (x, i, torch.randn(count, columns)))])


@block("order")
def order(r):
    x = torch.randn(r.between(1, 256), r.between(16, 4096))
    k = min(x.shape[-1], r.choice([1, 2, 5, 50]))
    return r.choice([Of(lambda x: torch.topk(x, k)[0]), Of(lambda x: torch.sort(x)[0]), Of(lambda x: x.cumsum(-1)), Of(lambda x: x.cumsum(0)), Of(lambda x: x.argsort(-1)),
                     Of(lambda x: F.one_hot(x.argmax(-1), x.shape[-1]).float())]), (x,)


@block("signal")
def signal(r):
    n = r.choice([256, 400, 512])
    window = torch.hann_window(n)
    return Of(lambda x: torch.stft(x, n, n // 4, window=window, return_complex=True).abs()), (torch.randn(1, r.choice([4000, 8000, 16000])),)


class Blocks(nn.Module):
    def __init__(self, parts, counts):
        super().__init__()
        self.parts, self.counts = nn.ModuleList(parts), counts

    def forward(self, *inputs):
        outputs, at = [], 0
        for part, count in zip(self.parts, self.counts):
            outputs.append(part(*inputs[at : at + count]))
            at += count
        return tuple(outputs)


def make(number: int, blocks: int = 12):
    """The model of this number, and its inputs. Kinds are drawn evenly, convolutions and products more often."""
    r = Draw(number)
    torch.manual_seed(number)
    often = {"convolution": 3, "depthwise": 2, "linear": 3, "attention": 2, "loop": 2, "copy": 2, "other convolution": 2}
    kinds = sorted({kind for kind, _ in BLOCKS})
    parts, counts, inputs = [], [], []
    for _ in range(blocks):
        kind = r.choices(kinds, [often.get(kind, 1) for kind in kinds])[0]
        module, given = r.choice([maker for k, maker in BLOCKS if k == kind])(r)
        parts.append(module)
        counts.append(len(given))
        inputs += given
    return Blocks(parts, counts).eval(), tuple(inputs)
