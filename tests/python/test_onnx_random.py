"""ONNX's random operators and dropout in training mode: refused by default, drawn when asked for, by type and sizes compared."""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

DONE, DIFFERS, BAD_INPUT, UNSUPPORTED = 0, 1, 2, 3
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
N = 40000
ONNX_TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int32": np.int32, "int64": np.int64, "bool": np.bool_}
X = np.linspace(0, 1, N, dtype=np.float32).reshape(200, 200)

# The model behind its head, and mean, variance and fourth central moment of the numbers of y.
UNIFORM = (5.0, 16 / 12, 256 / 80)
NORMAL = (-2.0, 9.0, 243.0)
DRAWS = {
    "RandomUniform": ("g (float[200,200] x) => (float[200,200] y) { y = RandomUniform<shape = [200, 200], low = 3.0, high = 7.0>() }", UNIFORM),
    "RandomUniform of f64": ("g (float[200,200] x) => (double[200,200] y) { y = RandomUniform<shape = [200, 200], dtype = 11, low = 3.0, high = 7.0>() }", UNIFORM),
    "RandomUniformLike": ("g (float[200,200] x) => (float[200,200] y) { y = RandomUniformLike<low = 3.0, high = 7.0>(x) }", UNIFORM),
    "RandomUniformLike of f16": ("g (float[200,200] x) => (float16[200,200] y) { y = RandomUniformLike<dtype = 10, low = 3.0, high = 7.0>(x) }", UNIFORM),
    "RandomNormal": ("g (float[200,200] x) => (float[200,200] y) { y = RandomNormal<shape = [200, 200], mean = -2.0, scale = 3.0, seed = 1.0>() }", NORMAL),
    "RandomNormalLike": ("g (float[200,200] x) => (float[200,200] y) { y = RandomNormalLike<mean = -2.0, scale = 3.0>(x) }", NORMAL),
    "RandomNormalLike of f64": ("g (float[200,200] x) => (double[200,200] y) { y = RandomNormalLike<dtype = 11, mean = -2.0, scale = 3.0>(x) }", NORMAL),
    # Of probabilities that are spread evenly over [0, 1]: a fair coin.
    "Bernoulli": ("g (float[200,200] x) => (float[200,200] y) { y = Bernoulli(x) }", (0.5, 0.25, 0.0625)),
    "Bernoulli as bool": ("g (float[200,200] x) => (bool[200,200] y) { y = Bernoulli<dtype = 9>(x) }", (0.5, 0.25, 0.0625)),
    # Dropout of ones: 0 or 4 / 3.
    "Dropout": ("""g (float[200,200] x) => (float[200,200] y) <float ratio = {0.25}, bool training = {1}> {
        one = Constant<value_float = 1.0>() e = Equal(x, x) f = Cast<to = 1>(e) z = Mul(f, one) y = Dropout(z, ratio, training) }""",
                (1.0, 1 / 3, 0.75 + 1 / 324)),
}
# Of the classes 0, 1, 2 with the weights 1, 2, 5.
CLASSES = """g (float[200,200] x) => (%s[1,40000] y) <float[1,3] w = {0.0, 0.6931472, 1.6094379}> {
    y = Multinomial<sample_size = 40000%s>(w) }"""
MEAN = 12 / 8
VARIANCE, FOURTH = (sum(p * (k - MEAN) ** n for k, p in enumerate((1 / 8, 2 / 8, 5 / 8))) for n in (2, 4))
DRAWS["Multinomial"] = (CLASSES % ("int32", ""), (MEAN, VARIANCE, FOURTH))
DRAWS["Multinomial as i64"] = (CLASSES % ("int64", ", dtype = 7"), (MEAN, VARIANCE, FOURTH))


@pytest.fixture
def save(tmp_path):
    def save(text):
        onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "model.onnx")
        np.save(tmp_path / "x.npy", X)
        return "model.onnx"

    return save


def drawn(run, tmp_path, model, *options):
    run("run", model, "--random", "--train-mode=drop", "--input", "x=x.npy", "--output", "y.npy", *options, code=DONE)
    return np.load(tmp_path / "y.npy")


