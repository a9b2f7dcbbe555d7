"""ONNX models: converted and run as ONNX's reference does; damaged and hostile files are one clear error."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "onnx"))

DONE, BAD_INPUT, UNSUPPORTED = 0, 2, 3


@pytest.fixture
def outputs(run, tmp_path):
    """outputs(model, {"x": array}): what tenon gives for the model, by name."""

    def outputs(model, inputs, *options):
        onnx.save(model, tmp_path / "model.onnx")
        given = []
        for name, value in inputs.items():
            np.save(tmp_path / f"{name}.npy", value)
            given += ["--input", f"{name}={name}.npy"]
        run("run", "model.onnx", *given, "--output", "out.npz", *options, code=DONE)
        return dict(np.load(tmp_path / "out.npz"))

    return outputs


def assert_like_reference(outputs, text, inputs, **tolerance):
    model = onnx.parser.parse_model(HEAD + text)
    expected = ReferenceEvaluator(model).run(None, inputs)
    given = outputs(model, inputs)
    for value, wanted in zip(given.values(), expected, strict=True):
        np.testing.assert_allclose(value, wanted, **{"rtol": 1e-5, "atol": 1e-6, **tolerance})


HEAD = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>\n'
X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


def test_a_sample_of_onnx_own_cases(tenon):
    from coverage import measure  # takes seconds: it makes every case

    letters = "*[cflmrs][aeho]*_[abdeinot]*"  # some of every kind
    records = measure(tenon, f"test_{letters}", ["node"], jobs=2)
    amiss = [r for r in records if r["verdict"] in ("wrong", "crash")]
    assert not amiss, "\n".join(f"{r['verdict']} {r['case']}: {r['reason']}" for r in amiss)
    verdicts = [r["verdict"] for r in records]
    assert len(verdicts) > 300
    assert verdicts.count("refused") < 0.1 * len(verdicts)


def test_onnx_own_layout(tenon):
    """Sequences and optionals as the files of ONNX's makers hold them, their tolerances, and no word from us."""
    from coverage import measure

    records = measure(tenon, "test_[dos][efp][qt]*", ["node"], jobs=2, as_onnx=True)
    assert len(records) > 30
    amiss = [r for r in records if r["verdict"] != "equal"]
    assert not amiss, "\n".join(f"{r['verdict']} {r['case']}: {r['reason']}" for r in amiss)


def test_a_shape_that_is_computed_stays_symbolic(run, tmp_path):
    model = onnx.parser.parse_model(HEAD + """g (float[N,3,4] x) => (float[N,12] y) <int64[1] zero = {0}, int64[1] rest = {-1}> {
        shape = Shape(x)
        batch = Gather(shape, zero)
        wanted = Concat<axis = 0>(batch, rest)
        y = Reshape(x, wanted)
    }""")
    onnx.save(model, tmp_path / "model.onnx")
    said = run("convert", "model.onnx", "--print-ir=imported", code=DONE)
    assert "reshape(%x, shape=[N,12]) : f32[N,12]" in said
    assert "graph main(%x: f32[N,3,4])" in said


def test_an_input_that_decides_sizes_is_fixed(run, outputs, tmp_path):
    model = onnx.parser.parse_model(HEAD + "g (float[3,4] x, int64[2] shape) => (float[A,B] y) { y = Reshape(x, shape) }")
    shape = np.array([2, 6])
    (y,) = outputs(model, {"x": X, "shape": shape}).values()
    np.testing.assert_array_equal(y, X.reshape(2, 6))
    run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", "--input", "shape=shape.npy", code=DONE)
    np.save(tmp_path / "other.npy", np.array([6, 2]))
    said = run("run", "m.tenon", "--input", "x=x.npy", "--input", "shape=other.npy", code=BAD_INPUT)
    assert "the input shape decides sizes: it was fixed when the model was converted" in said
    said = run("convert", "model.onnx", "-o", "n.tenon", "--no-verify", code=UNSUPPORTED)
    assert "its input 1 (shape) decides sizes" in said
    assert "--input shape=shape.npy" in said


def test_a_function_with_attributes(outputs):
    assert_like_reference(outputs, """g (float[3,4] x) => (float[3,4] y) {
        y = local.scaled <factor = 2.5> (x)
    }
    <domain: "local", opset_import: ["" : 21]> scaled <factor> (a) => (b) {
        f = Constant <value_float: float = @factor> ()
        b = Mul(a, f)
    }""", {"x": X})


