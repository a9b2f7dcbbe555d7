"""Programs of torch.export: read without PyTorch, equal to it, whatever the dialect and the structure."""

import collections
import logging
import re
import subprocess
import warnings
import zipfile

import numpy
import pytest
import torch
from torch import nn
from torch.export import Dim

import models

TINY = ["mlp", "resnet9", "resnet50", "unet", "minilm", "transformer", "decoder", "lstm", "vit_b16", "bert_large", "xml_cnn", "gcn"]
TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def quiet():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def call(tenon):
    """call(code, VERB, ...): runs tenon, checks its exit code and returns what it printed."""

    def run(code, *arguments):
        done = subprocess.run([tenon, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, f"{arguments}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    return run


def export(model, arguments, path, core=False, **options):
    torch.manual_seed(0)
    program = torch.export.export(model.eval(), arguments, **options)
    torch.export.save(program.run_decompositions() if core else program, path)
    return path


def outputs_of(call, model, tmp_path, **inputs):
    given = []
    for name, value in inputs.items():
        numpy.save(tmp_path / f"{name}.npy", value.numpy())
        given += ["--input", f"{name}={tmp_path / name}.npy"]
    call(0, "run", model, *given, "--output", tmp_path / "out.npz")
    return dict(numpy.load(tmp_path / "out.npz"))


def expect_equal(got, want):
    assert got.dtype == want.numpy().dtype and got.shape == tuple(want.shape)
    assert numpy.allclose(got, want.numpy(), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", TINY)
def test_a_model_equals_pytorch(call, exported_tiny, name):
    folder = exported_tiny(name)
    assert "verified" in call(0, "verify", folder / "model.pt2", "--against", folder, "--tolerance", TOLERANCE)


@pytest.mark.parametrize("name", ["mlp", "resnet9", "resnet50", "unet", "minilm"])
def test_a_model_of_real_size_equals_pytorch(call, exported, name):
    folder = exported(name)
    assert "verified" in call(0, "verify", folder / "model.pt2", "--against", folder, "--tolerance", 1e-4)


@pytest.mark.parametrize("name", ["mlp", "resnet9", "minilm", "transformer", "gcn"])
def test_convert_compares_with_libtorch(call, exported_tiny, tmp_path, name):
    printed = call(0, "convert", exported_tiny(name) / "model.pt2", "-o", tmp_path / "model.tenon")
    assert "equal to LibTorch" in printed
    assert "ok" in call(0, "run", tmp_path / "model.tenon", "--check")


@pytest.mark.parametrize("name", ["mlp", "resnet9", "unet", "minilm", "transformer", "vit_b16"])
def test_is_the_model_that_torchscript_gives(call, exported_tiny, name):
    folder = exported_tiny(name)
    assert "same numbers" in call(0, "equiv", folder / "model.pt", folder / "model.pt2", "--samples", 1)


def test_one_archive_runs_at_many_sizes(call, tmp_path):
    example = models.load("minilm", tiny=True)
    batch, length = Dim("batch", min=1, max=64), Dim("length", max=32)
    shapes = [{0: batch, 1: length} for _ in example.inputs]
    path = export(example.model, tuple(example.inputs.values()), tmp_path / "minilm.pt2", dynamic_shapes=shapes)
    for sizes in [(1, 3), (2, 12), (5, 32)]:
        inputs = {"input_ids": torch.randint(0, 64, sizes), "attention_mask": torch.ones(sizes, dtype=torch.int64)}
        with torch.no_grad():
            want = example.model(*inputs.values())
        expect_equal(outputs_of(call, path, tmp_path, **inputs)["out"], want)


class Scaled(nn.Module):
    def forward(self, x):
        return x * 2


def dynamic(tmp_path):
    return export(Scaled(), (torch.ones(4, 3),), tmp_path / "m.pt2", dynamic_shapes=[{0: Dim("batch", min=3, max=64)}])


@pytest.mark.parametrize(
    "given, sentence",
    [
        ("x=f32[100,3]", "dim 0 of input x is 100, but the file was exported for 3 to 64"),
        ("x=f32[8,4]", "dim 1 of input x is given as 4, but the file was exported with 3 there"),
        ("x=f32[N,M]", "dim 1 of input x is given as M, but the file was exported with 3 there"),
        ("x=f64[8,3]", "the file was exported for f32 of rank 2"),
        ("y=f32[8,3]", "forward has no input 'y'"),
    ],
)
def test_an_input_the_archive_does_not_allow_is_one_sentence(call, tmp_path, given, sentence):
    assert sentence in call(2, "convert", dynamic(tmp_path), "--no-verify", "--input", given)


def test_a_multiple_out_of_range_is_said_with_the_range(call, tmp_path):
    rows = 4 * Dim("batch", min=1, max=10)
    path = export(Scaled(), (torch.ones(8, 3),), tmp_path / "m.pt2", dynamic_shapes=[{0: rows}])
    said = call(2, "convert", path, "--no-verify", "--input", "x=f32[44,3]")
    assert re.search(r"dim 0 of input x is given as 44, but the file was exported with 4\*(\w+) there, for \1: 2 to 10", said), said


def test_damaged_weights_are_said(call, tmp_path):
    path = export(torch.nn.Linear(64, 64), (torch.ones(2, 64),), tmp_path / "m.pt2")
    with zipfile.ZipFile(path) as archive:
        weight = next(e for e in archive.infolist() if "/weights/" in e.filename and e.file_size > 64 * 64)
    whole = bytearray(path.read_bytes())
    whole[weight.header_offset + 2000] ^= 1
    path.write_bytes(whole)
    assert f"'{weight.filename}' has a wrong checksum" in call(2, "convert", path)


def test_a_narrower_input_is_taken(call, tmp_path):
    printed = call(0, "convert", dynamic(tmp_path), "--print-ir", "imported", "--input", "x=f32[N,3]")
    assert "f32[N,3]" in printed
    assert "f32[8,3]" in call(0, "convert", dynamic(tmp_path), "--print-ir", "imported", "--input", "x=f32[8,3]")


def test_a_size_out_of_range_is_one_sentence_at_run_time(call, tmp_path):
    call(0, "convert", dynamic(tmp_path), "-o", tmp_path / "m.tenon")
    numpy.save(tmp_path / "x.npy", numpy.ones((2, 3), numpy.float32))
    assert "is 2, the graph allows 3 to 64" in call(2, "run", tmp_path / "m.tenon", "--input", tmp_path / "x.npy")


class Nested(nn.Module):
    def forward(self, pair, options, k, *, flag=None):
        left, right = pair
        return {"sum": left + options["bias"], "parts": [right * k, None, (left.shape[0], flag)]}


def test_inputs_and_outputs_nest(call, tmp_path):
    x, y, bias = torch.randn(2, 3), torch.randn(4), torch.randn(3)
    path = export(Nested(), ((x, y), {"bias": bias}, 3), tmp_path / "nested.pt2", kwargs={"flag": True})
    given = {"pair.0": x, "pair.1": y, "options.bias": bias}
    got = outputs_of(call, path, tmp_path, **given)
    expect_equal(got["out.sum"], x + bias)
    expect_equal(got["out.parts.0"], y * 3)
    assert got["out.parts.2.0"] == 2 and got["out.parts.2.1"] == 1
    assert "input k is given as 4, but the file was exported for 3 alone" in call(
        2, "convert", path, "--no-verify", "--input", "k=4"
    )
    call(0, "convert", path, "-o", tmp_path / "nested.tenon", "--input", "k=3")

Pair = collections.namedtuple("Pair", ["first", "second"])


class NamedOutputs(nn.Module):
    def forward(self, x):
        return Pair(x + 1, x.sum())


def test_fields_of_named_tuples_name_outputs(call, tmp_path):
    torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="test.Pair")
    path = export(NamedOutputs(), (torch.ones(3),), tmp_path / "named.pt2")
    assert {"out.first", "out.second"} == set(outputs_of(call, path, tmp_path, x=torch.ones(3)))
    call(0, "convert", path, "-o", tmp_path / "named.tenon")


class WritesThroughViews(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[:, 0] = 3
        y[1].add_(1)
        z = y.transpose(0, 1)
        z.mul_(2)
        return y, z[0].relu_()


@pytest.mark.parametrize("core", [False, True])
def test_writes_through_views_are_seen_by_all_views(call, tmp_path, core):
    x = torch.randn(3, 3)
    path = export(WritesThroughViews(), (x,), tmp_path / "views.pt2", core)
    got = outputs_of(call, path, tmp_path, x=x)
    want = WritesThroughViews()(x)
    expect_equal(got["out.0"], want[0])
    expect_equal(got["out.1"], want[1])
    call(0, "convert", path, "-o", tmp_path / "views.tenon")


class WritesItsInput(nn.Module):
    def forward(self, x):
        return x.add_(1) * 2


@pytest.mark.parametrize("core", [False, True])
def test_a_write_to_an_input_is_noted(call, tmp_path, core):
    path = export(WritesItsInput(), (torch.ones(3),), tmp_path / "input.pt2", core)
    assert "writes into its input x" in call(0, "convert", path, "-o", tmp_path / "input.tenon")
    expect_equal(outputs_of(call, path, tmp_path, x=torch.zeros(3))["out"], torch.full((3,), 2.0))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(10, 4)
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.tokens.weight
        self.register_buffer("table", torch.arange(12.0).view(3, 4).t(), persistent=False)

    def forward(self, x):
        return self.head(self.tokens(x) + self.table[:, 1]) * torch.tensor([2.0])


def test_tied_weights_views_and_constants(call, tmp_path):
    model, x = Tied(), torch.tensor([1, 7])
    path = export(model, (x,), tmp_path / "tied.pt2")
    with torch.no_grad():
        expect_equal(outputs_of(call, path, tmp_path, x=x)["out"], model(x))
    assert call(0, "inspect", path, "--weights").count("f32[10,4]") == 1


class Loops(nn.Module):
    def forward(self, x):
        from torch._higher_order_ops import scan, while_loop

        count, y = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x))
        last, sums = scan(lambda carry, row: (carry + row, carry * row), x[0], x)
        with torch.no_grad():
            z = y + 1
        return count, y, last, sums, z


def test_loops_and_wrappers(call, tmp_path):
    x = torch.randn(4, 3)
    path = export(Loops(), (x,), tmp_path / "loops.pt2")
    got = outputs_of(call, path, tmp_path, x=x)
    for i, want in enumerate(Loops()(x)):
        expect_equal(got[f"out.{i}"], want)
    call(0, "convert", path, "-o", tmp_path / "loops.tenon")


class Sizes(nn.Module):
    def forward(self, x):
        half = (x.shape[0] + 1) // 2
        scale = x.shape[1] ** 0.5
        return x[:half].reshape(-1, 2) / scale, torch.arange(half) + torch.sym_max(x.shape[0], 3)


def test_arithmetic_on_sizes(call, tmp_path):
    path = export(Sizes(), (torch.randn(5, 4),), tmp_path / "sizes.pt2", dynamic_shapes=[{0: Dim.DYNAMIC}])
    for rows in [3, 5, 8]:
        x = torch.randn(rows, 4)
        got = outputs_of(call, path, tmp_path, x=x)
        for i, want in enumerate(Sizes()(x)):
            expect_equal(got[f"out.{i}"], want)


class Promotes(nn.Module):
    def forward(self, i, h):
        return i * 0.5, i + True, h * 2.5, h + torch.tensor(1.5), i / 2, i // 2, torch.where(i > 0, i, 0.5)


def test_sizes_that_only_assertions_read_are_not_computed(call, tmp_path):
    """The exporter asserts where a part begins in memory, which depends on data."""

    class Parts(nn.Module):
        def forward(self, x, places):
            return torch.tensor_split(x, places)

    x, places = torch.randn(5, 3), torch.tensor([1, 3, 4])
    path = export(Parts(), (x, places), tmp_path / "model.pt2", strict=False)
    got = outputs_of(call, path, tmp_path, x=x, places=places)
    for array, part in zip(got.values(), torch.tensor_split(x, places), strict=True):
        expect_equal(array, part)


def test_numbers_promote_as_in_pytorch(call, tmp_path):
    i, h = torch.tensor([-3, 0, 4]), torch.tensor([1.0, 2.0], dtype=torch.float16)
    path = export(Promotes(), (i, h), tmp_path / "promotes.pt2")
    got = outputs_of(call, path, tmp_path, i=i, h=h)
    for k, want in enumerate(Promotes()(i, h)):
        expect_equal(got[f"out.{k}"], want)
    call(0, "convert", path, "-o", tmp_path / "promotes.tenon")


class Autocast(nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x


def test_autocast_of_another_device_is_refused_with_its_place(call, tmp_path):
    path = export(Autocast(), (torch.randn(2, 2),), tmp_path / "cpu.pt2")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "model.pt2", "w") as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry).replace(b'{"as_string": "cpu"}', b'{"as_string": "cuda"}'))
    printed = call(3, "convert", tmp_path / "model.pt2", "--no-verify")
    assert "autocast for the device 'cuda'" in printed and "test_exported_programs.py" in printed


