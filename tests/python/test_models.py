"""What the exported models promise to everything that is tested on them."""

import inspect
import json
import shutil
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

import models
from models import bert_large, minilm, resnet50, vit_b16
from models.bert import Bert

PYTORCH_MODELS = [name for name in models.NAMES if name != "silero_vad"]
DTYPES = {"f32": numpy.float32, "i64": numpy.int64}


@pytest.fixture(scope="module")
def tiny(script, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    script("models/export.py", "--all", "--tiny", "--out", folder)
    return folder


def tensors(result) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else list(result)


def samples(folder: Path, kind: str) -> list:
    values = [numpy.load(folder / f"{kind}_{i}.npy") for i in range(len(list(folder.glob(f"{kind}_*.npy"))))]
    return [torch.from_numpy(value) if value.ndim else value.item() for value in values]


def assert_close(got: list[torch.Tensor], want: list[torch.Tensor]) -> None:
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.shape == w.shape
        assert (g - w).abs().max() <= 1e-6 * w.abs().max()


@pytest.mark.parametrize("file", ["model.pt", "model.scripted.pt"])
@pytest.mark.parametrize("name", PYTORCH_MODELS)
def test_the_exported_file_computes_what_eager_pytorch_computes(tiny, name, file):
    module = torch.jit.load(str(tiny / name / file))
    got = tensors(module(*samples(tiny / name, "in")))
    example = models.load(name, tiny=True)
    with torch.no_grad():
        want = tensors(example.model(*example.inputs.values()))
    assert_close(got, want)
    assert_close(samples(tiny / name, "out"), want)


@pytest.mark.parametrize("name", PYTORCH_MODELS)
def test_the_trace_holds_at_every_size_that_may_vary(tiny, name):
    example = models.load(name, tiny=True)
    larger = []
    for key, value in example.inputs.items():
        for axis in example.free.get(key, {}):
            value = torch.cat((value, value.narrow(axis, 0, 1)), axis)
        larger.append(value)
    module = torch.jit.load(str(tiny / name / "model.pt"))
    with torch.no_grad():
        assert_close(tensors(module(*larger)), tensors(example.model(*larger)))


@pytest.mark.parametrize("name", models.NAMES)
def test_meta_describes_the_inputs(tiny, name):
    meta = json.loads((tiny / name / "meta.json").read_text())
    example = models.load(name, tiny=True)
    assert [entry["name"] for entry in meta["inputs"]] == list(example.inputs)
    for index, entry in enumerate(meta["inputs"]):
        value = numpy.load(tiny / name / f"in_{index}.npy")
        free = example.free.get(entry["name"], {})
        assert (list(value.shape), value.dtype) == (entry["shape"], DTYPES[entry["dtype"]])
        assert entry["dims"] == [free.get(axis, size) for axis, size in enumerate(entry["shape"])]


@pytest.mark.parametrize("name", PYTORCH_MODELS)
def test_inputs_are_named_and_ordered_as_in_forward(name):
    example = models.load(name, tiny=True)
    assert list(example.inputs) == list(inspect.signature(example.model.forward).parameters)


def test_an_export_writes_the_same_bytes_whatever_ran_before(script, tiny, tmp_path):
    names = ["xml_cnn", "minilm", "resnet50", "mlp"]
    script("models/export.py", *names, "--tiny", "--out", tmp_path)
    for name in names:
        files = sorted(path.name for path in (tmp_path / name).iterdir())
        assert files == sorted(path.name for path in (tiny / name).iterdir())
        for file in files:
            assert (tmp_path / name / file).read_bytes() == (tiny / name / file).read_bytes(), f"{name}/{file}"


@pytest.mark.parametrize("name", PYTORCH_MODELS)
def test_tiny_files_stay_small(tiny, name):
    assert (tiny / name / "model.pt").stat().st_size < 300_000


@pytest.mark.parametrize("name", ["resnet9", "resnet50", "unet"])
def test_every_batch_norm_changes_its_input(name):
    norms = [m for m in models.load(name, tiny=True).model.modules() if isinstance(m, nn.BatchNorm2d)]
    assert norms
    for norm in norms:
        for tensor, trivial in ((norm.running_mean, 0), (norm.running_var, 1), (norm.weight, 1), (norm.bias, 0)):
            assert (tensor - trivial).abs().max() > 0.01


def test_full_models_have_the_published_parameter_counts():
    def count(module: nn.Module) -> int:
        return sum(parameter.numel() for parameter in module.parameters())

    with torch.device("meta"):
        assert count(resnet50.ResNet([3, 4, 6, 3], 64, 1000)) == 25_557_032
        assert count(vit_b16.ViT(224, 16, 768, 12, 12, 1000)) == 86_567_656
        assert count(Bert(bert_large.LARGE)) == 335_141_888


def test_resnet50_has_the_usual_parameter_names():
    with torch.device("meta"):
        names = resnet50.ResNet([3, 4, 6, 3], 64, 1000).state_dict().keys()
    assert len(names) == 320
    assert {"conv1.weight", "bn1.running_var", "layer1.0.downsample.0.weight", "layer4.2.bn3.bias", "fc.bias"} <= names


def test_the_real_minilm_knows_which_sentences_are_alike():
    sentences = ["The cat sits outside.", "A cat is sitting in the garden.", "He plays the guitar."]
    with torch.no_grad():
        embedding = minilm.pretrained().eval()(*minilm.tokenize(sentences).values())
    cosine = embedding @ embedding.T
    assert torch.allclose(cosine.diag(), torch.ones(3))
    assert cosine[0, 1] > 0.5 > 0.2 > cosine[0, 2]


def test_times_reports_each_peer(script, tiny, tmp_path):
    report = tmp_path / "times.json"
    options = ["--rounds", 1, "--seconds", 0.01, "--tenon", tmp_path / "absent", "--json", report]
    script("bench/models", tiny / "mlp", *options)
    rows = json.loads(report.read_text())["models"]["mlp"]["1"]
    assert {row["peer"] for row in rows} == {"PyTorch eager", "TorchScript"}
    assert all(0 < row["min_ms"] <= row["median_ms"] for row in rows)


def test_times_gives_tenon_the_inputs_of_the_others(script, tiny, tmp_path):
    """An artifact may leave its dims open; with inputs of its own choice tenon would be timed on another problem."""
    calls, fake = tmp_path / "calls", tmp_path / "tenon"
    fake.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\n'
        'while [ "$1" != --json ]; do shift; done\n'
        """echo '{"latency_ms": {"min": 1, "median": 2}}' > "$2"\n"""
    )
    fake.chmod(0o755)
    folder = tmp_path / "minilm"
    shutil.copytree(tiny / "minilm", folder)
    (folder / "model.tenon").touch()
    assert "tenon" in script("bench/models", folder, "--rounds", 1, "--seconds", 0.01, "--tenon", fake)
    for call in calls.read_text().splitlines():
        assert f"--input input_ids={folder}/in_0.npy --input attention_mask={folder}/in_1.npy" in call
