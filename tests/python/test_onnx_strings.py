"""Models of strings: converted and run as ONNX Runtime does, or as ONNX's reference where the two agree on what the standard says."""


import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

DONE, BAD_INPUT, UNSUPPORTED = 0, 2, 3
HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 4]>\n'

WORDS = np.array(["the", "Quick", "the", "", "Brown fox", "straße", "日本"])
GRID = np.array([["a", "b", ""], ["b", "a", "c c"]])
NUMBERS = np.array([3, -1, 7, 3], dtype=np.int64)
REALS = np.array([0.5, np.nan, -0.0, 7], dtype=np.float32)


def expected(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {k: v.astype(object) if v.dtype.kind == "U" else v for k, v in inputs.items()})


def given(run, tmp_path, model, inputs, *options):
    onnx.save(model, tmp_path / "model.onnx")
    arguments = []
    for name, value in inputs.items():
        np.save(tmp_path / f"{name}.npy", value)
        arguments += ["--input", f"{name}={name}.npy"]
    run("run", "model.onnx", *arguments, "--output", "out.npz", *options, code=DONE)
    return list(np.load(tmp_path / "out.npz").values())


def assert_like_onnxruntime(run, tmp_path, model, inputs):
    for value, wanted in zip(given(run, tmp_path, model, inputs), expected(model, inputs), strict=True):
        assert value.shape == wanted.shape
        if wanted.dtype == object:
            assert value.tolist() == wanted.tolist()
        else:
            assert value.dtype == wanted.dtype
            np.testing.assert_allclose(value, wanted)


