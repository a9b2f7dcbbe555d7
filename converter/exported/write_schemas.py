#!/usr/bin/env python3
"""Writes schemas.txt anew: the signatures of ATen's operators in the installed PyTorch, one a line, sorted by name.

A .pt2 leaves out arguments that have their default, so its reader must know them; in-place and `out` spellings are told
from the functional ones by them. Autograd's own do not occur in exported programs.
"""

from pathlib import Path

import torch

OUT = Path(__file__).with_name("schemas.txt")
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
    return "".join(lines[k] + "\n" for k in sorted(lines))


if __name__ == "__main__":
    OUT.write_text(schemas())
    print(f"{OUT}: {OUT.read_text().count(chr(10))} operators of PyTorch {torch.__version__}")
