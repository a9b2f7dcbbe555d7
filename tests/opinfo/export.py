"""Writes cases as one model file: each case a module of its own, `case_N`, its results among the model's outputs."""

import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from cases import Case


class CaseModule(nn.Module):
    def __init__(self, case: Case):
        super().__init__()
        self.function = case.function

    def forward(self, *tensors):
        return tuple(self.function(*tensors))


class Batch(nn.Module):
    """forward(x0, x1, ...) of the tensors of all cases."""

    def __init__(self, cases: list[Case]):
        super().__init__()
        self.counts = [len(c.inputs) for c in cases]
        for i, case in enumerate(cases):
            setattr(self, f"case_{i}", CaseModule(case))
        names = ", ".join(f"x{i}" for i in range(sum(self.counts)))
        scope = {}
        exec(f"def forward({names}): return run(({names},))", {"run": self.run}, scope)
        self.forward = scope["forward"]

    def run(self, tensors):
        results, start = [], 0
        for i, count in enumerate(self.counts):
            results += getattr(self, f"case_{i}")(*tensors[start : start + count])
            start += count
        return tuple(results)


def inputs_of(cases: list[Case]) -> tuple[torch.Tensor, ...]:
    return tuple(t.clone() for c in cases for t in c.inputs)


def write(cases: list[Case], path: Path, form: str) -> Callable:
    """Returns what PyTorch runs for the file, while it is there. Raises what PyTorch raises."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        model = Batch(cases).eval()
        if form == "pt":
            module = torch.jit.trace(model, inputs_of(cases), check_trace=False, strict=False)
            torch.jit.save(module, path)
            return lambda *inputs: torch.jit.load(path)(*inputs)  # which may differ from the traced module itself
        program = torch.export.export(model, inputs_of(cases), strict=False)
        torch.export.save(program, path)
        return program.module()
