"""What a hostile model, or a folder it came in, may not do: run code, reach files, take the machine."""

import ctypes
import errno
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[2]
DONE, DIFFERS, BAD_INPUT, ENVIRONMENT = 0, 1, 2, 4


def save_onnx(path: Path):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def save_scripted(path: Path):
    torch.jit.trace(torch.nn.Linear(4, 4).eval(), torch.randn(2, 4)).save(path)


# Python's own modules, the packages that the script imports, and what every start of Python looks for.
MODULES = ("json", "numpy", "onnxruntime", "ctypes", "signal", "sitecustomize", "usercustomize")


@pytest.mark.parametrize("verb", [("verify", "m.onnx"), ("convert", "m.onnx", "-o", "m.tenon"), ("check", ".", "--update")])
def test_python_beside_the_model_does_not_run(run, tmp_path, monkeypatch, verb):
    save_onnx(tmp_path / "m.onnx")
    save_onnx(tmp_path / "model.onnx")
    for module in MODULES:
        (tmp_path / f"{module}.py").write_text("import os\nopen(os.environ['RAN'], 'w')\nraise SystemExit('ran')\n")
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    run(*verb, code=DONE)
    assert not (tmp_path / "ran").exists()


def test_python_of_the_working_folder_is_not_found(run_alone, tmp_path):
    save_onnx(tmp_path / "m.onnx")
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\ntouch ran\n")
    fake.chmod(0o755)
    run_alone("verify", "m.onnx", code=DONE, PATH=f".::{Path(sys.executable).parent}")
    assert not (tmp_path / "ran").exists()


def test_the_python_beside_the_binary_comes_first(run, tmp_path, monkeypatch):
    save_onnx(tmp_path / "m.onnx")
    monkeypatch.setenv("TENON_PYTHON", "no-such-python")
    monkeypatch.setenv("PATH", "/nowhere")
    assert "verified" in run("verify", "m.onnx", code=DONE)
    assert "beside tenon" in run("doctor", code=DONE)


def test_doctor_says_which_python_it_is(run_alone):
    assert f"by {sys.executable} (TENON_PYTHON)" in run_alone("doctor", code=DONE, TENON_PYTHON=sys.executable)
    assert "there is no program no-such-python" in run_alone("doctor", code=ENVIRONMENT, TENON_PYTHON="no-such-python")


# --- the LibTorch process

VERBS = [
    ("convert", "m.pt", "-o", "m.tenon"),
    ("run", "m.pt"),
    ("inspect", "m.pt"),
    ("verify", "m.pt", "--bisect"),
    ("equiv", "m.pt", "m.pt"),
    ("profile", "m.pt"),
    ("check", "cases", "--update"),
]


@pytest.fixture(scope="session")
def spied(alone, tenon, tmp_path_factory):
    """The folder of a tenon whose tenon-torch writes its arguments and variables to log-N before it starts."""
    folder = tmp_path_factory.mktemp("spied")
    (folder / "tenon").symlink_to(alone)
    spied = folder / "bin"
    spied.mkdir()
    (spied / "tenon").write_bytes(alone.read_bytes())
    (spied / "tenon").chmod(0o755)
    (spied / "tenon-torch").write_text(f"""#!/bin/sh
{{ echo "$@"; cat /proc/$$/environ; }} >>{folder}/log
exec {tenon.parent}/tenon-torch "$@"
""")
    (spied / "tenon-torch").chmod(0o755)
    return folder


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_every_verb_limits_the_libtorch_process(spied, tmp_path, verb):
    save_scripted(tmp_path / "m.pt")
    (tmp_path / "cases/one").mkdir(parents=True)
    save_scripted(tmp_path / "cases/one/model.pt")
    (spied / "log").unlink(missing_ok=True)
    done = subprocess.run([spied / "bin/tenon", *verb], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "AWS_SECRET_ACCESS_KEY": "key"})
    assert done.returncode == DONE, done.stdout + done.stderr
    log = (spied / "log").read_text()
    starts = [line for line in log.splitlines() if "--memory" in line]
    assert starts and not any("--memory 0" in line for line in starts), log
    assert "AWS_SECRET" not in log and "HOME=" not in log