def test_an_if_that_data_decide(outputs):
    text = """g (bool go, float[3,4] x) => (float[3,4] y) {
        y = If(go) <then_branch = g1 () => (float[3,4] t) { t = Exp(x) }, else_branch = g2 () => (float[3,4] e) { e = Neg(x) }>
    }"""
    for go in (True, False):
        assert_like_reference(outputs, text, {"go": np.array(go), "x": X})


def test_an_if_whose_branches_differ_in_size(outputs):
    text = """g (bool go, float[3,4] x) => (float[N,4] y, float[N,M] z) {
        y, z = If(go) <then_branch = g1 () => (float[6,4] t, float[6,8] u) { t = Concat<axis = 0>(x, x) u = Concat<axis = 1>(t, t) },
                       else_branch = g2 () => (float[3,4] e, float[3,4] f) { e = Neg(x) f = Exp(x) }>
    }"""
    for go in (True, False):
        assert_like_reference(outputs, text, {"go": np.array(go), "x": X})


def test_an_if_whose_condition_is_given_is_the_branch_that_is_taken(outputs):
    """What follows may need to know its sizes."""
    text = """g (bool go, float[3,4] x) => (float[N,8] y) <int64[2] shape = {-1, 8}, float[6,8] w = {W}> {
        t = If(go) <then_branch = g1 () => (float[6,4] t1) { t1 = Concat<axis = 0>(x, x) }, else_branch = g2 () => (float[4,4] t2) { t2 = MatMul(s, x) }>
        u = Reshape(t, shape)
        y = Add(u, v)
    }"""
    text = text.replace("float[6,8] w = {W}", "float[4,3] s = {" + ", ".join(["1"] * 12) + "}, float[3,8] v = {" + ", ".join(["2"] * 24) + "}")
    assert_like_reference(outputs, text, {"go": np.array(True), "x": X})


def test_squeeze_without_axes_assumes_that_sizes_are_not_one(run, outputs, tmp_path):
    model = onnx.parser.parse_model(HEAD + "g (float[1,N,4] x) => (float[N,4] y) { y = Squeeze(x) }")
    (y,) = outputs(model, {"x": X[None]}).values()
    np.testing.assert_array_equal(y, X)
    assert "N is at least 2" in run("convert", "model.onnx", "-o", "m.tenon", code=DONE)
    np.save(tmp_path / "one.npy", X[None, :1])
    run("run", "m.tenon", "--input", "one.npy", code=BAD_INPUT)
    (y,) = outputs(model, {"x": X[None, :1]}).values()
    assert y.shape == (4,)


def test_a_loop_that_data_end(outputs):
    text = """g (float[] x, float[] limit) => (float[] y) <int64 most = {20}> {
        go = Less(x, limit)
        y = Loop(most, go, x) <body = b (int64 i, bool c, float[] a) => (bool more, float[] d) {
            d = Add(a, a)
            more = Less(d, limit)
        }>
    }"""
    for x, limit in ((1.0, 50.0), (3.0, 2.0)):
        assert_like_reference(outputs, text, {"x": np.float32(x), "limit": np.float32(limit)})


def test_a_loop_that_stacks_its_steps(outputs):
    assert_like_reference(outputs, """g (float[4] x) => (float[4] last, float[5,4] all) <int64 count = {5}, bool yes = {1}> {
        last, all = Loop(count, yes, x) <body = b (int64 i, bool c, float[4] a) => (bool c2, float[4] d, float[4] e) {
            c2 = Identity(c)
            step = Cast<to = 1>(i)
            d = Add(a, step)
            e = Mul(a, d)
        }>
    }""", {"x": X[0]})


