"""XML-CNN, extreme multi-label text classification: 500 tokens of 300-d, 3,956 labels (EUR-Lex)."""

import torch
from torch import nn

from models.common import Example, randomise


class XmlCnn(nn.Module):
    def __init__(self, vocabulary: int, width: int, filters: int, length: int, hidden: int, labels: int):
        super().__init__()
        chunks = 8  # the dynamic max pooling of the paper: as many maxima per filter
        self.embedding = nn.Embedding(vocabulary, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, filters, k, stride=2) for k in (2, 4, 8))
        self.pools = nn.ModuleList(nn.MaxPool1d(((length - k) // 2 + 1) // chunks) for k in (2, 4, 8))
        self.dropout = nn.Dropout(0.5)
        self.bottleneck = nn.Linear(3 * filters * chunks, hidden)
        self.labels = nn.Linear(hidden, labels)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(1, 2)
        pooled = []
        for conv, pool in zip(self.convs, self.pools):
            pooled.append(torch.flatten(pool(torch.relu(conv(x)))[:, :, :8], 1))
        x = torch.relu(self.bottleneck(torch.cat(pooled, dim=1)))
        return self.labels(self.dropout(x))


def make(tiny: bool) -> Example:
    vocabulary, length = (64, 80) if tiny else (30000, 500)
    if tiny:
        model = XmlCnn(vocabulary, 12, 8, length, 16, 40)
    else:
        model = XmlCnn(vocabulary, 300, 128, length, 512, 3956)
    randomise(model, gain=2**0.5)
    return Example(model, {"tokens": torch.randint(0, vocabulary, (4, length))}, {"tokens": {0: "N"}})
