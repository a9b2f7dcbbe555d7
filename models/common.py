"""What the models share: the example a model is exported with, and weights that keep activations near 1."""

from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import torch
from torch import nn


@dataclass
class Example:
    """A model and the inputs it is exported with."""

    model: nn.Module
    inputs: dict[str, torch.Tensor | int]  # by name, in the order of forward's arguments
    free: dict[str, dict[int, str]] = field(default_factory=dict)  # input → {axis: symbol}, axes that may vary
    source: Path | None = None  # a TorchScript file to copy instead of exporting `model`
    others: dict[str, dict[str, torch.Tensor]] = field(default_factory=dict)  # by name: other inputs that it is measured with
    notes: dict[str, object] = field(default_factory=dict)  # copied into meta.json


def batch_axes(example: Example) -> dict[str, int]:
    """Of each input with a batch: its axis."""
    return {name: axis for name, axes in example.free.items() for axis, symbol in axes.items() if symbol in ("N", "B")}


def at_batch(example: Example, batch: int) -> dict[str, torch.Tensor | int]:
    """Its inputs with so many rows: the example's, again and again."""
    inputs = dict(example.inputs)
    for name, axis in batch_axes(example).items():
        rows = torch.arange(batch) % inputs[name].shape[axis]
        inputs[name] = inputs[name].index_select(axis, rows)
    return inputs


def package_file(package: str, path: str) -> Path:
    """A data file of an installed package, without importing the package."""
    return Path(str(distribution(package).locate_file(path)))


def randomise(model: nn.Module, gain: float = 1.0) -> None:
    """Seeded weights: each layer keeps the scale of its input, and every bias and norm is non-trivial.

    `gain` is for linear layers: 2**0.5 where a ReLU follows, else 1. A BatchNorm shifts upwards:
    with a mean of 0 before each ReLU, rounding errors grow through the depth as they do in no trained net.
    """
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, mean=0.7, std=0.3)
        elif isinstance(module, nn.LayerNorm):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.2)
        elif isinstance(module, (nn.Conv1d, nn.Conv2d)):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            small(module.bias)
        elif isinstance(module, nn.ConvTranspose2d):
            nn.init.normal_(module.weight, std=module.in_channels**-0.5)
            small(module.bias)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=gain * module.in_features**-0.5)
            small(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight)
        elif isinstance(module, nn.LSTM):
            for name, parameter in module.named_parameters():
                nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5 if "weight" in name else 0.1)


def damp(norm: nn.BatchNorm2d) -> None:
    """Makes the norm that ends a residual branch small, as training does: the sum then stays near its input."""
    nn.init.uniform_(norm.weight, 0.1, 0.5)


def small(bias: torch.Tensor | None) -> None:
    if bias is not None:
        nn.init.normal_(bias, std=0.1)


def images(count: int, size: int) -> torch.Tensor:
    """f32[count,3,size,size]: noise with a cast of colour, so that no channel has the mean 0."""
    return torch.randn(count, 3, size, size) + torch.tensor([0.5, 0.2, -0.3]).view(3, 1, 1)


def calibrate(model: nn.Module, count: int, size: int, batches: int = 3) -> None:
    """Fills the running statistics of every BatchNorm by training-mode passes over seeded images."""
    norms = [module for module in model.modules() if isinstance(module, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain average over all batches
    model.train()
    for _ in range(batches):
        model(images(count, size))
    model.eval()
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
