"""torchvision's operators in scripts and exports. torchvision is not needed: LibTorch runs plain references of its operators."""

import importlib.util
import math
import warnings
from pathlib import Path
from typing import Dict, List

import numpy
import pytest
import torch
from torch import Tensor, nn

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


class Detector(nn.Module):
    """How torchvision's detection models go: resized images in a batch, anchors that are attributes, boxes that are
    kept by their scores, without overlaps in a class, and regions of what is kept."""

    anchors: List[Tensor]

    def __init__(self, threshold: float):
        super().__init__()
        torch.manual_seed(0)
        self.backbone, self.head = nn.Conv2d(3, 8, 3, 4, 1), nn.Conv2d(8, 6, 1)
        self.classes = nn.Linear(32, 3)
        self.anchors = [torch.tensor([-6.0, -6, 6, 6])]
        self.threshold, self.warned = threshold, False
        with torch.no_grad():
            self.head.weight.mul_(6)
            self.classes.weight.mul_(6)

    def batched(self, x: Tensor) -> Tensor:
        scale = 48.0 / torch.min(torch.tensor(x.shape[-2:])).to(torch.float32)
        image = nn.functional.interpolate(
            x[None], scale_factor=scale.item(), mode="bilinear", recompute_scale_factor=True, align_corners=False
        )[0]  # fmt: skip
        shape = [1] + [3] + [int(math.ceil(float(s) / 16.0) * 16.0) for s in image.shape[1:]]
        batch = image.new_full(shape, 0.0)
        for i in range(batch.shape[0]):
            batch[i, : image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        return batch

    def kept(self, boxes: Tensor, scores: Tensor, classes: Tensor) -> Tensor:
        if boxes.numel() == 0:
            return torch.empty((0,), dtype=torch.int64)
        apart = classes.to(boxes.dtype) * (boxes.max() + 1)
        return torch.ops.torchvision.nms(boxes + apart[:, None], scores, 0.5)

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        if not self.warned:
            warnings.warn("of the first call")
            self.warned = True
        self.anchors = [a.to(dtype=x.dtype, device=x.device) for a in self.anchors]
        features = self.backbone(self.batched(x))
        found = self.head(features)[0].flatten(1).t()
        y, z = torch.meshgrid(torch.arange(features.shape[2]), torch.arange(features.shape[3]), indexing="ij")
        at = torch.stack([z, y, z, y], -1).reshape(-1, 4).to(x.dtype) * 4
        boxes = at + self.anchors[0] + found[:, :4]
        boxes = boxes[found[:, 4].topk(min(40, boxes.shape[0]))[1]]
        rois = torch.cat([torch.zeros_like(boxes[:, :1]), boxes], 1)
        regions = torch.ops.torchvision.roi_align(features, rois, 0.25, 2, 2, 2, False)
        scores, classes = self.classes(regions.flatten(1)).softmax(-1)[:, 1:].max(1)
        chosen = torch.where(scores > self.threshold)[0]
        boxes, scores, classes = boxes[chosen], scores[chosen], classes[chosen]
        kept = self.kept(boxes, scores, classes)[:20]
        return {"boxes": boxes[kept], "scores": scores[kept], "labels": classes[kept]}


@pytest.mark.parametrize("size", ["40,56", "H,W"])
@pytest.mark.parametrize("threshold", [0.5, 2.0])
def test_a_scripted_detector(tenon, tmp_path, size, threshold):
    """Also where nothing is found. What it keeps in attributes is no state of the graph."""
    artifact = convert(tenon, torch.jit.script(Detector(threshold).eval()), [f"x=f32[3,{size}]"], tmp_path)
    assert "state." not in tenon_run(tenon, "inspect", artifact)
    x = torch.rand(3, 40, 56, generator=torch.Generator().manual_seed(4))
    got = run(tenon, artifact, [x], tmp_path)
    assert len(got) == 3 and [g.shape[0] for g in got] == [0] * 3 if threshold > 1 else len(got[0]) > 3
    if len(got[0]):
        assert "verified" in tenon_run(tenon, "verify", artifact, "--source", tmp_path / "model.pt", f"--input=x={tmp_path / 'in_0.npy'}")
