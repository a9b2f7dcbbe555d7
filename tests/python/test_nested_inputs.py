"""Traces and exports whose inputs are tuples, lists and dicts: by name, by position, and with their recorded sizes."""

from typing import Dict, List, Tuple

import numpy
import pytest
import torch
from torch import Tensor, nn

from tests.python.compared import assert_equal, flat, tenon_run

A, B, C = torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 5)


class Cached(nn.Module):
    def forward(self, x, cache: Tuple[Tensor, Tensor]):
        k, v = cache
        return x + k.sum(1, keepdim=True), (torch.cat([k, x], 1), torch.cat([v, x], 1))


class Listed(nn.Module):
    def forward(self, xs: List[Tensor]):
        return torch.cat(xs, 1) * 2


class Named(nn.Module):
    def forward(self, batch: Dict[str, Tensor]):
        return {"y": batch["a"] + 1, "z": batch["b"].sum()}


class Layers(nn.Module):
    """A key-value cache: a pair for each layer."""

    def forward(self, x, past: List[Tuple[Tensor, Tensor]]):
        present = []
        for k, v in past:
            present += [torch.cat([k, x]), torch.cat([v, x * 2])]
            x = x + k.mean() * v.sum()
        return x, present


CASES = {
    "tuple": (Cached(), (A, (B, C)), ["x", "cache.0", "cache.1"]),
    "list": (Listed(), ([A, B, C],), ["xs.0", "xs.1", "xs.2"]),
    "dict": (Named(), ({"a": A, "b": B},), ["batch.a", "batch.b"]),
    "list of tuples": (Layers(), (A, [(A, A + 1), (A + 2, A + 3)]), ["x", "past.0.0", "past.0.1", "past.1.0", "past.1.1"]),
    "tuple of tuples": (Layers(), (A, ((A, A + 1), (A + 2, A + 3))), ["x", "past.0.0", "past.0.1", "past.1.0", "past.1.1"]),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=["trace", "export"])
def saved(request, case, tmp_path):
    model, arguments, _ = case
    if request.param == "trace":
        path = tmp_path / "m.pt"
        torch.jit.trace(model, arguments, strict=False).save(str(path))
    else:
        path = tmp_path / "m.pt2"
        torch.export.save(torch.export.export(model, arguments), path)
    return path


def files(case, folder):
    written = []
    for i, tensor in enumerate(flat(list(case[1]))):
        written.append(folder / f"in_{i}.npy")
        numpy.save(written[-1], tensor.numpy())
    return written


def outputs(folder):
    return [torch.from_numpy(a) for a in numpy.load(folder / "out.npz").values()]


def test_recorded_sizes_are_enough(tenon, tmp_path, case, saved):
    assert "equal to LibTorch" in tenon_run(tenon, "convert", saved, "-o", tmp_path / "m.tenon")


@pytest.mark.parametrize("by", ["name", "position"])
def test_inputs_go_by_name_and_by_position(tenon, tmp_path, case, saved, by):
    model, arguments, names = case
    given = [f"--input={name + '=' if by == 'name' else ''}{path}" for name, path in zip(names, files(case, tmp_path))]
    tenon_run(tenon, "run", saved, *given, "--output", tmp_path / "out.npz")
    assert_equal(outputs(tmp_path), flat(model(*arguments)))


def test_other_sizes_and_symbols_of_an_item(tenon, tmp_path):
    torch.jit.trace(Listed(), ([A, B],)).save(str(tmp_path / "m.pt"))
    tenon_run(tenon, "convert", tmp_path / "m.pt", "-o", tmp_path / "m.tenon", "--input", "xs.0=f32[N,7]", "--input", "xs.1=f32[N,4]")
    tenon_run(tenon, "convert", tmp_path / "m.pt", "-o", tmp_path / "n.tenon", "--input", "xs.1=f32[2,9]")


def test_results_whose_paths_meet(tenon, tmp_path):
    """a.b is the item b of a, and a key of its own: the second one gets a number, and is compared with the right one."""

    class Meeting(torch.nn.Module):
        def forward(self, x):
            return {"a": {"b": x + 1}, "a.b": x * 2}

    torch.export.save(torch.export.export(Meeting(), (torch.randn(3),)), tmp_path / "m.pt2")
    assert "equal to LibTorch" in tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon")
    tenon_run(tenon, "run", tmp_path / "m.tenon", "--output", tmp_path / "out.npz")
    assert sorted(numpy.load(tmp_path / "out.npz")) == ["out.a.b", "out.a.b_2"]
