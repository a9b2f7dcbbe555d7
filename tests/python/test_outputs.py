"""No verb overwrites what it reads: every option that writes a file, derived from the command line itself."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy
import pytest

torch = pytest.importorskip("torch")

DONE, BAD_INPUT, ENVIRONMENT = 0, 2, 4
# A command for each verb that reads files, all of which lie in the folder `files`. A `!` says where its output goes.
COMMANDS = {
    "convert": ["files/net.pt"],
    "run": ["files/net.pt", "--input", "x=files/in_0.npy"],
    "inspect": ["files/net.pt"],
    "verify": ["files/net.pt", "--against", "files"],
    "equiv": ["files/net.pt", "files/net.tenon"],
    "check": ["files"],
    "profile": ["files/net.pt", "files/net.tenon", "--iters", "1", "--no-roofline"],
    "predict": ["files/net.pt"],
    "tune": ["files/net.pt", "--budget", "1"],
}
SUFFIX = {("convert", "--output"): ".tenon", ("run", "--output"): ".npy"}


def manual(tenon) -> str:
    return subprocess.run([tenon, "manual"], capture_output=True, text=True, check=True).stdout


def options(tenon, of_type) -> list[tuple[str, str]]:
    """(verb, --flag) of each option whose value is of such a type."""
    found = []
    for section in manual(tenon).split("\n## tenon ")[1:]:
        verb = section.split("\n")[0]
        for usage in re.findall(r"^\| `([^`]*)` \|", section, re.M):
            words = usage.replace(",", "").split()
            if len(words) > 1 and of_type(words[-1]):
                found.append((verb, words[-2]))
    return found


def writes(kind: str) -> bool:
    return kind.endswith("OUTFILE")


def test_every_option_that_takes_a_file_says_whether_it_writes(tenon):
    """A new one has a type of its own: this list, or OUTFILE."""
    known = {"FILE": {"--weights-from", "--source", "--compare", "--merge", "--records", "--tuning"}, "INPUT": {"--input"}, "LIBRARY": {"--operators"},
             "TEXT": {"--method", "--device"}}  # TEXT: no file
    for kind, flags in known.items():
        assert {flag for _, flag in options(tenon, lambda t, kind=kind: t == kind)} <= flags
    assert len(options(tenon, writes)) >= 11
    assert {verb for verb, _ in options(tenon, writes)} <= {*COMMANDS, "doctor"}


@pytest.fixture(scope="module")
def made(tenon, tmp_path_factory):
    """A folder with a model, its artifact, a case's files."""
    folder = tmp_path_factory.mktemp("made")
    x = torch.randn(2, 3)
    model = torch.nn.Linear(3, 4)
    torch.jit.trace(model, x).save(str(folder / "net.pt"))
    numpy.save(folder / "in_0.npy", x.numpy())
    numpy.save(folder / "out_0.npy", model(x).detach().numpy())
    (folder / "case.toml").write_text('model = "net.pt"\n')
    subprocess.run([tenon, "convert", folder / "net.pt"], check=True, capture_output=True)
    return folder


def contents(folder) -> dict:
    return {f.name: f.read_bytes() for f in folder.iterdir()}


@pytest.mark.parametrize("way", ["itself", "symbolic link", "hard link", "link to the folder"])
def test_no_output_replaces_an_input(tenon, tmp_path, made, way):
    files = tmp_path / "files"
    for verb, flag in options(tenon, writes):
        for name in ("net.pt", "in_0.npy"):
            if verb == "doctor" or (name == "in_0.npy" and verb not in ("run", "verify", "check")):
                continue  # it does not read that
            for link in tmp_path.iterdir():
                link.unlink() if link.is_symlink() or link.is_file() else [f.unlink() for f in link.iterdir()]
            files.mkdir(exist_ok=True)
            for f in made.iterdir():
                (files / f.name).write_bytes(f.read_bytes())
            target = files / name
            if way == "link to the folder":
                (tmp_path / "other").symlink_to(files)
                target = tmp_path / "other" / name
            elif way != "itself":
                target = tmp_path / ("link" + SUFFIX.get((verb, flag), ".json"))
                target.symlink_to(files / name) if way == "symbolic link" else os.link(files / name, target)
            if target.suffix != SUFFIX.get((verb, flag), target.suffix):
                continue  # refused for its name
            before = contents(files)
            done = subprocess.run([tenon, verb, *COMMANDS[verb], flag, target], cwd=tmp_path, capture_output=True, text=True,
                                  timeout=120)
            assert contents(files) == before, (verb, flag, name)
            assert done.returncode == BAD_INPUT and "would replace" in done.stderr, (verb, flag, name, done)