def test_schemas_are_those_of_the_installed_pytorch():
    import importlib.util
    from pathlib import Path

    script = Path(models.__file__).parents[1] / "converter/exported/write_schemas.py"
    spec = importlib.util.spec_from_file_location("write_schemas", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.OUT.read_text() == module.schemas(), "run ./dev schemas"


class Attends(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.qkv, self.causal = nn.Linear(16, 48), causal

    def forward(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)


BLOCKS = {
    "conv-bn-relu": (nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True)), (2, 3, 8, 8)),
    "layer norm": (nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8)), (2, 5, 6)),
    "group norm": (nn.Sequential(nn.Conv1d(4, 6, 3, padding=1), nn.GroupNorm(2, 6), nn.SiLU()), (2, 4, 9)),
    "transformer layer": (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (2, 5, 16)),
    "gelu": (nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 6), nn.GELU("tanh")), (2, 5, 6)),
    "attention": (Attends(False), (2, 5, 16)),
    "causal attention": (Attends(True), (2, 5, 16)),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_decomposed_block_gives_the_same_graph(call, tmp_path, block):
    model, shape = BLOCKS[block]
    whole = export(model, (torch.randn(shape),), tmp_path / "whole.pt2")
    core = export(model, (torch.randn(shape),), tmp_path / "core.pt2", core=True)
    assert "same numbers, same fused graph" in call(0, "equiv", whole, core, "--samples", 1)


