"""Grouped queries: however a model repeats heads of keys and values for those of queries, they are read where they lie. The spellings
without a cache are a class of test_equality_classes.py."""

import os
import re
import subprocess
import warnings

import numpy as np
import onnx
import pytest
import torch
from one_node import Case, weight
from torch.nn.functional import scaled_dot_product_attention

HEADS, FEWER, WIDTH = 8, 2, 16


def repeat_kv(x, times):
    """As transformers writes it."""
    batch, heads, length, width = x.shape
    return x[:, :, None, :, :].expand(batch, heads, times, length, width).reshape(batch, heads * times, length, width)


def by_flag(q, k, v, mask):
    return scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def by_repeat_kv(q, k, v, mask):
    return scaled_dot_product_attention(q, repeat_kv(k, HEADS // FEWER), repeat_kv(v, HEADS // FEWER), attn_mask=mask)


def by_repeat_interleave(q, k, v, mask):
    k, v = (x.repeat_interleave(HEADS // FEWER, dim=1) for x in (k, v))
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def written_out(q, k, v, mask):
    k, v = repeat_kv(k, HEADS // FEWER), repeat_kv(v, HEADS // FEWER)
    scores = torch.matmul(q, k.transpose(2, 3)) * WIDTH**-0.5
    return torch.matmul(torch.softmax(scores if mask is None else scores + mask, dim=-1), v)


SPELLINGS = {"flag": by_flag, "repeat_kv": by_repeat_kv, "repeat_interleave": by_repeat_interleave, "written out": written_out}


class Layer(torch.nn.Module):
    """Self-attention behind a cache."""

    def __init__(self, attend, masked):
        super().__init__()
        self.attend, self.masked = attend, masked
        self.q = torch.nn.Linear(64, HEADS * WIDTH)
        self.kv = torch.nn.Linear(64, 2 * FEWER * WIDTH)
        self.out = torch.nn.Linear(HEADS * WIDTH, 64)

    def forward(self, x, keys, values):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, HEADS, WIDTH).transpose(1, 2)
        k, v = (y.view(batch, length, FEWER, WIDTH).transpose(1, 2) for y in self.kv(x).chunk(2, dim=-1))
        k, v = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        mask = torch.full((length, k.shape[2]), -torch.inf).triu(1 + keys.shape[2]) if self.masked else None
        return self.out(self.attend(q, k, v, mask).transpose(1, 2).reshape(batch, length, HEADS * WIDTH)), k, v


def saved(kind, spelling, folder, masked=False):
    torch.manual_seed(0)
    layer = Layer(SPELLINGS[spelling], masked).eval()
    inputs = (torch.randn(2, 5, 64), torch.randn(2, FEWER, 7, WIDTH), torch.randn(2, FEWER, 7, WIDTH))
    file = folder / f"model.{kind.split()[0]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "pt":
            torch.jit.trace(layer, inputs).save(str(file))
        else:
            torch.onnx.export(layer, inputs, str(file), dynamo=kind == "onnx dynamo", external_data=False, verbose=False)
    return file


def attention_of(graph):
    """The heads of queries, keys and values of the only attention of a graph's text."""
    shapes = dict(re.findall(r"(%\w+)\b[^:\n]*?: f32\[([\d,]+)\]", graph)) | dict(re.findall(r"(%[\w.]+) = [^\n]*? : f32\[([\d,]+)\]", graph))
    (operands,) = re.findall(r" attention\((%[\w.]+), (%[\w.]+), (%[\w.]+)", graph)
    return [int(shapes[x].split(",")[1]) for x in operands]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["pt", "onnx dynamo", "onnx TorchScript"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_spelling_becomes_one_operator(run, tmp_path, spelling, kind, masked):
    if (spelling, kind) == ("flag", "onnx TorchScript"):
        pytest.skip("the exporter refuses enable_gqa")
    model = saved(kind, spelling, tmp_path, masked)
    graph = run("inspect", model, "--ir", "fused", code=0)
    assert attention_of(graph) == [HEADS, FEWER, FEWER]
    assert "expand" not in graph, graph
    run("verify", model, code=0)


def test_the_operator_of_onnx_becomes_it_too(run, tmp_path):
    """GroupQueryAttention, of one step behind a cache."""
    cache = np.zeros((1, FEWER, 7, WIDTH), np.float32)
    inputs = [np.zeros((1, 1, heads * WIDTH), np.float32) for heads in (HEADS, FEWER, FEWER)]
    lengths = [np.array([7], np.int32), weight(np.array(8, np.int32))]
    case = Case("", "GroupQueryAttention", [*inputs, cache, cache, *lengths], {"num_heads": HEADS, "kv_num_heads": FEWER}, 3)
    onnx.save(case.model(), tmp_path / "model.onnx")
    assert attention_of(run("inspect", "model.onnx", "--ir", "fused", code=0)) == [HEADS, FEWER, FEWER]


@pytest.fixture
def planned(tenon, tmp_path):
    """planned(MODEL, DEVICE): the plan's text; GPUs are emulated."""

    def planned(model, device):
        drivers = tenon.parent / "softgpu"
        if device != "cpu" and not drivers.exists():
            pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")
        environment = os.environ | {"LD_LIBRARY_PATH": str(drivers), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run([tenon, "inspect", model, "--ir", "planned", "--device", device], capture_output=True, text=True, timeout=600,
                              env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return planned


@pytest.mark.parametrize("device", ["cpu", "cuda", "hip"])
def test_plans_copy_no_heads(planned, tmp_path, device):
    plans = {spelling: planned(saved("pt", spelling, tmp_path), device) for spelling in SPELLINGS}
    for plan in plans.values():
        assert f"[2,{HEADS},12,{WIDTH}]" not in plan and f"[2,{FEWER},{HEADS // FEWER},12,{WIDTH}]" not in plan, plan
