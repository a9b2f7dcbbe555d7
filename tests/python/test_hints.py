"""A hint names the model's own inputs and sizes, and what it tells to type can be pasted."""

import re
import shlex
import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch")

DONE, DIFFERS, BAD_INPUT = 0, 1, 2
WORDS, FRAME = "the words:0", "it's/a frame"  # names that a shell or a path takes apart


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
    root = [("Sub", [FRAME, FRAME], "zero"), ("Log", ["zero"], "low"), ("Sqrt", ["low"], "out")]
    for nodes, name in (add, "vary"), (root, "nan"):
        inputs = both if name == "vary" else both[1:]
        save(f"{name}.onnx", "out", TensorProto.FLOAT, nodes, varying, inputs)
        save(f"{name}_fixed.onnx", "out", TensorProto.FLOAT, nodes, fixed, inputs)
    save("unshaped.onnx", "out", TensorProto.FLOAT, [("Neg", [FRAME], "out")], None, both[1:])

    class Windows(torch.nn.Module):
        def forward(self, picture):
            return torch.nn.functional.avg_pool2d(picture, 5)

    torch.jit.trace(Windows(), torch.zeros(1, 1, 9, 9)).save(folder / "windows.pt")
    for name in ("vary", "vary_fixed"):
        subprocess.run([tenon, "convert", f"{name}.onnx", "--no-verify"], cwd=folder, check=True, capture_output=True)
    subprocess.run([tenon, "convert", "windows.pt", "--input", "picture=f32[1,1,tall,wide]", "--no-verify"], cwd=folder,
                   check=True, capture_output=True)
    for name in (WORDS, FRAME):
        array = numpy.ones((2, 4), "int64" if name == WORDS else "float32")
        numpy.save(folder / ("".join(c if c.isalnum() else "_" for c in name) + ".npy"), array)
    numpy.save(folder / "wide.npy", numpy.ones((3, 4), "float32"))
    return folder


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
    flags = flags_in(text)
    assert flags, text
    is_traced = "windows" in typed[1]
    symbols = {"tall", "wide"} if is_traced else {"phrases", "letters"}
    inputs = {"picture"} if is_traced else {WORDS, FRAME}
    for flag, value in zip(flags[::2], flags[1::2]):
        assert value.split("=")[0] in (inputs if flag == "--input" else symbols), text
    if not is_done or code == DIFFERS:
        return
    pasted, rounds = {}, 3
    while rounds and flags:
        pasted |= {(flag, value.split("=")[0]): value for flag, value in zip(flags[::2], flags[1::2])}
        exit_code, text = said(tenon, place, ["run", typed[1], *(w for (flag, _), value in pasted.items() for w in (flag, value))])
        rounds -= 1
        if exit_code == DONE:
            return
        flags = flags_in(text)
    raise AssertionError((pasted, text))


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
