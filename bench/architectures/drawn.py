"""Architectures that nobody chose: models of timm, drawn by a seed, at most one of each of timm's modules."""

import random

import torch

from bench.architectures.table import Architecture, timm
from models.zoo.torchvision_without_extension import import_torchvision

FEWEST_WEIGHTS, MOST_WEIGHTS = 2e6, 60e6  # of a model that people run on a CPU


def drawn(count: int, seed: int, known: set[str]) -> dict[str, Architecture]:
    """`count` models whose names are not in `known`, named timm.NAME."""
    import_torchvision()
    import timm as library

    order = random.Random(seed)
    modules = library.list_modules()
    order.shuffle(modules)
    found = {}
    for module in modules:
        if len(found) == count:
            break
        names = [name for name in library.list_models(module=module) if name not in known]
        order.shuffle(names)
        for name in names:
            size = input_size(library, name)
            if size:
                found[f"timm.{name}"] = timm(name, size)
                break
    return found


def input_size(library, name: str) -> int | None:
    """The side of the model's images, or None where a model is too small or too large, or cannot be made."""
    with torch.device("meta"):
        try:
            model = library.create_model(name, pretrained=False)
        except Exception:  # noqa: BLE001 - whatever a model of another framework says
            return None
    if not FEWEST_WEIGHTS <= sum(weight.numel() for weight in model.parameters()) <= MOST_WEIGHTS:
        return None
    return model.default_cfg["input_size"][-1]
