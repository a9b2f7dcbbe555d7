"""Blocks of tokens: linear layers, attention, products, recurrent nets."""

import torch
import torch.nn.functional as F
from torch import nn

from models.cost.draw import MOST_ELEMENTS, MOST_FLOPS, Of, block


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
