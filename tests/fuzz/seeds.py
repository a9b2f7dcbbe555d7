#!/usr/bin/env python3
"""Writes what the fuzzers start from, a folder per target: python tests/fuzz/seeds.py OUT --tenon build/release/tenon

Small files of every kind that Tenon reads: ONNX's own cases, modules exported by PyTorch, what `tenon convert` makes of
them, arrays.
"""

import argparse
import io
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from onnx.backend.test.loader import load_model_tests
from torch import nn

LARGEST = 32 << 10  # bytes: a fuzzer learns little from more


class Branch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.relu(), lambda x: x - 1, (x,))


class Views(nn.Module):
    def forward(self, x):
        y = x.reshape(-1, 4).clone()
        y[0] += 1
        a, b = y.chunk(2, 1)
        return {"cat": torch.cat([a, b], 0), "taken": x[x > 0]}


class Loop(nn.Module):
    def forward(self, x: torch.Tensor):
        total = torch.zeros(2)
        for i in range(x.size(0)):
            if bool(x[i].sum() > 0):
                total = total + x[i, :2]
        return total


def modules():
    """Name, module, example input, whether it is scripted rather than traced."""
    row = torch.linspace(-1, 1, 8).reshape(2, 4)
    yield "linear", nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.LayerNorm(3)), row, False
    yield "conv", nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2)), torch.ones(1, 1, 6, 6), False
    yield "lstm", nn.LSTM(4, 2), torch.ones(3, 1, 4), False
    yield "attention", nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), torch.ones(1, 3, 4), False
    yield "embedding", nn.EmbeddingBag(5, 3), torch.tensor([[0, 4], [1, 2]]), False
    yield "views", Views(), row, False
    yield "branch", Branch(), row, False
    yield "loop", Loop(), row, True


def of_pytorch(out: Path) -> None:
    for name, module, x, scripted in modules():
        module.eval()
        if not isinstance(module, Branch):
            program = torch.jit.script(module) if scripted else torch.jit.trace(module, x, check_trace=False, strict=False)
            program.save(out / "archive" / f"{name}.pt")
        if not scripted:
            torch.export.save(torch.export.export(module, (x,)), out / "exported" / f"{name}.pt2")
        torch.save(module.state_dict(), out / "archive" / f"{name}.weights.pt")
    torch.save(row := torch.ones(2), out / "archive" / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({"list": [row, (1, "two")]}, out / "archive" / "mixed.pt")
    for i, text in enumerate(("s0", "2*s0 + 3", "Max(1, s0//2)", "(s0 - 1)**2")):
        (out / "exported" / f"size_{i}").write_text(text)


def of_tenon(out: Path, tenon: Path) -> None:
    for model in sorted((out / "exported").glob("*.pt2")):
        said = subprocess.run([tenon, "convert", model, "-o", out / "artifact" / f"{model.stem}.tenon", "--no-verify"],
                              capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        shutil.copy(out / "artifact" / f"{model.stem}.tenon", out / "repaired")
        for stage in ("imported", "fused"):
            said = subprocess.run([tenon, "convert", model, "--print-ir", stage], capture_output=True, text=True, check=True)
            (out / "text" / f"{model.stem}.{stage}.ir").write_text(said.stdout)


def of_onnx(out: Path) -> None:
    for kind in ("node", "simple"):
        for case in load_model_tests(kind=kind):
            data = case.model.SerializeToString() if case.model else (Path(case.model_dir) / "model.onnx").read_bytes()
            if len(data) <= LARGEST:
                (out / "onnx" / f"{case.name}.onnx").write_bytes(data)


def of_numpy(out: Path) -> None:
    arrays = [np.arange(6).astype(d).reshape(2, 3) for d in ("?", "i1", "u2", "<i4", ">i8", "f2", "f4", ">f8", "c8")]
    arrays += [np.asfortranarray(arrays[6]), np.float32(1), np.zeros((0, 2)), np.array(["a", "bc"])]
    for i, array in enumerate(arrays):
        np.save(out / "npy" / f"{i}.npy", array)
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, *arrays)
        (out / "npy" / f"{save.__name__}.npz").write_bytes(file.getvalue())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tenon", type=Path, required=True)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for target in ("archive", "artifact", "exported", "npy", "onnx", "repaired", "text"):
        (arguments.out / target).mkdir(parents=True, exist_ok=True)
    of_pytorch(arguments.out)
    of_tenon(arguments.out, arguments.tenon)
    of_onnx(arguments.out)
    of_numpy(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
