"""torch.onnx.export of our models, by both of its exporters: the numbers of the .pt, and its fused graph or a difference that
docs/raising.md explains."""

import re
import warnings

import numpy
import pytest
import torch

import models

SAME = "same fused graph$"
LAST_BITS = r"same fused graph but for weights or numbers in their last bits \(\d+, at most \d\.\de-07\)$"  # batch norm is folded by the exporter
FROM_THE_END = r"same fused graph but for negative indices that count from the end \(1\)$"  # ids that are inputs may be negative in ONNX
SUMS_FROM_THE_END = FROM_THE_END.replace("1", "3")  # and index_add is written as one that takes negative targets
AXES = "the operators differ"  # of a recurrent layer's steps

# Model: what becomes of both exporters' files.
EXPECTED = {
    "mlp": SAME,
    "vit_b16": SAME,
    "resnet9": LAST_BITS,
    "resnet50": LAST_BITS,
    "unet": LAST_BITS,
    "minilm": FROM_THE_END,
    "bert_large": FROM_THE_END,
    "xml_cnn": FROM_THE_END,
    "gcn": SUMS_FROM_THE_END,
    "transformer": FROM_THE_END,
    "decoder": FROM_THE_END,
    "lstm": AXES,
}


@pytest.mark.parametrize("flavour", ("dynamo", "TorchScript"))
@pytest.mark.parametrize("name", EXPECTED)
def test_the_graph_of_the_traced_model(run, tmp_path, exported_tiny, name, flavour):
    if (name, flavour) == ("gcn", "TorchScript"):
        pytest.skip("the exporter refuses index_add")
    example = models.load(name, tiny=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(example.model, tuple(example.inputs.values()), tmp_path / "model.onnx", dynamo=flavour == "dynamo",
                          input_names=list(example.inputs), external_data=False, verbose=False)
    said = run("equiv", exported_tiny(name) / "model.pt", "model.onnx", code=0)
    assert "same numbers" in said
    assert re.search(EXPECTED[name], said.strip()), said


def test_results_of_one_name(run, tmp_path):
    """The older exporter names a value that is returned twice so: each gets a name of its own."""

    class Twice(torch.nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            return y, y

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Twice(), (torch.randn(2, 3),), str(tmp_path / "twice.onnx"), dynamo=False)
    assert "equal to ONNX Runtime" in run("convert", "twice.onnx", "-o", "twice.tenon", code=0)
    run("run", "twice.tenon", "--output", "out.npz", code=0)
    out = numpy.load(tmp_path / "out.npz")
    first, second = sorted(out)
    assert second == f"{first}_2"
    numpy.testing.assert_array_equal(out[first], out[second])
