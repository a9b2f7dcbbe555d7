"""Nothing compared is not equal: no verb calls a model right of whose outputs no number was compared."""

import json
import re

import numpy
import pytest

torch = pytest.importorskip("torch")

DONE, DIFFERS, BAD_INPUT = 0, 1, 2


class Same(torch.nn.Module):
    def forward(self, x):
        return x * 2


class NaN(torch.nn.Module):
    def forward(self, x):
        return x * float("nan")


class Infinite(torch.nn.Module):
    def forward(self, x):
        return x.abs() * float("inf")


class OneNaN(torch.nn.Module):
    def forward(self, x):
        return x * 2, x * float("nan")


class OneEmpty(torch.nn.Module):
    def forward(self, x):
        return x * 2, x[:, :0] + 1


class Integers(torch.nn.Module):
    def forward(self, x):
        return (x * 10).long()


NUMBERS, NONE = "x=f32[2,3]", "x=f32[0,3]"
# Model, input, whether there is something to compare, and what is said where there is not (or beside what was).
MODELS = {
    "numbers": (Same, NUMBERS, True, ""),
    "integers": (Integers, NUMBERS, True, ""),
    "an empty output beside others": (OneEmpty, NUMBERS, True, "is empty: nothing of it was compared"),
    "NaN": (NaN, NUMBERS, False, "every value is NaN"),
    "infinities": (Infinite, NUMBERS, False, "every value is infinite"),
    "NaN in one output": (OneNaN, NUMBERS, False, "every value is NaN"),
    "no rows": (Same, NONE, False, "no elements"),
    "no rows of integers": (Integers, NONE, False, "no elements"),
}


@pytest.fixture(params=MODELS)
def case(request, tmp_path):
    """The model in tmp_path/net.pt, --input for it, whether it is comparable, and words."""
    module, size, comparable, words = MODELS[request.param]
    example = torch.randn([int(n) for n in size[6:-1].split(",")])
    torch.jit.trace(module(), example, check_trace=False).save(str(tmp_path / "net.pt"))
    (tmp_path / "case").mkdir()
    numpy.save(tmp_path / "case/in_0.npy", example.numpy())
    outputs = module()(example)
    for k, y in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
        numpy.save(tmp_path / f"case/out_{k}.npy", y.numpy())
    (tmp_path / "case/model.pt").write_bytes((tmp_path / "net.pt").read_bytes())
    return size, comparable, words


def test_no_verb_calls_it_right(run, case, tmp_path):
    size, comparable, words = case
    code = DONE if comparable else DIFFERS

    def said(*arguments, equal):
        text = run(*arguments, code=code)
        assert (equal in text) == comparable, text
        assert words in text, text
        return text

    text = said("convert", "net.pt", "--input", size, "--json", "conversion.json", equal="equal to LibTorch (relative error")
    assert ("NOT VERIFIED" in text) != comparable
    verified = json.loads((tmp_path / "conversion.json").read_text())["verified"]
    assert verified.startswith("relative error" if comparable else "no: ") and (comparable or words in verified)
    assert verified in run("inspect", "net.tenon", code=DONE)
    text = run("run", "net.tenon", "--check", code=code)
    assert ("NOT VERIFIED" in text) != comparable and words in text
    for verb in (["verify", "net.pt"], ["verify", "net.pt", "--against", "reference"], ["verify", "net.pt", "--against", "case"],
                 ["verify", "net.tenon", "--source", "net.pt"]):
        said(*verb, *(["--input", size] if verb[1] == "net.pt" else []), "--json", "verify.json", equal="verified\n")
        found = json.loads((tmp_path / "verify.json").read_text())
        assert found["ok"] == comparable and (comparable or words in found["problem"])
    said("equiv", "net.pt", "case/model.pt", "--input", size, equal="same numbers")
    said("check", "case", equal="1 passed")
    (tmp_path / "case/model.pt").unlink()
    (tmp_path / "net.tenon").rename(tmp_path / "case/model.tenon")
    said("check", "case", equal="1 passed")
    for kind in ("in", "out"):
        for stored in (tmp_path / "case").glob(f"{kind}_*.npy"):
            stored.unlink()
    said("check", "case", equal="1 passed")  # the goldens


