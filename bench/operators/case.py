"""A case of the benchmark: a function of tensors, and how its operands are made."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rows import Row

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
    "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "b": torch.bool,
    "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip
SMALL = 16  # sizes below it mean something (taps of a filter, coordinates): they are never scaled


@dataclass(frozen=True)
class Case:
    name: str
    dtype: str
    function: Callable  # of the operands, to a tensor or a tuple of tensors
    operands: Callable[[], list[torch.Tensor]]
    weights: frozenset[int] = frozenset()  # places of operands that belong to the model


def name_of(dtype: torch.dtype) -> str:
    return next(name for name, other in DTYPES.items() if other == dtype)


def of_row(row: Row, dtype: str, scale: float = 1) -> Case:
    """A row of the table in one of its dtypes; `scale` multiplies sizes, so that they are odd ones."""
    texts = [scaled(text, scale) for text in row.operands]

    def operands() -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(0)
        return [operand(text, dtype, generator) for text in texts]

    weights = frozenset(place for place, text in enumerate(texts) if text.startswith("w:"))
    return Case(f"{row.operator} {dtype} {' '.join(texts)}", dtype, row.function, operands, weights)


def scaled(text: str, scale: float) -> str:
    kind, colon, sizes = text.rpartition(":")
    numbers = [int(size) for size in sizes.split(",")]
    return kind + colon + ",".join(str(round(n * scale)) if n >= SMALL else str(n) for n in numbers)


def operand(text: str, dtype: str, generator: torch.Generator) -> torch.Tensor:
    kind, _, sizes = text.rpartition(":")
    shape = [int(size) for size in sizes.split(",")]
    if kind.startswith("k<"):
        return torch.randint(int(kind[2:]), shape, generator=generator)
    if kind == "b" or dtype == "b":
        return torch.rand(shape, generator=generator) < 0.5
    if not DTYPES[dtype].is_floating_point and kind != "f":
        return torch.randint(1 if kind == "+" else -9, 9, shape, generator=generator).to(DTYPES[dtype])
    if kind == "u":
        values = 2 * torch.rand(shape, generator=generator) - 1
    else:
        values = torch.randn(shape, generator=generator)
    if kind == "+":
        values = values.abs() + 0.1
    if kind == "d":
        values = values @ values.mT / shape[-1] + torch.eye(shape[-1])
    if kind == "w" and len(shape) > 1:
        values /= math.sqrt(values[0].numel())
    return values.to(torch.float32 if kind == "f" else DTYPES[dtype])
