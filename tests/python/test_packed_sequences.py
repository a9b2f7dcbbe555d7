"""Sequences of several lengths without their padding: pack_padded_sequence, recurrent layers on it, pad_packed_sequence.

One artifact serves any batch, any number of steps and any lengths.
"""

import subprocess

import numpy
import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.python.compared import assert_equal, convert, flat, run


class Layers(nn.Module):
    def __init__(self, kind: str, sorted_by_user: bool, batch_first: bool):
        super().__init__()
        self.layers = getattr(nn, kind)(6, 5, num_layers=2, bidirectional=True, batch_first=batch_first)
        self.sorted_by_user, self.batch_first = sorted_by_user, batch_first

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=self.sorted_by_user)
        outputs, last = self.layers(packed)
        padded, lengths_again = pad_packed_sequence(outputs, batch_first=self.batch_first)
        return padded, lengths_again, last


def inputs(batch_first, lengths, steps):
    x = torch.randn(len(lengths), steps, 6)
    return x if batch_first else x.transpose(0, 1).contiguous(), torch.tensor(lengths)


def specs(batch_first):
    return ["x=f32[N,S,6]" if batch_first else "x=f32[S,N,6]", "lengths=i64[N]"]


@pytest.mark.parametrize("form", ["traced", "scripted"])
@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
@pytest.mark.parametrize("sorted_by_user", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_equals_pytorch(tenon, kind, sorted_by_user, batch_first, form, tmp_path):
    torch.manual_seed(0)
    model = Layers(kind, sorted_by_user, batch_first).eval()
    first = inputs(batch_first, [7, 5, 5, 2], steps=7)
    made = torch.jit.script(model) if form == "scripted" else torch.jit.trace(model, first, check_trace=False)
    artifact = convert(tenon, made, specs(batch_first), tmp_path)
    for given in [first, inputs(batch_first, [8, 8, 1] if sorted_by_user else [1, 8, 4], steps=9)]:
        assert_equal(run(tenon, artifact, given, tmp_path), flat(model(*given)), f"{kind} {form}")


@pytest.mark.parametrize("shape", ["4,7,6", "N,7,6", "4,S,6"])
def test_sizes_that_are_known(tenon, shape, tmp_path):
    model = Layers("LSTM", False, True).eval()
    given = inputs(True, [2, 7, 5, 5], steps=7)
    traced = torch.jit.trace(model, given, check_trace=False)
    artifact = convert(tenon, traced, [f"x=f32[{shape}]", f"lengths=i64[{shape[0]}]"], tmp_path)
    assert_equal(run(tenon, artifact, given, tmp_path), flat(model(*given)), shape)


def test_padding_value_and_total_length(tenon, tmp_path):
    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.GRU(6, 4, batch_first=True)

        def forward(self, x, lengths):
            packed = pack_padded_sequence(x, lengths, batch_first=True)
            return pad_packed_sequence(self.layer(packed)[0], batch_first=True, padding_value=-1.5, total_length=12)[0]

    model = Padded().eval()
    given = inputs(True, [5, 3], steps=5)
    artifact = convert(tenon, torch.jit.trace(model, given, check_trace=False), specs(True), tmp_path)
    assert_equal(run(tenon, artifact, given, tmp_path), flat(model(*given)))


@pytest.mark.parametrize("lengths, message", [
    ([2, 5], "must be sorted in decreasing order"),
    ([5, 0], "has to be greater than 0"),
    ([9, 2], "larger than the number of steps"),
])
def test_lengths_that_pytorch_refuses_are_an_error(tenon, lengths, message, tmp_path):
    model = Layers("LSTM", True, True).eval()
    traced = torch.jit.trace(model, inputs(True, [7, 5], steps=7), check_trace=False)
    artifact = convert(tenon, traced, specs(True), tmp_path)
    for name, tensor in zip(["x", "lengths"], inputs(True, lengths, steps=7)):
        numpy.save(tmp_path / f"{name}.npy", tensor.numpy())
    done = subprocess.run([tenon, "run", artifact, f"--input={tmp_path / 'x.npy'}", f"--input={tmp_path / 'lengths.npy'}"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr, done.stderr
