"""Arguments that are no tensors: numbers, flags and strings, given on the command line as in a case."""

import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch")

DONE, DIFFERS, BAD_INPUT = 0, 1, 2


class Modes(torch.nn.Module):
    def forward(self, x, mode: str, n: int = 2, f: float = 0.5, flag: bool = True):
        if mode == "times":
            x = x * n
        elif mode == "plus f":
            x = x + f
        elif mode == "":
            x = -x
        else:
            raise ValueError("there is no mode " + mode)
        if flag:
            x = x.relu()
        return x


X = numpy.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
GIVEN = [
    (['mode="times"'], ("times",)),
    (['mode="plus f"', "f=2"], ("plus f", 2, 2.0)),
    (['mode=""', "flag=false"], ("", 2, 0.5, False)),
    (['mode="times"', "n=-3", "flag=true"], ("times", -3)),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modes")
    torch.jit.script(Modes()).save(folder / "modes.pt")
    numpy.save(folder / "x.npy", X)
    return folder


def said(tenon, place, *words):
    done = subprocess.run([tenon, *words], cwd=place, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("given, arguments", GIVEN, ids=[" ".join(g) for g, _ in GIVEN])
def test_a_scripted_model_takes_them(tenon, place, given, arguments):
    flags = [word for g in ["x=x.npy", *given] for word in ("--input", g)]
    code, text = said(tenon, place, "convert", "modes.pt", *flags, "-o", "modes.tenon")
    assert code == DONE and "equal to LibTorch" in text, text
    code, text = said(tenon, place, "run", "modes.tenon", "--input", "x.npy", "--output", "y.npy")
    assert code == DONE, text
    numpy.testing.assert_allclose(numpy.load(place / "y.npy"), Modes()(torch.tensor(X), *arguments).numpy(), rtol=1e-6)
    code, text = said(tenon, place, "verify", "modes.tenon", *flags)
    assert code == DONE and "compared with modes.pt" in text, text


def test_what_is_missing_or_wrong_is_said(tenon, place):
    x = ["--input", "x=f32[2,3]"]
    code, text = said(tenon, place, "run", "modes.pt", *x)
    assert code == BAD_INPUT and "--input 'mode=\"TEXT\"'" in text, text
    code, text = said(tenon, place, "run", "modes.pt", *x, "--input", "mode=times")
    assert code == BAD_INPUT and "'times' is no type, file, number or string" in text and "--input 'mode=\"times\"'" in text
    code, text = said(tenon, place, "run", "modes.pt", *x, "--input", "mode=5")
    assert code == BAD_INPUT and "mode" in text and "str" in text, text
    code, text = said(tenon, place, "run", "modes.pt", "--input", 'x="times"', "--input", 'mode="times"')
    assert code == BAD_INPUT and "x" in text and "Tensor" in text, text


def test_a_case_gives_them(tenon, place, tmp_path):
    torch.jit.script(Modes()).save(tmp_path / "model.pt")
    numpy.save(tmp_path / "in_0.npy", X)
    numpy.save(tmp_path / "out_0.npy", Modes()(torch.tensor(X), "plus f").numpy())
    (tmp_path / "case.toml").write_text("[inputs]\nx = \"f32[2,3]\"\nmode = '\"plus f\"'\n")
    code, text = said(tenon, tmp_path, "check", ".")
    assert code == DONE, text


@pytest.mark.parametrize("given, arguments", GIVEN, ids=[" ".join(g) for g, _ in GIVEN])
def test_a_case_records_them(tenon, place, tmp_path, given, arguments):
    """Of LibTorch's outputs, which is asked with the same arguments; what is recorded passes."""
    torch.jit.script(Modes()).save(tmp_path / "model.pt")
    values = (word.split("=", 1) for word in given)
    lines = [f"{name} = '{value}'" if value.startswith('"') else f"{name} = {value}" for name, value in values]
    (tmp_path / "case.toml").write_text("\n".join(["[inputs]", 'x = "f32[2,3]"', *lines]) + "\n")
    for words in (["--update"], []):
        code, text = said(tenon, tmp_path, "check", ".", *words)
        assert code == DONE, text
    x = torch.tensor(numpy.load(tmp_path / "in_0.npy"))
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out_0.npy"), Modes()(x, *arguments).numpy(), rtol=1e-6)
    numpy.save(tmp_path / "out_0.npy", numpy.load(tmp_path / "out_0.npy") + 1)
    code, text = said(tenon, tmp_path, "check", ".")
    assert code == DIFFERS and "LibTorch gives what Tenon gives" in text, text


def test_onnx_runtime_is_given_them_too(tenon, tmp_path):
    onnx = pytest.importorskip("onnx")
    x, k, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in
               (("x", [2, 3]), ("k", []), ("y", [2, 3])))
    graph = onnx.helper.make_graph([onnx.helper.make_node("Mul", ["x", "k"], ["y"])], "g", [x, k], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8),
              tmp_path / "model.onnx")
    (tmp_path / "case.toml").write_text('[inputs]\nx = "f32[2,3]"\nk = 3\n')
    given = ["--input", "x=f32[2,3]", "--input", "k=3"]
    for words in (["check", ".", "--update"], ["check", "."], ["convert", "model.onnx", *given, "-o", "k3.tenon"],
                  ["verify", "model.onnx", *given]):
        code, text = said(tenon, tmp_path, *words)
        assert code == DONE, text
    numpy.testing.assert_allclose(numpy.load(tmp_path / "out_0.npy"), 3 * numpy.load(tmp_path / "in_0.npy"), rtol=1e-6)
