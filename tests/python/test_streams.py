"""Models that keep state between calls: whole streams equal PyTorch's."""

from typing import List, Optional, Tuple

import numpy
import pytest
import torch
from torch import Tensor, nn

from tests.python.compared import Refused, assert_equal, convert, tenon_run

torch.manual_seed(0)


def run_stream(tenon, artifact, inputs, folder):
    """Each input has one axis more than the model's: the calls."""
    files = []
    for i, tensor in enumerate(inputs):
        numpy.save(folder / f"stream_{i}.npy", tensor.numpy())
        files.append(f"--input={folder / f'stream_{i}.npy'}")
    tenon_run(tenon, "run", artifact, "--stream", *files, "--output", folder / "out.npz")
    arrays = numpy.load(folder / "out.npz")
    return [torch.from_numpy(arrays[name]) for name in arrays if not name.startswith("state.")]


class Counter(nn.Module):
    """A buffer written in place, and an int."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(3))
        self.calls: int = 0

    def forward(self, x: Tensor):
        self.total.add_(x)
        self.calls += 1
        return self.total * 2, self.total / self.calls


class Smoother(nn.Module):
    """Made in the first call."""

    last: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x: Tensor):
        last = self.last
        if last is None:
            y = x
        else:
            y = 0.75 * last + 0.25 * x
        self.last = y
        return y


class Recurrent(nn.Module):
    hidden: Tuple[Tensor, Tensor]

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 5)
        self.hidden = (torch.zeros(2, 5), torch.zeros(2, 5))

    def forward(self, x: Tensor):
        h, c = self.cell(x, self.hidden)
        self.hidden = (h, c)
        return h


class Window(nn.Module):
    """The last samples of the call before are the context of the next."""

    def __init__(self):
        super().__init__()
        self.register_buffer("context", torch.zeros(1, 1, 4))
        self.conv = nn.Conv1d(1, 3, 5)

    def forward(self, x: Tensor):
        y = torch.cat([self.context, x], 2)
        self.context = y[:, :, -4:]
        return self.conv(y)


class Reset(nn.Module):
    """A branch on data that clears the state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, x: Tensor):
        if bool(x.max() > 1.5):
            self.sum.zero_()
        self.sum += x
        return self.sum + 0


STREAMS = [
    (Counter(), ["x=f32[3]"], torch.randn(5, 3)),
    (Smoother(), ["x=f32[N]"], torch.randn(6, 3)),
    (Recurrent(), ["x=f32[2,4]"], torch.randn(7, 2, 4)),
    (Window(), ["x=f32[1,1,8]"], torch.randn(5, 1, 1, 8)),
    (Reset(), ["x=f32[3]"], torch.randn(12, 3)),
]


@pytest.mark.parametrize("model, specs, calls", STREAMS, ids=lambda v: type(v).__name__ if isinstance(v, nn.Module) else "")
def test_a_stream_equals_pytorch(tenon, tmp_path, model, specs, calls):
    scripted = torch.jit.script(model.eval())
    artifact = convert(tenon, scripted, specs, tmp_path)
    got = run_stream(tenon, artifact, [calls], tmp_path)
    with torch.no_grad():
        want = [scripted(call) for call in calls]
    if isinstance(want[0], tuple):
        want = tuple(torch.stack([w[i].clone() for w in want]) for i in range(len(want[0])))
    else:
        want = torch.stack(want)
    if isinstance(model, Counter):  # it returns new tensors, so that the list above is what each call gave
        assert not torch.equal(want[0][0], want[0][1])
    assert_equal(got, want)


class Warns(nn.Module):
    """Attributes that change and are as they were, or change nothing."""

    scales: Optional[List[float]]

    def __init__(self):
        super().__init__()
        self.anchors = [torch.ones(3), torch.zeros(2)]
        self.warned = False
        self.scales = None

    def forward(self, x: Tensor):
        if not self.warned:
            self.warned = True
        if self.scales is None:
            self.scales = [2.0 ** float(torch.tensor(0.25).log2().round())]
        scales = self.scales
        assert scales is not None
        self.anchors = [a.to(x.dtype) for a in self.anchors]
        return x[x > 0].sum() * self.anchors[0] * scales[0]


def test_attributes_that_change_nothing_are_no_state(tenon, tmp_path):
    convert(tenon, torch.jit.script(Warns()), ["x=f32[3]"], tmp_path)
    assert "state." not in tenon_run(tenon, "inspect", tmp_path / "model.tenon")


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(0, 3))

    def forward(self, x: Tensor):
        self.seen = torch.cat([self.seen, x.unsqueeze(0)])
        return self.seen.sum(0)


def test_a_state_that_grows_is_refused(tenon, tmp_path):
    with pytest.raises(Refused, match="seen changes from f32\\[1,3\\] to f32\\[2,3\\]"):
        convert(tenon, torch.jit.script(Grows()), ["x=f32[3]"], tmp_path)


@pytest.fixture(scope="module")
def speech():
    """Two seconds of something like a voice, with pauses and noise."""
    time = torch.arange(32000) / 16000
    voice = sum(torch.sin(2 * torch.pi * 130 * k * time) / k for k in range(1, 12))
    loud = (torch.sin(2 * torch.pi * 1.3 * time) > 0).float()
    return 0.1 * (voice * loud + 0.2 * torch.randn(32000, generator=torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("rate, chunk", [(16000, 512), (8000, 256)])
@pytest.mark.parametrize("batch", [1, 3])
def test_silero_equals_pytorch_over_a_stream(tenon, exported, tmp_path, speech, rate, chunk, batch):
    source = exported("silero_vad") / "model.pt"
    artifact = tmp_path / "vad.tenon"
    tenon_run(tenon, "convert", source, "-o", artifact, "--input", f"x=f32[N,{chunk}]", "--input", f"sr={rate}")
    audio = torch.stack([speech.roll(1000 * b) for b in range(batch)])
    calls = audio.unfold(1, chunk, chunk).permute(1, 0, 2).contiguous()
    got = run_stream(tenon, artifact, [calls], tmp_path)
    model = torch.jit.load(str(source))
    model.reset_states()
    with torch.no_grad():
        want = torch.stack([model(call, rate) for call in calls])
    assert want.max() - want.min() > 0.2, "the sample has speech and pauses"
    assert_equal(got, want)


def test_verify_compares_streams(tenon, exported):
    source = exported("silero_vad") / "model.pt"
    said = tenon_run(tenon, "verify", source, "--input", "x=f32[1,512]", "--input", "sr=16000", "--samples", 5)
    assert "verified" in said


def test_a_source_runs_a_stream_too(tenon, tmp_path):
    model, _, calls = STREAMS[2]
    torch.jit.script(model.eval()).save(str(tmp_path / "model.pt"))
    got = run_stream(tenon, tmp_path / "model.pt", [calls], tmp_path)
    with torch.no_grad():
        want = [torch.jit.load(str(tmp_path / "model.pt"))(calls[0])]
    assert torch.allclose(got[0][0], want[0] if isinstance(want[0], torch.Tensor) else want[0][0], atol=1e-5)
