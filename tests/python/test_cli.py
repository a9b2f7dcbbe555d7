"""What a user of the command line is promised: exit codes, one clear error, nothing half-written."""

import os
import resource
import signal
import subprocess
import time
import zipfile

import numpy
import pytest

DONE, DIFFERS, BAD_INPUT, UNSUPPORTED, ENVIRONMENT = range(5)


@pytest.fixture
def cli(tenon, tmp_path):
    def run(*arguments, **options):
        return subprocess.run(
            [tenon, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
            stdin=subprocess.DEVNULL, **options,
        )

    run.tenon = tenon
    return run


def assert_error(done, *words, code=BAD_INPUT):
    assert done.returncode == code, done
    assert done.stderr.startswith("error: "), done.stderr
    for word in words:
        assert word in done.stderr
    for trace in ("Traceback", "terminate called", "c10::", "frame #", "Aborted"):
        assert trace not in done.stderr


@pytest.mark.parametrize("verb", ["convert", "run", "inspect", "verify", "equiv", "check", "profile", "predict", "ops", "doctor"])
def test_every_help_has_an_example(cli, verb):
    done = cli(verb, "--help")
    assert done.returncode == DONE
    assert f"Example: tenon {verb}" in done.stdout


def test_unknown_verb_and_flag(cli):
    assert_error(cli("convrt"), "'convrt'", "try:", "convert")
    assert_error(cli("ops", "--jsno"), "--jsno")
    assert_error(cli())


def test_no_such_file(cli):
    assert_error(cli("inspect", "nowhere.pt"), "nowhere.pt")


@pytest.mark.parametrize(
    "content, words",
    [(b"", ["empty"]), (b"hello, this is a text file\n" * 9, ["text"]), (bytes(range(256)) * 8, [])],
)
def test_files_of_another_kind(cli, tmp_path, content, words):
    (tmp_path / "model.pt").write_bytes(content)
    assert_error(cli("inspect", "model.pt"), "model.pt", *words)


def test_a_state_dict_says_how_to_export(cli, tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 2).state_dict(), tmp_path / "weights.pt")
    assert_error(cli("convert", "weights.pt"), "state_dict", "torch.jit")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_cut_file(cli, tmp_path, exported_tiny, share):
    whole = (exported_tiny("resnet9") / "model.pt").read_bytes()
    (tmp_path / "cut.pt").write_bytes(whole[: int(len(whole) * share)])
    assert_error(cli("convert", "cut.pt"), "cut.pt")
    assert sorted(os.listdir(tmp_path)) == ["cut.pt"]


@pytest.fixture
def mlp(cli, exported_tiny):
    folder = exported_tiny("mlp")
    done = cli("convert", folder / "model.pt", "-o", "mlp.tenon")
    assert done.returncode == DONE, done.stderr
    return folder


def test_convert_run_and_check(cli, mlp, tmp_path):
    done = cli("run", "mlp.tenon", "--input", mlp / "in_0.npy", "--output", "y.npy")
    assert done.returncode == DONE, done.stderr
    numpy.testing.assert_allclose(numpy.load(tmp_path / "y.npy"), numpy.load(mlp / "out_0.npy"), rtol=1e-4, atol=1e-5)
    done = cli("run", "mlp.tenon", "--check")
    assert done.returncode == DONE, done.stderr
    assert "ok" in done.stdout


