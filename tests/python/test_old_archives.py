"""Archives of older releases of PyTorch: read, and equal to what the layer gives today.

tests/data/archives/lstm_2_9_*.pt2 hold an nn.LSTM with batch_first whose batch is Dim.AUTO, written by PyTorch 2.9: the one as exported
(two directions), the other after run_decompositions() (one direction, one step). PyTorch 2.9 to 2.12 give its states an axis too many.
"""

import subprocess
import zipfile
from pathlib import Path

import numpy
import pytest
import torch

from tests.python.compared import assert_equal, run

ARCHIVES = Path(__file__).parent.parent / "data" / "archives"


def layer_in(archive, **options):
    """The layer with the weights of the file."""
    layer = torch.nn.LSTM(2, 3, batch_first=True, **options)
    with zipfile.ZipFile(archive) as file:
        for i, parameter in enumerate(layer.parameters()):
            name = next(n for n in file.namelist() if n.endswith(f"data/weights/weight_{i}"))
            values = numpy.frombuffer(file.read(name), numpy.float32).reshape(parameter.shape)
            parameter.data = torch.from_numpy(values.copy())
    return layer


def test_a_recurrent_layer_as_exported(tenon, tmp_path):
    archive = ARCHIVES / "lstm_2_9_exported.pt2"
    layer = layer_in(archive, bidirectional=True)
    for batch in (1, 2, 5):
        x = torch.randn(batch, 3, 2)
        y, (h, c) = layer(x)
        assert_equal(run(tenon, archive, [x], tmp_path), [y, h, c])


def test_a_decomposed_one_has_the_axis_that_was_exported(tenon, tmp_path):
    archive = ARCHIVES / "lstm_2_9_decomposed.pt2"
    layer = layer_in(archive)
    for batch in (1, 2, 5):
        x = torch.randn(batch, 1, 2)
        y, (h, c) = layer(x)
        assert_equal(run(tenon, archive, [x], tmp_path), [y, h.unsqueeze(0), c.unsqueeze(0)])


def test_a_graph_for_every_batch_says_what_the_exporter_took_for_granted(tenon, tmp_path):
    """PyTorch squeezes a batch of 1, which would be another graph."""
    archive = ARCHIVES / "lstm_2_9_decomposed.pt2"
    done = subprocess.run([tenon, "convert", archive, "-o", tmp_path / "m.tenon"], capture_output=True, text=True)
    assert done.returncode == 0 and "equal to LibTorch" in done.stdout, done.stderr
    with pytest.raises(AssertionError, match="s77.* from 2"):
        run(tenon, tmp_path / "m.tenon", [torch.randn(1, 1, 2)], tmp_path)
