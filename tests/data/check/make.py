"""Writes artifacts with today's tenon, for the `tenon check` of all later releases.

    python tests/data/check/make.py build/release/tenon

At each release, once: the folder is named after the version, and what is there already stays as it is.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn


class ConvNet(nn.Module):
    """Convolutions with folded batch norms, a residual, a pool, a linear."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.SiLU())
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        x = nn.functional.max_pool2d(x + self.body(x), 2)
        return self.head(x.mean((2, 3)))


class Encoder(nn.Module):
    """Embedding, attention with a mask, layer norm, gelu; i64 and bool inputs, two outputs, free sizes."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        self.qkv = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)
        self.mlp = nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16))

    def forward(self, ids, mask):
        x = self.embed(ids)
        q, k, v = (t.unflatten(2, (2, 8)).transpose(1, 2) for t in self.qkv(x).chunk(3, 2))
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        x = self.norm(x + y.transpose(1, 2).flatten(2))
        x = x + self.mlp(x)
        return x, x.mean(1)


MODELS = {
    "convnet": (ConvNet, (torch.zeros(1, 3, 8, 8),), ["x=f32[N,3,8,8]"]),
    "encoder": (Encoder, (torch.zeros(1, 6, dtype=torch.int64), torch.ones(1, 6, dtype=torch.bool)),
                ["ids=i64[N,seq]", "mask=bool[N,seq]"]),
}


def main() -> None:
    tenon = sys.argv[1]
    version = subprocess.run([tenon, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    for name, (module, example, types) in MODELS.items():
        torch.manual_seed(0)
        target = Path(__file__).parent / version / name / "model.tenon"
        target.parent.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{name}.pt"
            torch.jit.trace(module().eval(), example).save(source)
            inputs = [word for t in types for word in ("--input", t)]
            subprocess.run([tenon, "convert", source, "-o", target, *inputs], check=True)


if __name__ == "__main__":
    main()
