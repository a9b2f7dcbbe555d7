"""The GPU's kernels through the vendors' compilers, which need no GPU (tests/softgpu/compile_gate.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import models
from chosen import ALL, chosen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "softgpu"))

import compile_gate
import vendors_compilers

# Of models' kernels, the bytes that may be spilled to memory. AMD's scalar registers go to lanes of vector registers, which is no stack.
MOST_SPILLED = {"sm_90a": 8, "gfx942": 0}


@pytest.fixture(params=[vendors_compilers.Nvrtc, vendors_compilers.Clang], ids=["nvidia", "amd"])
def compiler(request):
    try:
        return request.param()
    except vendors_compilers.Missing as missing:
        pytest.skip(str(missing))


class OldCompiler:
    version, targets = "nvrtc 13.0", ("sm_80",)


@pytest.mark.parametrize("now, is_difference", [
    ((110, 0, 0, 1024, "mma.sync"), False),
    ((111, 0, 0, 1024, "mma.sync"), True),
    ((100, 8, 8, 1024, "mma.sync"), True),
    ((100, 0, 0, 1024, "-"), True),
    ((100, 0, 0, 2048, "mma.sync"), True),
])  # fmt: skip
def test_what_counts_as_a_difference(tmp_path, monkeypatch, now, is_difference):
    monkeypatch.setattr(compile_gate, "GOLDEN", tmp_path / "golden.txt")
    key = ("product of whole tiles f16", "sm_80")
    compile_gate.write_golden([OldCompiler.version], {key: vendors_compilers.Resources(100, 0, 0, 1024, "mma.sync")})
    made = {key: vendors_compilers.Resources(*now)}
    assert bool(compile_gate.differences(OldCompiler, made, [key[0]])) == is_difference
    assert compile_gate.differences(OldCompiler, {}, []) == ["- " + compile_gate.line(key, vendors_compilers.Resources(100, 0, 0, 1024, "mma.sync"))]


def test_kernels_take_what_they_took(compiler, tenon, tmp_path):
    """All on all targets are half an hour on a slow machine: each third on one of its targets, by turns (chosen.py)."""
    subprocess.run([tenon.parent / "write_gpu_kernels", tmp_path], check=True)
    kernels = compile_gate.sources(tmp_path)
    some = dict(chosen(kernels.items(), 3))
    made, errors = compile_gate.compile_all(compiler, some, by_turns=not ALL)
    assert not errors, "\n".join(errors)
    assert {target for _, target in made} == set(compiler.targets)
    changed = compile_gate.differences(compiler, made, kernels, only_made=not ALL)
    assert not changed, "\n".join(["if this is wanted: tests/softgpu/compile_gate.py --update", *changed])


def test_blocks_of_warpgroups_fit_a_processor(tenon, tmp_path):
    """Each multiplies by wgmma and spills nothing, or little where threads copy; of those that shared memory has room for, the registers are there, too."""
    try:
        nvrtc = vendors_compilers.Nvrtc()
    except vendors_compilers.Missing as missing:
        pytest.skip(str(missing))
    subprocess.run([tenon.parent / "write_gpu_kernels", tmp_path], check=True)
    kernels = {name: text for name, text in compile_gate.sources(tmp_path).items() if re.search("(Warpgroup|Bulk|Split)Product<Tile", text)}
    made, errors = compile_gate.compile_all(nvrtc, kernels)
    assert not errors, "\n".join(errors)
    assert len(made) == len(kernels) > 15 and {target for _, target in made} == {"sm_90a"}
    registers, shared_bytes, of_driver = 64 << 10, 228 << 10, 1 << 10  # of a processor; of each block
    for (name, target), r in made.items():
        rows, _, stages, bytes_of_block = map(int, re.search(r"WarpgroupTile<\w+, (\d+), (\d+), (\d+), (\d+)>", kernels[name]).groups())
        blocks = shared_bytes // (bytes_of_block + of_driver)
        copied_in_bulk = "BulkProduct<Tile" in kernels[name]  # elsewhere threads keep addresses, too
        assert r.matrix == "wgmma.mma_async" and r.spilled <= (0 if copied_in_bulk else 128) and 3 <= stages <= 6, name
        assert blocks >= 1 and blocks * 2 * rows * r.registers <= registers, name


def test_models_kernels_compile_and_spill_little(compiler, tenon, exported_tiny, tmp_path):
    drivers = tenon.parent / "softgpu"
    if not drivers.exists():
        pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")
    settings = {"LD_LIBRARY_PATH": drivers, "XDG_CACHE_HOME": tmp_path, "SOFTGPU_SOURCES": tmp_path / "sources"}
    for name in models.NAMES:
        if name == "silero_vad":
            continue
        command = [tenon, "run", exported_tiny(name) / "model.pt", "--device", "cuda", "--fallback", "cpu"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {k: str(v) for k, v in settings.items()})
        assert done.returncode == 0, done.stderr
    kernels = compile_gate.sources(tmp_path / "sources")
    assert len(kernels) > 30
    targets = [t for t in compiler.targets if t in MOST_SPILLED]
    made, errors = compile_gate.compile_all(compiler, kernels, targets)
    assert not errors, "\n".join(errors)
    spilling = [compile_gate.line(key, r) for key, r in made.items() if min(r.spilled, r.stack) > MOST_SPILLED[key[1]]]
    assert not spilling, "\n".join(spilling)
