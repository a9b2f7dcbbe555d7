"""What Tenon makes of cases: converted and run together, and apart where something is amiss."""

import re
import subprocess
import tempfile
import warnings
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import ml_dtypes
import numpy as np
import torch

from cases import Case
from export import inputs_of, write

TIMEOUT = 120


class Kind(str, Enum):
    EQUAL = "equal"
    REFUSED = "refused"
    WRONG = "wrong"
    CRASH = "crash"
    NOT_EXPORTABLE = "not exportable"


@dataclass
class Verdict:
    case: Case
    kind: Kind
    reason: str = ""


@dataclass
class Run:
    code: int
    message: str
    outputs: list[np.ndarray]


class Judge:
    def __init__(self, tenon: Path, form: str):
        self.tenon = tenon
        self.form = form

    def judge(self, cases: list[Case]) -> list[Verdict]:
        """One verdict for each case, in their order."""
        if not cases:
            return []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model.{self.form}"
            try:
                module = write(cases, path, self.form)
            except Exception as error:
                return self.apart(cases, lambda c: Verdict(c, Kind.NOT_EXPORTABLE, first_line(error)))
            run = self.run(path, cases)
            if run.code == 3:
                return self.without_refused(cases, run)
            if run.code != 0:
                return self.apart(cases, lambda c: failed(c, run, module))
            return compared(cases, run.outputs, module)

    def apart(self, cases: list[Case], verdict_of_one) -> list[Verdict]:
        if len(cases) == 1:
            return [verdict_of_one(cases[0])]
        half = len(cases) // 2
        return self.judge(cases[:half]) + self.judge(cases[half:])

    def without_refused(self, cases: list[Case], run: Run) -> list[Verdict]:
        reasons = refusals(run.message)
        if not reasons:
            return self.apart(cases, lambda c: Verdict(c, Kind.REFUSED, run.message))
        others = iter(self.judge([c for i, c in enumerate(cases) if i not in reasons]))
        return [Verdict(c, Kind.REFUSED, reasons[i]) if i in reasons else next(others) for i, c in enumerate(cases)]

    def run(self, path: Path, cases: list[Case]) -> Run:
        inputs, outputs = path.with_name("in.npz"), path.with_name("out.npz")
        np.savez(inputs, **{f"x{i}": to_numpy(t) for i, t in enumerate(inputs_of(cases))})
        command = [self.tenon, "run", path, "--input", inputs, "--output", outputs]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return Run(124, f"no end after {TIMEOUT} s", [])
        if done.returncode != 0:
            return Run(done.returncode, done.stderr.strip(), [])
        with np.load(outputs) as arrays:
            return Run(0, "", [arrays[name] for name in arrays.files])


def refusals(message: str) -> dict[int, str]:
    """The numbers of the cases that a refusal names, with the reasons."""
    first, *rest = message.splitlines()
    found, reason = {}, first
    for line in rest:
        if line.startswith("  ") and line[2] != " " and not line.startswith("  at:"):
            reason = re.sub(r" \(\d+ times\)$", "", line.strip())
        for number in re.findall(r"\bcase_(\d+)\b", line):
            found.setdefault(int(number), reason)
    return found


def to_numpy(t: torch.Tensor) -> np.ndarray:
    t = t.detach().contiguous()
    return t.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if t.dtype == torch.bfloat16 else t.numpy()


def from_numpy(a: np.ndarray) -> torch.Tensor:
    if a.dtype == np.dtype("V2"):
        return torch.from_numpy(a.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(a))


def compared(cases: list[Case], outputs: list[np.ndarray], module) -> list[Verdict]:
    own = None  # what PyTorch gives for the file, run when something differs
    verdicts, start = [], 0
    for case in cases:
        end = start + len(case.expected)
        actual = [from_numpy(a) for a in outputs[start:end]]
        reason = difference(actual, case.expected, case.signed_zeros)
        if reason and not as_exact(case, actual):
            if own is None:
                own = run_module(module, cases)
            if own and difference(own[start:end], case.expected):
                verdicts.append(Verdict(case, Kind.NOT_EXPORTABLE, "PyTorch's own file gives something else"))
            else:
                verdicts.append(Verdict(case, Kind.WRONG, reason))
        else:
            verdicts.append(Verdict(case, Kind.EQUAL))
        start = end
    return verdicts


def failed(case: Case, run: Run, module) -> Verdict:
    """An input that the file refuses in PyTorch, too, is none that it was exported for."""
    if run.code == 2 and not run_module(module, [case]):
        return Verdict(case, Kind.NOT_EXPORTABLE, "PyTorch's own file raises")
    return Verdict(case, Kind.CRASH, f"exit code {run.code}: {run.message}")


def run_module(module, cases: list[Case]) -> list[torch.Tensor]:
    with torch.no_grad():
        try:
            return list(module(*inputs_of(cases)))
        except Exception:
            return []


def difference(actual: list[torch.Tensor], expected: list[torch.Tensor], signed_zeros: bool = False) -> str:
    """What differs, by PyTorch's own tolerances; empty when nothing does."""
    if len(actual) != len(expected):
        return f"{len(actual)} results instead of {len(expected)}"
    for i, (a, e) in enumerate(zip(actual, expected)):
        if a.dtype != e.dtype or a.shape != e.shape:
            return f"result {i} is {a.dtype}{list(a.shape)} instead of {e.dtype}{list(e.shape)}"
        try:
            torch.testing.assert_close(a, e, equal_nan=True)
        except AssertionError as error:
            return f"result {i}: {' '.join(str(error).split())}"
        if signed_zeros and e.is_floating_point() and not torch.equal(a.signbit() & (a == 0), e.signbit() & (e == 0) & (a == 0)):
            return f"result {i}: the sign of a zero"
    return ""


def as_exact(case: Case, actual: list[torch.Tensor]) -> bool:
    """True when the results are as close to the exact ones as PyTorch's own: sums that cancel, 16-bit intermediates.

    The exact ones are those in float64; for float64 itself those of NumPy or SciPy, where there are any."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exact = exact_results(case)
    except Exception:
        return False
    return len(exact) == len(actual) and all(map(one_as_exact, actual, case.expected, exact))


def exact_results(case: Case) -> list[torch.Tensor]:
    if any(t.dtype in (torch.float64, torch.complex128) for t in case.expected):
        return [torch.as_tensor(case.reference(*(t.numpy() for t in case.inputs)))] if case.reference else []
    wide = {torch.complex64: torch.complex128}
    return case.function(*(t.double() if t.is_floating_point() else t.to(wide.get(t.dtype, t.dtype)) for t in case.inputs))


def one_as_exact(actual: torch.Tensor, expected: torch.Tensor, exact: torch.Tensor) -> bool:
    if actual.dtype != expected.dtype or actual.shape != expected.shape or exact.shape != expected.shape:
        return False
    if actual.is_complex():
        actual, expected, exact = (torch.view_as_real(t) for t in (actual, expected, exact))
    if not actual.is_floating_point():
        return torch.equal(actual, expected)
    finite = expected.isfinite()
    if not torch.equal(actual[~finite].nan_to_num(), expected[~finite].nan_to_num()) or not actual[finite].isfinite().all():
        return False
    error = (actual.double() - exact)[finite].abs()
    if error.numel() == 0:
        return True
    allowed = 2 * (expected.double() - exact)[finite].abs().max()
    if actual.dtype in (torch.float16, torch.bfloat16):  # four units in the last place of the largest value
        allowed = max(allowed, 4 * torch.finfo(actual.dtype).eps * exact[finite].abs().max())
    return bool(error.max() <= allowed)


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
