"""Where the libraries of a GPU's vendor are looked for, beside where the system does."""

import os
import subprocess

import pytest

PACKAGES = "lib/python3.11/site-packages/nvidia/cu13/lib"


def python_of(root):
    """A program of this name; it is not run."""
    program = root / "bin/python3"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/false\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin"}


def linked_python_of(root):
    """Of an environment: a link to the Python that has the packages."""
    python_of(root)
    environment = root / "environment/bin"
    environment.mkdir(parents=True)
    (environment / "python3").symlink_to(root / "bin/python3")
    return {"PATH": f"{environment}:/usr/bin:/bin"}


# What points there, and the folder.
PLACES = {
    "active environment": (lambda root: {"VIRTUAL_ENV": str(root)}, PACKAGES),
    "conda": (lambda root: {"CONDA_PREFIX": str(root)}, PACKAGES),
    "python3 on PATH": (python_of, PACKAGES),
    "Debian's python3": (python_of, "lib/python3/dist-packages/nvidia/cuda_nvrtc/lib"),
    "linked python3": (linked_python_of, PACKAGES),
    "user": (lambda root: {"HOME": str(root)}, f".local/{PACKAGES}"),
    "CUDA_HOME": (lambda root: {"CUDA_HOME": str(root)}, "lib64"),
    "CUDA_PATH": (lambda root: {"CUDA_PATH": str(root)}, "lib64"),
    "ROCM_PATH": (lambda root: {"ROCM_PATH": str(root)}, "lib"),
}


@pytest.mark.parametrize("place", PLACES)
def test_where_libraries_are_found(tenon, tmp_path, place):
    """The emulated drivers: of CUDA the compiler lies there, of ROCm all."""
    emulated = tenon.parent / "softgpu"
    if not emulated.exists():
        pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")
    point_to, folder = PLACES[place]
    root, drivers = tmp_path / "root", tmp_path / "drivers"
    there = root / folder
    vendor = "hip" if place == "ROCM_PATH" else "cuda"
    own = ["libhiprtc.so.7", "libamdhip64.so.7"] if vendor == "hip" else ["libnvrtc.so.13"]
    others = ["libcuda.so.1", "libnvrtc.so.13", "libhiprtc.so.7", "libamdhip64.so.7", *(f.name for f in emulated.glob("lib*"))]
    drivers.mkdir()
    there.mkdir(parents=True)
    for entry in emulated.iterdir():
        if entry.name not in others:
            (drivers / entry.name).symlink_to(entry)
            (there / entry.name).symlink_to(entry)
    for name in own:
        (there / name).symlink_to(emulated / name)
    if vendor == "cuda":
        (drivers / "libcuda.so.1").symlink_to(emulated / "libcuda.so.1")
    clean = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "ROCM_PATH")}
    base = {**clean, "PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(drivers), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def line_of(**variables):
        done = subprocess.run([tenon, "doctor"], capture_output=True, text=True, timeout=600, env={**base, **variables})
        return next(line for line in done.stdout.splitlines() if line.split()[1] == vendor)

    without = line_of()
    assert "none of" in without and any(name in without for name in own)
    found = line_of(**point_to(root))
    assert "1 GPU" in found and str(there / own[0]) in found