def test_doctor_says_how_libtorch_is_shut_in(run_alone):
    said = run_alone("doctor", code=DONE, TENON_PYTHON=sys.executable)
    assert "sandbox" in said and ("Landlock" in said or "not fully shut in" in said)


def kernel_without(*calls):
    """For preexec_fn: the kernel answers these system calls as one that lacks them."""
    load, jump_if_equal, answer, allow, lacking = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | errno.ENOSYS
    code = [(load, 0, 0, 0), *(step for call in calls for step in ((jump_if_equal, 0, 1, call), (answer, 0, 0, lacking))),
            (answer, 0, 0, allow)]
    text = b"".join(struct.pack("HBBI", *step) for step in code)

    def limit():
        kept, libc = ctypes.create_string_buffer(text), ctypes.CDLL(None)
        no_new_privileges, install_filter = 38, 22
        assert libc.prctl(no_new_privileges, 1, 0, 0, 0) == 0
        assert libc.prctl(install_filter, 2, struct.pack("HxxxxxxP", len(code), ctypes.addressof(kept))) == 0

    return limit


LANDLOCK, SECCOMP = 444, 317  # on x86-64


@pytest.mark.parametrize("calls, missing", [([LANDLOCK], ["no Landlock"]), ([SECCOMP], ["no seccomp"]),
                                            ([LANDLOCK, SECCOMP], ["no Landlock", "no seccomp"])])
def test_a_kernel_that_cannot_shut_libtorch_in_is_named(tenon, tmp_path, calls, missing):
    save_scripted(tmp_path / "m.pt")
    for verb, code in [(["doctor"], ENVIRONMENT), (["run", "m.pt", "--input", "f32[2,4]"], DONE)]:
        done = subprocess.run([tenon, *verb], cwd=tmp_path, capture_output=True, text=True, preexec_fn=kernel_without(*calls))
        said = done.stdout + done.stderr
        assert done.returncode == code and "not fully shut in" in said and all(part in said for part in missing), said


# --- code named by data

LIBRARY = """#include <stdio.h>
__attribute__((constructor)) static void run(void) { fclose(fopen("RAN", "w")); }
"""


def test_a_case_loads_no_library_unless_told_so(run, tmp_path):
    case = tmp_path / "cases/one"
    case.mkdir(parents=True)
    save_onnx(case / "model.onnx")
    (tmp_path / "bad.c").write_text(LIBRARY.replace("RAN", str(tmp_path / "ran")))
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "bad.c", "-o", case / "libbad.so"], check=True)
    (case / "case.toml").write_text('libraries = ["libbad.so"]\n')
    for options in ([], ["--update"]):
        said = run("check", "cases", *options, code=DIFFERS)
        assert "loads libbad.so, a library: code that runs with your rights" in said and "--allow-libraries" in said
        assert not (tmp_path / "ran").exists()
    run("check", "cases", "--allow-libraries", code=DIFFERS)  # it is no operator library, but it ran
    assert (tmp_path / "ran").exists()


# --- names that a terminal or a CI service would obey

EVIL = "\nOWNED\r\n::error::OWNED\n  ::warning::x\x1b]0;OWNED\x07\x1b[2J\x9b31m\x85\u2028\u202e##[command]x\x7f\ufffe"


def evil_onnx(path: Path, op: str = "Relu", domain: str = ""):
    x, y = (helper.make_tensor_value_info(name + EVIL, TensorProto.FLOAT, ["N" + EVIL, 3]) for name in "xy")
    w = helper.make_tensor("w" + EVIL, TensorProto.FLOAT, [3], [1, 2, 3])
    nodes = [helper.make_node("Mul", [x.name, w.name], ["m" + EVIL], name="/layer" + EVIL + "/Mul"),
             helper.make_node(op, ["m" + EVIL], [y.name], name="/layer" + EVIL + "/Relu", domain=domain)]  # fmt: skip
    graph = helper.make_graph(nodes, "g" + EVIL, [x], [y], [w], doc_string=EVIL)
    imports = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    onnx.save(helper.make_model(graph, opset_imports=imports, producer_name=EVIL, ir_version=10), path)


