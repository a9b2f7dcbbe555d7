"""Whole models after ONNX Runtime's optimisers and quantisers: tenon beside ONNX Runtime on the same file."""

import contextlib
import io
import logging
import re
import warnings
from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnxruntime import quantization
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions

import models
from one_node import run_onnxruntime, run_tenon

KINDS = {"bert_large": "bert", "minilm": "bert", "vit_b16": "vit", "transformer": "gpt2", "resnet50": None}


def quietly(work):
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            return work()
        finally:
            logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def exported_onnx(tmp_path_factory):
    """exported_onnx(NAME): the folder of a tiny model, its file, and inputs."""
    made = {}

    def export(name):
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            example = models.load(name, True)
            inputs = {key: value.numpy() for key, value in example.inputs.items()}
            quietly(lambda: torch.onnx.export(example.model, tuple(example.inputs.values()), str(folder / "model.onnx"),
                                              dynamo=False, opset_version=17, input_names=list(inputs)))
            made[name] = folder, inputs
        return made[name]

    return export


def with_transformers(folder, kind):
    """The fusions of onnxruntime.transformers, with the mask as it is."""
    options = FusionOptions(kind)
    options.use_raw_attention_mask(True)
    done = optimizer.optimize_model(str(folder / "model.onnx"), model_type=kind, num_heads=2, hidden_size=16, opt_level=0,
                                    optimization_options=options)
    done.save_model_to_file(str(folder / "transformers.onnx"))
    return folder / "transformers.onnx"


def extended(folder, name="model"):
    """What ONNX Runtime itself makes of a model while it loads it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / f"{name}_extended.onnx")
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
    return folder / f"{name}_extended.onnx"


class Sample(quantization.CalibrationDataReader):
    def __init__(self, inputs):
        self.left = [inputs]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantised(folder, inputs, form):
    source, target = str(folder / "model.onnx"), str(folder / f"{form}.onnx")
    if form == "dynamic":
        quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)
    else:
        quantization.quantize_static(source, target, Sample(inputs), quant_format=quantization.QuantFormat[form], per_channel=form == "QDQ")


def largest_error(given, wanted):
    return max(np.abs(g.astype(np.float64) - w).max() / np.abs(w).max() for g, w in zip(given, wanted, strict=True))


FLOAT = [(name, how) for name, kind in KINDS.items() for how in ("transformers", "extended") if kind or how == "extended"]


@pytest.mark.parametrize("name, how", FLOAT)
def test_optimised(tenon, tmp_path, exported_onnx, name, how):
    folder, inputs = exported_onnx(name)
    model = onnx.load(quietly(lambda: with_transformers(folder, KINDS[name]) if how == "transformers" else extended(folder)))
    assert any(node.domain == "com.microsoft" for node in model.graph.node)
    assert largest_error(run_tenon(tenon, model, inputs, tmp_path), run_onnxruntime(model, inputs)) < 2e-6


FORMS = {name: ("QDQ", "QOperator", "dynamic") for name in KINDS}
FORMS["transformer"] = ("dynamic",)  # the minus infinity of its mask has no scale
QUANTISED = [(name, form, how) for name, forms in FORMS.items() for form in forms for how in ("as written", "extended")]


@pytest.mark.parametrize("name, form, how", QUANTISED)
def test_quantised(tenon, tmp_path, exported_onnx, name, form, how):
    """Where a sum lies between two codes one is taken, and moves those behind it: ONNX Runtime differs as much from itself.
    On CPUs where its sums of bytes saturate it is asked for exact ones, but for operators that it does not run so."""
    folder, inputs = exported_onnx(name)
    if not (folder / f"{form}.onnx").exists():
        quietly(lambda: quantised(folder, inputs, form))
    model = onnx.load(extended(folder, form) if how == "extended" else folder / f"{form}.onnx")
    if form == "dynamic":
        scaled = [{key: value * np.float32(by) if value.dtype == np.float32 else value for key, value in inputs.items()} for by in (1, 0.9, 0.8, 0.7, 0.6)]
        errors = [largest_error(run_tenon(tenon, model, some, tmp_path), run_onnxruntime(model, some, exact_bytes=True)) for some in scaled]
        assert np.median(errors) < 1e-5 and max(errors) < 0.05, errors
        return
    given, wanted = run_tenon(tenon, model, inputs, tmp_path), run_onnxruntime(model, inputs, exact_bytes=form == "QDQ" and how == "extended")
    assert largest_error(given, wanted) < 0.05
    if how == "as written":
        near = np.concatenate([np.isclose(g, w, rtol=1e-5, atol=1e-5).ravel() for g, w in zip(given, wanted, strict=True)])
        assert near.mean() > 0.8


OPERATORS = re.compile(r"\b(attention|layer_norm|linear|gelu|matmul|softmax)\b(?![.\w])")


def operators(said):
    """How often the fused graph has each operator that takes time."""
    nodes = [re.sub(r"@\S+|#.*", "", line) for line in said.splitlines() if line.startswith("  %")]
    return Counter(name for node in nodes for name in OPERATORS.findall(node))


def test_bert_has_the_operators_of_its_source(run, exported_tiny, exported_onnx):
    """Attention, SkipLayerNormalization and BiasGelu become what PyTorch's own graph becomes."""
    folder, _ = exported_onnx("bert_large")
    optimised = quietly(lambda: with_transformers(folder, "bert"))
    written = Counter(node.op_type for node in onnx.load(optimised).graph.node)
    assert {"Attention": 2, "SkipLayerNormalization": 4, "BiasGelu": 2}.items() <= written.items()
    of_source = operators(run("inspect", exported_tiny("bert_large") / "model.pt", "--ir=fused", code=0))
    assert operators(run("inspect", optimised, "--ir=fused", code=0)) == of_source
    assert {"attention": 2, "layer_norm": 5, "gelu": 2}.items() <= of_source.items()
    assert "same numbers" in run("equiv", exported_tiny("bert_large") / "model.pt", optimised, code=0)
