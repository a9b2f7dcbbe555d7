"""Real models: converted, fused, run, and equal to PyTorch."""

import json
import subprocess

import numpy
import pytest

TOLERANCE = 1e-4  # of the largest value


def run(tenon, *arguments):
    done = subprocess.run([tenon, *map(str, arguments)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


def operators(tenon, artifact):
    listed = json.loads(run(tenon, "inspect", artifact, "--json"))["operators"]
    return {entry["op"]: entry["count"] for entry in listed}


def count(ops, name):
    """Nodes whose group holds the operator."""
    return sum(n for group, n in ops.items() if name in group.split()[-1].split("+"))


@pytest.fixture(scope="module")
def converted(tenon, exported, tmp_path_factory):
    """converted(NAME): the artifact, made once."""
    folder, made = tmp_path_factory.mktemp("artifacts"), {}

    def convert(name):
        if name not in made:
            made[name] = folder / f"{name}.tenon"
            run(tenon, "convert", exported(name) / "model.pt", "-o", made[name])
        return made[name]

    return convert


@pytest.mark.parametrize("name", ["mlp", "resnet9", "resnet50", "unet", "minilm"])
@pytest.mark.parametrize("threads", [1, 2])
def test_equals_pytorch(tenon, exported, converted, tmp_path, name, threads):
    artifact, folder = converted(name), exported(name)
    inputs = [f"--input={path}" for path in sorted(folder.glob("in_*.npy"))]
    run(tenon, "run", artifact, *inputs, "--threads", threads, "--output", tmp_path / "out.npz")
    outputs = list(numpy.load(tmp_path / "out.npz").values())
    expected = [numpy.load(path) for path in sorted(folder.glob("out_*.npy"))]
    assert len(outputs) == len(expected)
    for got, want in zip(outputs, expected):
        assert got.shape == want.shape and got.dtype == want.dtype
        assert numpy.abs(got - want).max() <= TOLERANCE * numpy.abs(want).max()


@pytest.mark.parametrize("name", ["mlp", "resnet9", "resnet50", "unet", "minilm"])
def test_goldens_replay(tenon, converted, name):
    assert "ok" in run(tenon, "run", converted(name), "--check")


def test_resnet50_fuses_completely(tenon, converted):
    ops = operators(tenon, converted("resnet50"))
    assert count(ops, "batch_norm") == 0
    assert not {"relu", "add", "batch_norm"} & set(ops)
    assert count(ops, "conv") == 53
    assert sum(n for group, n in ops.items() if "pool" in group or "mean" in group) == 2
    assert count(ops, "linear") == 1


def test_unet_concatenates_in_place(tenon, converted):
    ops = operators(tenon, converted("unet"))
    assert count(ops, "batch_norm") == 0 and "relu" not in ops
    plan = run(tenon, "inspect", converted("unet"), "--ir", "planned")
    assert "concat" in run(tenon, "inspect", converted("unet"), "--ir", "fused")
    copies = [line for line in plan.split("\n") if "kernel=copy" in line or "concat" in line and "copy" in line]
    assert copies == []
