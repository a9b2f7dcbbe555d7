"""A device whose memory the host cannot read, and whose queue lags behind (tests/far), computes what the CPU computes: bit for bit, since
its kernels are the CPU's. A step that reads a device's memory on the host dies there."""

import json
import shutil
import sys

import numpy
import pytest
from chosen import ALL
from conftest import ROOT

import models

sys.path.insert(0, str(ROOT / "tests/opinfo"))


@pytest.mark.parametrize("name", models.NAMES)
def test_tiny_models_give_the_same_bits(run, exported_tiny, tmp_path, name):
    folder = exported_tiny(name)
    inputs = [word for i in range(len(list(folder.glob("in_*.npy")))) for word in ("--input", folder / f"in_{i}.npy")]
    for device in ("cpu", "far"):
        run("run", folder / "model.pt", *inputs, "--output", tmp_path / f"{device}.npz", code=0, device=device)
    with numpy.load(tmp_path / "cpu.npz") as cpu, numpy.load(tmp_path / "far.npz") as far:
        assert cpu.files == far.files and cpu.files
        for output in cpu.files:
            assert cpu[output].tobytes() == far[output].tobytes()


def test_operators_are_equal_to_pytorch(tenon, monkeypatch):
    """One sample of the operators in PyTorch's database."""
    import torch
    from opinfo import measure_all

    monkeypatch.setenv("TENON_DEVICE", "far")
    records = measure_all(tenon.parent / "faulty_tenon", "pt", "*", limit=1, jobs=2, dtypes=(torch.float32,), part=slice(None, None, 1 if ALL else 3))
    amiss = [r for r in records if r["verdict"] in ("wrong", "crash")]
    assert not amiss, "\n".join(f"{r['verdict']} {r['operator']} ({r['arguments']}): {r['reason']}" for r in amiss)
    assert sum(r["verdict"] == "equal" for r in records) > (300 if ALL else 100)


@pytest.mark.parametrize("name", ["mlp", "resnet9", "lstm", "gcn"])
def test_every_verb_runs_on_it(run, exported_tiny, tmp_path, name):
    model = exported_tiny(name) / "model.pt"
    for what in ["--bisect"], ["--properties", "--samples", 2]:
        run("verify", model, *what, code=0, device="far")
    profile = json.loads(run("profile", model, "--iters", 3, "--json", "-", code=0, device="far"))
    assert sum(step["ms"] for step in profile["steps"]) > 0
    case = tmp_path / "cases" / name
    case.mkdir(parents=True)
    shutil.copy(model, case)
    run("check", "cases", "--update", code=0, device="far")
    run("check", "cases", code=0, device="far")
    run("convert", model, "-o", "out.tenon", code=0, device="far")
    assert "plan main" in run("inspect", "out.tenon", "--ir", "planned", code=0, device="far")


def test_a_search_looks_at_results_that_nothing_reads(run, tmp_path):
    import torch

    traced = torch.jit.trace(lambda x: torch.sort(x)[0] * 2, torch.randn(4, 6))
    traced.save(str(tmp_path / "sorted.pt"))
    said = run("verify", "sorted.pt", "--input", "f32[4,6]", "--against", "reference", "--bisect", code=0, device="far")
    assert "first difference" not in said