@pytest.mark.parametrize("name", DRAWS)
def test_what_is_drawn_has_its_mean_and_variance(run, tmp_path, save, name):
    text, (mean, variance, fourth) = DRAWS[name]
    y = drawn(run, tmp_path, save(text))
    assert y.dtype == ONNX_TYPES[text.split("=> (")[1].split("[")[0]] and y.size == N
    y = y.astype(np.float64)
    assert abs(y.mean() - mean) < 5 * (variance / N) ** 0.5  # five standard errors
    assert abs(y.var() - variance) < 5 * ((fourth - variance**2) / N) ** 0.5 + 1e-9 or variance == 0.25
    if "Uniform" in name:
        assert y.min() >= 3 and y.max() <= 7


def test_the_seed_decides_and_nodes_differ(run, tmp_path, save):
    model = save("g (float[200,200] x) => (float[200,200] y) { a = RandomNormalLike<seed = 1.0>(x) b = RandomNormalLike<seed = 1.0>(x) y = Sub(a, b) }")
    first, again, other = (drawn(run, tmp_path, model, "--seed", seed) for seed in (0, 0, 1))
    assert (first == again).all() and (first != other).mean() > 0.99
    assert abs(first.var() - 2) < 0.1  # of two that are independent


def test_a_model_that_draws_is_refused_with_the_flag_that_allows_it(run, save):
    assert "--random" in run("run", save(DRAWS["Bernoulli"][0]), code=UNSUPPORTED)
    assert "--train-mode=drop" in run("run", save(DRAWS["Dropout"][0]), code=UNSUPPORTED)


def test_dropout_may_be_kept(run, tmp_path, save):
    run("run", save(DRAWS["Dropout"][0]), "--train-mode=keep", "--input", "x=x.npy", "--output", "y.npy", code=DONE)
    assert (np.load(tmp_path / "y.npy") == 1).all()


@pytest.mark.parametrize("version, training", [(1, {}), (6, {}), (7, None), (10, None)])
def test_dropout_of_old_operator_sets(run, tmp_path, version, training):
    """Up to version 6 an attribute says whether it trains, and the mask was a float up to version 9."""
    attributes = {"ratio": 0.25, **({"is_test": 0} if training is not None else {})}
    node = helper.make_node("Dropout", ["x"], ["y", "mask"], **attributes)
    of_mask = TensorProto.FLOAT if version < 10 else TensorProto.BOOL
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [200, 200])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [200, 200]),
                               helper.make_tensor_value_info("mask", of_mask, [200, 200])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=4), tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.ones((200, 200), np.float32))
    run("run", "model.onnx", "--train-mode=drop", "--input", "x.npy", "--output", "out.npz", code=DONE)
    out = np.load(tmp_path / "out.npz")
    wanted = 0.75 if training is not None else 1
    assert abs(out["mask"].astype(float).mean() - wanted) < 0.02 and ((out["y"] != 0) == (out["mask"] != 0)).all()


@pytest.mark.parametrize("text, words", [
    ("g (int64[2] x) => (int64[2] y) { y = RandomNormalLike(x) }", "its dtype is to be a float"),
    ("g (float[2] x) => (float[2] y) { y = RandomUniform<shape = [-2]>() }", "its shape has the size -2"),
    ("g (float[2] x) => (int32[1,1] y) { y = Multinomial(x) }", "its input"),
    ("g (float[2,2] x) => (int32[2,0] y) { y = Multinomial<sample_size = 0>(x) }", "its sample_size is 0"),
    ("g (float[2] x) => (float[2] y) <float r = {1.5}, bool t = {1}> { y = Dropout(x, r, t) }", "its ratio 1.5 is not within [0, 1)"),
])
def test_what_is_no_draw_is_refused(run, save, text, words):
    assert words in run("run", save(text), "--random", "--train-mode=drop", code=BAD_INPUT)


ALL, SOME = "{ y = Bernoulli(x) }", "{ y = Bernoulli(x) z = Neg(x) }"


def test_conversion_compares_types_and_sizes(run, tmp_path, save):
    model = save(f"g (float[N,200] x) => (float[N,200] y) {ALL}")
    said = run("convert", model, "--random", "-o", "m.tenon", code=DONE)
    assert "compared with ONNX Runtime (types and sizes only: random numbers decide y)" in said and "equal" not in said
    said = run("verify", model, "--random", code=DONE)
    assert said.endswith("types and sizes only: random numbers decide y\n") and "verified" not in said
    assert run("verify", model, "--random", "--against", "reference", code=DONE).endswith("verified\n")  # the same draws
    assert "types and sizes only" in run("inspect", "m.tenon", code=DONE)
    run("run", "m.tenon", "--check", code=DONE)  # the goldens are the artifact's own draws
    said = run("equiv", model, "m.tenon", "--random", "--shape", "N=2", code=DIFFERS)
    assert "NOT VERIFIED (types and sizes only: random numbers decide y)" in said


