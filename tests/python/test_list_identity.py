"""Which list a name means, after loops and branches that depend on data: PyTorch's result, or a refusal."""

from typing import Dict, List

import pytest
import torch
from torch import Tensor, nn

from tests.python.compared import Refused, assert_equal, convert, run


class ChangedByItsOuterName(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        inner = [x]
        carried = (inner, 0)
        while carried[1] < int(n):
            inner[0] = inner[0] + 1
            carried = (carried[0], carried[1] + 1)
        return carried[0][0], inner[0]


class GrowsByItsOuterName(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        items = [x]
        carried = (items, x)
        for i in range(int(n)):
            items.append(carried[1])
            carried = (carried[0], carried[1] + 1)
        return torch.stack(carried[0]), len(items)


class KeptInAListAndChangedAfterIt(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        kept = [x]
        both = [kept, [x + 1]]
        for i in range(int(n)):
            both = [both[0], [both[1][0] + 1]]
        kept[0] = kept[0] * 5
        return both[0][0], both[1][0]


class ReplacedInATuple(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        items = [x]
        carried = (items, 0)
        while carried[1] < int(n):
            carried = ([x * 2], carried[1] + 1)
        items.append(x)
        return len(carried[0]), carried[1]


class ReplacedInADict(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        items = [x]
        table: Dict[str, List[Tensor]] = {"key": items}
        for i in range(int(n)):
            table["key"] = [x + i]
        items[0] = items[0] * 5
        return table["key"][0], items[0]


class BecomesAnotherOfItsNames(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        items, other = [x], [x * 2]
        for i in range(int(n)):
            other = items
        items[0] = x * 7
        return other[0], items[0]


class TwoNamesAfterABranch(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        if bool(n > 1):
            a = [x]
            b = a
        else:
            a = [x * 2]
            b = a
        a.append(x)
        return len(b), a[0]


class TwoNamesInOneBranchOnly(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        if bool(n > 1):
            a = [x]
            b = a
        else:
            a = [x * 2]
            b = [x * 3]
        a.append(x)
        return len(b), a[0]


MODELS = [ChangedByItsOuterName, GrowsByItsOuterName, KeptInAListAndChangedAfterIt, ReplacedInATuple, ReplacedInADict,
          BecomesAnotherOfItsNames, TwoNamesAfterABranch, TwoNamesInOneBranchOnly]
RIGHT = {ChangedByItsOuterName, GrowsByItsOuterName, KeptInAListAndChangedAfterIt, TwoNamesAfterABranch}


@pytest.mark.parametrize("module", MODELS, ids=lambda m: m.__name__)
def test_a_list_stays_what_it_is(tenon, tmp_path, module):
    model = torch.jit.script(module())
    try:
        artifact = convert(tenon, model, ["x=f32[4]", "n=i64[]"], tmp_path)
    except Refused as refused:
        assert module not in RIGHT, refused
        return
    for n in (0, 1, 3):
        inputs = [torch.arange(4.0), torch.tensor(n)]
        assert_equal(run(tenon, artifact, inputs, tmp_path), model(*inputs), f"{module.__name__} n={n}")


class OtherRank(nn.Module):
    def later(self, x: Tensor):
        return (x * 3).sum(0)

    def __init__(self):
        super().__init__()
        self.first = True

    def forward(self, x: Tensor):
        if self.first:
            self.first = False
            return x * 2
        return self.later(x)


class OtherType(OtherRank):
    def later(self, x: Tensor):
        return x > 3


@pytest.mark.parametrize("module", [OtherRank, OtherType])
def test_calls_that_give_other_types_are_not_the_same(tenon, tmp_path, module):
    with pytest.raises(Refused, match="whether it is the first call"):
        convert(tenon, torch.jit.script(module()), ["x=f32[4,4]"], tmp_path)


class Checked(nn.Module):
    """Nothing is computed in the branches, but one of them may raise."""

    def forward(self, x: Tensor):
        none = x[:0]
        if bool(x.sum() > 0):
            assert bool(x[0] > 100), "positive"
            none = none * 2
        else:
            none = none * 3
        return none


def test_a_check_beside_no_elements_runs(tenon, tmp_path):
    artifact = convert(tenon, torch.jit.script(Checked()), ["x=f32[4]"], tmp_path)
    assert_equal(run(tenon, artifact, [-torch.ones(4)], tmp_path), torch.zeros(0))
    with pytest.raises(AssertionError, match="positive"):
        run(tenon, artifact, [torch.ones(4)], tmp_path)


class Windowed(nn.Module):
    """The branch that is not taken has no size at all for short inputs."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3)

    def forward(self, x: Tensor):
        y = x
        if bool(x.sum() > 0):
            y = self.conv(x)
        return y * 2


def test_a_branch_that_is_not_taken_may_be_too_small(tenon, tmp_path):
    torch.manual_seed(0)
    model = torch.jit.script(Windowed().eval())
    artifact = convert(tenon, model, ["x=f32[1,4,N]"], tmp_path)
    for x in (-torch.ones(1, 4, 1), -torch.ones(1, 4, 8), torch.ones(1, 4, 8)):
        assert_equal(run(tenon, artifact, [x], tmp_path), model(x))


class Bags(nn.Module):
    def __init__(self, mode: str):
        super().__init__()
        self.bags = nn.EmbeddingBag(10, 3, mode=mode, include_last_offset=True)

    def forward(self, indices: Tensor, offsets: Tensor):
        return self.bags(indices, offsets)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_what_lies_behind_the_last_offset_is_not_summed(tenon, tmp_path, mode):
    torch.manual_seed(0)
    model = torch.jit.script(Bags(mode).eval())
    artifact = convert(tenon, model, ["indices=i64[K]", "offsets=i64[B]"], tmp_path)
    for offsets in ([0, 2, 3], [0, 2, 4], [0, 0, 1]):
        inputs = [torch.tensor([1, 2, 3, 4]), torch.tensor(offsets)]
        assert_equal(run(tenon, artifact, inputs, tmp_path), model(*inputs), str(offsets))
