"""Writes the small model files the converter's tests read: make_models.py FOLDER."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor, nn


class ConvBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x))) * 0.5


class IntTimesHalf(nn.Module):
    """Traced, 0.5 is a 0-dim double tensor; forward() gives float, the raw graph would give double."""

    def forward(self, x):
        return x * 0.5


class ControlFlow(nn.Module):
    def __init__(self):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scale = 1.5

    def forward(self, x: Tensor, n: int, bias: Optional[Tensor] = None) -> Tensor:
        for linear in self.linears:
            x = torch.tanh(linear(x))
        for i in range(n):
            if i % 2 == 0:
                x = x + i
            else:
                x = x * self.scale
        if bias is not None:
            x = x + bias
        return x

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        return self.forward(self.forward(x, 1, None), 1, None)


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


class Attributes(nn.Module):
    """One of each kind of attribute, and sharing."""

    table: Dict[str, int]
    shapes: List[Tuple[int, float]]
    nothing: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3, bias=False)
        self.b = nn.Linear(3, 3, bias=False)
        self.b.weight = self.a.weight
        self.register_buffer("whole", torch.arange(12.0).reshape(3, 4))
        self.register_buffer("column", self.whole[:, 1])
        self.register_buffer("narrow", torch.ones(2, dtype=torch.bfloat16))
        self.table = {"one": 1, "most": 2**63 - 1, "least": -(2**63)}
        self.shapes = [(1, 0.1), (2, float("inf"))]
        self.nothing = None
        self.name = "tenon"
        self.flag = True
        self.c = complex(1, -2)

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        if self.nothing is not None:
            x = x + 1
        k = float("nan") if self.flag else self.shapes[0][1]
        return {"y": self.b(self.a(x)), "k": torch.full([1], k), "c": self.column}


class Structured(nn.Module):
    def forward(self, pair: Tuple[Tensor, Tensor], xs: List[Tensor]) -> Tuple[Pair, List[Tensor], int]:
        return Pair(pair[0] + pair[1], pair[0]), [x * 2 for x in xs], len(xs)


class Counter(nn.Module):
    """Keeps state by assignment and by writing into a buffer."""

    calls: int

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        self.calls += 1
        self.total.add_(x)
        return self.total * self.calls


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 2:
            raise ValueError("only matrices")
        return x


class ReadsAFile(nn.Module):
    def forward(self) -> Tensor:
        return torch.from_file("/etc/os-release", False, 8, dtype=torch.uint8)


class InPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        y.relu_()
        y[0] += 1
        a, b = y.split(1)
        return torch.stack([a, b])


class EndlessForward(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while bool((x == x).all()):
            x = x + 1
        return x


class TwoLinears(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))))


class Deep(nn.Module):
    """Many nodes: 400 blocks, scripted without inlining."""

    def __init__(self, blocks: int):
        super().__init__()
        self.blocks = nn.ModuleList([ConvBlock() for _ in range(blocks)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def write_models(folder: Path):
    torch.manual_seed(0)
    torch.jit.trace(ConvBlock().eval(), torch.randn(1, 3, 8, 8)).save(folder / "traced.pt")
    torch.jit.script(ConvBlock()).save(folder / "training.pt", _extra_files={"labels.txt": b"cat dog"})
    torch.jit.trace(IntTimesHalf(), torch.arange(3)).save(folder / "int_times_half.pt")
    torch.jit.trace(TwoLinears().eval(), torch.randn(2, 4)).save(folder / "two_linears.pt")
    for name, module in {
        "control_flow": ControlFlow(),
        "attributes": Attributes(),
        "structured": Structured(),
        "counter": Counter(),
        "raises": Raises(),
        "reads_a_file": ReadsAFile(),
        "in_place": InPlace(),
        "endless_forward": EndlessForward(),
        "deep": Deep(400),
    }.items():
        torch.jit.script(module.eval()).save(folder / f"{name}.pt")


def copy_silero(folder: Path):
    """A real model with state, control flow and several methods."""
    import silero_vad

    shutil.copy(Path(silero_vad.__file__).parent / "data" / "silero_vad.jit", folder / "silero_vad.pt")


def write_other_formats(folder: Path):
    module = TwoLinears().eval()
    torch.save(module.state_dict(), folder / "state_dict.pt")
    torch.save(module, folder / "pickled_module.pt")
    torch.save(module.state_dict(), folder / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.export.save(torch.export.export(module, (torch.randn(2, 4),)), folder / "exported.pt2")
    np.save(folder / "array.npy", np.zeros(3))
    np.savez(folder / "arrays.npz", a=np.zeros(3))
    (folder / "empty.pt").write_bytes(b"")
    (folder / "text.pt").write_text("hello world\n" * 10)
    (folder / "lfs.pt").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    (folder / "random.pt").write_bytes(b"\xff\x00\x81" * 999)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        write_models(Path(scratch))
        write_other_formats(Path(scratch))
        copy_silero(Path(scratch))
        target.mkdir(parents=True, exist_ok=True)
        for file in Path(scratch).iterdir():
            file.rename(target / file.name)