STRINGS = {
    "reshape, transpose and slice": ("(string[2,3] x) => (string[K,2] y) <int64[1] one = {1}, int64[1] three = {3}, int64[1] axis = {0}>"
                                     "{ t = Transpose(x) y = Slice(t, one, three, axis) }", GRID),
    "flatten and concat": ("(string[2,3] x) => (string[2,6] y) { f = Flatten(x) y = Concat<axis = 1>(f, x) }", GRID),
    "gather": ("(string[2,3] x) => (string[2,2] y) <int64[2] at = {2, -3}> { y = Gather<axis = 1>(x, at) }", GRID),
    "gather elements": ("(string[2,3] x) => (string[1,3] y) <int64[1,3] at = {1, 0, 1}> { y = GatherElements(x, at) }", GRID),
    "tile": ("(string[2,3] x) => (string[2,6] y) <int64[2] times = {1, 2}> { y = Tile(x, times) }", GRID),
    "expand": ("(string[7] x) => (string[2,7] y) <int64[2] shape = {2, 7}> { y = Expand(x, shape) }", WORDS),
    "split": ("(string[2,3] x) => (string[2,1] y, string[2,2] z) <int64[2] sizes = {1, 2}> { y, z = Split<axis = 1>(x, sizes) }", GRID),
    "squeeze and unsqueeze": ("(string[7] x) => (string[7] y) <int64[1] axis = {0}> { u = Unsqueeze(x, axis) y = Squeeze(u, axis) }", WORDS),
    "equal and where": ("(string[2,3] x) => (string[2,3] y) <string[1] a = {\"a\"}, string[1] z = {\"z\"}>"
                        "{ is = Equal(x, a) y = Where(is, z, x) }", GRID),
    "symbolic size": ("(string[N] x) => (bool[N] y) <string[1] the = {\"the\"}> { y = Equal(x, the) }", WORDS),
    "a sequence": ("(string[2,3] x) => (string[4,3] y) { s = SequenceConstruct(x, x) y = ConcatFromSequence<axis = 0>(s) }", GRID),
    "a loop that data end": ("""(string[1] x) => (string[1] y) <int64 most = {9}, bool yes = {1}, string[1] end = {"aaaa"}> {
        y = Loop(most, yes, x) <body = b (int64 i, bool c, string[1] s) => (bool more, string[1] t) {
            t = StringConcat(s, x)
            last = Equal(t, end)
            going = Not(last)
            more = Squeeze(going)
        }>
    }""", np.array(["a"])),
    "an if that data decide": ("""(string[1] x) => (string[1] y) <string[1] a = {"a"}> {
        is = Equal(x, a)
        y = If(is) <then_branch = t () => (string[1] p) { p = StringConcat(x, x) }, else_branch = e () => (string[1] q) { q = Identity(a) }>
    }""", np.array(["b"])),
    "concatenation": ("(string[2,3] x) => (string[2,3] y) <string[3] z = {\"1\", \"\", \"3\"}> { y = StringConcat(x, z) }", GRID),
    "split by blanks": ("(string[7] x) => (string[7,K] y, int64[7] n) { y, n = StringSplit(x) }", WORDS),
    "split once": ("(string[2] x) => (string[2,K] y, int64[2] n) { y, n = StringSplit<delimiter = \"--\", maxsplit = 1>(x) }",
                   np.array(["a--b--c", "no"])),
    "pattern": ("(string[7] x) => (bool[7] y) { y = RegexFullMatch<pattern = \"[A-Z].*|(th|)e?|\\\\\\\\p{Han}+\">(x) }", WORDS),
    "lower, words removed": ("(string[7] x) => (string[K] y) { y = StringNormalizer<locale = \"C.UTF-8\", case_change_action = \"LOWER\","
                             "stopwords = [\"THE\", \"brown fox\"]>(x) }", WORDS),
    "words removed by case": ("(string[7] x) => (string[K] y) { y = StringNormalizer<is_case_sensitive = 1, stopwords = [\"the\", \"quick\"]>(x) }", WORDS),
    "every word removed": ("(string[1,2] x) => (string[1,K] y) { y = StringNormalizer<locale = \"C.UTF-8\", stopwords = [\"a\", \"b\"]>(x) }", np.array([["A", "b"]])),
    "label encoder to integers": ("(string[7] x) => (int64[7] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = [\"the\", \"\", \"日本\"],"
                                  "values_int64s = [5, 6, 7]>(x) }", WORDS),
    "label encoder to floats": ("(string[7] x) => (float[7] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = [\"the\"],"
                                "values_floats = [0.5], default_float = 2.5>(x) }", WORDS),
    "label encoder of strings": ("(string[7] x) => (string[7] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = [\"the\", \"Quick\"],"
                                 "values_strings = [\"der\", \"\"]>(x) }", WORDS),
    "label encoder of integers": ("(int64[4] x) => (string[4] y) { y = ai.onnx.ml.LabelEncoder<keys_int64s = [3, 7],"
                                  "values_strings = [\"three\", \"seven\"], default_string = \"none\">(x) }", NUMBERS),
    "label encoder of floats": ("(float[4] x) => (int64[4] y) { y = ai.onnx.ml.LabelEncoder<keys_floats = [0.5, 0.0],"
                                "values_int64s = [1, 2]>(x) }", REALS),
    "categories to integers": ("(string[7] x) => (int64[7] y) { y = ai.onnx.ml.CategoryMapper<cats_strings = [\"the\", \"日本\"],"
                               "cats_int64s = [10, 20], default_int64 = 99>(x) }", WORDS),
    "categories to strings": ("(int64[4] x) => (string[4] y) { y = ai.onnx.ml.CategoryMapper<cats_strings = [\"a\", \"b\"],"
                              "cats_int64s = [3, -1]>(x) }", NUMBERS),
    "one-hot strings": ("(string[2,3] x) => (float[2,3,3] y) { y = ai.onnx.ml.OneHotEncoder<cats_strings = [\"b\", \"\", \"a\"]>(x) }", GRID),
    "one-hot integers": ("(int64[4] x) => (float[4,2] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [7, 3]>(x) }", NUMBERS),
    "one-hot floats": ("(float[4] x) => (float[4,2] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s = [7, 0]>(x) }", np.float32([0.5, 7.9, -0.0, 7])),
    "columns of strings": ("(string[2,3] x) => (string[2,2] y) <int64[2] at = {2, 0}> { y = ai.onnx.ml.ArrayFeatureExtractor(x, at) }", GRID),
    "n-grams of strings": ("(string[2,3] x) => (float[2,4] y) { y = TfIdfVectorizer<mode = \"TFIDF\", min_gram_length = 1, max_gram_length = 2,"
                           "max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [3, 0, 1, 2], weights = [0.5, 2.0, 3.0, 4.0],"
                           "pool_strings = [\"a\", \"b\", \"a\", \"b\", \"b\", \"c c\"]>(x) }", GRID),
    "n-grams that occur": ("(int64[4] x) => (float[3] y) { y = TfIdfVectorizer<mode = \"IDF\", min_gram_length = 1, max_gram_length = 1,"
                           "max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1, 2], weights = [0.5, 2.0, 3.0],"
                           "pool_int64s = [3, 7, 9]>(x) }", NUMBERS),
    "integers from strings": ("(string[3] x) => (int64[3] y) { y = Cast<to = 7>(x) }", np.array(["3", "-12", "+5"])),
    "floats from strings": ("(string[6] x) => (float[6] y) { y = Cast<to = 1>(x) }", np.array(["3.14", "1e-5", "INF", "-inf", "NaN", "1E8"])),
    "strings from integers": ("(int64[4] x) => (string[4] y) { y = Cast<to = 8>(x) }", NUMBERS),
    "constants": ("(string[7] x) => (string[7] y) { c = Constant<value_strings = [\"-\"]>() d = Constant<value_string = \"!\">()"
                  "e = StringConcat(x, c) y = StringConcat(e, d) }", WORDS),
}  # fmt: skip


