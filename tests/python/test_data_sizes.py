"""Sizes that depend on data: nonzero, masks, unique, repeats, counts. One artifact, as many results as the data says."""

import subprocess
from typing import List

import numpy
import pytest
import torch
from torch import Tensor, nn

from tests.python.compared import assert_equal, convert, flat, run, tenon_run

# Each takes x: f32[N,6], in which about half of the numbers are positive.


def nonzero(x):
    return torch.nonzero(x > 0)


def nonzero_tuple(x):
    return torch.nonzero(x > 0, as_tuple=True)


def where_alone(x):
    return torch.where(x > 0)


def argwhere(x):
    return torch.argwhere(x > 0)


def mask(x):
    return x[x > 0]


def mask_of_rows(x):
    return x[x.sum(1) > 0] * 2 + 1


def mask_and_places(x):
    return x[x[:, 0] > 0, 2]


def masked_select(x):
    return torch.masked_select(x, x[:, :1] > 0)


def mask_assign_from_mask(x):
    y = x.clone()
    m = x > 0
    y[m] = y[m] * 3
    return y


def mask_assign_rows(x):
    y = x.clone()
    m = x.sum(1) > 0
    y[m] = torch.relu(y[m] - 0.25)
    return y


def mask_add_rows(x):
    y = torch.zeros_like(x)
    m = x.sum(1) > 0
    y[m] += x[m]
    return y


def route(x):
    """A mixture of two experts."""
    out = torch.zeros_like(x)
    expert = (x[:, 0] > 0).long()
    for e in range(2):
        rows = torch.where(expert == e)[0]
        out.index_add_(0, rows, torch.tanh(x[rows]) * (e + 1))
    return out


def runs_of_columns(x):
    return torch.unique_consecutive((x > 0).long(), dim=-1)


def nothing_of_nothing(x):
    return torch.argwhere(x[:, :0] > 0)


def count_of_rows(x):
    kept = x[x[:, 1] > 0]
    return kept.sum(0), kept.shape[0] * torch.ones(2)


def flatten_kept(x):
    kept = x[x[:, 1] > 0]
    return kept.reshape(-1), kept.view(-1, 3)


def unique(x):
    return torch.unique((x * 2).round())


def unique_all(x):
    return torch.unique((x * 2).round().long(), return_inverse=True, return_counts=True)


def unique_rows(x):
    return torch.unique((x > 0).long()[:, :2], dim=0, return_inverse=True, return_counts=True)


def unique_columns(x):
    return torch.unique((x > 0).long(), dim=1, return_inverse=True, return_counts=True)


def unique_consecutive(x):
    return torch.unique_consecutive((x[:, 0] > 0).long(), return_inverse=True, return_counts=True)


def bincount(x):
    return torch.bincount((x.abs() * 4).long().flatten())


def bincount_weighted(x):
    return torch.bincount((x[:, 0].abs() * 4).long(), weights=x[:, 1], minlength=3)


def repeat_each(x):
    return torch.repeat_interleave(x, (x[:, 0].abs() * 3).long(), dim=0)


def repeat_places(x):
    return torch.repeat_interleave((x[:, 0].abs() * 3).long())


def one_hot(x):
    return torch.nn.functional.one_hot((x[:, 0].abs() * 3).long())


def cat_of_parts(x):
    return torch.cat([x[x[:, 0] > 0], x[x[:, 0] <= 0]])


def two_masks(x):
    a = x[x[:, 0] > 0]
    return a[a[:, 1] > 0].sum(0)


def sort_kept(x):
    return torch.sort(x[x > 0]).values


def matmul_kept(x):
    a = x[x[:, 0] > 0]
    return a @ a.t()


def the_same_mask_twice(x):
    y = x.clone()
    y[x < -0.5] = -y[x < -0.5]
    return y


TRACED = [nonzero, the_same_mask_twice, nonzero_tuple, where_alone, argwhere, mask, mask_of_rows, mask_and_places, masked_select,
          mask_assign_from_mask, mask_assign_rows, mask_add_rows, route, count_of_rows, flatten_kept, unique, unique_all,
          unique_rows, unique_columns, unique_consecutive, bincount, bincount_weighted, repeat_each, repeat_places, one_hot,
          cat_of_parts, two_masks, sort_kept, matmul_kept]


