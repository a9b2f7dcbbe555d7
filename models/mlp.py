"""MLP 784-1024-1024-10: three linear layers, as for MNIST digits."""

import torch
from torch import nn

from models.common import Example, randomise


class MLP(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.fc1 = nn.Linear(784, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 10)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = torch.flatten(x, 1)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


def make(tiny: bool) -> Example:
    model = MLP(32 if tiny else 1024)
    randomise(model, gain=2**0.5)
    return Example(model, {"x": torch.randn(16, 1, 28, 28)}, {"x": {0: "N"}})
