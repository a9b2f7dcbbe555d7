"""Scripted programs: branches and loops that depend on data, on sizes, and on what a loop carries."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

from tests.python.compared import Refused, assert_equal, convert, run

torch.manual_seed(0)


class IfOnData(nn.Module):
    def forward(self, x: Tensor):
        if x.sum() > 0:
            return x * 2
        else:
            return x - 1


class IfWithoutElse(nn.Module):
    def forward(self, x: Tensor):
        y = x + 1
        if bool(x.max() > 1):
            y = torch.relu(y)
        return y


class IfElif(nn.Module):
    def forward(self, x: Tensor):
        m = x.mean()
        if m > 1:
            y = x.exp()
        elif m > 0:
            y = x.sin()
        else:
            y = x.abs()
        return y + m


class EarlyReturn(nn.Module):
    def forward(self, x: Tensor):
        if x.min() < 0:
            return x.abs().sum()
        y = x * 3
        if y.max() > 4:
            return y.max()
        return y.min()


class IfOnTwo(nn.Module):
    def forward(self, x: Tensor, y: Tensor):
        if x.sum() > 0 and not bool(y.sum() > 0):
            return x
        if x.sum() > 0 or y.sum() > 0:
            return y
        return x + y


class Numbers(nn.Module):
    """Python numbers that depend on data."""

    def forward(self, x: Tensor):
        n = int(x.sum())
        f = float(x[0])
        k = n // 3 + n % 3
        g = f / 2 + k
        if n > 2:
            k += 5
            g = g * 2.0
        return x * k + g, k, g, n > 3


class WritesInABranch(nn.Module):
    def forward(self, x: Tensor):
        y = x.clone()
        if x.sum() > 0:
            y[0] = 7.0
            y.mul_(2)
        else:
            y[1:] += 1
        return y, y.sum()


class ListInABranch(nn.Module):
    def forward(self, x: Tensor):
        parts: List[Tensor] = [x]
        if x.sum() > 0:
            parts.append(x + 1)
        else:
            parts.append(x - 1)
        return torch.cat(parts)


class WhileOnData(nn.Module):
    def forward(self, x: Tensor):
        n = 0
        while x.sum() < 100:
            x = x * 2 + 1
            n += 1
        return x, n


class WhileWithBreak(nn.Module):
    def forward(self, x: Tensor):
        total = torch.zeros(1)
        for i in range(10):
            total = total + x * i
            if total.sum() > 20:
                break
        return total


class CountedByData(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        for i in range(int(n)):
            x = x + i
        return x


class LoopOverRows(nn.Module):
    """A recurrence over a dimension of unknown size, with a list that grows."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x: Tensor, h: Tensor):
        out: List[Tensor] = []
        for t in range(x.size(0)):
            h = self.cell(x[t], h)
            out.append(h)
        return torch.stack(out), torch.cat(out, 1), h, out[-1]


class StackedCells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([nn.LSTMCell(4, 4) for _ in range(2)])

    def forward(self, x: Tensor):
        hs = [torch.zeros(x.size(1), 4) for _ in range(2)]
        cs = [torch.zeros(x.size(1), 4) for _ in range(2)]
        out: List[Tensor] = []
        for t in range(x.size(0)):
            y = x[t]
            for i, cell in enumerate(self.cells):
                hs[i], cs[i] = cell(y, (hs[i], cs[i]))
                y = hs[i]
            out.append(y)
        return torch.stack(out, 1), hs[0]


class WritesRows(nn.Module):
    def forward(self, x: Tensor):
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            y[i] = x[x.size(0) - 1 - i] * i
            y[i, 0] += 1
        return y


class FirstStepDiffers(nn.Module):
    def forward(self, x: Tensor):
        best: Optional[Tensor] = None
        if best is None:
            best = x[0]
        for i in range(1, x.size(0)):
            best = torch.maximum(best, x[i])
        return best