def test_what_is_not_drawn_is_compared(run, tmp_path, save):
    model = save(f"g (float[N,200] x) => (float[N,200] y, float[N,200] z) {SOME}")
    said = run("convert", model, "--random", "-o", "m.tenon", code=DONE)
    assert "equal to ONNX Runtime (relative error" in said and "; types and sizes only: random numbers decide y)" in said
    assert run("verify", model, "--random", code=DONE).endswith("verified; types and sizes only: random numbers decide y\n")
    other = onnx.parser.parse_model(HEAD + f"g (float[N,200] x) => (float[N,200] y, float[N,200] z) {SOME.replace('Neg', 'Abs')}")
    onnx.save(other, tmp_path / "other.onnx")
    assert run("verify", "m.tenon", "--source", "other.onnx", code=DIFFERS).endswith("DIFFERS\n")


def test_another_type_differs(run, tmp_path, save):
    run("convert", save(f"g (float[4,200] x) => (float[4,200] y) {ALL}"), "--random", "-o", "m.tenon", code=DONE)
    for wrong in ("(double[4,200] y) { y = Bernoulli<dtype = 11>(x) }", "(float[2,400] y) <int64[2] s = {2, 400}> { b = Bernoulli(x) y = Reshape(b, s) }"):
        onnx.save(onnx.parser.parse_model(HEAD + "g (float[4,200] x) => " + wrong), tmp_path / "other.onnx")
        assert run("verify", "m.tenon", "--source", "other.onnx", code=DIFFERS).endswith("DIFFERS\n")


def test_onnx_own_cases_by_types_and_sizes(tenon, tmp_path):
    from coverage import run as run_cases
    from backend_cases import write_cases

    cases = [c for pattern in ("test_bernoulli*", "test_training_dropout*") for c in write_cases(tmp_path, ["node"], pattern, True)]
    verdicts = {r["case"]: r["verdict"] for r in run_cases(tenon, tmp_path, cases, 2)}
    assert len(verdicts) == 12
    compared = {name for name, verdict in verdicts.items() if verdict == "equal"}
    assert compared == {"test_training_dropout_zero_ratio", "test_training_dropout_zero_ratio_mask"}
    assert all(verdict == "types only" for name, verdict in verdicts.items() if name not in compared)


@pytest.fixture
def case(tmp_path, save):
    """case(outputs): a case of ONNX's layout, of a model with a drawn and a computed output."""

    def case(y, z):
        save("g (float[2,2] x) => (float[2,2] y, float[2,2] z) { y = RandomNormalLike(x) z = Neg(x) }")
        data = tmp_path / "case/test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model.onnx").rename(tmp_path / "case/model.onnx")
        for file, name, value in (("input_0", "x", -np.ones((2, 2), np.float32)), ("output_0", "y", y), ("output_1", "z", z)):
            (data / f"{file}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())

    return case


ONES, ZEROS = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)


def test_a_case_says_what_was_compared_by_its_type(run, tmp_path, case):
    case(y=ZEROS, z=ONES)
    said = run("check", "case", "--json", "report.json", code=DONE)
    assert "types and sizes only: random numbers decide y" in said and "1 passed (1 by types and sizes only), 0 failed" in said
    assert json.loads((tmp_path / "report.json").read_text())["cases"][0]["types_only"] == "types and sizes only: random numbers decide y"


@pytest.mark.parametrize("y, z, words", [(ZEROS.astype(np.float64), ONES, "output y of test_data_set_0 is f32[2,2], stored is f64[2,2]"),
                                         (ZEROS[:1], ONES, "output y of test_data_set_0 is f32[2,2], stored is f32[1,2]"),
                                         (ZEROS, ZEROS, "output z of test_data_set_0 differs")])
def test_a_case_fails_by_its_type_or_by_what_is_not_drawn(run, case, y, z, words):
    case(y, z)
    assert words in run("check", "case", code=DIFFERS)


def test_a_case_may_say_what_training_does(run, tmp_path, case):
    case(y=ZEROS, z=ONES)
    (tmp_path / "case/case.toml").write_text("random = false\n")
    assert "--random draws them" in run("check", "case", code=DIFFERS)
    (tmp_path / "case/case.toml").write_text('train_mode = "never"\n')
    assert 'train_mode wants "drop" or "keep"' in run("check", "case", code=BAD_INPUT)
