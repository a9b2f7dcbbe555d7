"""LSTM language model: two layers of 512, vocabulary 10,000; the state goes in and comes out."""

import torch
from torch import nn

from models.common import Example, randomise


class LSTMLM(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, hidden, cell):
        x, (hidden, cell) = self.lstm(self.tokens(tokens), (hidden, cell))
        return self.head(x), hidden, cell


def make(tiny: bool) -> Example:
    vocabulary, width, layers, batch = (64, 16, 2, 2) if tiny else (10000, 512, 2, 4)
    model = LSTMLM(vocabulary, width, layers)
    randomise(model)
    inputs = {
        "tokens": torch.randint(0, vocabulary, (batch, 8 if tiny else 64)),
        "hidden": torch.randn(layers, batch, width).tanh(),
        "cell": torch.randn(layers, batch, width),
    }
    return Example(model, inputs, {"tokens": {0: "B", 1: "S"}, "hidden": {1: "B"}, "cell": {1: "B"}})
