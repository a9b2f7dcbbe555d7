"""One artifact, many shapes: every size equals PyTorch's, and sizes out of range are an error that says so."""

import subprocess

import numpy
import pytest
import torch
from torch import nn

from tests.python.compared import assert_equal, convert, flat, run

torch.manual_seed(0)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        y = torch.nn.functional.adaptive_avg_pool2d(y, 1).flatten(1)
        return self.head(y)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, ids):
        x = self.embed(ids) + torch.arange(ids.size(1)).unsqueeze(0).unsqueeze(-1) / 100
        q, k, v = self.qkv(x).view(x.size(0), x.size(1), 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.size(0), x.size(1), 16)
        return self.norm(x + self.out(y)).mean(1)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, 2, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, padding=1)
        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        y = torch.relu(self.down(x))
        z = self.up(torch.nn.functional.max_pool2d(y, 2))
        return self.out(torch.cat([y, z], 1))


CASES = [
    (Blocks(), ["x=f32[N,3,H,W]"], [torch.randn(n, 3, h, w) for n, h, w in ((1, 32, 32), (5, 17, 40), (64, 8, 9))]),
    (Encoder(), ["ids=i64[N,seq]"], [torch.randint(0, 50, (n, s)) for n, s in ((1, 1), (64, 3), (2, 512), (3, 77))]),
    (Lstm(), ["x=f32[N,7,6]"], [torch.randn(n, 7, 6) for n in (1, 2, 64)]),
    (Unet(), ["x=f32[N,1,2*h,2*w]"], [torch.randn(n, 1, h, w) for n, h, w in ((1, 8, 8), (3, 30, 6))]),
]


@pytest.mark.parametrize("model, specs, samples", CASES, ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "")
@pytest.mark.parametrize("kind", ["traced", "scripted"])
def test_one_artifact_runs_every_size(tenon, tmp_path, kind, model, specs, samples):
    model.eval()
    source = torch.jit.script(model) if kind == "scripted" else torch.jit.trace(model, samples[-1], check_trace=False)
    artifact = convert(tenon, source, specs, tmp_path)
    for sample in samples:
        with torch.no_grad():
            assert_equal(run(tenon, artifact, [sample], tmp_path), model(sample), f"{list(sample.shape)}")


class Baked(nn.Module):
    """A trace writes int(x.shape[0]) down as a number."""

    def forward(self, x):
        return x + torch.ones(int(x.shape[0]), 1)


