"""A decoder of GPT-2's size (12 layers of 768, vocabulary 50,257, tied embedding) whose keys and values go in and come out.

The example is one token after 256 others; any number of tokens after any number, also none (the prompt), is allowed.
"""

import torch
from torch import nn

from models.common import Example, randomise


class CachedAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, past_keys, past_values, mask):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        keys = torch.cat([past_keys, key], 2)
        values = torch.cat([past_values, value], 2)
        y = nn.functional.scaled_dot_product_attention(query, keys, values, mask)
        return self.out(y.transpose(1, 2).reshape(batch, length, width)), keys, values


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = CachedAttention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x, past_keys, past_values, mask):
        y, keys, values = self.attention(self.norm1(x), past_keys, past_values, mask)
        x = x + y
        return x + self.mlp(self.norm2(x)), keys, values


class Decoder(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, positions: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.scale = width**0.5

    def forward(self, tokens, keys, values):
        """tokens i64[batch, new]; keys, values f32[layers, batch, heads, past, width of a head]: logits and the longer caches."""
        past, new = keys.shape[3], tokens.shape[1]
        places = torch.arange(past, past + new, device=tokens.device)
        mask = torch.arange(past + new, device=tokens.device) <= places.unsqueeze(1)
        x = self.tokens(tokens) * self.scale + self.positions(places)
        all_keys, all_values = [], []
        for layer, block in enumerate(self.blocks):
            x, layer_keys, layer_values = block(x, keys[layer], values[layer], mask)
            all_keys.append(layer_keys)
            all_values.append(layer_values)
        return self.head(self.norm(x)), torch.stack(all_keys), torch.stack(all_values)


def make(tiny: bool) -> Example:
    vocabulary, width, layers, heads, past = (64, 16, 2, 2, 5) if tiny else (50257, 768, 12, 12, 256)
    model = Decoder(vocabulary, width, layers, heads, 32 if tiny else 1024)
    randomise(model)
    cache = (layers, 1, heads, past, width // heads)
    inputs = {"tokens": torch.randint(0, vocabulary, (1, 1)), "keys": torch.randn(cache), "values": torch.randn(cache)}
    nothing = torch.empty(layers, 1, heads, 0, width // heads)
    prompt = {"tokens": torch.randint(0, vocabulary, (1, past + 1)), "keys": nothing, "values": nothing}
    free = {"tokens": {0: "B", 1: "S"}, "keys": {1: "B", 3: "P"}, "values": {1: "B", 3: "P"}}
    return Example(model, inputs, free, others={"prompt": prompt})