@pytest.mark.parametrize("limit, steps", [(50.0, 6), (3.0, 2), (0.5, 0)])
def test_a_loop_that_stacks_its_steps_until_data_end_it(outputs, limit, steps):
    text = """g (float[4] x, float[] limit) => (float[4] last, float[N,4] all) <int64 most = {20}> {
        top = ReduceMax<keepdims = 0>(x)
        go = Less(top, limit)
        last, all = Loop(most, go, x) <body = b (int64 i, bool c, float[4] a) => (bool more, float[4] d, float[4] e) {
            d = Add(a, a)
            e = Neg(a)
            most_of_d = ReduceMax<keepdims = 0>(d)
            more = Less(most_of_d, limit)
        }>
    }"""
    inputs = {"x": np.array([0, -1, 1, 0.5], np.float32), "limit": np.float32(limit)}
    model = onnx.parser.parse_model(HEAD + text)
    last, rows = outputs(model, inputs).values()
    assert rows.shape == (steps, 4)
    np.testing.assert_array_equal(last, inputs["x"] * 2**steps)
    np.testing.assert_array_equal(rows, np.array([-inputs["x"] * 2**i for i in range(steps)], np.float32).reshape(steps, 4))


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_a_loop_whose_tensors_grow_until_data_end_it(outputs, steps):
    """Two grow alike, and are added; one grows by another size."""
    inputs = {"x": X, "steps": np.array(steps)}
    model = onnx.parser.parse_model(HEAD + """g (float[3,4] x, int64 steps) => (float[N,4] y, float[N,4] z, float[3,M] w) <bool yes = {1}> {
        count = ReduceSum<keepdims = 0>(steps)
        y, z, w = Loop(count, yes, x, x, x) <body = b (int64 i, bool c, float[P,4] a, float[P,4] d, float[3,Q] e) => (bool c2, float[R,4] f, float[R,4] g, float[3,S] h) {
            c2 = Identity(c)
            both = Add(a, d)
            f = Concat<axis = 0>(both, x)
            g = Concat<axis = 0>(x, d)
            h = Concat<axis = 1>(e, e)
        }>
    }""")
    y = z = w = X
    for _ in range(steps):
        y, z, w = np.concatenate([y + z, X]), np.concatenate([X, z]), np.concatenate([w, w], 1)
    for given, wanted in zip(outputs(model, inputs).values(), (y, z, w), strict=True):
        np.testing.assert_array_equal(given, wanted)


def test_a_loop_that_stacks_what_grows_is_refused(run, tmp_path):
    onnx.save(onnx.parser.parse_model(HEAD + """g (float[4] x, float[] limit) => (float[P] last, float[N,M] all) <int64 most = {20}, bool yes = {1}> {
        last, all = Loop(most, yes, x) <body = b (int64 i, bool c, float[Q] a) => (bool more, float[R] d, float[S] e) {
            d = Concat<axis = 0>(a, a)
            e = Neg(d)
            top = ReduceMax<keepdims = 0>(d)
            more = Less(top, limit)
        }>
    }"""), tmp_path / "model.onnx")
    assert "it stacks tensors of another size" in run("convert", "model.onnx", "--no-verify", "--input", "limit=f32[]", code=UNSUPPORTED)


def test_a_scan_backwards(outputs):
    model = onnx.parser.parse_model(HEAD + """g (float[4] s, float[3,4] x) => (float[4] last, float[4,3] sums) {
        last, sums = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1],
            body = b (float[4] a, float[4] row) => (float[4] t, float[4] u) { t = Add(a, row) u = Identity(t) }> (s, x)
    }""")
    last, sums = outputs(model, {"s": X[0], "x": X}).values()
    expected = X[0] + np.cumsum(X[::-1], axis=0)
    np.testing.assert_allclose(sums, expected.T)
    np.testing.assert_allclose(last, expected[-1])


def test_a_sequence_inside(outputs):
    assert_like_reference(outputs, """g (float[3,4] x) => (float[4,3] y) <int64 one = {1}> {
        parts = SplitToSequence<axis = 1, keepdims = 0>(x)
        gone = SequenceErase(parts, one)
        first = SequenceAt(parts, one)
        back = SequenceInsert(gone, first)
        y = ConcatFromSequence<axis = 0, new_axis = 1>(back)
    }""", {"x": X})


def test_weights_of_few_bits(outputs):
    codes = np.array([[1, -8], [7, -1], [3, 0], [-5, 2]])
    weight = helper.make_tensor("w", TensorProto.INT4, codes.shape, codes.flatten())
    graph = onnx.parser.parse_graph("""g (float[3,4] x) => (float[3,2] y) <float[2] scale = {0.5, 0.25}> {
        real = DequantizeLinear <axis = 1> (w, scale)
        y = MatMul(x, real)
    }""")
    graph.initializer.append(weight)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    (y,) = outputs(model, {"x": X}).values()
    np.testing.assert_allclose(y, X @ (codes * np.array([0.5, 0.25], dtype=np.float32)), rtol=1e-6)


