"""What loops of unknown length carry: tuples, lists and dicts, lengths of lists, tensors that grow."""

from typing import Dict, List, Tuple

import pytest
import torch
from torch import Tensor, nn

from tests.python.compared import Refused, assert_equal, convert, run


class UntilLong(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        out: List[Tensor] = []
        while len(out) < int(n):
            x = x * 0.5 + 1
            out.append(x)
        return torch.stack(out), len(out)


class UntilLongOrSmall(nn.Module):
    """One item is there before; the condition asks for the length behind the append."""

    def forward(self, x: Tensor, n: Tensor):
        out = [x * 1]
        while len(out) < 6 and bool(x.sum() > int(n)):
            x = x * 0.5
            out.append(x + len(out))
        return torch.stack(out), len(out)


class SomeSteps(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        out: List[Tensor] = []
        for i in range(int(n)):
            if bool(x[i % 4] > 0):
                out.append(x * i)
            if len(out) == 2:
                break
            x = x + len(out)
        return x


class Swapped(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        state = (x, x * 2)
        for i in range(int(n)):
            state = (state[1], state[0] + 1)
        return state[0], state[1]


class Nested(nn.Module):
    """The number 7 and the list of sizes stay as they are: they are known in the loop."""

    def forward(self, x: Tensor, n: Tensor):
        state: Tuple[Tensor, Tuple[int, Tensor], int] = (x, (0, x), 2)
        while state[1][0] < int(n):
            a, (k, b), rows = state
            state = (b, (k + 1, (a * 2).view(rows, -1).flip(0).flatten()), rows)
        return state[0], state[1][1], state[1][0]


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2, 2)

    def forward(self, x: Tensor, n: Tensor):
        x = x.view(2, 2)
        state = (torch.zeros(2, 2), torch.zeros(2, 2))
        for i in range(int(n)):
            state = self.cell(x + i, state)
        return state


class Values(nn.Module):
    def forward(self, x: Tensor, n: Tensor) -> Dict[str, Tensor]:
        d = {"a": x, "b": x * 2, "c": x}
        for i in range(int(n)):
            d["a"] = d["a"] + d["b"]
            d["b"] = d["b"] * 0.5
        return d


class Caches(nn.Module):
    """Greedy decoding: tokens and two layers' keys and values grow, in tuples in a list."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(11, 8), nn.Linear(8, 11)

    def forward(self, x: Tensor, n: Tensor):
        tokens = torch.tensor([[1, 2], [4, 5]])
        e = self.embed(tokens)
        caches: List[Tuple[Tensor, Tensor]] = [(e, e * 2), (e * 3, e)]
        for i in range(int(n)):
            y = self.embed(tokens[:, -1:])
            new: List[Tuple[Tensor, Tensor]] = []
            for k, v in caches:
                k, v = torch.cat([k, y], 1), torch.cat([v, y], 1)
                y = torch.softmax(y @ k.transpose(1, 2), -1) @ v
                new.append((k, v))
            caches = new
            token = self.out(y[:, -1]).argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, token], 1)
            if bool((token == 3).all()):
                break
        return tokens, caches[0][0].sum(), caches[1][1].shape[1]


class Window(nn.Module):
    """The last tokens, no more than five."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(11, 8), nn.Linear(8, 11)

    def forward(self, x: Tensor, n: Tensor):
        tokens = torch.tensor([[1, 2], [4, 5]])
        while tokens.shape[1] < int(n):
            seen = tokens if tokens.shape[1] <= 5 else tokens[:, -5:]
            token = self.out(self.embed(seen).mean(1)).argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, token), dim=1)
        return tokens


@pytest.mark.parametrize("model", [UntilLong, UntilLongOrSmall, SomeSteps, Swapped, Nested, Cells, Values, Caches, Window])
def test_equals_pytorch(tenon, tmp_path, model):
    torch.manual_seed(1)
    scripted = torch.jit.script(model().eval())
    artifact = convert(tenon, scripted, ["x=f32[4]", "n=i64[]"], tmp_path)
    for n in (1, 2, 7):
        inputs = [torch.tensor([3.0, -1, 2, 4]), torch.tensor(n)]
        assert_equal(run(tenon, artifact, inputs, tmp_path), scripted(*inputs), f"n={n}")


class OtherForm(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        out = [x]
        for i in range(int(n)):
            out = out + [x * i]
        return torch.stack(out)


class WrittenAndReplaced(nn.Module):
    def forward(self, x: Tensor, n: Tensor):
        out = [x, x]
        for i in range(int(n)):
            out[0] = out[1] + 1
            out = [out[1], out[0]]
        return out[0]


@pytest.mark.parametrize(
    "model, message",
    [
        (OtherForm(), "changes a list of 1 item to a list of 2 items"),
        (WrittenAndReplaced(), "a change of a list that a loop replaces"),
    ],
)
def test_what_a_loop_cannot_carry_is_refused(tenon, tmp_path, model, message):
    with pytest.raises(Refused, match=message):
        convert(tenon, torch.jit.script(model), ["x=f32[4]", "n=i64[]"], tmp_path)
