"""Transformer language model (pre-norm, causal): 6 layers of 256, vocabulary 10,000, tied embedding."""

import torch
from torch import nn

from models.common import Example, randomise


class CausalAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CausalAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class TransformerLM(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, positions: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.scale = width**0.5

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) * self.scale + self.positions(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make(tiny: bool) -> Example:
    vocabulary = 64 if tiny else 10000
    model = TransformerLM(vocabulary, 16, 2, 2, 32) if tiny else TransformerLM(vocabulary, 256, 6, 8, 512)
    randomise(model)
    tokens = torch.randint(0, vocabulary, (2, 12 if tiny else 128))
    return Example(model, {"tokens": tokens}, {"tokens": {0: "B", 1: "S"}})
