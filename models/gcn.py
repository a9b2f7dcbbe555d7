"""Two-layer graph convolution 602-128-41 (the widths of Reddit); the adjacency is a weighted edge list."""

import torch
from torch import nn

from models.common import Example, randomise


class GraphConv(nn.Module):
    """y[v] = sum over edges (u, v) of weight * (x W)[u], plus bias."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(0.1 * torch.randn(outputs))

    def forward(self, x, edge_index, edge_weight):
        x = self.linear(x)
        messages = x.index_select(0, edge_index[0]) * edge_weight.unsqueeze(-1)
        return torch.zeros_like(x).index_add(0, edge_index[1], messages) + self.bias


class GCN(nn.Module):
    def __init__(self, inputs: int, hidden: int, classes: int):
        super().__init__()
        self.conv1 = GraphConv(inputs, hidden)
        self.conv2 = GraphConv(hidden, classes)

    def forward(self, x, edge_index, edge_weight):
        x = torch.relu(self.conv1(x, edge_index, edge_weight))
        return self.conv2(x, edge_index, edge_weight)


def random_graph(nodes: int, edges: int) -> tuple[torch.Tensor, torch.Tensor]:
    """An undirected graph with self loops, and the symmetric weights 1/sqrt(deg(u) deg(v))."""
    half = torch.randint(0, nodes, (2, edges // 2))
    loops = torch.arange(nodes).repeat(2, 1)
    index = torch.cat((half, half.flip(0), loops), dim=1)
    degree = torch.bincount(index[1], minlength=nodes).float()
    return index, (degree[index[0]] * degree[index[1]]).rsqrt()


def make(tiny: bool) -> Example:
    inputs, hidden, classes, nodes, edges = (12, 8, 4, 20, 60) if tiny else (602, 128, 41, 4096, 65536)
    model = GCN(inputs, hidden, classes)
    randomise(model, gain=2.0)
    edge_index, edge_weight = random_graph(nodes, edges)
    return Example(
        model,
        {"x": torch.randn(nodes, inputs), "edge_index": edge_index, "edge_weight": edge_weight},
        {"x": {0: "V"}, "edge_index": {1: "E"}, "edge_weight": {0: "E"}},
    )
