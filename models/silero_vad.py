"""Silero voice activity detector, as published: scripted, with control flow and state that a call changes."""

import torch

from models.common import Example, package_file


def make(tiny: bool) -> Example:
    """Speech probability of one chunk of 512 samples at 16 kHz, from a fresh state. There is no smaller variant."""
    source = package_file("silero-vad", "silero_vad/data/silero_vad.jit")
    time = torch.arange(512) / 16000
    voice = sum(torch.sin(2 * torch.pi * 120 * k * time) / k for k in range(1, 12))
    chunk = 0.1 * (voice + 0.1 * torch.randn(512)).unsqueeze(0)
    return Example(
        torch.jit.load(str(source)),
        {"x": chunk, "sr": 16000},
        {"x": {0: "N"}},
        source=source,
        notes={"stateful": True},
    )