def test_weights_in_a_file_beside(run, tmp_path):
    w = np.arange(400, dtype=np.float32).reshape(4, 100)
    graph = onnx.parser.parse_graph("g (float[3,4] x) => (float[3,100] y) { y = MatMul(x, w) }")
    graph.initializer.append(numpy_helper.from_array(w, "w"))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    onnx.save(model, tmp_path / "model.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    np.save(tmp_path / "x.npy", X)
    run("run", "model.onnx", "--input", "x=x.npy", "--output", "y.npy", code=DONE)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), X @ w, rtol=1e-5)
    (tmp_path / "w.bin").write_bytes(w.tobytes()[:-4])
    assert "lie beyond the end of the file" in run("inspect", "model.onnx", code=BAD_INPUT)
    (tmp_path / "w.bin").unlink()
    assert "w.bin, which is missing" in run("inspect", "model.onnx", code=BAD_INPUT)


def test_every_operator_that_is_missing_is_named(run, tmp_path):
    model = onnx.parser.parse_model(HEAD + """g (float[3,4] x) => (float[3,4] y) {
        a = local.First(x)
        b = Relu(a)
        y = local.Second(b)
    }""")
    onnx.save(model, tmp_path / "model.onnx")
    said = run("convert", "model.onnx", code=UNSUPPORTED)
    assert "local.First" in said
    assert "local.Second" in said


def small_model() -> onnx.ModelProto:
    return onnx.parser.parse_model(
        HEAD + "g (float[N,4] x) => (float[N,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { h = MatMul(x, w) y = Relu(h) }")


def test_every_cut_is_an_error(run, tmp_path):
    whole = small_model().SerializeToString()
    for size in range(0, len(whole) - 30, 5):  # behind that, the second operator set may be missing
        (tmp_path / "model.onnx").write_bytes(whole[:size])
        assert "error: " in run("inspect", "model.onnx", code=BAD_INPUT)


def test_flipped_bits_never_crash(tenon, tmp_path):
    import subprocess

    whole = small_model().SerializeToString()
    rng = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        (tmp_path / "model.onnx").write_bytes(damaged)
        done = subprocess.run([tenon, "inspect", tmp_path / "model.onnx"], capture_output=True, timeout=60)
        assert done.returncode in (DONE, BAD_INPUT, UNSUPPORTED), done
        assert b"internal error" not in done.stderr
        done.stderr.decode()


def external(location: str, **places) -> TensorProto:
    t = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **places}.items():
        t.external_data.add(key=key, value=str(value))
    return t


def raw(dims, data=b"1234") -> TensorProto:
    return TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=data)


@pytest.mark.parametrize(
    "weight, words",
    [
        (external("../../etc/passwd"), "which is not a file in its own folder"),
        (external("/etc/passwd"), "which is not a file in its own folder"),
        (external("."), "this is a folder"),
        (external("model.onnx", offset=2**63, length=32), "lie beyond the end of the file"),
        (external("model.onnx", offset=-1), "is no TensorProto, or a damaged one"),
        (raw([4, 2]), "has shape [4,2] and 4 bytes of f32"),
        (raw([-4, -2]), "has a negative size"),
        (raw([2**62, 4]), "has more elements than 64 bits can count"),
        (raw([2**40]), "has shape [1099511627776] and 4 bytes"),
    ],
)
def test_a_weight_that_lies(run, tmp_path, weight, words):
    model = small_model()
    model.graph.initializer[0].CopyFrom(weight)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    assert words in run("inspect", "model.onnx", code=BAD_INPUT)


