"""What the Python tests share: the tenon binary under test, and the exported models."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def tenon() -> Path:
    """The binary: $TENON, else build/release/tenon."""
    binary = Path(os.environ.get("TENON", ROOT / "build/release/tenon"))
    assert binary.exists(), f"there is no {binary}: run ./dev build, or set TENON"
    return binary


@pytest.fixture
def run(tenon, tmp_path):
    """run("verify", ..., code=1, device="wrong conv") runs the command in tmp_path, on a device with that fault (tests/faulty),
    expects its exit code and returns what it said."""

    def run(*arguments, code, device="", module=""):
        binary = tenon
        if device:
            binary, arguments = tenon.parent / "faulty_tenon", [*arguments, "--device", device]
        environment = {**os.environ, "TENON_SLOW_MODULE": module}
        environment.pop("GITHUB_ACTIONS", None)
        done = subprocess.run([binary, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, env=environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def alone(tenon, tmp_path_factory) -> Path:
    """The binary with no Python environment beside it."""
    folder = tmp_path_factory.mktemp("installed") / "bin"
    folder.mkdir()
    shutil.copy(tenon, folder)
    (folder / "tenon-torch").symlink_to(tenon.parent / "tenon-torch")
    return folder / "tenon"


@pytest.fixture
def run_alone(alone, tmp_path):
    """Like run, with `alone` and no fault; the variables that are given are set."""

    def run(*arguments, code, **variables):
        done = subprocess.run([alone, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, env={**os.environ, **variables})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="session")
def exported():
    """exported(NAME): the folder of a full-size model."""
    return lambda name: existing(ROOT / "build/models" / name, "")


@pytest.fixture(scope="session")
def exported_tiny():
    """exported_tiny(NAME): the folder of a model with tiny widths."""
    return lambda name: existing(ROOT / "build/models/tiny" / name, " --tiny")


def existing(folder: Path, option: str) -> Path:
    assert folder.exists(), f"there is no {folder}: run python models/export.py{option} {folder.name}"
    return folder


@pytest.fixture(scope="session")
def script():
    """script("models/export.py", ...) runs a script of the repository and returns what it printed."""

    def run(path: str, *arguments: object) -> str:
        command = [sys.executable, str(ROOT / path), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{path} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def soft_drivers(tenon, tmp_path):
    """The variables that make a program use drivers of our own, which emulate GPUs (tests/softgpu)."""
    drivers = tenon.parent / "softgpu"
    if not drivers.exists():
        pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")
    return {"LD_LIBRARY_PATH": str(drivers), "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.fixture
def on_gpu(tenon, tmp_path, soft_drivers):
    """on_gpu("cuda", "verify", ..., code=0) runs the command and returns what it said."""

    def run(vendor, *arguments, code):
        done = subprocess.run([tenon, *map(str, arguments), "--device", vendor], cwd=tmp_path, capture_output=True, text=True, timeout=600,
                              stdin=subprocess.DEVNULL, env={**os.environ, **soft_drivers})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run
