#!/usr/bin/env python3
"""Quantises exported models: python bench/models/quantise.py DIR/NAME... writes DIR/NAME/model.int8.onnx.

ONNX Runtime's static quantisation of model.onnx, as QDQ: activations are unsigned bytes, whose ranges are those of the
example; weights are signed bytes with a scale for each channel.
"""

import json
import sys
from pathlib import Path

import numpy
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Example(CalibrationDataReader):
    def __init__(self, folder: Path):
        names = [argument.name for argument in onnxruntime.InferenceSession(folder / "model.onnx").get_inputs()]
        count = len(json.loads((folder / "meta.json").read_text())["inputs"])
        self.samples = iter([dict(zip(names, (numpy.load(folder / f"in_{index}.npy") for index in range(count))))])

    def get_next(self):
        return next(self.samples, None)


for folder in map(Path, sys.argv[1:]):
    quantize_static(folder / "model.onnx", folder / "model.int8.onnx", Example(folder), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)  # fmt: skip
