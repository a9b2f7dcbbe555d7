"""PyTorch's operator database as cases: its samples, whose sizes are multiplied until they are those of a model.

All sizes of a sample but 1 are multiplied by one number, so that they still fit together, and values are repeated, so that
they stay in the operator's domain. What PyTorch refuses then (an argument names a size), what stays small, or whose results
are all infinite or NaN, is left out.
"""

import fnmatch
import itertools
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from case import DTYPES, Case, name_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/opinfo"))

import cases as database  # noqa: E402

ELEMENTS = 1 << 18  # at most so many in a sample's largest tensor
FEWEST = 1 << 14  # of those that are measured
LARGEST = 1 << 23  # elements of a result
LONGEST_MS = 100.0
ATTEMPTS = 8  # samples of an operator that are enlarged
SORTED = ("bucketize", "nn.functional.embedding_bag", "searchsorted")  # repeated values are no sorted rows


def operators(patterns: list[str]) -> list:
    """Those of linear algebra are left to rows.py: repeated values make singular matrices."""
    named = [op for op in database.operators() if any(fnmatch.fnmatch(database.full_name(op), p) for p in patterns)]
    return [op for op in named if database.family(op) != "linalg" and op.name not in SORTED]


def cases_of(operator, dtypes: list[str], samples: int) -> Iterator[Case]:
    """At most `samples` cases of each dtype, those of the most axes first."""
    for dtype in dtypes:
        found = sorted(database.cases_of(operator, 64, (DTYPES[dtype],)), key=rank_of_inputs, reverse=True)
        cases = filter(None, map(enlarged, found[:ATTEMPTS]))
        yield from itertools.islice(cases, samples)


def rank(value: torch.Tensor) -> int:
    """How many axes can grow."""
    return sum(size > 1 for size in value.shape)


def rank_of_inputs(sample: database.Case) -> int:
    return max(map(rank, sample.inputs))


def enlarged(sample: database.Case) -> Case | None:
    growing = [value for value in sample.inputs if value.numel() and rank(value)]
    if not growing:
        return None
    times = min(int((ELEMENTS / value.numel()) ** (1 / rank(value))) for value in growing)
    inputs = [repeated(value, times) for value in sample.inputs]
    if max(map(torch.Tensor.numel, inputs)) < FEWEST or not can_run(sample, inputs):
        return None
    shapes = " ".join(",".join(map(str, value.shape)) or "scalar" for value in inputs)
    name = f"{sample.operator} {name_of(sample.dtype)} {shapes} #{sample.number}"
    return Case(name, name_of(sample.dtype), lambda *given: tuple(sample.function(*given)), lambda: [v.clone() for v in inputs])


def repeated(value: torch.Tensor, times: int) -> torch.Tensor:
    return value.repeat([times if size > 1 else 1 for size in value.shape]).contiguous()


def can_run(sample: database.Case, inputs: list[torch.Tensor]) -> bool:
    """Whether PyTorch takes these sizes, in a time that a benchmark can wait for, and computes tensors that can be written."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            start = time.perf_counter()
            results = sample.function(*inputs)
            took = 1e3 * (time.perf_counter() - start)
            for value in [*inputs, *(torch.view_as_real(r) if r.is_complex() else r for r in results)]:
                name_of(value.dtype)
        except Exception:
            return False
    memory = {value.untyped_storage().data_ptr() for value in inputs}
    computes = any(result.untyped_storage().data_ptr() not in memory for result in results)  # more than views
    if not computes or took >= LONGEST_MS or any(not 0 < result.numel() <= LARGEST for result in results):
        return False
    return all(result.isfinite().any() for result in results)  # else nothing would be compared
