"""Blocks that multiply nothing: norms, loops, reductions, moves, gathers, sorts."""

import torch
import torch.nn.functional as F
from torch import nn

from models.cost.draw import Of, any_shape, block


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