@pytest.mark.parametrize("name", STRINGS)
def test_like_onnxruntime(run, tmp_path, name):
    text, x = STRINGS[name]
    assert_like_onnxruntime(run, tmp_path, onnx.parser.parse_model(HEAD + "g " + text), {"x": x})


KEYS = {
    "u8": np.uint8([1, 2, 3]), "i16": np.int16([1, 2, 3]), "f64": np.array([0.5, np.nan, 3.0]), "f32": np.float32([0.5, np.nan, 3.0]),
    "string": np.array(["a", "", "c"]), "i64": np.int64([1, 2, 3]),
}  # fmt: skip


ABSENT = [("i64", "i16"), ("f32", "i16"), ("f64", "i16"), ("f32", "f64"), ("f64", "f32")]  # from ONNX Runtime


def tensor(array, name=""):
    return numpy_helper.from_array(array.astype(object) if array.dtype.kind == "U" else array, name)


@pytest.mark.parametrize("keys, values", [(k, v) for k in ("i64", "f32", "f64", "string") for v in ("i64", "f32", "f64", "string", "i16")])
def test_label_encoder_of_tensors(run, tmp_path, keys, values):
    k, v = KEYS[keys], KEYS[values]
    x = np.concatenate([k, k[::-1], np.array(["q"]) if keys == "string" else np.array([77], dtype=k.dtype)])
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_tensor=tensor(k), values_tensor=tensor(v),
                            default_tensor=tensor(v[-1:]))  # fmt: skip
    kind = {"U": TensorProto.STRING}.get(x.dtype.kind) or helper.np_dtype_to_tensor_dtype(x.dtype)
    of = {"U": TensorProto.STRING}.get(v.dtype.kind) or helper.np_dtype_to_tensor_dtype(v.dtype)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", kind, [len(x)])],
                              [helper.make_tensor_value_info("y", of, [len(x)])])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 4)], ir_version=10)
    if (keys, values) in ABSENT:
        (y,) = given(run, tmp_path, model, {"x": x})
        np.testing.assert_array_equal(y, np.concatenate([v, v[::-1], v[-1:]]))
    else:
        assert_like_onnxruntime(run, tmp_path, model, {"x": x})