class NestedLoops(nn.Module):
    def forward(self, x: Tensor):
        s = torch.zeros(())
        for i in range(x.size(0)):
            for j in range(i + 1):
                if x[i, 0] > x[j, 0]:
                    s = s + x[i, 1] * x[j, 1]
        return s


class RaisesOnData(nn.Module):
    def forward(self, x: Tensor):
        if x.min() < 0:
            raise ValueError("negative values are not allowed")
        return x.sqrt()


class RaisesOnSize(nn.Module):
    def forward(self, x: Tensor):
        if x.size(0) > 8:
            raise ValueError("too many rows")
        return x.sum(0)


class BranchOnSize(nn.Module):
    def forward(self, x: Tensor):
        if x.size(0) > 3:
            return x.mean(0)
        return x.sum(0) + 1


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


class Outputs(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Pair, Dict[str, Tensor], List[Tensor], int]:
        pair = Pair(x + 1, x + 2)
        if x.sum() > 0:
            pair = Pair(x * 2, x)
        return pair, {"a": x, "b": pair.second}, [x, pair.first], 3


class StringFlag(nn.Module):
    def __init__(self, mode: str):
        super().__init__()
        self.mode = mode

    def forward(self, x: Tensor, scale: float = 2.0):
        if self.mode == "double":
            return x * scale
        elif self.mode.startswith("neg"):
            return -x
        return x


POSITIVE, NEGATIVE = torch.tensor([0.5, 1.5, 2.0]), torch.tensor([-0.5, 0.25, -2.0])
SMALL = torch.tensor([0.125, 0.25, 0.0])

class ReturnsFromALoop(nn.Module):
    def forward(self, x: Tensor):
        for i in range(5):
            if bool(x.sum() + i > 3):
                return x * 10 + i
        return x


class BreaksAndContinues(nn.Module):
    def forward(self, x: Tensor):
        out = torch.zeros(3)
        for i in range(6):
            if bool(x[0] + i > 4):
                break
            if bool(x[1] + i > 2):
                continue
            y = x * i
            out = out + y
        return out


PROGRAMS = [
    (ReturnsFromALoop(), ["f32[3]"], [[torch.full((3,), v)] for v in (-9.0, -0.2, 0.5, 5.0)]),
    (BreaksAndContinues(), ["f32[3]"], [[torch.tensor(v)] for v in ([0.0, 0.0, 1.0], [3.0, -9.0, 1.0], [9.0, 0.0, 1.0], [-9.0, 9.0, 1.0])]),
    (IfOnData(), ["x=f32[N]"], [(POSITIVE,), (NEGATIVE,), (torch.zeros(5),)]),
    (IfWithoutElse(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,)]),
    (IfElif(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,), (SMALL,)]),
    (EarlyReturn(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,), (SMALL,)]),
    (IfOnTwo(), ["x=f32[3]", "y=f32[3]"], [(a, b) for a in (POSITIVE, NEGATIVE) for b in (POSITIVE, NEGATIVE)]),
    (Numbers(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,)]),
    (WritesInABranch(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,)]),
    (ListInABranch(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,)]),
    (WhileOnData(), ["x=f32[3]"], [(POSITIVE,), (torch.full((3,), 50.0),)]),
    (WhileWithBreak(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,)]),
    (CountedByData(), ["x=f32[3]", "n=i64[]"], [(POSITIVE, torch.tensor(4)), (POSITIVE, torch.tensor(0))]),
    (LoopOverRows(), ["x=f32[T,2,4]", "h=f32[2,4]"], [(torch.randn(t, 2, 4), torch.randn(2, 4)) for t in (1, 2, 7)]),
    (StackedCells(), ["x=f32[T,N,4]"], [(torch.randn(t, n, 4),) for t, n in ((1, 1), (3, 2), (6, 5))]),
    (WritesRows(), ["x=f32[N,3]"], [(torch.randn(n, 3),) for n in (1, 2, 5)]),
    (FirstStepDiffers(), ["x=f32[N,3]"], [(torch.randn(n, 3),) for n in (1, 2, 5)]),
    (NestedLoops(), ["x=f32[N,2]"], [(torch.randn(n, 2),) for n in (1, 4)]),
    (RaisesOnData(), ["x=f32[3]"], [(POSITIVE,)]),
    (RaisesOnSize(), ["x=f32[N,2]"], [(torch.randn(n, 2),) for n in (1, 8)]),
    (BranchOnSize(), ["x=f32[N,2]"], [(torch.randn(n, 2),) for n in (1, 3, 4)]),
    (Outputs(), ["x=f32[3]"], [(POSITIVE,), (NEGATIVE,)]),
    (StringFlag("double"), ["x=f32[3]"], [(POSITIVE,)]),
    (StringFlag("negative"), ["x=f32[3]"], [(POSITIVE,)]),
]


