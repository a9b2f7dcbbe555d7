"""A small language model as Olive and onnxruntime-genai write it: grouped attention over a cache, weights of 4 bits; beside ONNX Runtime."""

import numpy as np
import onnx
import pytest
from one_node import assert_equal, run_onnxruntime
from compared import tenon_run
from onnx import TensorProto, helper, numpy_helper

WORDS, WIDTH, HEADS, FEW, HEAD, INNER, LAYERS, BLOCK = 40, 64, 4, 2, 16, 96, 2, 32


class Writer:
    """Nodes one after the other, with random weights."""

    def __init__(self, bits):
        self.nodes, self.weights, self.bits, self.random = [], [], bits, np.random.default_rng(3)

    def add(self, op, inputs, outputs=None, domain="com.microsoft", **attributes):
        outputs = outputs or [f"{op}_{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def weight(self, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def normal(self, *shape, scale=1.0):
        return self.weight((self.random.standard_normal(shape) * scale).astype(np.float32))

    def linear(self, x, rows, columns):
        if self.bits == 32:
            return self.add("MatMul", [x, self.normal(columns, rows, scale=columns**-0.5)], domain="")
        blocks = columns // BLOCK
        packed = self.weight(self.random.integers(0, 256, (rows, blocks, BLOCK * self.bits // 8)).astype(np.uint8))
        scales = self.weight((self.random.random((rows, blocks)) * 0.05 * 16 / 2**self.bits).astype(np.float32))
        return self.add("MatMulNBits", [x, packed, scales], K=columns, N=rows, bits=self.bits, block_size=BLOCK)

    def cache(self, i):
        return [f"past.{i}.key", f"past.{i}.value"], [f"present.{i}.key", f"present.{i}.value"]

    def layer(self, i, x, skip, lengths, tables):
        x = self.norm(x, skip, i)
        qkv = self.linear(x[0], (HEADS + 2 * FEW) * HEAD, WIDTH)
        past, present = self.cache(i)
        attended = self.add("GroupQueryAttention", [qkv, "", "", *past, *lengths, *tables], [f"attended{i}", *present],
                            num_heads=HEADS, kv_num_heads=FEW, do_rotary=1, local_window_size=-1)
        y = self.norm(self.linear(attended, WIDTH, HEADS * HEAD), x[1], f"{i}.mlp")
        gate = self.linear(y[0], INNER, WIDTH)
        gate = self.add("Mul", [gate, self.add("Sigmoid", [gate], domain="")], domain="")
        return self.linear(self.add("Mul", [gate, self.linear(y[0], INNER, WIDTH)], domain=""), WIDTH, INNER), y[1]

    def norm(self, x, skip, name):
        scale = self.normal(WIDTH)
        if skip is None:
            return self.add("SimplifiedLayerNormalization", [x, scale], domain="", axis=-1, epsilon=1e-5), x
        outputs = [f"norm{name}", "", "", f"sum{name}"]
        self.add("SkipSimplifiedLayerNormalization", [x, skip, scale], outputs, epsilon=1e-5)
        return outputs[0], outputs[3]


def decoder(bits):
    w = Writer(bits)
    one = w.weight(np.array([1]))
    count = w.add("ReduceSum", ["attention_mask", one], domain="", keepdims=0)
    lengths = w.add("Cast", [w.add("Sub", [count, w.weight(np.array(1))], domain="")], domain="", to=TensorProto.INT32)
    size = w.add("Gather", [w.add("Shape", ["attention_mask"], domain=""), w.weight(np.array(1))], domain="")
    total = w.add("Cast", [size], domain="", to=TensorProto.INT32)
    angles = np.outer(np.arange(64), 100.0 ** -(np.arange(HEAD // 2) / (HEAD // 2)))
    tables = [w.weight(np.cos(angles).astype(np.float32)), w.weight(np.sin(angles).astype(np.float32))]
    x, skip = w.add("Gather", [w.normal(WORDS, WIDTH), "input_ids"], domain=""), None
    for i in range(LAYERS):
        x, skip = w.layer(i, x, skip, [lengths, total], tables)
    scores = w.linear(w.norm(x, skip, "last")[0], WORDS, WIDTH)
    w.add("Identity", [scores], ["logits"], domain="")
    caches = [w.cache(i) for i in range(LAYERS)]
    value = helper.make_tensor_value_info
    inputs = [value("input_ids", TensorProto.INT64, ["batch", "length"]), value("attention_mask", TensorProto.INT64, ["batch", "total"])]
    outputs = [value("logits", TensorProto.FLOAT, ["batch", "length", WORDS])]
    for past, present in caches:
        inputs += [value(n, TensorProto.FLOAT, ["batch", FEW, "past", HEAD]) for n in past]
        outputs += [value(n, TensorProto.FLOAT, ["batch", FEW, "total", HEAD]) for n in present]
    graph = helper.make_graph(w.nodes, "decoder", inputs, outputs, w.weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=10, opset_imports=opsets)


def run_artifact(tenon, artifact, model, feeds, folder):
    given = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        given.append(f"--input={name}={folder / name}.npy")
    tenon_run(tenon, "run", artifact, *given, "--output", folder / "out.npz")
    found = np.load(folder / "out.npz")
    return [found[v.name] for v in model.graph.output]


def pasts(values):
    names = [n for i in range(LAYERS) for n in (f"past.{i}.key", f"past.{i}.value")]
    return dict(zip(names, values))


@pytest.mark.parametrize("bits", [32, 4, 8])
def test_steps_over_a_cache(tenon, tmp_path, bits):
    """The prompt by ONNX Runtime, then steps of tenon's own cache beside steps of ONNX Runtime's; one sample is padded on its right."""
    model = decoder(bits)
    onnx.save(model, tmp_path / "model.onnx")
    tenon_run(tenon, "convert", tmp_path / "model.onnx", "-o", tmp_path / "m.tenon", "--no-verify")
    random = np.random.default_rng(1)
    ids, mask = random.integers(0, WORDS, (2, 5)), np.ones((2, 5), dtype=np.int64)
    mask[1, 3:] = 0
    empty = [np.zeros((2, FEW, 0, HEAD), np.float32)] * (2 * LAYERS)
    wanted = run_onnxruntime(model, {"input_ids": ids, "attention_mask": mask, **pasts(empty)})
    ours = theirs = wanted[1:]
    for _ in range(4):
        mask = np.concatenate([mask, np.ones((2, 1), dtype=np.int64)], axis=1)
        feeds = {"input_ids": random.integers(0, WORDS, (2, 1)), "attention_mask": mask}
        given = run_artifact(tenon, tmp_path / "m.tenon", model, {**feeds, **pasts(ours)}, tmp_path)
        wanted = run_onnxruntime(model, {**feeds, **pasts(theirs)})
        assert_equal(given, wanted)
        ours, theirs = given[1:], wanted[1:]
