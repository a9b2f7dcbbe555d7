#!/usr/bin/env python3
"""Quantises exported models: python bench/models/quantise.py DIR/NAME... writes DIR/NAME/model.int8.onnx.

ONNX Runtime's static quantisation of model.onnx, as QDQ: activations are unsigned bytes, whose ranges are those of the
example; weights are signed bytes with a scale for each channel. What masks with huge numbers stays float32: in 8 bits
nothing would be left of what is masked.
"""

import json
import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Example(CalibrationDataReader):
    def __init__(self, folder: Path):
        names = [argument.name for argument in onnxruntime.InferenceSession(folder / "model.onnx").get_inputs()]
        count = len(json.loads((folder / "meta.json").read_text())["inputs"])
        self.samples = iter([dict(zip(names, (numpy.load(folder / f"in_{index}.npy") for index in range(count))))])

    def get_next(self):
        return next(self.samples, None)


def quantise(folder: Path, exclude: list[str]) -> None:
    quantize_static(folder / "model.onnx", folder / "model.int8.onnx", Example(folder), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True, nodes_to_exclude=exclude)  # fmt: skip


def nodes_of_masks(folder: Path) -> list[str]:
    """Which read or write values that were quantised by a huge scale."""
    quantised = onnx.load(folder / "model.int8.onnx").graph
    scales = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in quantised.initializer}
    huge = {n.input[0] for n in quantised.node if n.op_type == "QuantizeLinear" and scales[n.input[1]].max() > 1e20}
    return [n.name for n in onnx.load(folder / "model.onnx").graph.node if huge & {*n.input, *n.output}]


for folder in map(Path, sys.argv[1:]):
    quantise(folder, [])
    if masks := nodes_of_masks(folder):
        quantise(folder, masks)