def not_writable(folder, suffix):
    (folder / "closed").mkdir(mode=0o555)
    return folder / "closed" / ("out" + suffix), ENVIRONMENT, "Permission denied"


def written_once(folder, suffix):
    (folder / ("old" + suffix)).write_text("kept")
    (folder / ("old" + suffix)).chmod(0o444)
    return folder / ("old" + suffix), ENVIRONMENT, "Permission denied"


def hidden(folder, suffix):
    """In a folder that may not even be looked into."""
    (folder / "hidden").mkdir(mode=0o000)
    return folder / "hidden" / ("out" + suffix), ENVIRONMENT, "Permission denied"


def too_long(folder, suffix):
    return folder / ("o" * (256 - len(suffix)) + suffix), BAD_INPUT, "give it a shorter name"


def behind_a_circle(folder, suffix):
    for name, target in (("a", "b"), ("b", "a")):
        (folder / (name + suffix)).symlink_to(target + suffix)
    return folder / ("a" + suffix), BAD_INPUT, "its links lead in a circle"


def behind_a_link_to_nowhere(folder, suffix):
    (folder / ("link" + suffix)).symlink_to(f"nowhere/out{suffix}")
    return folder / ("link" + suffix), BAD_INPUT, "there is no folder"


def in_a_file(folder, suffix):
    (folder / "file").write_text("kept")
    return folder / "file" / ("out" + suffix), BAD_INPUT, "is a file, not a folder"


def a_folder(folder, suffix):
    (folder / ("taken" + suffix)).mkdir()
    return folder / ("taken" + suffix), BAD_INPUT, "this is a folder, not a file"


def nowhere(folder, suffix):
    return folder / "no" / "such" / ("out" + suffix), BAD_INPUT, "mkdir -p"


NOBODY = 65534


@pytest.fixture
def as_nobody(tenon):
    """(folder, run): a folder of the user `nobody`'s, and run(WORDS) with that user's rights where this process is root. Root may do
    everything, and folders of pytest's may be entered by their owner alone."""
    is_root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        binary = shutil.copy(tenon, folder) if is_root else tenon
        (folder / "work").mkdir()
        rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root else {}

        def run(*words):
            if is_root:
                for path in (folder / "work").rglob("*"):
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            return subprocess.run([binary, *words], cwd=folder / "work", capture_output=True, text=True, timeout=120, **rights)

        if is_root:
            os.chown(folder / "work", NOBODY, NOBODY)
        yield folder / "work", run
        for path in (folder / "work").rglob("*"):
            if path.is_dir():
                path.chmod(0o755)


@pytest.mark.parametrize("target_in", [nowhere, in_a_file, a_folder, not_writable, written_once, hidden, too_long, behind_a_circle,
                                       behind_a_link_to_nowhere])
def test_outputs_are_checked_before_anything_is_run(tenon, as_nobody, target_in):
    """Of models that cannot even be read, the output is what is wrong first."""
    work, run = as_nobody
    (work / "files").mkdir()
    for name in ("net.pt", "net.tenon"):
        (work / "files" / name).write_bytes(b"no model")
    numpy.save(work / "files/in_0.npy", numpy.zeros((2, 3), "float32"))
    (work / "files/case.toml").write_text('model = "net.pt"\n')
    for place, (verb, flag) in enumerate(options(tenon, writes)):
        folder = work / str(place)
        folder.mkdir()
        target, code, words = target_in(folder, SUFFIX.get((verb, flag), ".json"))
        before = sorted(folder.rglob("*"))
        done = run(verb, *COMMANDS.get(verb, []), flag, target)  # doctor reads none
        assert done.returncode == code and words in done.stderr, (verb, flag, done)
        assert done.stdout == "" and ("  at: " + str(folder)) in done.stderr and "  try: " in done.stderr, (verb, flag, done)
        assert sorted(folder.rglob("*")) == before, (verb, flag)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_an_input_without_the_right_to_it_is_the_environments_failure(as_nobody, made, verb):
    work, run = as_nobody
    shutil.copytree(made, work / "files")
    closed = [work / "files" / name for name in ("net.pt", "net.tenon", "in_0.npy", "case.toml")]
    for file in closed:
        file.chmod(0o000)
    done = run(verb, *COMMANDS[verb])
    assert done.returncode == ENVIRONMENT and "Permission denied" in done.stderr and "  try: get the right" in done.stderr, done
    (work / "files").chmod(0o000)
    done = run(verb, *COMMANDS[verb])
    assert done.returncode == ENVIRONMENT and "Permission denied" in done.stderr and "  try: get the right" in done.stderr, done


