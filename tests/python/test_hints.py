"""A hint names the model's own inputs and sizes, and what it tells to type can be pasted."""

import ast
import re
import shlex
import subprocess
import zipfile

import numpy
import pytest

torch = pytest.importorskip("torch")

DONE, DIFFERS, BAD_INPUT = 0, 1, 2
WORDS, FRAME = "the words:0", "it's/a frame"  # names that a shell or a path takes apart
# The same, what ends a name, and names of which a file's name is one.
NAMES = ["a=b", "images/x", "a/b", "a_b", "a b", "-x", "输入", "权重", "$HOME", "x" * 300, "y.npy", "tab\there"]


@pytest.fixture(scope="module")
def place(tenon, tmp_path_factory):
    """Models whose inputs and sizes have names of their own, arrays for each input, artifacts."""
    import onnx
    from onnx import TensorProto, helper

    folder = tmp_path_factory.mktemp("hints")

    def save(name, output, dtype, nodes, sizes, inputs):
        graph = helper.make_graph(
            [helper.make_node(op, list(operands), [result]) for op, operands, result in nodes], "net",
            [helper.make_tensor_value_info(n, t, sizes) for n, t in inputs],
            [helper.make_tensor_value_info(output, dtype, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, folder / name)

    varying, fixed = ["phrases", "letters"], [2, 4]
    both = [(WORDS, TensorProto.INT64), (FRAME, TensorProto.FLOAT)]
    add = [("CastLike", [WORDS, FRAME], "w"), ("Add", ["w", FRAME], "out")]
    root = [("Log", [x], y) for x, y in zip([FRAME, "a", "b", "c"], ["a", "b", "c", "out"])]  # NaN but for large numbers
    for nodes, name in (add, "vary"), (root, "nan"):
        inputs = both if name == "vary" else both[1:]
        save(f"{name}.onnx", "out", TensorProto.FLOAT, nodes, varying, inputs)
        save(f"{name}_fixed.onnx", "out", TensorProto.FLOAT, nodes, fixed, inputs)
    save("unshaped.onnx", "out", TensorProto.FLOAT, [("Neg", [FRAME], "out")], None, both[1:])

    every = [(name, TensorProto.FLOAT) for name in NAMES]
    save("names.onnx", "out", TensorProto.FLOAT, [("Sum", NAMES, "out")], varying, every)
    save("names_unshaped.onnx", "out", TensorProto.FLOAT, [("Sum", NAMES, "out")], None, every)
    for name in ("images", "a", "it's"):
        (folder / name).mkdir()

    class Windows(torch.nn.Module):
        def forward(self, picture):
            return torch.nn.functional.avg_pool2d(picture, 5)

    torch.jit.trace(Windows(), torch.zeros(1, 1, 9, 9)).save(folder / "windows.pt")
    for name in ("vary", "vary_fixed", "names"):
        subprocess.run([tenon, "convert", f"{name}.onnx", "--no-verify"], cwd=folder, check=True, capture_output=True)
    subprocess.run([tenon, "convert", "windows.pt", "--input", "picture=f32[1,1,tall,wide]", "--no-verify"], cwd=folder,
                   check=True, capture_output=True)
    numpy.save(folder / "wide.npy", numpy.ones((3, 4), "float32"))
    return folder


def name_in(flag) -> str:
    return flag[1:flag.index('"=')] if flag.startswith('"') else flag.split("=")[0]


def save_files(place, flags):
    """What the hint says to save, a file for each input."""
    files = [flag.removeprefix(f'"{name_in(flag)}"=').removeprefix(f"{name_in(flag)}=") for flag in flags if flag.endswith(".npy")]
    assert len(set(files)) == len(files), files
    for flag, file in zip((f for f in flags if f.endswith(".npy")), files):
        numpy.save(place / file, numpy.full((2, 4), 100, "int64" if name_in(flag) == WORDS else "float32"))


def said(tenon, place, words):
    done = subprocess.run([tenon, *words], cwd=place, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def flags_in(text) -> list[str]:
    """The options of the hint, as a shell reads them."""
    line = next(line for line in text.splitlines() if line.startswith("  try: ") or " random (--seed" in line)
    flags = re.findall(r"--(?:input|shape) (?:'(?:[^']|'\\'')*'|[^\s'])+", line)
    return [word.rstrip(",;") for flag in flags for word in shlex.split(flag)]


# What is typed, its exit code, whether the same with what the hint says is done.
TABLE = [
    (["run", "vary.onnx"], DONE, True),
    (["run", "vary.tenon"], DONE, True),
    (["run", "vary.onnx", "--shape", "N=4"], BAD_INPUT, True),
    (["run", "vary.tenon", "--shape", "phrases"], BAD_INPUT, True),
    (["run", "vary_fixed.onnx", "--shape", "phrases=4"], BAD_INPUT, False),
    (["run", "vary_fixed.tenon", "--input", f"{FRAME}=wide.npy"], BAD_INPUT, False),
    (["run", "windows.tenon", "--shape", "tall=4"], BAD_INPUT, True),
    (["run", "windows.tenon", "--shape", "tall=0"], BAD_INPUT, False),  # a kernel of 5
    (["run", "names.onnx"], DONE, True),
    (["run", "names.tenon"], DONE, True),
    (["verify", "names.onnx"], DONE, None),  # nothing to say
    (["run", "names_unshaped.onnx"], BAD_INPUT, True),
    (["convert", "nan.onnx", "-o", "nan.tenon"], DIFFERS, True),
    (["convert", "nan_fixed.onnx", "-o", "nan.tenon"], DIFFERS, True),
    (["run", "unshaped.onnx"], BAD_INPUT, True),
    (["run", "vary.onnx", "--input", f"{FRAME}=f16[2,4]"], BAD_INPUT, True),
    (["run", "vary.onnx", "--input", f"{FRAME}=f32[?,4]"], BAD_INPUT, True),
    (["run", "vary.onnx", "--input", f"{FRAME}=what"], BAD_INPUT, False),
    (["run", "vary.onnx", "--input", f"{FRAME}=what.png"], BAD_INPUT, False),
    (["run", "vary.tenon", "--stream"], BAD_INPUT, False),
]


@pytest.mark.parametrize("typed, code, is_done", TABLE, ids=[" ".join(row[0]) for row in TABLE])
def test_a_hint_names_what_the_model_has(tenon, place, typed, code, is_done):
    exit_code, text = said(tenon, place, typed)
    assert exit_code == code, text
    if is_done is None:
        return
    flags = flags_in(text)
    assert flags, text
    is_traced = "windows" in typed[1]
    symbols = {"tall", "wide"} if is_traced else {"phrases", "letters"}
    shown = {name.replace("\t", "\\u0009") for name in NAMES}
    inputs = {"picture"} if is_traced else shown if "names" in typed[1] else {WORDS, FRAME}
    for flag, value in zip(flags[::2], flags[1::2]):
        assert name_in(value) in (inputs if flag == "--input" else symbols), text
    if not is_done:
        return
    options = [word for flag, word in zip(["", *typed], typed) if not {flag, word} & {"--input", "--shape"}]
    pasted, rounds = {}, 3
    while rounds and flags:
        save_files(place, flags[1::2])
        pasted |= {(flag, name_in(value)): value for flag, value in zip(flags[::2], flags[1::2])}
        exit_code, text = said(tenon, place, [*options, *(w for (flag, _), value in pasted.items() for w in (flag, value))])
        rounds -= 1
        if exit_code == DONE:
            return
        flags = flags_in(text)
    raise AssertionError((pasted, text))


FILES = ["plain", "my model", "it's", "-dash", "$HOME `id`", "a\nb", "a\u202eb", "~x", "=y", "back\\slash", 'quo"te', "日本"]


def word_in(command, place) -> str:
    """The word of the command that names a file, as a shell hands it on."""
    called = command.split()[0]
    script = f'{called}() {{ for word; do case $word in *model*|*case*) printf %s "$word"; esac; done; }}\n{command}'
    return subprocess.run(["bash", "-c", script], cwd=place, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", FILES)
def test_a_command_of_a_hint_is_pasted(tenon, place, tmp_path, name):
    zipped, keras, hdf, artifact = (tmp_path / f"{name} model{suffix}" for suffix in (".zip", ".keras", ".h5", ".tenon"))
    for path, entry in (zipped, "readme.txt"), (keras, "config.json"):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(entry, "{}")
            if path == keras:
                file.writestr("metadata.json", "{}")
                file.writestr("model.weights.h5", "{}")
    hdf.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    artifact.write_bytes((place / "vary.tenon").read_bytes())
    case = tmp_path / f"{name} case"
    case.mkdir()
    (case / "model.onnx").write_bytes((place / "vary.onnx").read_bytes())
    for verb, path, words in (("inspect", zipped, r"first: (.*)"), ("inspect", hdf, r"ONNX: (.*) --output"),
                              ("convert", artifact, r"run it: (.*?); or write"), ("check", case, r"record what there is: (.*)")):
        text = said(tenon, tmp_path, [verb, "--", path.name])[1]
        command = re.search(words, text)
        assert command, text
        assert (tmp_path / word_in(command[1], tmp_path)).samefile(path), text
    text = said(tenon, tmp_path, ["inspect", "--", keras.name])[1]
    literal = re.search(r"load_model\((.*)\)\.export", text)
    assert literal and ast.literal_eval(literal[1]) == keras.name, text


@pytest.mark.parametrize("string", ["times", 'fast"', "a b", "it's", "a\\nb", '"x"', "a=b"])
def test_a_string_is_given_as_the_hint_says(tenon, tmp_path, string):
    class Says(torch.nn.Module):
        def forward(self, x, mode: str):
            return x * len(mode)

    torch.jit.script(Says()).save(tmp_path / "says.pt")
    x = ["--input", "x=f32[2]"]
    typed = ["run", "says.pt", *x, "--input", f"mode={string}"]
    text = said(tenon, tmp_path, typed)[1]
    flags = flags_in(text)
    if string == '"x"':
        flags, string = ["--input", f"mode={string}"], "x"
    numpy.save(tmp_path / "x.npy", numpy.ones(2, "float32"))
    code, text = said(tenon, tmp_path, ["run", "says.pt", "--input", "x=x.npy", *flags[-2:], "--json"])
    assert code == DONE and re.search(rf"\b{len(string)}\.0", text), text


@pytest.mark.parametrize("typed, wanted", [
    ("mode=x.npy", 'mode="TEXT"'), ("mode=f32[2]", 'mode="TEXT"'), ("mode=5", 'mode="TEXT"'), ("xs=x.npy", "xs.0=f32[N,16]"),
    ("xs=5", "xs.0=f32[N,16]"), ("n=x.npy", "n=1"), ('n="text"', "n=1"), ("flag=x.npy", "flag=true")])
def test_an_argument_is_given_as_its_type_says(tenon, tmp_path, typed, wanted):
    class Takes(torch.nn.Module):
        def forward(self, xs: list[torch.Tensor], mode: str, n: int, flag: bool):
            return xs[0] * n if flag and mode == "a" else xs[0]

    torch.jit.script(Takes()).save(tmp_path / "takes.pt")
    numpy.save(tmp_path / "x.npy", numpy.ones(2, "float32"))
    code, text = said(tenon, tmp_path, ["run", "takes.pt", "--input", typed])
    assert code == BAD_INPUT and flags_in(text) == ["--input", wanted], text


# Sizes of an array, of the input, what is done with the array.
TURNED = [
    ((1, 8, 9, 3), (1, 3, 8, 9), "array.transpose(0, 3, 1, 2)"),
    ((8, 9, 3), (1, 3, 8, 9), "array.transpose(2, 0, 1)[None]"),
    ((3, 8, 9), (1, 3, 8, 9), "numpy.expand_dims(array, 0)"),
    ((10, 7), ("N", 10), "array.transpose(1, 0)"),
    ((4,), ("N", 4), "numpy.expand_dims(array, 0)"),
    ((5, 6), ("N", 4), None),
]


@pytest.mark.parametrize("form", ["onnx", "pt2", "tenon"])
@pytest.mark.parametrize("given, wanted, turn", TURNED, ids=[f"{g} for {w}" for g, w, _ in TURNED])
def test_an_array_is_turned_as_the_hint_says(tenon, tmp_path, form, given, wanted, turn):
    import onnx
    from onnx import TensorProto, helper

    array = numpy.arange(numpy.prod(given), dtype="float64").reshape(given)
    if form == "pt2":
        x = torch.zeros([3 if s == "N" else s for s in wanted])
        dynamic = {i: torch.export.Dim.DYNAMIC for i, s in enumerate(wanted) if s == "N"}
        torch.export.save(torch.export.export(torch.nn.ReLU(), (x,), dynamic_shapes=(dynamic,)), tmp_path / "m.pt2")
        name = "input"
    else:
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, wanted)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, wanted)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, tmp_path / "m.onnx")
        name = "x"
    if form == "tenon":
        said(tenon, tmp_path, ["convert", "m.onnx", "--no-verify"])
    rounds = 0
    while True:
        numpy.save(tmp_path / "x.npy", array)
        code, text = said(tenon, tmp_path, ["run", f"m.{form}", "--input", f"{name}=x.npy", "--output", "y.npy"])
        steps = re.findall(r"numpy\.expand_dims\(array, 0\)|array\.\w+\([^)]*\)(?:\[None\])?", text)
        if code == DONE or not steps:
            break
        assert code == BAD_INPUT and rounds < 2, text
        for step in steps:
            array = eval(step, {"array": array, "numpy": numpy})
        rounds += 1
    if turn is None:
        assert code == BAD_INPUT and array.shape == given and array.dtype == "float32", text
        return
    assert code == DONE, text
    expected = eval(turn, {"array": numpy.arange(numpy.prod(given), dtype="float32").reshape(given), "numpy": numpy})
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "y.npy"), expected)


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """Attention over caches whose lengths torch.export finds by itself: each has a symbol of its own."""
    folder = tmp_path_factory.mktemp("caches")

    class Layers(torch.nn.Module):
        def forward(self, x, keys, values):
            for k, v in zip(keys, values):
                x = torch.nn.functional.scaled_dot_product_attention(x, torch.cat([k, x], 2), torch.cat([v, x], 2))
            return x

    auto, dim = torch.export.Dim.AUTO, torch.export.Dim
    x, cache = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 5, 8)
    inputs = (x, (cache, cache.clone()), (cache.clone(), cache.clone()))
    free = {0: auto, 2: auto}
    torch.export.save(torch.export.export(Layers(), inputs, dynamic_shapes=(free, (free, free), (free, free))), folder / "auto.pt2")
    past = {2: dim("past", min=0, max=64)}
    new = {2: dim("new", min=3, max=8)}
    torch.export.save(torch.export.export(Layers(), inputs, dynamic_shapes=(new, (past, past), (past, past))), folder / "named.pt2")
    numpy.save(folder / "empty.npy", numpy.zeros((2, 4, 0, 8), "float32"))
    return folder