class Named(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return {"a" + EVIL: self.linear(x), "b" + EVIL: x + 1}


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A folder with hostile names in files of every kind."""
    folder = tmp_path_factory.mktemp("evil")
    evil_onnx(folder / "m.onnx")
    evil_onnx(folder / "op.onnx", op="Evil" + EVIL)
    evil_onnx(folder / "domain.onnx", op="Evil", domain="d" + EVIL)
    x = torch.randn(2, 3)
    torch.jit.trace(Named().eval(), x, strict=False).save(folder / "m.pt")
    torch.export.save(torch.export.export(Named().eval(), (x,)), folder / "m.pt2")
    np.savez(folder / "in.npz", **{"x" + EVIL.replace("\0", ""): x.numpy()})
    cases = folder / "cases"
    for name in ("m.onnx", "m.pt", "m.pt2"):
        case = cases / (name[2:] + EVIL.replace("/", ""))
        case.mkdir(parents=True)
        (case / ("model" + name[1:])).write_bytes((folder / name).read_bytes())
        np.save(case / "in_0.npy", x.numpy())
        np.save(case / "out_0.npy", x.numpy() + 7)  # wrong
    return folder


def is_harmless(said: str, commands: bool = False):
    for line in said.split("\n"):
        assert not line.startswith("OWNED"), said
        assert not line.lstrip().startswith("::") or (commands and line.startswith("::error file=")), said
        assert "##[" not in line or line.startswith("::error file="), said
        bad = [c for c in line if (ord(c) < 0x20 and c != "\t") or 0x7F <= ord(c) < 0xA0 or c in "\u2028\u202e"]
        assert not bad, (bad, said)


@pytest.mark.parametrize("model", ["m.onnx", "m.pt", "m.pt2", "m.tenon"])
def test_names_of_a_model_are_shown_and_not_obeyed(tenon, evil, tmp_path, model):
    def say(*arguments, code=DONE):
        done = subprocess.run([tenon, *map(str, arguments)], cwd=tmp_path, capture_output=True, env={**os.environ})
        said = done.stdout.decode("utf8") + done.stderr.decode("utf8")
        is_harmless(said)
        assert code is None or done.returncode == code, said
        return said

    file = evil / model
    if model == "m.tenon":
        say("convert", evil / "m.onnx", "-o", "m.tenon")
        file = tmp_path / "m.tenon"
    else:
        say("convert", file, "-o", "out.tenon", "--report")
        say("convert", file, "-o", "out.tenon")
        say("convert", file, "-o", "out.onnx", code=None)
    assert "OWNED" in say("inspect", file) + say("inspect", file, "--ir", "fused")
    for more in (["--nodes"], ["--json", "-"], ["--dot", "-"], ["--weights"]):
        say("inspect", file, *more, code=None)
    say("run", file, code=None)
    say("run", file, "--input", "nosuch=1.npy", code=BAD_INPUT)
    say("run", file, "--shape", "nosuch=1", code=BAD_INPUT)
    say("run", file, "--input", evil / "in.npz", code=None)
    say("verify", file, "--against", "reference", "--bisect")
    say("verify", file, "--properties", code=None)
    say("equiv", file, file)
    say("profile", file)


@pytest.mark.parametrize("model", ["op.onnx", "domain.onnx"])
def test_an_unknown_operator_is_named_and_not_obeyed(run, evil, model):
    said = run("convert", evil / model, "-o", "m.tenon", code=3)
    assert "Evil" in said
    is_harmless(said)


def test_check_shows_names_and_obeys_none(run, evil, tmp_path):
    is_harmless(run("check", evil / "cases", "--list", code=DONE))
    said = run("check", evil / "cases", "--annotations", "--junit", "r.xml", "--json", "r.json", code=DIFFERS)
    is_harmless(said, commands=True)
    assert said.count("\n::error ") >= 3
    cases = list(ElementTree.parse(tmp_path / "r.xml").iter("testcase"))
    assert len(cases) == 3 and all("OWNED" in c.get("name") for c in cases)
    assert len(json.loads((tmp_path / "r.json").read_text())["cases"]) == 3


# --- the process it is in


def shell(tenon, tmp_path, command):
    return subprocess.run(["bash", "-c", f"tenon() {{ {tenon} \"$@\"; }}; {command}"], cwd=tmp_path, capture_output=True, text=True)


def test_closed_streams_are_no_files_of_ours(tenon, tmp_path):
    """A file opened while stderr is closed would become stderr, and hold our messages."""
    save_scripted(tmp_path / "m.pt")
    assert shell(tenon, tmp_path, "tenon convert m.pt -o m.tenon 2>&-").returncode == DONE
    assert shell(tenon, tmp_path, "tenon run m.tenon --check").returncode == DONE
    for closed in ("<&-", "2>&-", "<&- 2>&-"):
        done = shell(tenon, tmp_path, f"tenon run m.pt --output o.npy {closed} && tenon run m.pt --output nosuch/o.npy {closed}")
        assert done.returncode == BAD_INPUT
        assert np.load(tmp_path / "o.npy").shape == (2, 4)
    done = shell(tenon, tmp_path, "tenon run m.pt >&-")
    assert done.returncode > 1 and "cannot be written" in done.stderr
    assert shell(tenon, tmp_path, "tenon nosuchverb 2>&-").returncode == BAD_INPUT
    assert shell(tenon, tmp_path, "tenon nosuchverb 2>/dev/full").returncode == BAD_INPUT


def test_limits_of_the_shell_are_errors(tenon, tmp_path):
    save_scripted(tmp_path / "m.pt")
    np.save(tmp_path / "x.npy", np.zeros((200_000, 4), "f4"))
    done = shell(tenon, tmp_path, "ulimit -f 16; tenon run m.pt --input input=f32[200000,4] --output o.npy")
    assert done.returncode > 1 and "File too large" in done.stderr, done
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.pt", "x.npy"]
    done = shell(tenon, tmp_path, "tenon run m.pt --input input=f32[200000,4] --output /dev/full")
    assert done.returncode > 1 and "No space left" in done.stderr, done


# --- what the programs are made of


def test_programs_are_hardened(tenon):
    for program in (tenon, tenon.parent / "tenon-torch"):
        dynamic = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
        segments = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
        assert "BIND_NOW" in dynamic and "PIE" in dynamic and "GNU_RELRO" in segments
        assert "RWE" not in next(line for line in segments.splitlines() if "GNU_STACK" in line)
        paths = [line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "RUNPATH" in line or "RPATH" in line]
        assert len(paths) <= (program.name == "tenon-torch") and all(Path(p).is_dir() for p in paths), paths


def test_every_python_package_has_a_hash():
    wanted = {line.split("#")[0].strip() for name in ("requirements.txt", "models/weights.txt")
              for line in (ROOT / name).read_text().splitlines()}  # fmt: skip
    locked = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if not line.startswith("#")]
    assert all(" --hash=sha256:" in line for line in locked)
    names = {line.split(" ")[0].lower() for line in locked}
    assert {w.lower() for w in wanted if w and not w.startswith("torch==")} <= names


def test_the_bill_of_materials_holds_what_is_linked(tenon, tmp_path):
    subprocess.run([sys.executable, ROOT / ".ci/sbom.py", tenon.parent, tmp_path / "s.json"], check=True, capture_output=True)
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["spdxVersion"] == "SPDX-2.3"
    known = " ".join(p["name"].lower() for p in document["packages"])
    for program, expected in ((tenon, 3), (tenon.parent / "tenon-torch", 4)):
        dynamic = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=True).stdout
        needed = [line.split("[lib")[1].split(".so")[0] for line in dynamic.splitlines() if "[lib" in line]
        parts = {"c": "glibc", "m": "glibc", "stdc++": "libstdc++", "gcc_s": "libgcc", "c10": "pytorch", "torch": "pytorch",
                 "torch_cpu": "pytorch"}  # fmt: skip
        for name in needed:
            assert parts.get(name, name) in known, name
        assert len(needed) >= expected