@pytest.mark.parametrize("model, specs, samples", PROGRAMS, ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "")
def test_equals_pytorch(tenon, tmp_path, model, specs, samples):
    scripted = torch.jit.script(model.eval())
    artifact = convert(tenon, scripted, specs, tmp_path)
    for sample in samples:
        with torch.no_grad():
            want = scripted(*[t.clone() for t in sample])
        assert_equal(run(tenon, artifact, sample, tmp_path), want, f"{[list(t.shape) for t in sample]}")


@pytest.mark.parametrize(
    "model, spec, sample, message",
    [
        (RaisesOnData(), "x=f32[3]", NEGATIVE, "negative values are not allowed"),
        (RaisesOnSize(), "x=f32[N,2]", torch.zeros(9, 2), "too many rows"),
    ],
)
def test_an_exception_of_the_model_is_raised(tenon, tmp_path, model, spec, sample, message):
    artifact = convert(tenon, torch.jit.script(model), [spec], tmp_path)
    with pytest.raises(AssertionError, match=message):
        run(tenon, artifact, [sample], tmp_path)


class DtypesDiffer(nn.Module):
    def forward(self, x: Tensor):
        if x.sum() > 0:
            return x[:2]
        return (x > 0).to(torch.int64)


class LengthsDiffer(nn.Module):
    def forward(self, x: Tensor):
        parts: List[Tensor] = [x]
        if x.sum() > 0:
            parts.append(x)
        return torch.cat(parts)


class ListOfUnknownLength(nn.Module):
    def forward(self, x: Tensor) -> List[Tensor]:
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i] + 1)
        return out


@pytest.mark.parametrize(
    "model, spec, message",
    [
        (DtypesDiffer(), "x=f32[3]", "a tensor f32\\[2\\] or i64\\[3\\], depending on"),
        (LengthsDiffer(), "x=f32[3]", "a list that gets another length"),
        (ListOfUnknownLength(), "x=f32[N,2]", "items of a loop of unknown length"),
    ],
)
def test_what_has_no_fixed_form_is_refused(tenon, tmp_path, model, spec, message):
    with pytest.raises(Refused, match=message):
        convert(tenon, torch.jit.script(model), [spec], tmp_path)


class ShapesDiffer(nn.Module):
    """A branch gives as many rows as its data say."""

    def forward(self, x: Tensor):
        if x.sum() > 0:
            y = x[x > 0]
            place = torch.nonzero(x > 0).flatten()
        else:
            y = x[:2]
            place = torch.arange(2)
        return y * 2, y.sum(), y + place


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(20, 16), nn.GRUCell(16, 16), nn.Linear(16, 20)

    def step(self, token: Tensor, h: Tensor):
        h = self.cell(self.embed(token), h)
        return self.out(h).argmax(-1), h


class GreedyWithBreak(Decoder):
    def forward(self, token: Tensor, h: Tensor, n: Tensor):
        out: List[Tensor] = []
        for i in range(int(n)):
            token, h = self.step(token, h)
            if bool((token == 3).all()):
                break
            out.append(token)
        return torch.stack(out, 1)