class Wrapped(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def samples():
    """Few rows, many, and none that is positive."""
    torch.manual_seed(3)
    return [torch.randn(4, 6), torch.randn(31, 6), -torch.rand(5, 6) - 0.01, torch.rand(2, 6)]


@pytest.mark.parametrize("function", TRACED, ids=lambda f: f.__name__)
def test_traced(tenon, function, tmp_path):
    traced = torch.jit.trace(Wrapped(function), torch.randn(7, 6))
    artifact = convert(tenon, traced, ["x=f32[N,6]"], tmp_path)
    for x in samples():
        assert_equal(run(tenon, artifact, [x], tmp_path), flat(traced(x)), function.__name__)


class CountFromData(nn.Module):
    def forward(self, x: Tensor):
        n = int((x[:, 0] > 0).sum())
        return torch.arange(n), torch.zeros(n, 2), x[:n]


class SliceByData(nn.Module):
    def forward(self, x: Tensor):
        n = int((x[:, 0] > 0).sum())
        return x[n:], x[-2:n], x[: n - 2], x[::2][:n]


class MaskInLoop(nn.Module):
    def forward(self, x: Tensor):
        total = torch.zeros(6)
        for i in range(x.shape[0]):
            row = x[i]
            total = total + row[row > 0].sum()
        return total


class MaskInBranch(nn.Module):
    def forward(self, x: Tensor):
        kept = x[x[:, 0] > 0]
        if kept.shape[0] == 0:
            return torch.zeros(6)
        return kept.mean(0)


class GrowingList(nn.Module):
    def forward(self, x: Tensor):
        kept: List[Tensor] = []
        for i in range(2):
            kept.append(x[x[:, i] > 0])
        return torch.cat(kept)


@pytest.mark.parametrize("module", [CountFromData, SliceByData, MaskInLoop, MaskInBranch, GrowingList],
                         ids=lambda m: m.__name__)
def test_scripted(tenon, module, tmp_path):
    scripted = torch.jit.script(module())
    artifact = convert(tenon, scripted, ["x=f32[N,6]"], tmp_path)
    for x in samples():
        assert_equal(run(tenon, artifact, [x], tmp_path), flat(scripted(x)), module.__name__)


EXPORTED = [nonzero, mask, mask_of_rows, masked_select, mask_assign_rows, route, unique, repeat_each, two_masks, runs_of_columns,
            nothing_of_nothing]


@pytest.mark.parametrize("function", EXPORTED, ids=lambda f: f.__name__)
def test_exported(tenon, function, tmp_path):
    program = torch.export.export(Wrapped(function), (torch.randn(7, 6),),
                                  dynamic_shapes={"x": {0: torch.export.Dim("rows", min=2, max=64)}})
    torch.export.save(program, str(tmp_path / "model.pt2"))
    tenon_run(tenon, "convert", tmp_path / "model.pt2", "-o", tmp_path / "model.tenon", "--no-verify")
    for x in samples():
        assert_equal(run(tenon, tmp_path / "model.tenon", [x], tmp_path), flat(Wrapped(function)(x)), function.__name__)


def test_a_mask_of_constants_is_known(tenon, tmp_path):
    """What depends on no input has its size when the model is converted."""

    class Constant(nn.Module):
        def forward(self, x):
            places = torch.nonzero(torch.tril(torch.ones(3, 3)))
            return x[:, :3] + places.sum(0)[0], places

    traced = torch.jit.trace(Constant(), torch.randn(2, 6))
    artifact = convert(tenon, traced, ["x=f32[N,6]"], tmp_path)
    assert "?" not in tenon_run(tenon, "inspect", artifact)
    x = torch.randn(5, 6)
    assert_equal(run(tenon, artifact, [x], tmp_path), traced(x))


def test_every_tool_takes_such_models(tenon, tmp_path):
    traced = torch.jit.trace(Wrapped(route), torch.randn(7, 6))
    traced.save(str(tmp_path / "route.pt"))
    tenon_run(tenon, "convert", tmp_path / "route.pt", "-o", tmp_path / "route.tenon", "--input", "x=f32[N,6]")
    assert "verified" in tenon_run(tenon, "verify", tmp_path / "route.pt", "--input", "x=f32[5,6]")
    text = tenon_run(tenon, "profile", tmp_path / "route.tenon", "--input", "x=f32[5,6]", "--iters", "4")
    assert "nonzero" in text and "stage" in text
    assert "nonzero" in tenon_run(tenon, "inspect", tmp_path / "route.tenon", "--input", "x=f32[5,6]", "--ops")


class BeyondTheEnd(nn.Module):
    def forward(self, x: Tensor):
        n = int((x > 0).sum())
        return x.flatten()[:7].topk(n)[0]


class NarrowBeyondTheEnd(nn.Module):
    def forward(self, x: Tensor):
        return x.flatten()[:7].narrow(0, 0, int((x > 0).sum()))


class ItemOfNone(nn.Module):
    def forward(self, x: Tensor):
        return x[x < 0][:1].item()


class Items(nn.Module):
    """Whether there is one element is known when the model runs."""

    def forward(self, x: Tensor):
        found = x[x > 0]
        if bool(found[:1] > 0.5):
            found = found + 1
        return found[-1:].item(), int(found[:1] * 100)


def test_items_of_parts(tenon, tmp_path):
    scripted = torch.jit.script(Items())
    artifact = convert(tenon, scripted, ["x=f32[N,6]"], tmp_path)
    for x in samples():
        if (x > 0).any():
            assert_equal(run(tenon, artifact, [x], tmp_path), flat(scripted(x)))


@pytest.mark.parametrize("module", [BeyondTheEnd, NarrowBeyondTheEnd, ItemOfNone], ids=lambda m: m.__name__)
def test_sizes_of_the_data_that_do_not_fit_are_an_error(tenon, module, tmp_path):
    artifact = convert(tenon, torch.jit.script(module()), ["x=f32[N,6]"], tmp_path)
    numpy.save(tmp_path / "x.npy", torch.ones(4, 6).numpy())
    done = subprocess.run([tenon, "run", artifact, f"--input={tmp_path / 'x.npy'}"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "bug" not in done.stderr, done.stderr


def test_names_of_such_sizes_are_not_for_inputs(tenon, tmp_path):
    torch.jit.trace(Wrapped(mask), torch.randn(7, 6)).save(str(tmp_path / "m.pt"))
    done = subprocess.run([tenon, "convert", tmp_path / "m.pt", "--input", "f32[?0,6]"], capture_output=True, text=True)
    assert done.returncode == 2 and "begins with '?'" in done.stderr, done.stderr
