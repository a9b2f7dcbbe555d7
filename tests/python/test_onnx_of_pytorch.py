"""torch.onnx.export of our models, by both of its exporters: the numbers of the .pt, and its fused graph or a difference that
docs/raising.md explains."""

import re
import warnings

import pytest
import torch

import models

SAME = "same numbers, same fused graph"
FOLDED = "the weights .* differ"  # the exporter folds batch norm itself: last bits of the weights
FROM_THE_END = "the operands differ"  # ids that are inputs may be negative in ONNX
ORDER = "the operators differ"  # branches stand in another order

# Model: what becomes of the new exporter's file and of the TorchScript exporter's.
EXPECTED = {
    "mlp": (SAME, SAME),
    "vit_b16": ("one value is used where the other has two", SAME),  # heads merged into the batch
    "resnet9": (FOLDED, FOLDED),
    "resnet50": (FOLDED, FOLDED),
    "unet": (FOLDED, FOLDED),
    "minilm": (FROM_THE_END, FROM_THE_END),
    "bert_large": (FROM_THE_END, FROM_THE_END),
    "xml_cnn": (FROM_THE_END, ORDER),
    "gcn": (FROM_THE_END, None),  # the TorchScript exporter refuses index_add
    "transformer": ("the attributes or operands differ", FROM_THE_END),
    "lstm": (ORDER, ORDER),  # a step's axes
}


@pytest.mark.parametrize("flavour", ("dynamo", "TorchScript"))
@pytest.mark.parametrize("name", EXPECTED)
def test_the_graph_of_the_traced_model(run, tmp_path, exported_tiny, name, flavour):
    expected = EXPECTED[name][flavour != "dynamo"]
    if expected is None:
        pytest.skip("the exporter refuses the model")
    example = models.load(name, tiny=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(example.model, tuple(example.inputs.values()), tmp_path / "model.onnx", dynamo=flavour == "dynamo",
                          input_names=list(example.inputs), external_data=False, verbose=False)
    said = run("equiv", exported_tiny(name) / "model.pt", "model.onnx", code=0)
    assert "same numbers" in said
    assert re.search(expected, said), said
