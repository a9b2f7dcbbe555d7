"""What --input gives reaches the model, its source and the second model as each takes it, or is refused: in every verb."""

import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

DONE, DIFFERS, BAD_INPUT = 0, 1, 2
X = numpy.arange(1, 9, dtype="float32").reshape(2, 4)
NAN = numpy.full((2, 4), numpy.nan, "float32")
# Names that a terminal would obey, as the file has them.
CONTROL = {"escape": "\x1b[31mred", "tab": "a\tb", "break": "a\nb", "delete": "a\x7fb", "right to left": "a\u202eb"}


class Steps(torch.nn.Module):
    """Arguments that the conversion fixes, before and behind a tensor."""

    def forward(self, x, k: int, y, mode: str = "slow"):
        return x * k + y if mode == "slow" else x - y


class Scalar(torch.nn.Module):
    def forward(self, x, n):
        return x + n


def save_onnx(path, op, inputs, output, shape):
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(op, [name for name, _, _ in inputs], ["out"])], "net",
        [onnx.helper.make_tensor_value_info(*i) for i in inputs], [onnx.helper.make_tensor_value_info("out", output, shape)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)


def said(tenon, place, *words):
    done = subprocess.run([tenon, *words], cwd=place, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def given(*texts):
    return [word for text in texts for word in ("--input", text)]


@pytest.fixture(scope="module")
def place(tenon, tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    real, text, whole = onnx.TensorProto.FLOAT, onnx.TensorProto.STRING, onnx.TensorProto.INT64
    torch.jit.trace(torch.nn.ReLU(), torch.tensor(X)).save(folder / "net.pt")
    torch.jit.script(Steps()).save(folder / "steps.pt")
    torch.jit.trace(Scalar(), (torch.tensor(X), torch.tensor(2.0))).save(folder / "scalar.pt")
    save_onnx(folder / "net.onnx", "Relu", [("x", real, ["N", 4])], real, ["N", 4])
    save_onnx(folder / "scalar.onnx", "Add", [("x", whole, [2, 4]), ("n", whole, [])], whole, [2, 4])
    save_onnx(folder / "text.onnx", "Identity", [("s", text, [])], text, [])
    for name, text in CONTROL.items():
        save_onnx(folder / f"{name}.onnx", "Relu", [(text, real, ["N", 4])], real, ["N", 4])
    for name, array in {"x": X, "nan": NAN, "y": X[::-1]}.items():
        numpy.save(folder / f"{name}.npy", array)
    steps = given("x=f32[2,4]", "k=3", "y=f32[2,4]")
    for name, words in {"net.pt": [], "net.onnx": [], "steps.pt": steps, "scalar.pt": [], "scalar.onnx": [], "text.onnx": []}.items():
        to = name.replace(".", "_") + ".tenon"
        code, text = said(tenon, folder, "convert", name, "-o", to, *words)
        assert code == DONE, text
    return folder


VERBS = {
    "convert": ["-o", "out.tenon"], "inspect": [], "run": [], "profile": ["--iters", "1", "--no-roofline"], "verify": [],
    "verify --against reference": [], "verify --properties": [], "equiv": ["net.pt"],
}


NOBODY = ["nan.npy", "f32[9,9]", "5", '"text"']


@pytest.mark.parametrize("verb, model, value", [
    (v, m, value) for v in VERBS for m in ("net.pt", "net.onnx", "net_pt.tenon", "net_onnx.tenon")
    for value in (NOBODY if v == "verify" else NOBODY[:1]) if v != "convert" or not m.endswith(".tenon")])
def test_a_name_that_nobody_takes_is_an_error(tenon, place, verb, model, value):
    name, *options = verb.split()
    code, text = said(tenon, place, name, model, *options, *VERBS[verb], "--input", f"nobody={value}")
    assert code == BAD_INPUT and "nobody" in text and "verified" not in text, text
    assert "no input 'nobody'" in text or "no parameter for the input 'nobody'" in text, text


@pytest.mark.parametrize("model", ["net.pt", "net.onnx", "net_pt.tenon"])
@pytest.mark.parametrize("twice", [("x=x.npy", "x=nan.npy"), ("k=3", "k=x.npy")])
def test_a_name_given_twice_is_an_error(tenon, place, model, twice):
    for verb in "run", "verify":
        code, text = said(tenon, place, verb, model, *given(*twice))
        assert code == BAD_INPUT and f"input {twice[0][0]} is given twice" in text, text


@pytest.mark.parametrize("name", CONTROL)
def test_a_name_is_the_one_of_the_file_and_the_one_that_is_printed(tenon, place, name):
    model = f"{name}.onnx"
    code, text = said(tenon, place, "inspect", model)
    printed = next(line for line in text.splitlines() if line.startswith("input ")).split(None, 1)[1].rsplit(":", 1)[0]
    assert code == DONE and printed.isprintable() and printed != CONTROL[name], text
    code, text = said(tenon, place, "convert", model, "-o", "control.tenon")
    assert code == DONE, text
    for typed in CONTROL[name], printed:
        for verb in "run", "verify":
            for file in model, "control.tenon":
                code, text = said(tenon, place, verb, file, *given(f"{typed}=nan.npy"))
                assert ("NOT VERIFIED" if verb == "verify" else "(8 NaN)") in text, text
        code, text = said(tenon, place, "convert", model, "--input", f"{typed}=nan.npy", "-o", "nan.tenon")
        assert code == DIFFERS and "NOT VERIFIED" in text, text


STEPS = ["x=x.npy", "k=3", "y=y.npy"]


@pytest.mark.parametrize("words", [
    ["run", "steps.pt"], ["verify", "steps.pt"], ["verify", "steps_pt.tenon"], ["equiv", "steps.pt", "steps_pt.tenon"],
    ["equiv", "steps_pt.tenon", "steps.pt"], ["profile", "steps.pt", "steps_pt.tenon", "--iters", "1", "--no-roofline"],
    ["profile", "steps_pt.tenon", "steps.pt", "--iters", "1", "--no-roofline"]], ids=" ".join)
def test_a_fixed_argument_is_given_to_who_takes_it(tenon, place, words):
    code, text = said(tenon, place, *words, *given(*STEPS, 'mode="slow"'))
    assert code == DONE, text
    code, text = said(tenon, place, *words, *given(*STEPS, "nobody=3"))
    assert code == BAD_INPUT and "nobody" in text, text


def test_what_the_second_model_calls_otherwise_is_the_same_input(tenon, place):
    real = onnx.TensorProto.FLOAT
    save_onnx(place / "other.onnx", "Relu", [("z", real, ["N", 4])], real, ["N", 4])
    for models in ("net.onnx", "other.onnx"), ("other.onnx", "net.onnx"):
        code, text = said(tenon, place, "equiv", *models, *given("z=nan.npy"))
        assert code == DIFFERS and "every value is NaN" in text, text


def test_inputs_in_order_are_those_of_the_source(tenon, place):
    code, text = said(tenon, place, "run", "steps.pt", *given("x.npy", "3", "y.npy", '"slow"'), "--output", "out.npy")
    assert code == DONE, text
    numpy.testing.assert_allclose(numpy.load(place / "out.npy"), X * 3 + X[::-1])
    code, text = said(tenon, place, "verify", "steps.pt", *given("x.npy", "3", "y.npy", '"slow"'))
    assert code == DONE, text
    code, text = said(tenon, place, "run", "steps.pt", *given("x.npy", "3", "y.npy", '"slow"', "5"))
    assert code == BAD_INPUT and "more inputs are given" in text, text


@pytest.mark.parametrize("model, value", [
    ("scalar.pt", "n=5"), ("scalar_pt.tenon", "n=5"), ("scalar.onnx", "n=5"), ("scalar_onnx.tenon", "n=5"),
    ("text.onnx", 's="abc"'), ("text_onnx.tenon", 's="abc"'), ("text.onnx", 's=""')])
def test_a_number_or_string_reaches_the_source_as_it_takes_it(tenon, place, model, value):
    code, text = said(tenon, place, "run", model, *given(value))
    assert code == DONE, text
    code, text = said(tenon, place, "verify", model, *given(value))
    assert code == DONE and "verified" in text, text


@pytest.mark.parametrize("model", ["net.pt", "net.onnx", "net_pt.tenon", "net_onnx.tenon"])
@pytest.mark.parametrize("value", ["5", "0.5", "true", '"text"'])
def test_what_is_written_out_is_no_tensor_with_axes(tenon, place, model, value):
    code, text = said(tenon, place, "run", model, *given(f"x={value}"))
    assert code == BAD_INPUT and "input" in text, text


def test_a_number_that_the_dtype_cannot_hold(tenon, place):
    for model in "scalar.onnx", "scalar_onnx.tenon":
        code, text = said(tenon, place, "run", model, *given("n=2.5"))
        assert code == BAD_INPUT and "2.5, which i64 cannot hold" in text, text


# An option that does nothing in this use is refused.
UNUSED = [
    *[(f"run net_pt.tenon --check {o}", o.split()[0])
      for o in ("--input x.npy", "--shape N=2", "--stream", "--output q.npy", "--print 2", "--json")],
    ("run net.pt --tolerance 1e-3", "--tolerance"),
    ("run net.pt --stream --input x.npy --shape N=2", "--shape"),
    *[(f"verify net_pt.tenon --against samples {o}", o.split()[0])
      for o in ("--input x=nan.npy", "--shape N=9", "--source net.pt", "--weights-from w.safetensors", "--samples 2")],
    ("verify net.onnx --against samples --shape N=9", "--shape"),
    *[(f"verify net_pt.tenon {use} {o}", o.split()[0]) for use in ("--against reference", "--properties")
      for o in ("--source net.pt", "--weights-from w.safetensors")],
    ("convert net.pt --no-verify --tolerance 1e-3 -o out.tenon", "--tolerance"),
    ("inspect net.pt --depth 3", "--depth"),
    ("inspect net.pt --ir fused --html page.html", "--html"),
    ("profile net.pt --depth 3", "--depth"),
    ("profile net.pt net.onnx --by op", "--by"),
    ("profile net.pt --vs=--no-fuse --by op", "--by"),
    *[(f"check samples --list {o}", o.split()[0]) for o in ("--update", "--junit out.xml", "--json out.json", "--fail-fast")],
]


@pytest.mark.parametrize("typed, option", UNUSED, ids=[typed for typed, _ in UNUSED])
def test_an_option_that_does_nothing_is_refused(tenon, place, typed, option):
    (place / "samples").mkdir(exist_ok=True)
    for name, array in {"in_0": X, "out_0": X}.items():
        numpy.save(place / "samples" / f"{name}.npy", array)
    (place / "samples/model.pt").write_bytes((place / "net.pt").read_bytes())
    before = sorted(p.name for p in place.iterdir())
    code, text = said(tenon, place, *typed.split())
    assert code == BAD_INPUT and f"error: {option} does nothing" in text, text
    assert sorted(p.name for p in place.iterdir()) == before