def test_a_size_that_a_trace_wrote_down_is_said(tenon, tmp_path):
    torch.jit.trace(Baked(), torch.randn(4, 3)).save(str(tmp_path / "model.pt"))
    arguments = [tenon, "convert", tmp_path / "model.pt", "-o", tmp_path / "m.tenon", "--input", "x=f32[N,3]"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode != 0 or "fixed" in done.stdout, done.stdout + done.stderr
    assert "4" in done.stdout + done.stderr


def test_a_size_out_of_range_is_an_error(tenon, tmp_path):
    source = torch.jit.trace(Blocks().eval(), torch.randn(1, 3, 8, 8))
    artifact = convert(tenon, source, ["x=f32[N,3,8,8]"], tmp_path)
    with pytest.raises(AssertionError, match=r"x has shape \[1,4,8,8\], the graph expects \[N,3,8,8\]: dim 1 is 4"):
        run(tenon, artifact, [torch.randn(1, 4, 8, 8)], tmp_path)


RECURRENT = {
    "lstm": lambda: nn.LSTM(4, 5, num_layers=2, batch_first=True),
    "lstm, both ways": lambda: nn.LSTM(4, 5, num_layers=2, bidirectional=True),
    "lstm, projected": lambda: nn.LSTM(4, 5, proj_size=3, batch_first=True, bias=False),
    "gru": lambda: nn.GRU(4, 5, bidirectional=True, batch_first=True),
    "rnn": lambda: nn.RNN(4, 5, num_layers=2, nonlinearity="relu"),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers_run_over_any_length(tenon, tmp_path, name):
    torch.manual_seed(0)
    model = RECURRENT[name]().eval()
    artifact = convert(tenon, torch.jit.trace(model, torch.randn(3, 6, 4)), ["input=f32[A,B,4]"], tmp_path)
    for shape in [(1, 1, 4), (3, 6, 4), (2, 17, 4), (9, 2, 4)]:
        x = torch.randn(shape)
        with torch.no_grad():
            assert_equal(run(tenon, artifact, [x], tmp_path), flat(model(x)), name)


class PaddedToAMultiple(nn.Module):
    def forward(self, x):
        height = x.shape[2]
        x = nn.functional.pad(x, [0, 0, 0, (-height) % 4])
        b, c, h, w = x.shape
        return x.view(b, c, h // 4, 4, w).sum(3), x[:, :, : h - 1]


class ResizedByHalves(nn.Module):
    def forward(self, x):
        y = nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear")
        return y, nn.functional.interpolate(x, scale_factor=0.75, mode="nearest") * 2


class PaddedSequences(nn.Module):
    def forward(self, x):
        return nn.utils.rnn.pad_sequence([x[0, 0], x[0, 0, 1:] + 1], batch_first=True, padding_value=-1.0)


class Differences(nn.Module):
    def forward(self, x):
        return torch.diff(x, n=3, dim=2), torch.diff(x, n=2), torch.diff(x[:, :, :1], dim=2)


@pytest.mark.parametrize("make", [PaddedToAMultiple, ResizedByHalves, PaddedSequences, Differences])
def test_sizes_computed_from_sizes(tenon, tmp_path, make):
    model = make().eval()
    artifact = convert(tenon, torch.jit.script(model), ["x=f32[1,2,H,W]"], tmp_path)
    for h, w in ((2, 3), (4, 4), (7, 5), (9, 8)):
        x = torch.randn(1, 2, h, w)
        assert_equal(run(tenon, artifact, [x], tmp_path), flat(model(x)), f"{h}x{w}")


ON_NO_ROWS = {
    "head": lambda x: x[:1], "tail": lambda x: x[-1:], "head and all": lambda x: torch.cat([x[:1], x]), "roll": lambda x: torch.roll(x, 1, 0),
    "roll of two": lambda x: torch.roll(x, (1, 2), (0, 1)), "logsumexp": lambda x: torch.logsumexp(x, 0), "softmax": lambda x: torch.softmax(x, 0),
    "sum": lambda x: x.sum(0), "mean": lambda x: x.mean(0), "prod": lambda x: x.prod(0), "sort": lambda x: x.sort(0)[0], "any": lambda x: (x > 0).any(0),
    "norm": lambda x: x.norm(dim=0), "pad": lambda x: torch.nn.functional.pad(x, (0, 0, 1, 1)), "logcumsumexp": lambda x: torch.logcumsumexp(x, 0),
    "repeat": lambda x: x.repeat_interleave(2, 0), "expand": lambda x: x[:, None].expand(-1, 2, -1).reshape(-1, 4), "topk": lambda x: x.topk(1, 1)[0],
    "trapezoid": lambda x: torch.trapezoid(x, dim=0),
}


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", ON_NO_ROWS)
def test_a_size_of_zero_gives_what_pytorch_gives(tenon, tmp_path, name):
    """Given by --shape, or as an input of no rows."""
    program = torch.export.export(Of(ON_NO_ROWS[name]), (torch.randn(5, 4),), dynamic_shapes=({0: torch.export.Dim("rows", min=0, max=64)},))
    torch.export.save(program, tmp_path / "m.pt2")
    symbol = str(next(iter(program.range_constraints)))
    want = program.module()(torch.zeros(0, 4))
    numpy.save(tmp_path / "x.npy", numpy.zeros((0, 4), numpy.float32))
    for given in ("--shape", f"{symbol}=0"), ("--input", tmp_path / "x.npy"):
        done = subprocess.run([tenon, "run", tmp_path / "m.pt2", *given, "--output", tmp_path / "y.npy"], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        torch.testing.assert_close(torch.from_numpy(numpy.load(tmp_path / "y.npy")), want, equal_nan=True)


RANK_BY_SIZE = {"squeeze": lambda x: x.squeeze(0), "cov": torch.cov, "corrcoef": torch.corrcoef}


@pytest.mark.parametrize("name", RANK_BY_SIZE)
def test_a_rank_that_depends_on_a_size_needs_to_know_it(tenon, tmp_path, name):
    x = torch.randn(3, 4)
    torch.jit.trace(Of(RANK_BY_SIZE[name]), x).save(str(tmp_path / "m.pt"))
    done = subprocess.run([tenon, "convert", "m.pt", "--input", "x=f32[N,4]"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 3 and "size N, which may be 1 or not" in done.stderr, done.stderr
    for rows in 1, 3:
        artifact = convert(tenon, torch.jit.trace(Of(RANK_BY_SIZE[name]), x[:rows]), [f"x=f32[{rows},4]"], tmp_path)
        assert_equal(run(tenon, artifact, [x[:rows]], tmp_path), flat(RANK_BY_SIZE[name](x[:rows])), name)


def test_windows_wider_than_their_axis_are_an_error(tenon, tmp_path):
    torch.jit.trace(Of(lambda x: x.unfold(1, 3, 2)), torch.randn(2, 7)).save(str(tmp_path / "m.pt"))
    for width, code in ((3, 0), (2, 2)):
        done = subprocess.run([tenon, "run", "m.pt", "--input", f"x=f32[2,{width}]"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == code, done.stderr
    assert "windows of 3 along an axis of 2" in done.stderr


def test_an_artifact_that_is_verified_at_size_zero_keeps_its_symbol(tenon, tmp_path):
    program = torch.export.export(Of(ON_NO_ROWS["topk"]), (torch.randn(5, 4),), dynamic_shapes=({0: torch.export.Dim("rows", min=0, max=64)},))
    torch.export.save(program, tmp_path / "m.pt2")
    symbol = str(next(iter(program.range_constraints)))
    for words in ("convert", "m.pt2", "--shape", f"{symbol}=0", "-o", "m.tenon"), ("run", "m.tenon", "--shape", f"{symbol}=3", "--output", "y.npy"):
        done = subprocess.run([tenon, *words], cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
    assert numpy.load(tmp_path / "y.npy").shape[0] == 3


@pytest.mark.parametrize("low, allowed", [(None, True), (0, True), (1, True), (2, True), (3, False)])
def test_an_archive_runs_on_no_rows(tenon, tmp_path, low, allowed):
    """Where PyTorch runs it so: it checks ranges that begin at 3 or more."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(4, 2))
    rows = torch.export.Dim.AUTO if low is None else torch.export.Dim("rows", min=low)
    torch.export.save(torch.export.export(model.eval(), (torch.randn(4, 3, 8, 8),), dynamic_shapes=({0: rows},)), tmp_path / "m.pt2")
    numpy.save(tmp_path / "x.npy", numpy.zeros((0, 3, 8, 8), numpy.float32))
    done = subprocess.run([tenon, "run", tmp_path / "m.pt2", "--input", tmp_path / "x.npy"], capture_output=True, text=True, timeout=100)
    assert ("f32[0,2]" in done.stdout) == allowed, done.stderr
    assert done.returncode == (0 if allowed else 2)
