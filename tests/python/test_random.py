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


class DroppingInside(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 8, num_layers=2, dropout=0.5, batch_first=True)

    def forward(self, x):
        y = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5) + self.rnn(x)[0]
        return F.alpha_dropout(torch.feature_dropout(y, 0.5, True), 0.5, True)


@pytest.mark.parametrize("form", ["pt", "pt2"])
@pytest.mark.parametrize("module", [Dropping(), DroppingInside()])
def test_kept_dropout_is_compared_with_pytorch_that_keeps_it_too(run, tmp_path, module, form):
    x = torch.randn(2, 5, 8)
    if form == "pt":
        torch.jit.trace(module, x, check_trace=False).save(tmp_path / "m.pt")
    else:
        torch.export.save(torch.export.export(module, (x,)), tmp_path / "m.pt2")
    types = ["--input", "f32[2,5,8]"]
    said = run("convert", f"m.{form}", "--train-mode=keep", *types, "-o", "m.tenon", code=0)
    assert "equal to LibTorch" in said
    assert "verified" in run("verify", f"m.{form}", "--train-mode=keep", *types, code=0)


def test_a_script_saved_in_training_mode_is_not_dropped_in_silence(run, tmp_path):
    torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))).save(tmp_path / "m.pt")
    said = run("run", "m.pt", "--input", "f32[2,4]", "--train-mode=drop", code=3)
    assert "training mode" in said and ".pt2" in said


def test_conversion_says_which_outputs_are_not_compared(run, model):
    said = run("convert", model(Noisy()), "--random", "-o", "model.tenon", code=0)
    assert "random numbers decide out.0: the source draws others" in said
    assert "equal to LibTorch (relative error" in said and "; types and sizes only: random numbers decide out.0)" in said


def test_bisection_passes_over_what_is_drawn(run, model):
    said = run("verify", model(Noisy()), "--random", "--bisect", code=0)
    assert "no node differs" in said and said.endswith("verified; types and sizes only: random numbers decide out.0\n")
