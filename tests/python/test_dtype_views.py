"""x.view(dtype) to elements of another size: the last axis grows or shrinks. Only a .pt2 holds it: PyTorch neither traces nor scripts it."""

import numpy
import pytest
import torch

from compared import assert_equal, flat, run, tenon_run

DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.int32, torch.float32, torch.int64, torch.float64)


class Views(torch.nn.Module):
    """Bytes as every type, and each of those as every other; what is shown are bytes again."""

    def forward(self, x):
        pairs = [x.view(d).view(e).view(torch.uint8) for d in DTYPES for e in DTYPES]
        return [*pairs, x[1:, :8].view(torch.int32), (x & 1).view(torch.int16).view(torch.bool), x.view(torch.int16)[:, 1:3].view(torch.uint8)]


class To(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, x):
        return x.view(self.dtype)


def some_bytes(*shape):
    return torch.randint(0, 60, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def converted(tenon, tmp_path, module, x, **sizes):
    torch.export.save(torch.export.export(module, (x,), **sizes), tmp_path / "model.pt2")
    tenon_run(tenon, "convert", tmp_path / "model.pt2", "-o", tmp_path / "model.tenon")
    return tmp_path / "model.tenon"


def test_bytes_are_read_as_every_type(tenon, tmp_path):
    x = some_bytes(3, 16)
    artifact = converted(tenon, tmp_path, Views(), x)
    assert_equal(run(tenon, artifact, [x], tmp_path), flat(Views()(x)), "bytes")


@pytest.mark.parametrize("source, target", [(torch.float32, torch.uint8), (torch.uint8, torch.float16), (torch.int64, torch.int32), (torch.int32, torch.float64)])
def test_sizes_may_vary(tenon, tmp_path, source, target):
    """Of a last axis that shrinks, as a multiple."""
    ratio = max(1, target.itemsize // source.itemsize)
    columns = torch.export.Dim("columns", min=1, max=40)
    sizes = ({0: torch.export.Dim("rows", min=1), 1: ratio * columns if ratio > 1 else columns},)
    x = some_bytes(4, 16 * source.itemsize).view(source)
    artifact = converted(tenon, tmp_path, To(target), x, dynamic_shapes=sizes)
    for rows, count in (1, 2), (7, 24):
        x = some_bytes(rows, count * source.itemsize).view(source)
        numpy.save(tmp_path / "x.npy", x.numpy())
        tenon_run(tenon, "run", artifact, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
        torch.testing.assert_close(torch.from_numpy(numpy.load(tmp_path / "y.npy")), x.view(target))
