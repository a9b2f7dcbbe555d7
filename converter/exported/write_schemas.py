#!/usr/bin/env python3
"""Writes schemas.txt anew: the signatures of ATen's operators in the installed PyTorch and of torchvision's, one a line, sorted by name.

A .pt2 leaves out arguments that have their default, so its reader must know them; in-place and `out` spellings are told
from the functional ones by them. Autograd's own do not occur in exported programs.
"""

from pathlib import Path

import torch
import torch.nn.modules.linear_cross_entropy  # whose operators are in torch.ops once it is there

# torchvision is not installed where Tenon is built.
REGIONS = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
TORCHVISION = [
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    f"ps_roi_align({REGIONS}, int sampling_ratio) -> (Tensor, Tensor)",
    f"ps_roi_pool({REGIONS}) -> (Tensor, Tensor)",
    f"roi_align({REGIONS}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool({REGIONS}) -> (Tensor, Tensor)",
]
OUT = Path(__file__).with_name("schemas.txt")
# What PyTorch's own Python brings.
TORCH_NN = [
    torch.ops.torch_nn._linear_cross_entropy_batch_chunked.default,
    torch.ops.torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default,
]
AUTOGRAD = {"aten::backward", "aten::_backward"}
PRIM = {"prim::max.int", "prim::min.int", "prim::max.float", "prim::min.float"}


def key(schema) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def is_wanted(schema) -> bool:
    if schema.name.startswith("prim::"):
        return key(schema) in PRIM
    return schema.name.startswith("aten::") and schema.name not in AUTOGRAD


def schemas() -> str:
    lines = {key(s): str(s) for s in torch._C._jit_get_all_schemas() if is_wanted(s)}
    lines |= {f"torchvision::{s[: s.index('(')]}": f"torchvision::{s}" for s in TORCHVISION}
    lines |= {key(operator._schema): str(operator._schema) for operator in TORCH_NN}
    return "".join(lines[k] + "\n" for k in sorted(lines))


if __name__ == "__main__":
    OUT.write_text(schemas())
    print(f"{OUT}: {OUT.read_text().count(chr(10))} operators of PyTorch {torch.__version__}")
