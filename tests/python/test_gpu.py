"""Models on GPUs, as drivers of our own emulate them on the CPU (tests/softgpu): the whole path, but for speed. Memory of the device is
unreadable there, streams lag behind, and misuse is an error."""

import json
import os
import shutil
import subprocess

import pytest

import models

VENDORS = ["cuda", "hip"]
WITHOUT_KERNELS = {"gcn": "index_add"}


@pytest.fixture
def on_gpu(tenon, tmp_path):
    """on_gpu("cuda", "verify", ..., code=0) runs the command and returns what it said."""
    drivers = tenon.parent / "softgpu"
    if not drivers.exists():
        pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")

    def run(vendor, *arguments, code):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(drivers), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run([tenon, *map(str, arguments), "--device", vendor], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, env=environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("name", [n for n in models.NAMES if n != "silero_vad"])
def test_tiny_models_equal_libtorch(on_gpu, exported_tiny, vendor, name):
    model = exported_tiny(name) / "model.pt"
    if name in WITHOUT_KERNELS:
        refused = on_gpu(vendor, "run", model, code=3)
        assert f"{vendor}:0 has no kernel for" in refused and WITHOUT_KERNELS[name] in refused and "--fallback cpu" in refused
    fallback = ["--fallback", "cpu"] if name in WITHOUT_KERNELS else []
    assert "verified" in on_gpu(vendor, "verify", model, "--against", "torch", *fallback, code=0)


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_verb_runs_on_it(on_gpu, exported_tiny, tmp_path, vendor):
    model = exported_tiny("resnet9") / "model.pt"
    for what in ["--bisect"], ["--properties", "--samples", 2]:
        on_gpu(vendor, "verify", model, *what, code=0)
    profile = json.loads(on_gpu(vendor, "profile", model, "--iters", 3, "--json", "-", code=0))
    assert sum(step["ms"] for step in profile["steps"]) > 0
    case = tmp_path / "cases" / "resnet9"
    case.mkdir(parents=True)
    shutil.copy(model, case)
    on_gpu(vendor, "check", "cases", "--update", code=0)
    on_gpu(vendor, "check", "cases", code=0)
    on_gpu(vendor, "convert", model, "-o", "out.tenon", code=0)
    assert "windows product" in on_gpu(vendor, "inspect", "out.tenon", "--ir", "planned", code=0)


@pytest.mark.parametrize("vendor", VENDORS)
def test_kernels_are_compiled_once(on_gpu, exported_tiny, tmp_path, vendor):
    model = exported_tiny("mlp") / "model.pt"
    on_gpu(vendor, "run", model, code=0)
    kept = {f: f.stat().st_mtime_ns for f in (tmp_path / "cache/tenon/kernels").iterdir()}
    assert kept
    damaged = min(kept)
    damaged.write_bytes(damaged.read_bytes()[:-7])
    on_gpu(vendor, "run", model, code=0)
    written = [f for f, at in kept.items() if f.stat().st_mtime_ns != at]
    assert written == [damaged]


def test_a_machine_without_the_driver_says_so(run, exported_tiny):
    said = run("run", exported_tiny("mlp") / "model.pt", "--device", "hip:0", code=4)
    assert "there is no device 'hip:0': none of libamdhip64.so.7" in said and "this machine has: cpu" in said