class GreedyWhile(Decoder):
    def forward(self, token: Tensor, h: Tensor, n: Tensor):
        out: List[Tensor] = []
        done, i = False, 0
        while not done and i < int(n):
            token, h = self.step(token, h)
            out.append(token)
            done = bool((token == 3).any())
            i += 1
        return torch.cat(out, 0)


class GrowingTensor(Decoder):
    """The tokens, and a cache of keys beside them, grow by one in each step."""

    def forward(self, token: Tensor, h: Tensor, n: Tensor):
        tokens = token.unsqueeze(1)
        keys = torch.zeros(token.size(0), 1, 16)
        for i in range(int(n)):
            keys = torch.cat([keys, self.embed(tokens[:, -1]).unsqueeze(1)], 1)
            weight = torch.softmax(keys @ h.unsqueeze(2), 1)
            h = (weight * keys).sum(1)
            token = self.out(h).argmax(-1)
            tokens = torch.cat([tokens, token.unsqueeze(1)], 1)
            if bool((token == 3).all()):
                break
        return tokens, keys.sum(2) + tokens


class Chosen(nn.Module):
    def forward(self, x: Tensor):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                out.append(x[i] * 2)
        return torch.stack(out)


GROWING = [
    (ShapesDiffer, ["x=f32[5]"], [(torch.tensor([1.0, -2, 3, -4, 5]),), (-torch.ones(5),)]),
    (Chosen, ["x=f32[N,3]"], [(torch.tensor([[1.0, 1, 1], [-1, -1, -1], [2, 2, 2]]),), (torch.ones(1, 3),)]),
] + [
    (model, ["token=i64[2]", "h=f32[2,16]", "n=i64[]"], [(torch.tensor([1, 7]), torch.linspace(-1, 1, 32).view(2, 16), n) for n in (1, 4, 9)])
    for model in (GreedyWithBreak, GreedyWhile, GrowingTensor)
]  # fmt: skip


@pytest.mark.parametrize("model, specs, samples", GROWING)
def test_what_grows_in_branches_and_loops_equals_pytorch(tenon, tmp_path, model, specs, samples):
    torch.manual_seed(1)
    scripted = torch.jit.script(model().eval())
    artifact = convert(tenon, scripted, specs, tmp_path)
    for sample in samples:
        inputs = [v if isinstance(v, Tensor) else torch.tensor(v) for v in sample]
        assert_equal(run(tenon, artifact, inputs, tmp_path), scripted(*inputs))


TRANSFORMERS = {
    "layer": (lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), ["src=f32[N,5,16]"], [(2, 5, 16)]),
    "norm first": (lambda: nn.TransformerEncoderLayer(16, 4, 32, norm_first=True), ["src=f32[5,N,16]"], [(5, 2, 16)]),
    "decoder layer": (lambda: nn.TransformerDecoderLayer(16, 4, 32), ["tgt=f32[5,2,16]", "memory=f32[6,2,16]"], [(5, 2, 16), (6, 2, 16)]),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32), 2), ["src=f32[5,2,16]"], [(5, 2, 16)]),
    "transformer": (lambda: nn.Transformer(16, 4, 1, 1, 32), ["src=f32[5,2,16]", "tgt=f32[6,2,16]"], [(5, 2, 16), (6, 2, 16)]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_scripted_transformers_equal_pytorch(tenon, tmp_path, name):
    make, specs, shapes = TRANSFORMERS[name]
    torch.manual_seed(0)
    model = make().eval()
    artifact = convert(tenon, torch.jit.script(model), specs, tmp_path)
    inputs = [torch.randn(shape) for shape in shapes]
    with torch.no_grad():
        assert_equal(run(tenon, artifact, inputs, tmp_path), model(*inputs), name)
