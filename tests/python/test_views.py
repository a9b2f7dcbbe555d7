"""Views, in-place writes and memory formats: what shares memory in PyTorch shares it here."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/views"))

from programs import Program, program  # noqa: E402
from views import FORMS, Judge  # noqa: E402

SHAPES = {"image": (2, 3, 4, 5), "one channel": (2, 1, 4, 5), "one pixel": (2, 3, 1, 1), "all ones": (1, 1, 1, 1), "one row": (1, 3, 1, 5)}


def formats():
    """`contiguous` and `to` with each memory format: a copy where PyTorch copies."""
    for shape in (*SHAPES.values(), (2, 3, 2, 2, 2), (1, 1, 2, 1, 2)):
        name = "channels_last_3d" if len(shape) == 5 else "channels_last"
        for first in (f".contiguous(memory_format=torch.{name})", f".to(memory_format=torch.{name})", ".transpose(1, -1).contiguous()"):
            for second in (f".contiguous(memory_format=torch.{name})", f".to(memory_format=torch.{name})", ".contiguous()",
                           ".to(memory_format=torch.contiguous_format)", ".reshape(-1)", ".clone().contiguous()"):  # fmt: skip
                yield [f"a = x[:{numel(shape)}].view({list(shape)}) * 1", f"b = a{first}", f"c = b{second}", "a.mul_(3)", "b.add_(1)"], "abc"


def handed_back():
    """Operators that hand their operand back, which then has two names."""
    for same in ("torch.dropout(a, 0.5, False)", "torch.feature_dropout(a, 0.5, False)", "F.alpha_dropout(a, 0.5, False)", "a.contiguous()",
                 "a.to(torch.float32)", "a.expand_as(a)"):  # fmt: skip
        for line in ("squeeze_()", "unsqueeze_(0)", "transpose_(0, 2)", "as_strided_([2, 2], [1, 3], 1)"):
            lines = ["a = x[:12].view(1, 3, 4) * 1", f"b = {same}", f"a.{line}", "a[0].add_(2)"]
            yield [*lines, "c = torch.cat([b, b])", "b.mul_(3)"], "abc"


def numel(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def reshaped_in_place():
    for line in ("squeeze_()", "squeeze_(0)", "squeeze_(-1)", "unsqueeze_(0)", "unsqueeze_(-1)", "transpose_(0, 1)", "swapaxes_(1, 2)",
                 "swapdims_(0, 2)", "as_strided_([2, 2], [1, 3], 1)"):  # fmt: skip
        yield ["a = x[:12].view(1, 3, 4) * 1", "v = a.view(-1)", "w = a.detach()", f"a.{line}", "a[0].add_(2)", "y = a + 1"], "avwy"
    yield ["a = x[:12].view(3, 4) * 1", "a.t_()", "a[0].mul_(2)", "b = a.contiguous()", "a.zero_()"], "ab"
    yield ["a = x[:12].view(3, 4) * 1", "b = a.contiguous()", "c = a.permute([0, 1])", "b.unsqueeze_(0)"], "abc"


def overlapping():
    yield ["a = x[:6] * 1", "v = a.unfold(0, 3, 1)", "v[1].add_(1)"], "av"
    yield ["a = x[:15].view(3, 5) * 1", "v = a.unfold(1, 2, 1).select(0, 1)", "v[0].mul_(2)"], "av"
    yield ["a = x[:7] * 1", "v = a.as_strided([3, 5], [1, 1], 0)", "v[:, 2:] = -0.6"], "av"
    yield ["a = x[:4].view(1, 4) * 1", "v = a.expand(3, 4)", "v[1].add_(1)"], "av"
    yield ["a = x[:9].view(3, 3) * 1", "a.T.diagonal(1).add_(3)", "a.diagonal().zero_()", "a.fill_diagonal_(2.0)"], "a"
    yield ["a = x[:8].view(4, 2) * 1", "a.fill_diagonal_(2.0, True)"], "a"
    yield ["a = (x[:24] * 1).view(4, 6)", "b = a[:, None, ..., 0].swapaxes(-2, 1)", "c = b.ravel()", "d = b.reshape(-1)", "b.add_(1.5)"], "abcd"
    yield ["a = x[:72].view(3, 4, 6)", "b = a.chunk(3, -1)[1] - 0.5", "c = b.reshape(3, -1)[1].contiguous().as_strided([1, 3], [0, 1], 3)",
           "b.add_(1)"], "bc"  # fmt: skip
    yield ["a = (x[:24] * 1).view(2, 3, 4).transpose(0, 2)", "b = a.clone()", "c = b.as_strided([3], [5], 2)", "c.zero_()"], "abc"


def judged(tenon, form, programs):
    judge = Judge(tenon, form)
    wrong = judge.judge(programs)
    assert not wrong, "\n".join(f"{reason}\n{p.text()}" for p, reason in wrong)
    return judge


@pytest.mark.parametrize("form", FORMS)
def test_memory_is_shared_where_pytorch_shares_it(tenon, form):
    cases = [*list(formats())[:: 3 if form == "exported" else 1], *reshaped_in_place(), *overlapping(), *handed_back()]
    judge = judged(tenon, form, [Program(f"case_{i}", lines, list(results)) for i, (lines, results) in enumerate(cases)])
    assert judge.counts["equal"] == len(cases), judge.reasons


@pytest.mark.parametrize("form", FORMS)
def test_random_programs_equal_pytorch(tenon, form):
    count = 40 if form == "exported" else 120
    judge = judged(tenon, form, [program(15, n) for n in range(count)])
    assert judge.counts["equal"] > 0.9 * count, judge.reasons


def test_a_failure_of_the_fuzzer_names_what_runs_it_again(tenon):
    command = [sys.executable, ROOT / "tests/views/views.py", "--seed", "7", "--number", "3"]
    done = subprocess.run(command, capture_output=True, text=True, env={"TENON": str(tenon)})
    assert done.returncode == 0 and "seed 7" in done.stdout and "traced: 1 equal" in done.stdout, done.stdout + done.stderr
