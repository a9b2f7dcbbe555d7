"""Verbs on a GPU, as drivers of our own emulate it (tests/softgpu): two models compared, kernels measured, a wrong one named, a second
device, and what `./dev gpu` packs for a machine with a GPU."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from chosen import ALL, chosen
from conftest import ROOT

VENDORS = ["cuda", "hip"]


@pytest.mark.parametrize("vendor", chosen(VENDORS, 2))
def test_equiv_runs_both_models_there(on_gpu, exported_tiny, vendor):
    mlp = exported_tiny("mlp")
    said = on_gpu(vendor, "equiv", mlp / "model.pt", mlp / "model.pt2", "--strict", "--json", "equiv.json", code=0)
    assert "same numbers, same fused graph" in said
    other = exported_tiny("resnet9") / "model.pt"
    assert on_gpu(vendor, "equiv", mlp / "model.pt", other, code=2)


@pytest.mark.parametrize("vendor", chosen(VENDORS, 2, 1))
def test_tune_measures_kernels_there(on_gpu, run, exported_tiny, tmp_path, vendor):
    """What it takes is kept for this device alone, in the artifact, too."""
    run("convert", exported_tiny("mlp") / "model.pt", "-o", "mlp.tenon", code=0)
    tune = ["tune", "mlp.tenon", "--budget", "30", "--cache", "cache.jsonl", "-o", "tuned.tenon", "--json", "tune.json"]
    on_gpu(vendor, *tune, code=0)
    record = json.loads((tmp_path / "tune.json").read_text())
    assert record["measured"] > 0 and record["difference"] < 1e-4  # the others: no time was left to compile them
    kept = [json.loads(line) for line in (tmp_path / "cache.jsonl").read_text().splitlines()]
    assert {line["key"] for line in kept} == {group["key"] for group in record["groups"] if group["tried"]}
    assert all(line["device"] == f"{vendor}:0" and "Soft GPU" in line["hardware"] for line in kept)
    assert f"{record['measured']} known" in on_gpu(vendor, *tune[:4], "--cache", "cache.jsonl", code=0)
    assert "verified" in on_gpu(vendor, "verify", "tuned.tenon", "--against", "reference", code=0)
    assert "verified" in run("verify", "tuned.tenon", "--against", "reference", code=0)


@pytest.mark.parametrize("vendor", chosen(VENDORS, 2))
def test_the_second_device_is_used_alone(on_gpu, exported_tiny, monkeypatch, vendor):
    """Memory of the first one would be an error on it."""
    model = exported_tiny("resnet9") / "model.pt"
    missing = on_gpu(f"{vendor}:1", "run", model, code=4)
    assert f"there is no device '{vendor}:1'" in missing and f"{vendor}:0" in missing
    monkeypatch.setenv("SOFTGPU_DEVICES", "2")
    assert "verified" in on_gpu(f"{vendor}:1", "verify", model, "--against", "torch", code=0)
    assert f'"{vendor}:1"' in on_gpu(f"{vendor}:1", "profile", model, "--iters", 3, "--no-roofline", "--json", "-", code=0)


# What breaks once the units are proven, so that products stay on them.
BROKEN = {"cuda": "mma_tf32,wgmma_tf32", "hip": "mfma_f32"}


@pytest.mark.parametrize("vendor", chosen(VENDORS, 2, 1))
def test_bisect_names_a_wrong_kernel(on_gpu, exported_tiny, monkeypatch, vendor):
    model = exported_tiny("resnet9") / "model.pt"
    no_libraries = "open:cublasLt,open:hipblasLt,open:cudnn,open:miopen"
    monkeypatch.setenv("SOFTGPU_FAULT", no_libraries)
    assert "verified" in on_gpu(vendor, "verify", model, "--bisect", code=0)
    monkeypatch.setenv("SOFTGPU_FAULT", f"{BROKEN[vendor]},{no_libraries}")
    said = on_gpu(vendor, "verify", model, "--bisect", code=1)
    assert "first difference: a kernel" in said and "at: prep." in said


@pytest.mark.skipif(not ALL, reason="tenon doctor, which it asks, compiles the proofs of all matrix units")
def test_what_is_packed_for_a_gpu_runs(tenon, soft_drivers, tmp_path):
    """gpu_run.py in a folder as `./dev gpu` packs it: a model is exported, verified and timed."""
    pack = tmp_path / "pack"
    shutil.copytree(ROOT / "models", pack / "models", ignore=lambda _, names: [n for n in names if not n.endswith(".py")])
    shutil.copy(ROOT / "tests/gpu/gpu_run.py", pack)
    (pack / "tenon").symlink_to(tenon)
    (pack / "models.txt").write_text("mlp\n")
    command = [sys.executable, pack / "gpu_run.py", "--out", tmp_path / "out", "--tiny", "--batches", "1", "--precisions", "f32"]
    command += ["--skip", "selftest", "tests"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, env={**os.environ, **soft_drivers})
    assert done.returncode == 0 and "nothing is wrong" in done.stdout, done.stdout + done.stderr
    report = json.loads((tmp_path / "out/report.json").read_text())
    (row,) = report["models"]["mlp"]["workloads"].values()
    times = row["tenon"]
    assert row["verify"]["exit"] == 0 and times["steps"] > 0 and times["host_steps"] == 0
    assert times["ms"] == pytest.approx(times["steps_ms"] + times["beside_steps_ms"])
