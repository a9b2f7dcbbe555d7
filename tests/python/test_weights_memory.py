"""--weights-memory once and small: the same numbers from fewer bytes of packed weights."""

import json

import numpy as np
import pytest
import torch
from torch import nn

@pytest.fixture
def model(tmp_path):
    """A 3x3 convolution, which Winograd's method would take, and a linear of 1 MiB."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(8), nn.Flatten(2), nn.Linear(64, 4096)).eval()
    x = torch.randn(1, 64, 32, 32)
    torch.jit.trace(network, x).save(str(tmp_path / "model.pt"))
    np.save(tmp_path / "x.npy", x.numpy())
    return "model.tenon"


def test_small_keeps_less_and_computes_the_same(run, tmp_path, model):
    run("convert", "model.pt", "-o", model, code=0)
    kept = {}
    for memory in ("fast", "once", "small"):
        run("profile", model, "--input", "input=x.npy", "--iters", 3, "--weights-memory", memory, "--json", "p.json", code=0)
        kept[memory] = json.loads((tmp_path / "p.json").read_text())
    filters, matrix = 64 * 64 * 9 * 4, 64 * 4096 * 4
    assert kept["fast"]["packed_bytes"] > 2 * filters + matrix
    assert filters + matrix <= kept["once"]["packed_bytes"] <= 1.25 * (filters + matrix)
    assert filters <= kept["small"]["packed_bytes"] < filters + filters / 4 + matrix / 4
    assert kept["small"]["process_own_bytes"] < kept["fast"]["process_own_bytes"] <= kept["fast"]["process_peak_bytes"]
    for memory in ("once", "small"):
        assert "verified" in run("verify", model, "--weights-memory", memory, code=0)


def test_a_tuning_chooses_otherwise(run, model):
    run("convert", "model.pt", "-o", model, code=0)
    assert "at: --tuning" in run("run", model, "--weights-memory", "small", "--tuning", "t.jsonl", code=2)
    assert "weights-memory" in run("tune", model, "--weights-memory", "small", code=2)
    assert "{fast,once,small}" in run("run", model, "--weights-memory", "tiny", code=2)