def test_names_of_outputs_are_checked_before_anything_is_run(tenon, tmp_path, made):
    (tmp_path / "net.pt").write_bytes(b"no model")
    for target, words in (("y.txt", "is no name for arrays"), ("out=y.txt", "is no name for arrays")):
        done = subprocess.run([tenon, "run", "net.pt", "--output", target], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == BAD_INPUT and words in done.stderr, done
    wrong = numpy.zeros((2, 7), "float32")  # the model does not take it
    numpy.save(tmp_path / "x.npy", wrong)
    done = subprocess.run([tenon, "run", made / "net.tenon", "--input", "x.npy", "--output", "nosuch=y.npy"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == BAD_INPUT and "no output nosuch" in done.stderr, done


def test_names_of_arrays_may_be_in_capitals_as_those_of_inputs(tenon, tmp_path, made):
    command = [tenon, "run", made / "net.tenon"]
    for name in ("Y.NPY", "Y.NPZ"):
        subprocess.run([*command, "--output", name], cwd=tmp_path, check=True, capture_output=True)
    assert numpy.load(tmp_path / "Y.NPY").shape == (2, 4)
    [(_, array)] = numpy.load(tmp_path / "Y.NPZ").items()
    numpy.testing.assert_array_equal(array, numpy.load(tmp_path / "Y.NPY"))


def test_two_outputs_are_two_files(tenon, tmp_path, made):
    (tmp_path / "a.json").write_text("kept")
    (tmp_path / "link").symlink_to("a.json")
    os.link(tmp_path / "a.json", tmp_path / "hard")
    (tmp_path / "here").symlink_to(".")
    for other in ("a.json", "./a.json", "link", "hard", "here/a.json"):
        done = subprocess.run([tenon, "inspect", made / "net.pt", "--html", "a.json", "--dot", other], cwd=tmp_path,
                              capture_output=True, text=True)
        assert done.returncode == BAD_INPUT and "two outputs" in done.stderr, done
        assert (tmp_path / "a.json").read_text() == "kept"
    done = subprocess.run([tenon, "inspect", made / "net.pt", "--html", "new", "--dot", "here/new"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == BAD_INPUT and "two outputs" in done.stderr


def onnx_with_weights(onnx, model, weights) -> str:
    """A model whose weights lie in a file beside it: its name."""
    weight = onnx.numpy_helper.from_array(numpy.ones((64, 64), "float32"), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 64])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 64])], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8),
              model, save_as_external_data=True, location=weights, size_threshold=0)
    return weights


