"""The BERT encoder (post-norm, padding mask), with the parameter names that published weights use."""

import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int = 512
    types: int = 2
    epsilon: float = 1e-12


class Embeddings(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.word_embeddings = nn.Embedding(c.vocabulary, c.hidden, padding_idx=0)
        self.position_embeddings = nn.Embedding(c.positions, c.hidden)
        self.token_type_embeddings = nn.Embedding(c.types, c.hidden)
        self.LayerNorm = nn.LayerNorm(c.hidden, eps=c.epsilon)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("position_ids", torch.arange(c.positions).unsqueeze(0))

    def forward(self, input_ids):
        position_ids = self.position_ids[:, : input_ids.shape[1]]
        token_type_ids = torch.zeros_like(input_ids)
        x = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings(position_ids)
        return self.dropout(self.LayerNorm(x))


class SelfAttention(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.heads = c.heads
        self.head_size = c.hidden // c.heads
        self.query = nn.Linear(c.hidden, c.hidden)
        self.key = nn.Linear(c.hidden, c.hidden)
        self.value = nn.Linear(c.hidden, c.hidden)
        self.dropout = nn.Dropout(0.1)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.head_size).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query = self.split(self.query(x))
        key = self.split(self.key(x))
        value = self.split(self.value(x))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.head_size)
        weights = self.dropout(torch.softmax(scores + mask, dim=-1))
        context = torch.matmul(weights, value).permute(0, 2, 1, 3).contiguous()
        return context.view(x.shape[0], x.shape[1], self.heads * self.head_size)


class Output(nn.Module):
    """Dense, then the residual, then LayerNorm: it ends both halves of a layer."""

    def __init__(self, inputs: int, c: Config):
        super().__init__()
        self.dense = nn.Linear(inputs, c.hidden)
        self.LayerNorm = nn.LayerNorm(c.hidden, eps=c.epsilon)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x, residual):
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


class Attention(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.self = SelfAttention(c)
        self.output = Output(c.hidden, c)

    def forward(self, x, mask):
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.dense = nn.Linear(c.hidden, c.intermediate)
        self.activation = nn.GELU()

    def forward(self, x):
        return self.activation(self.dense(x))


class Layer(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.attention = Attention(c)
        self.intermediate = Intermediate(c)
        self.output = Output(c.intermediate, c)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.layer = nn.ModuleList(Layer(c) for _ in range(c.layers))

    def forward(self, x, mask):
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Pooler(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.dense = nn.Linear(c.hidden, c.hidden)
        self.activation = nn.Tanh()

    def forward(self, x):
        return self.activation(self.dense(x[:, 0]))


class Bert(nn.Module):
    """input_ids i64[B,S], attention_mask i64[B,S] (1 = a token, 0 = padding) → states f32[B,S,hidden], pooled."""

    def __init__(self, c: Config):
        super().__init__()
        self.embeddings = Embeddings(c)
        self.encoder = Encoder(c)
        self.pooler = Pooler(c)
        self.hidden_score = torch.finfo(torch.float32).min

    def _apply(self, fn, recurse=True):
        super()._apply(fn, recurse)
        self.hidden_score = torch.finfo(self.pooler.dense.weight.dtype).min
        return self

    def forward(self, input_ids, attention_mask):
        visible = attention_mask[:, None, None, :].to(self.pooler.dense.weight.dtype)
        mask = (1.0 - visible) * self.hidden_score
        states = self.encoder(self.embeddings(input_ids), mask)
        return states, self.pooler(states)


def padded_batch(lengths: list[int], vocabulary: int) -> dict[str, torch.Tensor]:
    """Random token ids, a sentence a row, padded with 0 to the longest."""
    longest = max(lengths)
    mask = (torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)).long()
    return {"input_ids": torch.randint(1, vocabulary, mask.shape) * mask, "attention_mask": mask}