def twice() -> list:
    """Functions of which each calls the one before it twice."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    made = [helper.make_function("local", "f0", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opsets)]
    for i in range(1, 40):
        nodes = [helper.make_node(f"f{i - 1}", [a], [b], domain="local") for a, b in (("x", "a"), ("a", "y"))]
        made.append(helper.make_function("local", f"f{i}", ["x"], ["y"], nodes, opsets))
    return made


@pytest.mark.parametrize(
    "text, functions, words",
    [
        ("a = Add(x, b) b = Relu(a) y = Relu(b)", [], "which nothing before it gives"),
        ("a = Relu(x) a = Neg(x) y = Relu(a)", [], "two values of the graph are called 'a'"),
        ("a = Relu(x)", [], "the output 'y' is computed nowhere"),
        ("y = local.f39(x)", twice(), "run more than 1000000 nodes"),
        ("y = Transpose<perm = [7, 0]>(x)", [], "axis 7 is out of range"),
        ("y = Conv<strides = [0]>(x, x)", [], "no spatial axes"),
    ],
)
def test_a_graph_that_cannot_be(run, tmp_path, text, functions, words):
    graph = onnx.parser.parse_graph(f"g (float[3,4] x) => (float[3,4] y) {{ {text} }}")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    onnx.save(helper.make_model(graph, functions=functions, opset_imports=opsets), tmp_path / "model.onnx")
    assert words in run("inspect", "model.onnx", code=UNSUPPORTED if functions else BAD_INPUT)


def test_a_function_that_calls_itself(run, tmp_path):
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    body = [helper.make_node("f", ["x"], ["y"], domain="local")]
    function = helper.make_function("local", "f", ["x"], ["y"], body, opsets)
    graph = onnx.parser.parse_graph("g (float[3,4] x) => (float[3,4] y) { y = local.f(x) }")
    onnx.save(helper.make_model(graph, functions=[function], opset_imports=opsets), tmp_path / "model.onnx")
    assert "functions call each other more than 64 deep" in run("inspect", "model.onnx", code=BAD_INPUT)


@pytest.mark.parametrize("exporter", ["dynamo", "TorchScript"])
def test_what_pytorch_exports_is_the_same_graph(run, tmp_path, exporter):
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(128, 5), nn.GELU(), nn.LayerNorm(5)).eval()  # fmt: skip
    x = torch.randn(2, 3, 8, 8)
    torch.onnx.export(model, (x,), tmp_path / "model.onnx", dynamo=exporter == "dynamo", opset_version=18,
                      verbose=False)  # fmt: skip
    torch.jit.save(torch.jit.trace(model, x), tmp_path / "model.pt")
    assert "same fused graph" in run("equiv", "model.pt", "model.onnx", code=DONE)


def test_the_items_of_a_sequence_are_inputs_and_outputs(run, tmp_path):
    model = onnx.parser.parse_model(HEAD + """g (seq(float[K]) x) => (seq(float[K]) y) <int64 zero = {0}> {
        first = SequenceAt(x, zero)
        y = SequenceInsert(x, first)
    }""")
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "a.npy", X[0])
    np.save(tmp_path / "b.npy", X[1, :3])
    run("run", "model.onnx", "--input", "x.0=a.npy", "--input", "x.1=b.npy", "--output", "out.npz", code=DONE)
    out = np.load(tmp_path / "out.npz")
    assert list(out) == ["y.0", "y.1", "y.2"]
    np.testing.assert_array_equal(out["y.2"], X[0])
    assert "--input 'x.0=f32[N,16]'" in run("inspect", "model.onnx", code=BAD_INPUT)


def sparse(dims, values, indices, name="w"):
    return helper.make_sparse_tensor(numpy_helper.from_array(np.array(values, np.float32), name),
                                     numpy_helper.from_array(np.array(indices, np.int64), name + ".indices"), dims)


def with_sparse_weight(weight):
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], sparse_initializer=[weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("indices", [[1, 6, 7], [[0, 1], [3, 0], [3, 1]]], ids=["by place", "by row and column"])
def test_sparse_weights_get_their_zeros(outputs, indices):
    dense = np.zeros((4, 2), np.float32)
    dense.flat[[1, 6, 7]] = [2, -3, 5]
    (y,) = outputs(with_sparse_weight(sparse([4, 2], [2, -3, 5], indices)), {"x": X}).values()
    np.testing.assert_allclose(y, X @ dense)


@pytest.mark.parametrize("weight, code, message", [
    (sparse([4, 2], [1], [8]), BAD_INPUT, "an index outside"),
    (sparse([4, 2], [1], [-1]), BAD_INPUT, "an index outside"),
    (sparse([4, 2], [1], [[4, 0]]), BAD_INPUT, "an index outside"),
    (sparse([4, 2], [1, 2], [3]), BAD_INPUT, "f32[2] values and i64[1] indices"),
    (sparse([-4, 2], [1], [3]), BAD_INPUT, "a size that is none"),
    (sparse([2**40, 2**40], [1], [3]), BAD_INPUT, "a size that is none"),
    (sparse([2**20, 2**20], [1], [3]), UNSUPPORTED, "at most"),
])
def test_damaged_sparse_weights(run, tmp_path, weight, code, message):
    onnx.save(with_sparse_weight(weight), tmp_path / "model.onnx")
    assert message in run("convert", "model.onnx", "-o", "m.tenon", "--no-verify", code=code)