def test_properties_need_numbers(run, tmp_path):
    torch.jit.trace(NaN(), torch.randn(2, 3), check_trace=False).save(str(tmp_path / "nan.pt"))
    text = run("verify", "nan.pt", "--properties", code=DIFFERS)
    assert "NOT COMPARED" in text and "every value is NaN" in text


def test_bisection_names_the_first_value_without_numbers(run, tmp_path):
    class Late(torch.nn.Module):
        def forward(self, x):
            return torch.relu(torch.sin(x) * float("nan")) + 1

    torch.jit.trace(Late(), torch.randn(2, 3), check_trace=False).save(str(tmp_path / "late.pt"))
    text = run("verify", "late.pt", "--bisect", "--no-fuse", code=DIFFERS)
    assert "the first value of which nothing can be compared" in text and "mul(" in text, text
    text = run("verify", "late.pt", "--bisect=rewrites", code=DIFFERS)
    assert "cannot be told: nothing of output" in text, text


def test_an_output_is_compared_when_one_sample_has_numbers(run, tmp_path):
    """As many rows as are positive: some samples have none."""

    class Positive(torch.nn.Module):
        def forward(self, x):
            return x[x > 0]

    torch.jit.script(Positive()).save(str(tmp_path / "positive.pt"))
    for k, value in enumerate((-1.0, 1.0)):
        folder = tmp_path / f"case/test_data_set_{k}"
        folder.mkdir(parents=True)
        x = numpy.full(3, value, "float32")
        numpy.save(folder / "in_0.npy", x)
        numpy.save(folder / "out_0.npy", x[x > 0])
    (tmp_path / "case/model.pt").write_bytes((tmp_path / "positive.pt").read_bytes())
    assert "verified" in run("verify", "positive.pt", "--input", "x=f32[3]", "--against", "case", code=DONE)
    run("check", "case", code=DONE)


def test_written_onnx_is_not_called_the_same(run, tmp_path):
    pytest.importorskip("onnxruntime")
    torch.jit.trace(NaN(), torch.randn(2, 3), check_trace=False).save(str(tmp_path / "nan.pt"))
    text = run("convert", "nan.pt", "-o", "nan.onnx", code=DIFFERS)
    assert "NOT VERIFIED" in text and "gives the same" not in text
    assert (tmp_path / "nan.onnx").exists()


def test_a_size_of_0_is_compared_at_another_one_too(run, tmp_path):
    """By convert: what holds for no rows says nothing of rows. The user's other sizes stay."""
    x = torch.export.Dim("rows", min=0, max=64), torch.export.Dim("columns", min=2, max=64)
    program = torch.export.export(Same(), (torch.zeros(3, 4),), dynamic_shapes={"x": dict(enumerate(x))})
    torch.export.save(program, tmp_path / "same.pt2")
    said = run("inspect", "same.pt2", "--shape", "nosuch=1", code=BAD_INPUT)  # the archive has names of its own
    name = {axis: symbol for symbol, axis in re.findall(r"(s\d+): [^(]*\(dim (\d) of input x\)", said)}
    said = run("convert", "same.pt2", "--shape", name["0"] + "=0", "--shape", name["1"] + "=5", "-o", "same.tenon", code=DONE)
    sizes = [re.findall(rf"{name[axis]}=(\d+)", said) for axis in "01"]
    assert "equal to LibTorch" in said and sizes == [["0", "2"], ["5", "5"]], said
    run("run", "same.tenon", "--shape", name["0"] + "=0", code=DONE)
    said = run("convert", "same.pt2", "--input", "x=f32[0,5]", "-o", "none.tenon", code=DIFFERS)
    assert "NOT VERIFIED" in said and "try: inputs of other sizes" in said, said
