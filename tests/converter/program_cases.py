"""The programs that make_programs.py writes, registered by @case and @refused where they are defined."""

import numpy as np
import torch
from torch import Tensor

CASES = {}
REFUSED = {}


def randn(*shape: int) -> Tensor:
    return torch.randn(*shape)


def arange(*shape: int, dtype=torch.int64) -> Tensor:
    return torch.arange(int(np.prod(shape))).reshape(shape).to(dtype)


def case(*samples, specs: str = "", script: bool = False):
    """Registers a function or module class; samples are tuples of inputs, specs are those that vary in size."""

    def register(thing):
        CASES[thing.__name__] = (thing, samples, specs, script)
        return thing

    return register


def refused(*sample, script: bool = False):
    def register(thing):
        REFUSED[thing.__name__] = (thing, sample, script)
        return thing

    return register
