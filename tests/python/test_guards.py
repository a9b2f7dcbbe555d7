"""A guard that guards nothing says so: options and settings under which nothing would be compared are refused."""

import os
import shutil
import subprocess

import numpy
import pytest

DONE, DIFFERS, BAD_INPUT = 0, 1, 2


@pytest.fixture
def model(exported_tiny):
    return exported_tiny("mlp") / "model.pt"


@pytest.fixture
def case(run, model, tmp_path):
    """A recorded case; case("...") writes its case.toml, case.spoil() its stored output."""
    folder = tmp_path / "cases" / "m"
    folder.mkdir(parents=True)
    shutil.copy(model, folder)
    run("check", "cases", "--update=outputs", code=DONE)

    def write(settings):
        (folder / "case.toml").write_text(settings)

    def spoil():
        output = numpy.load(folder / "out_0.npy")
        output.flat[0] += 5
        numpy.save(folder / "out_0.npy", output)

    write.spoil, write.folder = spoil, folder
    return write


@pytest.mark.parametrize("arguments", [
    ["profile", "MODEL", "--max-slowdown", "1.1"],
    ["profile", "MODEL", "", "--max-slowdown", "1.1"],
    ["profile", "MODEL", "--compare", "", "--max-slowdown", "1.1"],
    ["profile", "MODEL", "--vs", "", "--max-slowdown", "1.1"],
    ["profile", "MODEL", "--vs=--no-fuse", "--max-slowdown", "nan"],
    ["profile", "MODEL", "--unfused", "--no-fuse"],
    ["profile", "MODEL", "--json", "-", "--trace", "-"],
    ["profile", "MODEL", "--json", "same", "--trace", "./same"],
    ["profile", "MODEL", "--json", "nowhere/p.json"],
    ["profile", "MODEL", "--iters", "0"],
    ["profile", "MODEL", "--seconds", "nan"],
    ["profile", "MODEL", "--by", "2"],
    ["verify", "MODEL", "--properties", "--against", "torch"],
    ["verify", "MODEL", "--properties", "--bisect"],
    ["verify", "MODEL", "--tolerance", "nan"],
    ["verify", "MODEL", "--tolerance", "inf"],
    ["verify", "MODEL", "--tolerance", "-1"],
    ["verify", "MODEL", "--against", ".", "--samples", "5"],
    ["verify", "MODEL", "--json", "-"],
    ["equiv", "MODEL", "MODEL", "--tolerance", "inf"],
    ["check", ".", "--timeout", "nan"],
    ["check", ".", "--shuffle", "-1"],
    ["inspect", "MODEL", "--ir", "fused", "--ops"],
])  # fmt: skip
def test_options_that_would_check_nothing_are_refused(run, model, arguments):
    said = run(*[model if a == "MODEL" else a for a in arguments], code=BAD_INPUT)
    assert "error:" in said and "bug" not in said and len(said) < 600, said


@pytest.mark.parametrize("settings", [
    "rtol = 0", "atol = 0", "rtol = 0\natol = 0", "tolerance = 0", "[outputs.out]\nrtol = 0",
])  # fmt: skip
def test_a_limit_of_zero_is_a_limit(run, case, settings):
    case.spoil()
    case(settings + "\n")
    run("check", "cases", code=DIFFERS)


def test_limits_of_zero_hold_on_the_command_line(run, case, model):
    case.spoil()
    run("verify", model, "--against", case.folder, "--rtol", "0", "--atol", "0", code=DIFFERS)


@pytest.mark.parametrize("settings", [
    "tolerance = inf", "rtol = inf", "tolerance = nan", "memory = 0", "[speed]", "[speed]\nmax_slowdown = 1.1",
    '[speed]\nbaseline = ""',
])  # fmt: skip
def test_settings_that_would_check_nothing_are_refused(run, case, settings):
    case(settings + "\n")
    assert "case.toml" in run("check", "cases", code=BAD_INPUT)


def test_an_output_that_the_model_does_not_have_is_refused(run, case):
    case("[outputs.nope]\nrtol = 1e-3\n")
    assert "the model has no output 'nope'" in run("check", "cases", code=DIFFERS)


def test_a_baseline_of_other_threads_is_refused(run, case):
    case('threads = 2\n[speed]\nbaseline = "speed.json"\n')
    run("check", "cases", "--update=speed", code=DONE)
    case('threads = 1\n[speed]\nbaseline = "speed.json"\n')
    assert "recorded with 2 threads" in run("check", "cases", code=DIFFERS)


def test_every_case_at_or_below_the_folder_is_one(run, case, model, tmp_path):
    inner = case.folder / "inner"
    inner.mkdir()
    for folder in (inner, tmp_path / "cases", tmp_path / "cases" / "-dash"):
        folder.mkdir(exist_ok=True)
        shutil.copy(model, folder)
    (tmp_path / "cases" / "link").symlink_to("m")
    assert run("check", "cases", "--list", code=DONE).split() == ["-dash", ".", "m", "m/inner"]
    run("check", "cases", "--update=outputs", code=DONE)
    assert "4 passed" in run("check", "cases", code=DONE)


def test_standard_output_is_appended_to_and_never_replaced(tenon, model, tmp_path):
    file = tmp_path / "out"
    file.write_text("before\n")
    command = f"'{tenon}' profile '{model}' --iters 2 --no-roofline --json -"
    subprocess.run(f"{command} >> '{file}'; {command} >&-; test -L /dev/stdout", shell=True, check=True)
    text = file.read_text()
    assert text.startswith("before\n{") and text.rstrip().endswith("}")


def test_a_pipe_without_a_writer_is_no_model(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in run("inspect", "pipe", code=BAD_INPUT)


def test_names_that_are_no_text_are_written_as_such(tenon, model, tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff.pt"
    shutil.copy(model, name)
    done = subprocess.run([tenon, b"profile", name, b"--iters", b"2", b"--no-roofline", b"--json", b"p.json"],
                          cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL)
    assert done.returncode == DONE, done.stderr
