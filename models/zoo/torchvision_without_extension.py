"""torchvision without its C++ extension, whose wheel fits another build of torch than the one installed here."""

import importlib
from types import ModuleType

import torch

# What torchvision registers fake kernels for while it is imported.
SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
)
library: torch.library.Library | None = None


def import_torchvision() -> ModuleType:
    global library
    if library is None:
        library = torch.library.Library("torchvision", "DEF")
        for schema in SCHEMAS:
            library.define(schema)
    return importlib.import_module("torchvision")
