"""What was not verified, or is not what was saved, is said."""

import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch")

DONE, BAD_INPUT = 0, 2


@pytest.fixture
def cli(tenon, tmp_path):
    def run(*arguments, code=DONE):
        done = subprocess.run([tenon, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, done
        return done

    return run


@pytest.fixture
def net(tmp_path):
    torch.jit.trace(torch.nn.Linear(3, 4), torch.randn(2, 3)).save(str(tmp_path / "net.pt"))
    return "net.pt"


def test_running_a_source_says_that_nothing_was_compared(cli, net):
    done = cli("run", net)
    assert "net.pt is not verified" in done.stderr and "tenon verify net.pt" in done.stderr
    cli("convert", net, "--no-verify")
    assert "net.tenon is not verified" in cli("run", "net.tenon").stderr
    cli("convert", net)
    assert cli("run", "net.tenon").stderr == ""


@pytest.mark.parametrize("option", ["--report", "--explain-fusion", "--print-ir=fused"])
def test_showing_alone_says_that_nothing_was_written(cli, net, tmp_path, option):
    done = cli("convert", net, option)
    assert "nothing was written and nothing verified" in done.stderr and "-o net.tenon" in done.stderr
    assert not (tmp_path / "net.tenon").exists()
    done = cli("convert", net, option, "-o", "net.tenon")
    assert "nothing was written" not in done.stderr and "equal to LibTorch" in done.stdout


def test_a_module_saved_in_training_mode_is_warned_of(cli, tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))

        def forward(self, x):
            return self.body(x)

    words = "saved in training mode and is converted in eval mode"
    size = ["--input", "x=f32[2,3]"]
    torch.jit.script(Net()).save(str(tmp_path / "train.pt"))
    torch.jit.script(Net().eval()).save(str(tmp_path / "eval.pt"))
    for verb in (["convert"], ["run"], ["inspect"], ["verify"], ["profile", "--iters", "2", "--no-roofline"]):
        done = cli(*verb, "train.pt", *size)
        assert done.stderr.count("warning: the model was " + words) == 1, done
        assert "training mode" not in cli(*verb, "eval.pt", *size).stderr
    assert words in cli("inspect", "train.tenon").stdout  # the artifact keeps it


def test_an_artifact_is_verified_against_the_source_beside_it(cli, net, tmp_path):
    cli("convert", net)
    done = cli("verify", "net.tenon")
    assert "compared with net.pt, from which it was converted" in done.stdout and "verified" in done.stdout
    (tmp_path / "net.pt").unlink()
    assert "--source" in cli("verify", "net.tenon", code=BAD_INPUT).stderr


def test_equiv_takes_types_and_sizes_from_either_side(cli, tmp_path):
    """A scripted model says no types, an exported one may have a size that varies, a traced one has numbers."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU()).eval()
    x = torch.randn(5, 3)
    torch.jit.script(model).save(str(tmp_path / "scripted.pt"))
    torch.jit.trace(model, x).save(str(tmp_path / "traced.pt"))
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("rows", min=2)},))
    torch.export.save(exported, tmp_path / "exported.pt2")
    torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=True, dynamic_shapes=({0: "rows"},), verbose=False)
    files = ["scripted.pt", "traced.pt", "exported.pt2", "model.onnx"]
    for a in files:
        for b in files:
            if a == b == "scripted.pt":
                assert "--input" in cli("equiv", a, b, code=BAD_INPUT).stderr
            else:
                assert "same numbers" in cli("equiv", a, b, "--samples", 1).stdout, (a, b)


def test_equiv_takes_from_the_other_side_what_is_not_given(cli, tmp_path):
    class Scaled(torch.nn.Module):
        def forward(self, x, by):
            return x * by

    given = torch.randn(5, 3), torch.randn(3)
    torch.jit.script(Scaled()).save(str(tmp_path / "scripted.pt"))
    torch.export.save(torch.export.export(Scaled(), given, dynamic_shapes=({0: torch.export.Dim("rows", min=2)}, None)), tmp_path / "exported.pt2")
    for a, b in (("scripted.pt", "exported.pt2"), ("exported.pt2", "scripted.pt")):
        for some in ("x=f32[4,3]", "by=f32[3]", "f32[4,3]"):
            assert "same numbers" in cli("equiv", a, b, "--input", some, "--samples", 1).stdout, (a, b, some)


def test_a_number_may_be_an_array_of_no_axes(cli, tmp_path):
    class Scaled(torch.nn.Module):
        def forward(self, x, n: int, f: float = 1.0, up: bool = False):
            return x * n * f + 1 if up else x * n * f

    torch.jit.script(Scaled()).save(str(tmp_path / "scaled.pt"))
    for name, value in {"n": 5, "f": 0.5, "up": True, "whole": 2}.items():
        numpy.save(tmp_path / f"{name}.npy", numpy.array(value))
    numpy.save(tmp_path / "x.npy", numpy.ones((2, 3), "float32"))
    files = ["--input", "x=x.npy", "--input", "n=n.npy", "--input", "f=f.npy", "--input", "up=up.npy"]
    cli("run", "scaled.pt", *files, "--output", "y.npy")
    assert (numpy.load(tmp_path / "y.npy") == 3.5).all()
    assert "equal to LibTorch" in cli("convert", "scaled.pt", *files).stdout
    assert "verified" in cli("verify", "scaled.pt", *files).stdout
    cli("run", "scaled.pt", "--input", "x=x.npy", "--input", "n=n.npy", "--input", "f=whole.npy")
    assert "n" in cli("run", "scaled.pt", "--input", "x=x.npy", "--input", "n=f.npy", code=BAD_INPUT).stderr


def test_what_run_writes_it_reads(cli, tmp_path):
    """bf16 too, also when NumPy wrote it again."""

    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x + x

    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64, torch.uint8, torch.complex64):
        x = torch.ones(2, 3).to(dtype)
        torch.jit.trace(Doubled(), x).save(str(tmp_path / "doubled.pt"))
        cli("run", "doubled.pt", "--output", "y.npy")
        cli("run", "doubled.pt", "--input", "x=y.npy", "--output", "z.npy")
        numpy.save(tmp_path / "again.npy", numpy.load(tmp_path / "z.npy"))
        cli("run", "doubled.pt", "--input", "x=again.npy", "--output", "again.npy.npz")


def test_a_model_of_another_name_is_no_silent_case(cli, net, tmp_path):
    (tmp_path / "cases/a").mkdir(parents=True)
    (tmp_path / "cases/b").mkdir()
    for name in ("a/model.pt", "b/net.pt"):
        (tmp_path / "cases" / name).write_bytes((tmp_path / net).read_bytes())
    numpy.save(tmp_path / "cases/a/in_0.npy", numpy.ones((2, 3), "float32"))
    cli("check", "cases", "--update")
    done = cli("check", "cases")
    assert "warning: cases/b/net.pt is no case: call it model.pt" in done.stderr and "1 passed" in done.stdout
    done = cli("check", "cases/b", code=BAD_INPUT)
    assert "call it model.pt" in done.stderr and "no case is here" in done.stderr
    (tmp_path / "cases/b/case.toml").write_text('model = "net.pt"\n')
    cli("check", "cases", "--update=outputs")
    assert "warning" not in cli("check", "cases").stderr


def test_few_runs_have_no_percentiles(cli, net):
    text = cli("profile", net, "--iters", 5, "--no-roofline").stdout
    assert "p99" not in text and "95% CI" not in text and "5 runs" in text
    text = cli("profile", net, "--iters", 10, "--no-roofline").stdout
    assert "p99" in text and "95% CI" in text and "latency us" in text
