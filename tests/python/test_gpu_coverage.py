"""A float32 (or other) and an int64 sample of every operator in PyTorch's database, and every third of ONNX's node tests, on the soft
GPU (tests/softgpu): equal or refused, never wrong. PyTorch's run by kernels alone; of ONNX's, what has no kernel runs by its reference on
the host. CI prints the counts, and that of steps on the host. Each vendor takes each fourth of them, by turns, or all (chosen.py)."""

import collections
import sys
from pathlib import Path

import pytest

from chosen import ALL

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "opinfo"), str(TESTS / "onnx")]

VENDORS = ["cuda", "hip"]


@pytest.fixture
def vendor(request, tenon, tmp_path, monkeypatch):
    """A vendor, as the device of every tenon that the test starts."""
    drivers = tenon.parent / "softgpu"
    if not drivers.exists():
        pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")
    settings = {"TENON_DEVICE": request.param, "TENON_FALLBACK": "cpu", "LD_LIBRARY_PATH": drivers, "XDG_CACHE_HOME": tmp_path}
    for name, value in settings.items():
        monkeypatch.setenv(name, str(value))
    return request.param


PARTS = 1 if ALL else 4


def part_of(vendor):
    return slice(2 * VENDORS.index(vendor) % PARTS, None, PARTS)


def expect_none_wrong(records, record, what, at_least):
    counts = collections.Counter(r["verdict"] for r in records)
    verdicts = ["equal", "refused", "wrong", "crash", *sorted(counts.keys() - {"equal", "refused", "wrong", "crash"})]
    record(f"count of {what}", ", ".join(f"{counts[v]} {v}" for v in verdicts))
    assert not counts["wrong"] + counts["crash"], "\n".join(str(r) for r in records if r["verdict"] in ("wrong", "crash"))
    assert counts["equal"] >= at_least // PARTS - 10


@pytest.mark.parametrize("vendor", VENDORS, indirect=True)
def test_operators_of_pytorch(vendor, tenon, record_property, monkeypatch):
    from cases import few_dtypes  # takes seconds: PyTorch's database
    from opinfo import measure_all

    monkeypatch.delenv("TENON_FALLBACK")
    records = measure_all(tenon, "pt", "*", limit=1, jobs=2, dtypes=few_dtypes, part=part_of(vendor))
    expect_none_wrong(records, record_property, f"PyTorch's operators on {vendor}", at_least=1000)


@pytest.mark.parametrize("vendor", VENDORS, indirect=True)
def test_nodes_of_onnx(vendor, tenon, tmp_path, record_property):
    import coverage
    from backend_cases import write_cases

    root = tmp_path / "onnx"
    cases = write_cases(root, ("node",), part=slice(3 * (part_of(vendor).start), None, 3 * PARTS))
    records = coverage.run(tenon, root, cases, jobs=2)
    on_host = [r for r in records if r["reference_steps"]]
    steps, operators = sum(r["reference_steps"] for r in on_host), sorted({r["operator"] for r in on_host})
    record_property(f"count of steps on the host of ONNX's nodes on {vendor}", f"{steps} ({', '.join(operators)})")
    expect_none_wrong(records, record_property, f"ONNX's nodes on {vendor}", at_least=600)
