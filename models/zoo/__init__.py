"""Architectures that people export, in small configurations with random weights.

Each module of this folder is a package's part of the zoo: it fills `ARCHITECTURES`, name → a function that returns
the model in evaluation mode and its example inputs. `python models/zoo/run.py` exports and checks them.
"""

from collections.abc import Callable

import torch

Architecture = Callable[[], tuple[torch.nn.Module, tuple]]


class Tensors(torch.nn.Module):
    """A model whose result is a structure, as one whose result is a tuple of its tensors."""

    def __init__(self, model: torch.nn.Module, names: tuple[str, ...] = (), **constants):
        super().__init__()
        self.model = model
        self.names = names
        self.constants = constants

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.names, inputs)), **self.constants) if self.names \
            else self.model(*inputs, **self.constants)
        return flat(result)


def flat(value) -> tuple:
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, dict):
        value = value.values()
    elif hasattr(value, "to_tuple"):
        value = value.to_tuple()
    return tuple(tensor for part in value if part is not None for tensor in flat(part))