@pytest.mark.parametrize(
    "name", ["mlp", "resnet9", "resnet50", "unet", "transformer", "minilm", "bert_large", "vit_b16", "xml_cnn", "gcn"]
)
def test_a_decomposed_model_gives_the_same_graph(call, exported_tiny, tmp_path, name):
    program = torch.export.load(exported_tiny(name) / "model.pt2")
    torch.export.save(program.run_decompositions(), tmp_path / "core.pt2")
    for other in ["model.pt", "model.pt2"]:
        printed = call(0, "equiv", exported_tiny(name) / other, tmp_path / "core.pt2", "--samples", 1)
        assert "same numbers, same fused graph" in printed


class PseudoInverses(nn.Module):
    """Of no tolerance, PyTorch's exporter and the JIT choose two overloads."""

    def forward(self, x):
        return torch.linalg.pinv(x), torch.linalg.pinv(x, hermitian=True)


class Normed(nn.Module):
    """Makes its tensors by resize_as_ of empty ones."""

    def __init__(self):
        super().__init__()
        self.norm = nn.CrossMapLRN2d(3)

    def forward(self, x):
        return self.norm(x)


@pytest.mark.parametrize("model, example", [(PseudoInverses(), torch.eye(4) + 0.1), (Normed(), torch.randn(2, 5, 3, 4))])
def test_is_compared_with_libtorch(call, tmp_path, model, example):
    export(model, (example,), tmp_path / "model.pt2")
    assert call(0, "verify", tmp_path / "model.pt2").endswith("verified\n")


def test_deep_nesting_in_an_archive_is_one_sentence(call, tmp_path):
    export(nn.Linear(2, 2), (torch.randn(1, 2),), tmp_path / "model.pt2")
    with zipfile.ZipFile(tmp_path / "model.pt2") as good, zipfile.ZipFile(tmp_path / "deep.pt2", "w", zipfile.ZIP_STORED) as deep:
        for name in good.namelist():
            data = good.read(name)
            if name.endswith("models/model.json"):
                data = data.replace(b'"range_constraints": {', b'"range_constraints": {"s0": ' + b"[" * 200_000 + b"]" * 200_000, 1)
            deep.writestr(name, data)
    assert "nested more than 200 deep" in call(2, "inspect", tmp_path / "deep.pt2")