@pytest.mark.parametrize("values", [REALS, np.float32([0.1, 1e6, 123456.7, 1e-5, -3]), np.array([0.1, 1e16, 1 / 3]), np.float16([0.1, 65504, 1 / 3])])
def test_strings_from_floats_are_numpys(run, tmp_path, values):
    kind = helper.np_dtype_to_tensor_dtype(values.dtype)
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING)], "g",
                              [helper.make_tensor_value_info("x", kind, [None])],
                              [helper.make_tensor_value_info("y", TensorProto.STRING, [None])])  # fmt: skip
    (y,) = given(run, tmp_path, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), {"x": values})
    assert y.tolist() == values.astype(str).tolist()


def test_converted_verified_and_replayed(run, tmp_path):
    text = """g (string[N] x) => (string[K] words, float[N,2] hot) {
        words = StringNormalizer<locale = "C.UTF-8", case_change_action = "UPPER", stopwords = ["the", "日本"]>(x)
        hot = ai.onnx.ml.OneHotEncoder<cats_strings = ["Quick", "the"]>(x)
    }"""
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "model.onnx")
    assert "equal to ONNX Runtime" in run("convert", "model.onnx", "-o", "m.tenon", code=DONE)
    assert "DIFFERS" not in run("run", "m.tenon", "--check", code=DONE)
    assert "verified" in run("verify", "model.onnx", "--samples", "3", code=DONE)
    np.save(tmp_path / "x.npy", WORDS)
    said = run("run", "m.tenon", "--input", "x=x.npy", code=DONE)
    assert 'words: string[4] "QUICK" "" "BROWN FOX" "STRAßE"' in said
    run("inspect", "m.tenon", "--weights", code=DONE)
    run("inspect", "m.tenon", "--ir=fused", code=DONE)
    run("profile", "m.tenon", "--input", "x=string[8]", code=DONE)


REFUSED = {
    "arithmetic": ("(string[7] x) => (string[7] y) { y = Add(x, x) }", BAD_INPUT, "add takes numbers, not strings"),
    "a sum": ("(string[7] x) => (string[] y) { y = ReduceSum<keepdims = 0>(x) }", UNSUPPORTED, "sum is about numbers"),
    "bools as strings": ("(bool[7] x) => (string[7] y) { y = Cast<to = 8>(x) }", UNSUPPORTED, "must be integers or floats, not bool"),
    "strings as bools": ("(string[7] x) => (bool[7] y) { y = Cast<to = 9>(x) }", UNSUPPORTED, "must be integers or floats, not bool"),
    "no pattern": ("(string[7] x) => (bool[7] y) { y = RegexFullMatch<pattern = \"(\">(x) }", BAD_INPUT, "is no regular expression of RE2"),
    "Turkish": ("(string[7] x) => (string[7] y) { y = StringNormalizer<locale = \"tr_TR\", case_change_action = \"UPPER\">(x) }", UNSUPPORTED, "locale 'tr_TR'"),
    "a tokenizer": ("(string[7] x) => (string[7,K] y) { y = com.microsoft.Tokenizer<mark = 0>(x) }", UNSUPPORTED, "com.microsoft.Tokenizer"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(run, tmp_path, name):
    text, code, words = REFUSED[name]
    model = onnx.parser.parse_model(HEAD.replace("4]", '4, "com.microsoft" : 1]') + "g " + text)
    onnx.save(model, tmp_path / "model.onnx")
    assert words in run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=code)


def test_texts_that_are_no_numbers(run, tmp_path):
    model = onnx.parser.parse_model(HEAD + "g (string[1] x) => (int64[1] y) { y = Cast<to = 7>(x) }")
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", np.array(["3.7"]))
    assert '"3.7" is no number that fits' in run("run", "model.onnx", "--input", "x=x.npy", code=BAD_INPUT)
    np.save(tmp_path / "x.npy", np.array(["3"], dtype=object))
    assert "save strings after .astype(str)" in run("run", "model.onnx", "--input", "x=x.npy", code=UNSUPPORTED)
    assert "is given as a number, but the file says string[1]" in run("run", "model.onnx", "--input", "x=3", code=BAD_INPUT)
