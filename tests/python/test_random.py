"""Models that draw random numbers or drop in training mode: refused by default, drawn or kept when asked for."""

import numpy
import pytest
import torch
from torch import nn
from torch.nn import functional as F


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.rand(200, 50), x * 2


class Dropping(nn.Module):
    def forward(self, x):
        return F.dropout(x, 0.25, True)


@pytest.fixture
def model(tmp_path):
    def save(module):
        torch.jit.trace(module, torch.ones(200, 50), check_trace=False).save(tmp_path / "model.pt")
        numpy.save(tmp_path / "x.npy", numpy.ones((200, 50), numpy.float32))
        return "model.pt"

    return save


def outputs(run, tmp_path, *arguments):
    run("run", *arguments, "--input", "x.npy", "--output", "out.npz", code=0)
    return list(numpy.load(tmp_path / "out.npz").values())


def test_a_model_that_draws_is_refused_with_the_flag_that_allows_it(run, model):
    assert "--random" in run("run", model(Noisy()), code=3)
    assert "--train-mode=drop" in run("run", model(Dropping()), code=3)


def test_the_seed_decides_what_is_drawn(run, model, tmp_path):
    path = model(Noisy())
    first = outputs(run, tmp_path, path, "--random")
    again = outputs(run, tmp_path, path, "--random")
    other = outputs(run, tmp_path, path, "--random", "--seed", 5)
    assert (first[0] == again[0]).all() and (first[0] != other[0]).mean() > 0.99
    assert abs((first[0] - 1).mean() - 0.5) < 0.02


def test_dropout_is_kept_or_drops_its_share(run, model, tmp_path):
    path = model(Dropping())
    assert (outputs(run, tmp_path, path, "--train-mode=keep")[0] == 1).all()
    dropped = outputs(run, tmp_path, path, "--train-mode=drop")[0]
    assert abs((dropped == 0).mean() - 0.25) < 0.03
    assert numpy.allclose(dropped[dropped != 0], 4 / 3)


def test_conversion_says_which_outputs_are_not_compared(run, model):
    said = run("convert", model(Noisy()), "--random", "-o", "model.tenon", code=0)
    assert "random numbers decide out.0: the source draws others" in said
    assert "equal to LibTorch (relative error" in said and "; types and sizes only: random numbers decide out.0)" in said


def test_bisection_passes_over_what_is_drawn(run, model):
    said = run("verify", model(Noisy()), "--random", "--bisect", code=0)
    assert "no node differs" in said and said.endswith("verified; types and sizes only: random numbers decide out.0\n")