def test_caches_of_sizes_that_are_not_known_to_be_equal(tenon, caches):
    code, text = said(tenon, caches, ["run", "auto.pt2"])
    assert code == BAD_INPUT and "not known to be equal" in text and "any size from 1 (dim 2 of input keys.0)" in text, text
    flags = flags_in(text)
    assert [value.split("=")[0] for value in flags[1::2]] == ["values.0", "values.1"], text  # all at once
    code, text = said(tenon, caches, ["run", "auto.pt2", *flags])
    assert code == DONE, text


def test_empty_caches(tenon, caches):
    code, text = said(tenon, caches, ["run", "named.pt2", "--shape", "T=0"])
    assert code == BAD_INPUT and "0 to 64" not in text and "1 to 64 (dim 2 of input keys.0)" in text, text
    past, new = (value.split("=")[0] for value in flags_in(text)[1::2])
    if "3 to 8 (dim 2 of input x)" in text.split(past)[1]:
        past, new = new, past
    code, text = said(tenon, caches, ["run", "named.pt2", "--shape", f"{past}=0"])
    assert code == DONE and "f32[2,4,8,8]" in text, text
    files = [word for part in ("keys.0", "keys.1", "values.0", "values.1") for word in ("--input", f"{part}=empty.npy")]
    code, text = said(tenon, caches, ["run", "named.pt2", *files])
    assert code == DONE, text
    code, text = said(tenon, caches, ["run", "named.pt2", "--shape", f"{new}=0"])
    assert code == BAD_INPUT and "is 0, the graph allows 3 to 8" in text and f"--shape {new}=3" in text, text
    said(tenon, caches, ["convert", "named.pt2", "--no-verify"])
    code, text = said(tenon, caches, ["run", "named.tenon", "--shape", f"{past}=0"])
    assert code == BAD_INPUT and "1 to 64" in text and f"convert the source for empty inputs too: --shape {past}=0" in text, text
    code, text = said(tenon, caches, ["convert", "named.pt2", "--shape", f"{past}=0"])
    assert code == DONE and "equal to LibTorch" in text, text
    code, text = said(tenon, caches, ["run", "named.tenon", "--shape", f"{past}=0"])
    assert code == DONE, text


def test_sizes_of_two_models_are_chosen_as_the_hint_says(tenon, place):
    typed = ["profile", "vary.onnx", "vary_fixed.onnx", "--iters", "1", "--no-roofline"]
    code, text = said(tenon, place, typed)
    assert code == BAD_INPUT and "--shape letters=" in text and "--shape phrases=" in text, text
    assert "N=" not in text
    code, text = said(tenon, place, [*typed, "--shape", "letters=4", "--shape", "phrases=2"])
    assert code == DONE, text
