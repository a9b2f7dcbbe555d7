"""torchvision's operators in scripts and exports. torchvision is not needed: LibTorch runs plain references of its operators."""

import importlib.util
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

from tests.python.compared import convert, run, tenon_run


@pytest.fixture(scope="module", autouse=True)
def operators():
    """The schemas, so that models can be written; their kernels are tenon-torch's."""
    path = Path(__file__).parents[2] / "converter/exported/write_schemas.py"
    spec = importlib.util.spec_from_file_location("write_schemas", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in module.TORCHVISION:
        if not hasattr(torch.ops.torchvision, schema[: schema.index("(")]):
            library.define(schema)
    yield library


def boxes(count, generator, extent=16.0):
    corner = torch.rand(count, 2, generator=generator) * extent * 0.7
    return torch.cat([corner, corner + torch.rand(count, 2, generator=generator) * extent * 0.6], 1)


class Nms(nn.Module):
    def forward(self, x, scores):
        kept = torch.ops.torchvision.nms(x, scores, 0.3)
        return kept, x[kept] * 2, scores[kept]


class Batched(nn.Module):
    """batched_nms: boxes of other classes are moved apart."""

    def forward(self, x, scores):
        classes = (x[:, 0] > 5).to(x.dtype)
        return torch.ops.torchvision.nms(x + (classes * (x.max() + 1))[:, None], scores, 0.4)


class Regions(nn.Module):
    def forward(self, x, rois):
        a = torch.ops.torchvision.roi_align(x, rois, 0.5, 3, 2, 2, True)
        b = torch.ops.torchvision.roi_align(x, rois, 1.0, 2, 3, 1, False)
        return a, b


class Pooled(nn.Module):
    def forward(self, x, rois):
        return torch.ops.torchvision.roi_pool(x, rois, 0.5, 3, 2)[0]


class ByPlace(nn.Module):
    def forward(self, x, rois):
        a = torch.ops.torchvision.ps_roi_align(x, rois, 0.5, 2, 2, 2)
        b = torch.ops.torchvision.ps_roi_pool(x, rois, 0.5, 2, 2)
        return a[0], a[1], b[0], b[1]


class Deformed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(6, 4, 3, 3) / 5), nn.Parameter(torch.randn(6))

    def forward(self, x, offset):
        mask = torch.sigmoid(offset[:, :18])
        a = torch.ops.torchvision.deform_conv2d(x, self.weight, offset, mask, self.bias, 1, 1, 1, 1, 1, 1, 2, 2, True)
        b = torch.ops.torchvision.deform_conv2d(
            x[:, :4], self.weight, offset[:, :18, ::2, ::2], mask[:, :0], self.bias, 2, 2, 1, 1, 1, 1, 1, 1, False)  # fmt: skip
        return a, b


def inputs_of(model):
    generator = torch.Generator().manual_seed(0)
    if isinstance(model, (Nms, Batched)):
        return [boxes(20, generator), torch.rand(20, generator=generator)]
    x = torch.randn(2, 8, 12, 12, generator=generator)
    if isinstance(model, Deformed):
        return [x, torch.randn(2, 36, 12, 12, generator=generator)]
    images = torch.randint(0, 2, (7, 1), generator=generator).float()
    return [x, torch.cat([images, boxes(7, generator, 24.0)], 1)]


@pytest.mark.parametrize("make", [Nms, Batched, Regions, Pooled, ByPlace, Deformed])
def test_scripts_equal_the_references(tenon, tmp_path, make):
    model = make().eval()
    inputs = inputs_of(model)
    torch.jit.script(model).save(str(tmp_path / "m.pt"))
    names = [a for a in ("x", "scores", "rois", "offset") if a in model.forward.__code__.co_varnames[: len(inputs) + 1]]
    given = []
    for name, tensor in zip(names, inputs):
        numpy.save(tmp_path / f"{name}.npy", tensor.numpy())
        given += ["--input", f"{name}={tmp_path / name}.npy"]
    printed = tenon_run(tenon, "convert", tmp_path / "m.pt", "-o", tmp_path / "m.tenon", *given)
    assert "equal to LibTorch" in printed


def test_known_results(tenon, tmp_path):
    """Of torchvision itself."""
    x = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 10, 9]])
    scores = torch.tensor([0.5, 0.9, 0.3, 0.8])
    artifact = convert(tenon, torch.jit.script(Nms()), ["x=f32[4,4]", "scores=f32[4]"], tmp_path)
    assert run(tenon, artifact, [x, scores], tmp_path)[0].tolist() == [1, 2]

    class Mean(nn.Module):
        def forward(self, x, rois):
            return torch.ops.torchvision.roi_align(x, rois, 1.0, 2, 2, 2, True)

    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    artifact = convert(tenon, torch.jit.script(Mean()), ["x=f32[1,1,4,4]", "rois=f32[1,5]"], tmp_path)
    got = run(tenon, artifact, [image, torch.tensor([[0.0, 1, 1, 3, 3]])], tmp_path)[0]
    assert torch.allclose(got, torch.tensor([[[[5.0, 6.0], [9.0, 10.0]]]]))


def test_exports_hold_the_operators_too(tenon, tmp_path, operators):
    operators.impl("roi_align", lambda x, r, s, h, w, n, a: x.new_zeros(r.shape[0], x.shape[1], h, w), "Meta")

    class Model(nn.Module):
        def forward(self, x, rois):
            return torch.relu(torch.ops.torchvision.roi_align(x, rois, 0.5, 3, 2, 2, True))

    inputs = tuple(inputs_of(Regions()))
    torch.export.save(torch.export.export(Model(), inputs), tmp_path / "m.pt2")
    assert "equal to LibTorch" in tenon_run(tenon, "convert", tmp_path / "m.pt2", "-o", tmp_path / "m.tenon")


class Adaptive(nn.Module):
    """As many samples as a bin is large."""

    def forward(self, x, rois):
        a = torch.ops.torchvision.roi_align(x, rois, 0.5, 3, 2, -1, True)
        b = torch.ops.torchvision.roi_align(x, rois, 1.0, 2, 3, 0, False)
        return a, b


def test_adaptive_regions_are_verified(tenon, tmp_path):
    generator = torch.Generator().manual_seed(1)
    rois = torch.cat([torch.tensor([[0.0], [1], [1], [0], [0]]), boxes(5, generator, 30.0)], 1)
    rois[4, 3:] = rois[4, 1:3]  # without an area
    numpy.save(tmp_path / "rois.npy", rois.numpy())
    torch.jit.script(Adaptive()).save(str(tmp_path / "model.pt"))
    said = tenon_run(tenon, "convert", tmp_path / "model.pt", "-o", tmp_path / "m.tenon", "--input=x=f32[2,3,16,20]", f"--input=rois={tmp_path / 'rois.npy'}")
    assert "equal to LibTorch" in said
