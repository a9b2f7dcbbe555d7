"""Every in-place and out= spelling in PyTorch's list, of operators that are known: it is equal to PyTorch. _foreach_ operators too."""

import sys
from pathlib import Path

import pytest
import torch

from chosen import ALL

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "opinfo"))


@pytest.fixture(scope="module")
def all_spelled():
    from spellings import all_spelled  # takes seconds: PyTorch's database

    torch.set_num_threads(1)
    return all_spelled()


@pytest.mark.parametrize("form, each", (("pt", 1 if ALL else 3), ("pt2", 1 if ALL else 4)))
def test_a_spelling_of_a_known_operator_works(tenon, all_spelled, form, each):
    from verdict import Judge, Kind

    judge = Judge(tenon, form)
    chosen = all_spelled[::each]
    verdicts = [v for i in range(0, len(chosen), 100) for v in judge.judge([s.case for s in chosen[i : i + 100]])]
    amiss = [f"{v.kind.value} {v.case.name} ({v.case.arguments}): {v.reason}" for v in verdicts if v.kind in (Kind.WRONG, Kind.CRASH)]
    assert not amiss, "\n".join(amiss)
    refused = [(v, s) for v, s in zip(verdicts, chosen) if v.kind is Kind.REFUSED]
    known = zip(refused, judge.judge([s.functional for _, s in refused]))
    amiss = [f"{v.case.name}: {v.reason}" for (v, _), functional in known if functional.kind is Kind.EQUAL]
    assert not amiss, "\n".join(amiss)
    assert sum(v.kind is Kind.EQUAL for v in verdicts) > 0.7 * len(verdicts)


class Foreach(torch.nn.Module):
    def forward(self, x, y):
        a = [x * 1, y * 2]
        torch._foreach_add_(a, 1.0)
        b = torch._foreach_mul(a, [x, y])
        c = torch._foreach_addcmul(b, b, a, value=0.5)
        d = torch._foreach_lerp(b, c, 0.3)
        e = torch._foreach_maximum(b, 0.0)
        f = torch._foreach_pow(torch._foreach_abs(c), 2.0)
        torch._foreach_copy_(a, b)
        torch._foreach_zero_([a[0]])
        torch._foreach_clamp_max_(e, d)
        return *a, *b, *c, *d, *e, *f, *torch._foreach_norm(b), *torch._foreach_sub(f, [1.0, 2.0])


def test_foreach_operators_run_on_each_item(tenon):
    from cases import Case, run_eager
    from verdict import Judge, Kind

    case = Case("foreach", "main", torch.float32, 0, Foreach(), [torch.randn(2, 3), torch.randn(4)])
    case.expected = run_eager(case)
    (verdict,) = Judge(tenon, "pt2").judge([case])  # they cannot be traced
    assert verdict.kind is Kind.EQUAL, verdict.reason