def test_an_artifact_is_a_safetensors_file(mlp, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(tmp_path / "mlp.tenon", "numpy") as file:
        names = set(file.keys())
        assert any("weight" in name for name in names)
        for name in names:
            file.get_tensor(name)
        assert "graph" in " ".join(file.metadata().values())


def test_inputs_are_checked(cli, mlp, tmp_path):
    good = numpy.load(mlp / "in_0.npy")
    numpy.save(tmp_path / "narrow.npy", good[:, :-1])
    assert_error(cli("run", "mlp.tenon", "--input", "narrow.npy"), "dim 1")
    numpy.save(tmp_path / "flat.npy", good[0])
    assert_error(cli("run", "mlp.tenon", "--input", "flat.npy"))
    numpy.save(tmp_path / "double.npy", good.astype("float64"))
    assert_error(cli("run", "mlp.tenon", "--input", "double.npy"), "f64", "f32")
    assert_error(cli("run", "mlp.tenon", "--input", "y=narrow.npy"), "'y'")
    assert_error(cli("run", "mlp.tenon", "--input", "x=what"), "what")
    assert_error(cli("run", "mlp.tenon", "--input", "x=f32[2]"), "x")
    assert_error(cli("run", "mlp.tenon", "--input", "n=5"), "'n'")
    numpy.save(tmp_path / "nan.npy", numpy.full_like(good, numpy.nan))
    done = cli("run", "mlp.tenon", "--input", "nan.npy")
    assert done.returncode == DONE and "NaN" in done.stdout


def test_a_number_is_fixed_for_tenon_and_for_the_source(cli, tmp_path):
    torch = pytest.importorskip("torch")

    class Scaled(torch.nn.Module):
        def forward(self, x, n: int = 2, f: float = 1.0, up: bool = False):
            return x * n * f + 1 if up else x * n * f

    torch.jit.script(Scaled()).save(tmp_path / "scaled.pt")
    for numbers in (["n=3"], ["n=3", "f=2", "up=true"], []):
        flags = [flag for number in numbers for flag in ("--input", number)]
        done = cli("convert", "scaled.pt", "--input", "x=f32[B,3]", *flags)
        assert done.returncode == DONE, done.stderr
        assert "B=2" in done.stdout


def test_options_that_can_do_nothing_are_errors(cli, mlp):
    for option in (["--no-fuse"], ["--off", "raise"], ["--stop-after-rewrite", "3"], ["--method", "other"]):
        assert_error(cli("inspect", "mlp.tenon", *option), "source model")
    assert_error(cli("run", "mlp.tenon", "--shape", "Q=3"), "'Q'")
    assert_error(cli("run", "mlp.tenon", "--seed", "-1"), "--seed")


def test_the_source_is_not_overwritten(cli, mlp, tmp_path):
    source = tmp_path / "copy.pt"
    source.write_bytes((mlp / "model.pt").read_bytes())
    assert_error(cli("convert", "copy.pt", "-o", "copy.pt"), "replace")
    assert source.read_bytes() == (mlp / "model.pt").read_bytes()


@pytest.mark.parametrize("words", ["ops", "--version", "--help", "version", "help", "help run", "run --help", "completion bash"])
def test_unwritable_standard_output(cli, words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([cli.tenon, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True)
    assert_error(done, "standard output", "No space left on device", code=ENVIRONMENT)


def test_unwritable_output(cli, mlp, tmp_path):
    assert_error(cli("convert", mlp / "model.pt", "-o", "no/such/folder/m.tenon"), "no/such/folder")
    assert_error(cli("convert", mlp / "model.pt", "-o", tmp_path), str(tmp_path))


def test_full_disk_leaves_nothing(cli, mlp, tmp_path):
    """A limit on the file size stands for the full disk: writing fails half-way."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    before = sorted(os.listdir(tmp_path))
    done = cli("convert", mlp / "model.pt", "-o", "full.tenon", "--no-verify", preexec_fn=limit)
    assert_error(done, "full.tenon", "ulimit -f", code=ENVIRONMENT)
    assert sorted(os.listdir(tmp_path)) == before


def test_interrupt_leaves_nothing(tenon, exported, tmp_path):
    model = exported("resnet50") / "model.pt"
    for delay in (0.05, 0.3, 1.0):
        child = subprocess.Popen([tenon, "convert", model, "-o", "r.tenon", "--no-verify"], cwd=tmp_path,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        child.wait(timeout=60)
        if (tmp_path / "r.tenon").exists():  # renamed before the signal: then it is whole
            subprocess.run([tenon, "inspect", tmp_path / "r.tenon"], check=True, stdout=subprocess.DEVNULL)
            (tmp_path / "r.tenon").unlink()
        assert os.listdir(tmp_path) == []


def test_a_damaged_weight_of_a_source(cli, exported_tiny, tmp_path):
    """LibTorch reads it as it is, so that the comparison with LibTorch cannot find it."""
    source = exported_tiny("mlp") / "model.pt"
    with zipfile.ZipFile(source) as archive:
        largest = max((m for m in archive.infolist() if "/data/" in m.filename), key=lambda m: m.file_size)
        content = archive.read(largest)
    whole = source.read_bytes()
    at = whole.index(content) + len(content) // 2
    (tmp_path / "flipped.pt").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert_error(cli("convert", "flipped.pt"), "flipped.pt", largest.filename, "wrong checksum")
    assert os.listdir(tmp_path) == ["flipped.pt"]


def test_a_damaged_artifact(cli, mlp, tmp_path):
    whole = (tmp_path / "mlp.tenon").read_bytes()
    (tmp_path / "cut.tenon").write_bytes(whole[: len(whole) // 2])
    assert_error(cli("run", "cut.tenon"), "cut.tenon")
    flipped = bytearray(whole)
    flipped[200] ^= 0x20
    (tmp_path / "flipped.tenon").write_bytes(flipped)
    assert_error(cli("run", "flipped.tenon"), "flipped.tenon")


def test_missing_input_types_are_asked_for(cli, exported_tiny):
    scripted = exported_tiny("mlp") / "model.scripted.pt"
    assert_error(cli("convert", scripted), "--input 'x=f32[")


def test_ops_lists_definitions(cli):
    done = cli("ops")
    assert done.returncode == DONE
    assert "relu" in done.stdout and "aten" not in done.stdout.split("\n")[0]
