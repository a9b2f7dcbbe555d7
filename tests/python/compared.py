"""Modules saved as .pt files, converted by tenon, run, and compared with PyTorch."""

import subprocess

import numpy
import torch


class Refused(Exception):
    """tenon said that it does not support the model: exit code 3."""


def flat(value):
    """The tensors of a result, in tenon's order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flat(item)]
    if value is None:
        return []
    return [value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype_of(value))]


def dtype_of(number):
    return torch.bool if isinstance(number, bool) else torch.int64 if isinstance(number, int) else torch.float64


def tenon_run(tenon, *arguments):
    done = subprocess.run([tenon, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    if done.returncode == 3:
        raise Refused(done.stderr)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def convert(tenon, model, specs, folder):
    model.save(str(folder / "model.pt"))
    inputs = [f"--input={spec}" for spec in specs]
    tenon_run(tenon, "convert", folder / "model.pt", "-o", folder / "model.tenon", "--no-verify", *inputs)
    return folder / "model.tenon"


def run(tenon, artifact, inputs, folder):
    files = []
    for i, tensor in enumerate(inputs):
        numpy.save(folder / f"in_{i}.npy", tensor.numpy())
        files.append(f"--input={folder / f'in_{i}.npy'}")
    tenon_run(tenon, "run", artifact, *files, "--output", folder / "out.npz")
    return [torch.from_numpy(array) for array in numpy.load(folder / "out.npz").values()]


def assert_equal(got, want, what=""):
    want = flat(want)
    assert len(got) == len(want), f"{what}: {len(got)} outputs, not {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        assert g.dtype == w.dtype and g.shape == w.shape, f"{what}: output {i} is {g.dtype} {g.shape}, not {w.dtype} {w.shape}"
        torch.testing.assert_close(g, w.detach(), rtol=1e-4, atol=1e-5, equal_nan=True, msg=lambda m: f"{what}: {m}")
