"""What is typed wrong, and what Tenon says: one error that names what, where and what to do, and the right exit code."""

import gzip
import json
import os
import shutil
import subprocess

import numpy
import pytest

BAD_INPUT, UNSUPPORTED, ENVIRONMENT = 2, 3, 4


@pytest.fixture(scope="module")
def place(tenon, tmp_path_factory):
    """A folder with what people have: models whole and cut, other formats, arrays, a folder of a hub."""
    import onnx
    import torch
    from onnx import TensorProto, helper, numpy_helper

    folder = tmp_path_factory.mktemp("messages")
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(3, 4, 3)

        def forward(self, x):
            return torch.relu(self.conv1(x))

    net = Net().eval()
    torch.jit.trace(net, torch.zeros(1, 3, 8, 8)).save(folder / "net.pt")
    torch.jit.script(net).save(folder / "scripted.pt")
    torch.export.save(torch.export.export(net, (torch.zeros(1, 3, 8, 8),)), folder / "net.pt2")
    torch.save(net.state_dict(), folder / "weights.pt")

    class Quantised(torch.nn.Module):
        def forward(self, x):
            return torch.ops.quantized.celu(torch.quantize_per_tensor(x, 0.1, 0, torch.quint8), 0.1, 0, 1.0).dequantize()

    torch.jit.trace(Quantised(), torch.zeros(1, 4)).save(folder / "quantised.pt")
    weight = numpy_helper.from_array(numpy.ones((4, 4), "float32"), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / "net.onnx")
    whole = (folder / "net.onnx").read_bytes()
    (folder / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    onnx.save(model, folder / "apart.onnx", save_as_external_data=True, location="apart.onnx.data", size_threshold=0)
    (folder / "apart.onnx.data").unlink()
    subprocess.run([tenon, "convert", "net.pt", "-o", "net.tenon", "--no-verify"], cwd=folder, check=True)
    whole = (folder / "net.tenon").read_bytes()
    (folder / "cut.tenon").write_bytes(whole[:-100])
    (folder / "short.tenon").write_bytes(whole[:200])
    (folder / "net.gguf").write_bytes(b"GGUF" + bytes(60))
    (folder / "net.tflite").write_bytes(bytes([28, 0, 0, 0]) + b"TFL3" + bytes(60))
    (folder / "net.pt.gz").write_bytes(gzip.compress((folder / "net.pt").read_bytes()))
    (folder / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(60))
    numpy.save(folder / "double.npy", numpy.zeros((1, 3, 8, 8)))
    numpy.save(folder / "two.npy", numpy.zeros((2, 3, 8, 8), "float32"))
    numpy.save(folder / "x.npy", numpy.zeros((1, 3, 8, 8), "float32"))
    (folder / "hub").mkdir()
    (folder / "hub/config.json").write_text("{}")
    (folder / "hub/model.safetensors").write_bytes(bytes(16))
    shutil.copy(folder / "net.pt", folder / "-dash.pt")
    (folder / "models").mkdir()
    shutil.copy(folder / "net.pt", folder / "models/model.pt")
    return folder


def said(tenon, place, *words, **options):
    done = subprocess.run([tenon, *words], cwd=place, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, **options)
    return done.returncode, done.stderr


# What is typed, the exit code, what the error says.
TABLE = [
    # Sizes.
    ("convert net.pt --input x=f32[-1,3,32,32]", BAD_INPUT,
     ["'-1' is not a size", "a name for one that varies", "--input 'x=f32[N,3,32,32]'"]),
    ("convert net.pt --input x=f32[?,3,?,?]", BAD_INPUT, ["'?' is not a size", "'x=f32[N,3,d2,d3]'"]),
    ("convert net.pt --input x=f32[*,3,8,8]", BAD_INPUT, ["'*' is not a size", "'x=f32[N,3,8,8]'"]),
    ("convert net.pt --input x=f32[None,3,8,8]", BAD_INPUT, ["'None' is not a size", "'x=f32[N,3,8,8]'"]),
    ("convert net.pt --input x=f32[1,-3,8,8]", BAD_INPUT, ["'-3' is not a size"]),
    ("run net.pt --input f32[-1,3,8,8]", BAD_INPUT, ["'-1' is not a size", "--input 'f32[N,3,8,8]'"]),
    # Types of inputs.
    ("convert net.pt --input x=f16[1,3,8,8]", BAD_INPUT,
     ["f16", "f32", "the model's weights are f32", "x=f32[1,3,8,8]", "model.half()"]),
    ("convert net.pt2 --input x=f16[1,3,8,8]", BAD_INPUT, ["f16", "f32", "--input 'x=f32[1,3,8,8]'", "export the model again"]),
    ("convert net.onnx --input x=f16[1,4]", BAD_INPUT, ["f16", "f32", "--input 'x=f32[1,4]'", "export the model again"]),
    ("run net.tenon --input two.npy", BAD_INPUT, ["dim 0 is 2, not 1", "--input 'x=f32[N,3,8,8]'"]),
    ("run net.tenon --input x=double.npy", BAD_INPUT, ["x is f64", "f32", ".astype('float32')"]),
    ("run net.pt --input x=image.png", BAD_INPUT, [".png", "not read", "numpy.save"]),
    ("run net.pt --input sound.wav", BAD_INPUT, [".wav", "not read", "numpy.save"]),
    ("run net.pt --input x=what", BAD_INPUT, ["'what'", "--input x=x.npy"]),
    ("convert scripted.pt", BAD_INPUT, ["--input 'x=f32["]),
    # The model.
    ("convert no/such/net.pt -o no/folder/net.tenon", BAD_INPUT, ["no such file", "no/such/net.pt"]),
    ("convert ne.pt", BAD_INPUT, ["no such file", "did you mean net.pt?"]),
    ("convert https://example.org/net.pt", BAD_INPUT, ["local files", "curl -LO https://example.org/net.pt"]),
    ("inspect hf://org/net", BAD_INPUT, ["local files", "download"]),
    ("convert ''", BAD_INPUT, ["no model is given"]),
    ("convert -", BAD_INPUT, ["standard input"]),
    ("convert", BAD_INPUT, ["no model is given", "tenon convert model", "Example"]),
    ("convert hub", BAD_INPUT, ["model hub", "from_pretrained", "torch.export.save"]),
    ("convert models", BAD_INPUT, ["folder", "models/model.pt"]),
    ("convert net.gguf", UNSUPPORTED, ["GGUF", "torch.export.save"]),
    ("convert net.tflite", UNSUPPORTED, ["TensorFlow Lite", "tf2onnx"]),
    ("convert net.pt.gz", BAD_INPUT, ["gzip", "gunzip"]),
    ("convert quantised.pt", UNSUPPORTED, ["quantized::celu", "before it is quantised"]),
    ("convert weights.pt", BAD_INPUT, ["state_dict", "torch.export.save"]),
    ("inspect apart.onnx", BAD_INPUT, ["apart.onnx keeps its weights in apart.onnx.data, which is missing", "copy"]),
    ("inspect cut.onnx", BAD_INPUT, ["cut or damaged", "again"]),
    ("inspect cut.tenon", BAD_INPUT, ["cut or damaged", "again"]),
    ("inspect short.tenon", BAD_INPUT, ["cut", "again"]),
    ("convert net.tenon", BAD_INPUT, ["converted already", "tenon run net.tenon", "-o model.onnx"]),
    ("verify net.tenon --source nosuch.pt", BAD_INPUT, ["no such file", "nosuch.pt"]),
    ("equiv net.pt nosuch.pt", BAD_INPUT, ["no such file", "nosuch.pt"]),
    ("equiv net.pt", BAD_INPUT, ["'other' is missing (The model to compare it with)", "tenon equiv model other"]),
    ("equiv", BAD_INPUT, ["no model is given"]),
    ("check net.pt", BAD_INPUT, ["this is a file", "folder"]),
    # Files that are missing: what is there.
    ("run net.tenon --input x=tow.npy", BAD_INPUT, ["no such file", "try: did you mean two.npy?"]),
    ("run net.tenon --input x=elsewhere.npy", BAD_INPUT, ["no such file", "try: see what is there: ls ."]),
    ("run net.tenon --input x=no/folder/x.npy", BAD_INPUT, ["no such file", "try: there is no folder no/folder either"]),
    ("run net.tenon --tuning nosuch.jsonl", BAD_INPUT, ["no such file", "try:"]),
    # Verbs and options.
    ("conver net.pt", BAD_INPUT, ["'conver'", "did you mean tenon convert?"]),
    ("--convert net.pt", BAD_INPUT, ["'--convert'", "did you mean tenon convert?"]),
    ("-v", BAD_INPUT, ["tenon --version"]),
    ("net.pt", BAD_INPUT, ["a verb comes before", "tenon run net.pt"]),
    ("", BAD_INPUT, ["no verb is given", "convert"]),
    ("help convrt", BAD_INPUT, ["did you mean tenon convert?"]),
    ("ops --jsno", BAD_INPUT, ["no option '--jsno'", "did you mean --json?"]),
    ("run net.pt --thread=2", BAD_INPUT, ["no option '--thread'", "did you mean --threads?"]),
    ("run --thread 2 net.pt", BAD_INPUT, ["no option '--thread'", "did you mean --threads?"]),
    ("profile --iters 1 --wramup 3 net.pt net.onnx", BAD_INPUT, ["no option '--wramup'", "did you mean --warmup?"]),
    ("run net.pt --input x.npy y.npy", BAD_INPUT, ["'y.npy' is one word too many", "--input x.npy --input y.npy"]),
    ("convert net.pt --off raise canonicalise", BAD_INPUT, ["--off raise --off canonicalise"]),
    ("run net.tenon --output=", BAD_INPUT, ["--output is given no value", "--output=[NAME=]OUTFILE"]),
    ("profile net.pt --vs= --iters 5", BAD_INPUT, ["--vs is given no value"]),
    ("verify net.tenon --bisect nodes", BAD_INPUT, ["'nodes' is one word too many", "--bisect takes values or rewrites"]),
    ("check models --update speeds", BAD_INPUT, ["'speeds' is one word too many", "--update takes outputs or graph or speed or all"]),
    ("inspect -dash.pt", BAD_INPUT, ["'-dash.pt' is taken for an option", "./-dash.pt"]),
    ("run net.tenon --output y.txt", BAD_INPUT, ["'y.txt' is no name for arrays"]),
    ("run net.tenon --output /dev/shm/y.txt", BAD_INPUT, ["'/dev/shm/y.txt' is no name for arrays"]),
    ("profile net.pt --device cuda", ENVIRONMENT, ["no device 'cuda'", "cpu"]),
    # The environment.
    ("run net.tenon --output /dev/full", ENVIRONMENT, ["No space left on device", "free some space"]),
]


@pytest.mark.parametrize("typed, code, words", TABLE, ids=[row[0] or "nothing" for row in TABLE])
def test_what_is_typed_wrong(tenon, place, typed, code, words):
    before = sorted(os.listdir(place))
    exit_code, text = said(tenon, place, *["" if word == "''" else word for word in typed.split()])
    assert exit_code == code, text
    assert text.startswith("error: ") and text.count("error: ") == 1, text
    for word in words:
        assert word in text
    assert sorted(os.listdir(place)) == before


def test_a_name_is_on_one_line_and_can_be_pasted(tenon, tmp_path, place):
    """Whatever the file is called; of many, some are named."""
    names = ["two\nlines.pt", "tab\t.pt", "\x1b[31mred.pt", "it's\n'.pt", "back\\slash\n.pt", "\u202eturned.pt"]
    for name in names:
        folder = tmp_path / str(names.index(name))
        folder.mkdir()
        shutil.copy(place / "net.pt", folder / name)
        code, text = said(tenon, folder, "inspect", ".")
        assert code == BAD_INPUT and text.count("\n") == 3, text
        word = text.split("give the file: ")[1].rstrip("\n")
        done = subprocess.run(["bash", "-c", f"'{tenon}' convert {word} --no-verify"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.count("\n") == 1, done
    for i in range(40):
        (place / "many").mkdir(exist_ok=True)
        (place / f"many/{i:02}.pt").write_bytes(b"")
    code, text = said(tenon, place, "inspect", "many")
    shutil.rmtree(place / "many")
    assert code == BAD_INPUT and "many/04.pt, or one of 35 more" in text, text


def test_without_the_process_of_libtorch(tenon, place, tmp_path):
    """A tenon alone: what it misses is named, doctor lives on, and the exit code is the environment's."""
    alone = tmp_path / "tenon"
    shutil.copy(tenon, alone)
    code, text = said(alone, place, "run", "net.pt")
    assert code == ENVIRONMENT, text
    assert "tenon-torch, is not there" in text and "./dev build" in text and ".pt2" in text
    done = subprocess.run([alone, "doctor"], capture_output=True, text=True, timeout=120)
    assert done.returncode == ENVIRONMENT
    rows = {line[9:26].strip(): line for line in done.stdout.splitlines() if line[:8].strip() in ("ok", "missing")}
    assert rows["LibTorch"].startswith("missing") and rows["device cpu"].startswith("ok")


def test_doctor_looks_at_every_part_whatever_is_missing(alone, tmp_path):
    bare = {"PATH": "/nonexistent", "TMPDIR": str(tmp_path / "nowhere"), "TENON_PYTHON": "no-such-python"}
    done = subprocess.run([alone, "doctor", "--json"], capture_output=True, text=True, timeout=120, env=bare, cwd=tmp_path)
    parts = json.loads(done.stdout)
    assert done.returncode == ENVIRONMENT and done.stderr == ""
    for name in ("version", "cpu", "threads", "memory", "device cpu", "sandbox", "working folder"):
        assert name in parts
    assert not parts["temporary files"]["ok"] and "TMPDIR" in parts["temporary files"]["remedy"]
    assert not parts["ONNX Runtime"]["ok"] and parts["ONNX Runtime"]["remedy"]
    assert all(part["ok"] == (part["remedy"] == "") for part in parts.values())


def test_without_onnxruntime(alone, place):
    code, text = said(alone, place, "verify", "net.onnx", env={**os.environ, "TENON_PYTHON": "/usr/bin/python3 -S"})
    assert code == ENVIRONMENT, text
    assert "onnxruntime" in text


def test_counts_agree_with_their_nouns(tenon, place):
    for verb in (["inspect", "net.tenon"], ["inspect", "net.onnx", "--ops", "--weights"],
                 ["convert", "net.pt", "--report"], ["inspect", "net.pt", "--ir=planned"]):
        done = subprocess.run([tenon, *verb], cwd=place, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        for word in ("nodes", "copies", "steps", "tensors", "rewrites", "operators", "bytes", "numbers"):
            assert f" 1 {word}" not in f" {done.stdout}".replace("(", " ").replace("\n", " "), done.stdout


def test_help_and_version_are_verbs(tenon):
    out = lambda *words: subprocess.run([tenon, *words], check=True, capture_output=True, text=True).stdout
    assert out("version") == out("--version")
    assert out("help") == out("--help")
    assert out("help", "convert") == out("convert", "--help")
    assert "Exit codes" in out("help") and "4 the environment" in out("help")


def test_every_verb_has_an_example_in_its_help(tenon):
    manual = subprocess.run([tenon, "manual"], check=True, capture_output=True, text=True).stdout
    verbs = [line.removeprefix("## tenon ") for line in manual.splitlines() if line.startswith("## tenon ")]
    assert {"convert", "help", "version", "manual"} <= set(verbs)
    for verb in verbs:
        text = subprocess.run([tenon, verb, "--help"], check=True, capture_output=True, text=True).stdout
        assert "Example: " in text and f"tenon {verb}" in text.split("Example: ")[1]
        assert " ..." not in text, "an option that looks as if it took several words"


def test_a_value_that_is_optional_leaves_the_next_word_alone(tenon, place):
    code, text = said(tenon, place, "check", "--update", "nowhere")
    assert code == BAD_INPUT and "nowhere" in text and "no such folder" in text
    code, text = said(tenon, place, "verify", "--bisect", "net.onnx", "--against", "nothing")
    assert "'nothing' is nothing to compare with" in text


def test_run_says_which_inputs_are_random(tenon, place):
    out = lambda *words: subprocess.run([tenon, "run", *words], cwd=place, check=True, capture_output=True, text=True).stdout
    assert "x is random (--seed 7): give it with --input x=x.npy" in out("net.tenon", "--seed", "7")
    assert "random" not in out("net.tenon", "--input", "x.npy")
    assert "x is random" in out("net.tenon", "--input", "x=f32[1,3,8,8]")
    assert out("net.tenon", "--print", "2").count(",") > out("net.tenon", "--print", "0").count(",")
    record = json.loads(out("net.tenon", "--json", "--print", "3"))
    assert record["random_inputs"] == ["x"] and record["seed"] == 0
    assert len(record["outputs"][0]["values"]) == 3 and record["outputs"][0]["shape"] == [1, 4, 6, 6]


def test_the_last_line_of_convert_says_size_and_time(tenon, place, tmp_path):
    done = subprocess.run([tenon, "convert", place / "net.onnx", "-o", "m.tenon", "--no-verify"], cwd=tmp_path, check=True,
                          capture_output=True, text=True)
    assert f", {(tmp_path / 'm.tenon').stat().st_size} B in " in done.stdout and done.stdout.endswith(" s\n")


def on_a_terminal(command, cwd):
    """What the command writes to a terminal of 100 columns."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    child = subprocess.Popen(command, cwd=cwd, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(master)
    assert child.wait() == 0, text
    return text.decode()


def test_progress_shows_on_terminals_and_is_cleared(tenon, place):
    text = on_a_terminal([tenon, "verify", "net.onnx", "--against", "reference", "--bisect"], place)
    assert "evaluating the imported graph in float64" in text
    for line in text.split("\r\n"):
        shown = line.split("\x1b[K")[-1]
        assert not ("verified" in shown and "evaluating" in shown)
    piped = subprocess.run([tenon, "verify", "net.onnx", "--against", "reference", "--bisect"], cwd=place,
                           capture_output=True, text=True)
    assert piped.stderr == "" and "\x1b" not in piped.stdout
