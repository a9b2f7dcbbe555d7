"""Operators of com.microsoft with an operand of a wrong shape: one sentence, never a crash."""

import subprocess

import numpy as np
import onnx
import pytest
import test_onnx_attention as attention
import test_onnx_microsoft as microsoft
import test_onnx_quantized as quantized
from one_node import Weight, weight

CASES = [
    *attention.ATTENTION, *attention.MULTI_HEAD, *attention.GROUP_QUERY, *attention.ROTARY,
    *quantized.ELEMENTS, *quantized.IMAGES, *quantized.GEMMS, *quantized.FLOATS,
    *microsoft.CASES, *(case for case, _ in microsoft.BESIDE_TORCH),
]
ONE_OF_EACH = {case.op: case for case in reversed(CASES)}.values()
DAMAGES = {
    "a number": lambda x: x.reshape(-1)[:1].reshape(()),
    "one axis": lambda x: x.reshape(-1),
    "an axis more": lambda x: x[None],
    "nothing": lambda x: x.reshape(-1)[:0],
}


@pytest.mark.parametrize("case", ONE_OF_EACH, ids=lambda c: c.op)
def test_is_no_crash(tenon, tmp_path, case):
    for i, x in enumerate(case.inputs):
        for damage, change in DAMAGES.items():
            if x is None:
                continue
            array = change(np.asarray(x))
            damaged = [*case.inputs[:i], weight(array) if isinstance(x, Weight) else array, *case.inputs[i + 1:]]
            model = type(case)(case.name, case.op, damaged, case.attributes, case.outputs, case.domain).model()
            onnx.save(model, tmp_path / "model.onnx")
            done = subprocess.run([tenon, "inspect", tmp_path / "model.onnx"], capture_output=True, text=True)
            assert done.returncode in (0, 2, 3) and "bug in tenon" not in done.stderr, f"input {i} as {damage}: {done.returncode} {done.stderr}"
