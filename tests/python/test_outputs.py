"""No verb overwrites what it reads: every option that writes a file, derived from the command line itself."""

import os
import re
import subprocess

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
    known = {"FILE": {"--weights-from", "--source", "--compare"}, "INPUT": {"--input"}, "LIBRARY": {"--operators"},
             "TEXT": {"--method", "--device"}}  # TEXT: no file
    for kind, flags in known.items():
        assert {flag for _, flag in options(tenon, lambda t, kind=kind: t == kind)} <= flags
    assert len(options(tenon, writes)) >= 11
    assert {verb for verb, _ in options(tenon, writes)} <= set(COMMANDS)


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
            if name == "in_0.npy" and verb not in ("run", "verify", "check"):
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


def in_a_file(folder, suffix):
    (folder / "file").write_text("kept")
    return folder / "file" / ("out" + suffix), BAD_INPUT, "is a file, not a folder"


def a_folder(folder, suffix):
    (folder / ("taken" + suffix)).mkdir()
    return folder / ("taken" + suffix), BAD_INPUT, "this is a folder, not a file"


def nowhere(folder, suffix):
    return folder / "no" / "such" / ("out" + suffix), BAD_INPUT, "mkdir -p"


as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


@pytest.mark.parametrize("target_in", [nowhere, in_a_file, a_folder, pytest.param(not_writable, marks=as_user),
                                       pytest.param(written_once, marks=as_user)])
def test_outputs_are_checked_before_anything_is_run(tenon, tmp_path, target_in):
    """Of models that cannot even be read, the output is what is wrong first."""
    (tmp_path / "files").mkdir()
    for name in ("net.pt", "net.tenon"):
        (tmp_path / "files" / name).write_bytes(b"no model")
    numpy.save(tmp_path / "files/in_0.npy", numpy.zeros((2, 3), "float32"))
    (tmp_path / "files/case.toml").write_text('model = "net.pt"\n')
    for place, (verb, flag) in enumerate(options(tenon, writes)):
        folder = tmp_path / str(place)
        folder.mkdir()
        target, code, words = target_in(folder, SUFFIX.get((verb, flag), ".json"))
        before = sorted(folder.rglob("*"))
        done = subprocess.run([tenon, verb, *COMMANDS[verb], flag, target], cwd=tmp_path, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == code and words in done.stderr, (verb, flag, done)
        assert done.stdout == "" and str(target) in done.stderr, (verb, flag, done)
        assert sorted(folder.rglob("*")) == before, (verb, flag)


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


def test_onnx_weights_beside_the_model_are_inputs_too(tenon, tmp_path):
    """The data file of an ONNX model is read by the reader, not named on the command line."""
    onnx = pytest.importorskip("onnx")
    weight = onnx.numpy_helper.from_array(numpy.ones((64, 64), "float32"), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 64])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 64])], [weight])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8),
              tmp_path / "net.onnx", save_as_external_data=True, location="net.json", size_threshold=0)
    before = (tmp_path / "net.json").read_bytes()
    for command in (["inspect", "net.onnx", "--html", "net.json"], ["convert", "net.onnx", "--no-verify", "-o", "net.json"]):
        done = subprocess.run([tenon, *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == BAD_INPUT and "would replace" in done.stderr, done
        assert (tmp_path / "net.json").read_bytes() == before


def test_an_output_of_an_earlier_run_is_replaced(tenon, tmp_path, made):
    for _ in range(2):
        subprocess.run([tenon, "inspect", made / "net.pt", "--dot", "net.dot"], cwd=tmp_path, check=True, capture_output=True)
        subprocess.run([tenon, "convert", made / "net.pt", "-o", "net.tenon"], cwd=tmp_path, check=True, capture_output=True)
