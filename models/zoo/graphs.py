"""PyTorch Geometric: message passing over an edge list."""

import torch

from models.zoo import Architecture

NODES, EDGES, WIDTH = 20, 60, 8


def layer(name: str, *arguments, **options) -> Architecture:
    def make():
        from torch_geometric import nn

        return getattr(nn, name)(*arguments, **options).eval(), (torch.randn(NODES, WIDTH),
                                                                 torch.randint(0, NODES, (2, EDGES)))

    return make


def perceptron() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))


ARCHITECTURES = {
    "gcn_conv": layer("GCNConv", WIDTH, 4),
    "sage_conv": layer("SAGEConv", WIDTH, 4),
    "graph_conv": layer("GraphConv", WIDTH, 4),
    "gin_conv": layer("GINConv", perceptron()),
    "gat_conv": layer("GATConv", WIDTH, 4, heads=2),
    "gatv2_conv": layer("GATv2Conv", WIDTH, 4, heads=2),
    "transformer_conv": layer("TransformerConv", WIDTH, 4, heads=2),
    "tag_conv": layer("TAGConv", WIDTH, 4),
    "sg_conv": layer("SGConv", WIDTH, 4, K=2),
    "cheb_conv": layer("ChebConv", WIDTH, 4, K=3),
    "edge_conv": layer("EdgeConv", torch.nn.Linear(2 * WIDTH, 4)),
    "appnp": layer("APPNP", K=3, alpha=0.1),
}
