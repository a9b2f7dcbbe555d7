"""ONNX models of one node, run by tenon and by ONNX Runtime: what tests of single operators compare."""

from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from compared import tenon_run


class Weight(np.ndarray):
    """An input that stands in the file."""


def weight(array):
    return np.asarray(array).view(Weight)


@dataclass
class Case:
    """A node with its inputs in order; None is one that is not given."""

    name: str
    op: str
    inputs: list
    attributes: dict = field(default_factory=dict)
    outputs: int = 1
    domain: str = "com.microsoft"
    dims: dict = field(default_factory=dict)  # of an input, where they have names: {0: ["batch", 4]}

    @property
    def id(self):
        return f"{self.op}-{self.name}" if self.name else self.op

    def feeds(self):
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and not isinstance(x, Weight)}

    def model(self):
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.op, names, results, domain=self.domain, **self.attributes)
        weights = [numpy_helper.from_array(np.asarray(x), f"x{i}") for i, x in enumerate(self.inputs) if isinstance(x, Weight)]
        inputs = []
        for name, x in self.feeds().items():
            shape = self.dims.get(int(name[1:]), x.shape)
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), shape))
        graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info(r) for r in results], weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, ir_version=10, opset_imports=opsets)


def run_onnxruntime(model, feeds, exact_bytes=False):
    """Without optimisations; with exact_bytes with that which keeps sums of bytes exact on CPUs where they saturate."""
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_EXTENDED if exact_bytes else levels.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_tenon(tenon, model, feeds, folder):
    onnx.save(model, folder / "model.onnx")
    given = []
    for name, value in feeds.items():
        np.save(folder / f"{name}.npy", value)
        given.append(f"--input={name}={folder / name}.npy")
    tenon_run(tenon, "run", folder / "model.onnx", *given, "--output", folder / "out.npz")
    found = np.load(folder / "out.npz")
    return [found[v.name] for v in model.graph.output]


def assert_equal(given, wanted, rtol=1e-4, atol=2e-5):
    assert len(given) == len(wanted)
    for i, (value, peer) in enumerate(zip(given, wanted)):
        assert (value.dtype, value.shape) == (peer.dtype, peer.shape), f"output {i}"
        np.testing.assert_allclose(value, peer, rtol=rtol, atol=atol, err_msg=f"output {i}")


def assert_codes(given, wanted, most_off=0.02):
    """Quantised numbers: at most this share of them one step off, where a sum of floats lies between two codes."""
    for value, peer in zip(given, wanted, strict=True):
        assert (value.dtype, value.shape) == (peer.dtype, peer.shape)
        off = np.abs(value.astype(int) - peer.astype(int))
        assert off.max(initial=0) <= 1, f"codes differ by {off.max()}"
        assert (off > 0).sum() <= max(1, most_off * off.size), f"{(off > 0).sum()} of {off.size} codes differ"
