"""The PyTorch models Tenon is tested and measured on: one file a family, listed here and nowhere else."""

from importlib import import_module

import torch

from models.common import Example, at_batch, batch_axes  # noqa: F401

NAMES = [
    "mlp",
    "resnet9",
    "resnet50",
    "unet",
    "minilm",
    "transformer",
    "decoder",
    "lstm",
    "vit_b16",
    "bert_large",
    "xml_cnn",
    "gcn",
    "silero_vad",
]


def load(name: str, tiny: bool = False) -> Example:
    """The model and its sample inputs, the same numbers on every call; in eval mode, on one thread.

    `tiny` keeps the architecture and shrinks its widths, so that a file stays below 300 kB.
    """
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        example = import_module(f"models.{name}").make(tiny)
    example.model.eval()
    return example