def test_onnx_weights_beside_the_model_are_inputs_too(tenon, tmp_path):
    """The data file of an ONNX model is read by the reader, not named on the command line."""
    onnx = pytest.importorskip("onnx")
    onnx_with_weights(onnx, tmp_path / "net.onnx", "net.json")
    before = (tmp_path / "net.json").read_bytes()
    for command in (["inspect", "net.onnx", "--html", "net.json"], ["convert", "net.onnx", "--no-verify", "-o", "net.json"]):
        done = subprocess.run([tenon, *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == BAD_INPUT and "would replace" in done.stderr, done
        assert (tmp_path / "net.json").read_bytes() == before


def test_what_the_source_of_an_artifact_reads_is_an_input_too(tenon, tmp_path):
    """It is ONNX Runtime that reads these weights, not Tenon; the source, too, is found in the artifact only."""
    onnx = pytest.importorskip("onnx")
    net = onnx_with_weights(onnx, tmp_path / "net.onnx", "net.json")
    subprocess.run([tenon, "convert", "net.onnx"], cwd=tmp_path, check=True, capture_output=True)
    before = contents(tmp_path)
    for target in (net, "net.onnx"):
        for source in ([], ["--source", "net.onnx"]):
            done = subprocess.run([tenon, "verify", "net.tenon", *source, "--json", target], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == BAD_INPUT and "would replace" in done.stderr, done
            assert "max error" not in done.stdout and contents(tmp_path) == before


def test_an_input_of_a_second_model_is_known_before_the_first_is_run(tenon, tmp_path, made):
    onnx = pytest.importorskip("onnx")
    weights = onnx_with_weights(onnx, tmp_path / "net.onnx", "net.json")
    (tmp_path / "broken.pt").write_bytes(b"no model")  # its error would come first
    before = contents(tmp_path)
    for words in (["equiv", "broken.pt", "net.onnx"], ["profile", "broken.pt", "net.onnx"]):
        done = subprocess.run([tenon, *words, "--json", weights], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == BAD_INPUT and "would replace" in done.stderr and contents(tmp_path) == before, done


CASE_FILES = ["net.pt", "case.toml", "in_0.npy", "out_0.npy", "fused.ir", "speed.json", "library.so", "test_data_set_0/in_0.npy",
              "out_7.npy", "test_data_set_0/out_7.npy"]


@pytest.mark.parametrize("update", [[], ["--update"]], ids=["", "update"])
@pytest.mark.parametrize("name", CASE_FILES)
def test_no_report_takes_the_place_of_a_cases_file(tenon, tmp_path, made, name, update):
    """Whether it is there, or --update would make it."""
    case = tmp_path / "cases" / "a"
    shutil.copytree(made, case)
    (case / "case.toml").write_text('model = "net.pt"\nlibraries = ["library.so"]\n[speed]\nbaseline = "speed.json"\n')
    (case / "library.so").write_text("code")
    shutil.copytree(made, case / "test_data_set_0")
    before = {p: p.read_bytes() for p in case.rglob("*") if p.is_file()}
    for flag in ("--json", "--junit"):
        done = subprocess.run([tenon, "check", "cases", *update, flag, case / name], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == BAD_INPUT and "would replace" in done.stderr and done.stdout == "", done
        assert {p: p.read_bytes() for p in case.rglob("*") if p.is_file()} == before


def test_a_link_stays_and_its_target_is_written(tenon, tmp_path, made):
    for there in (False, True):
        (tmp_path / "y.npy").unlink(missing_ok=True)
        if there:
            (tmp_path / "y.npy").write_text("old")
        for name, target in (("link.npy", "y.npy"), ("chain.npy", "link.npy")):
            (tmp_path / name).unlink(missing_ok=True)
            (tmp_path / name).symlink_to(target)
        subprocess.run([tenon, "run", made / "net.tenon", "--output", "chain.npy"], cwd=tmp_path, check=True, capture_output=True)
        assert (tmp_path / "chain.npy").is_symlink() and (tmp_path / "link.npy").is_symlink()
        assert numpy.load(tmp_path / "y.npy").shape == (2, 4)
    (tmp_path / "y.npy").unlink()
    done = subprocess.run([tenon, "run", made / "net.tenon", "--output", "chain.npy", "--output", "y.npy"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == BAD_INPUT and "two outputs" in done.stderr, done


def test_a_name_as_long_as_can_be_is_written(tenon, tmp_path, made):
    """In bytes, not in letters."""
    for letter in ("o", "é", "漢"):
        name = letter * ((255 - len(".npy")) // len(letter.encode())) + ".npy"
        subprocess.run([tenon, "run", made / "net.tenon", "--output", name], cwd=tmp_path, check=True, capture_output=True)
        assert (tmp_path / name).exists()


def test_an_output_of_an_earlier_run_is_replaced(tenon, tmp_path, made):
    for _ in range(2):
        subprocess.run([tenon, "inspect", made / "net.pt", "--dot", "net.dot"], cwd=tmp_path, check=True, capture_output=True)
        subprocess.run([tenon, "convert", made / "net.pt", "-o", "net.tenon"], cwd=tmp_path, check=True, capture_output=True)
