"""Whatever spelling a model or its exporter uses, the fused graph is the same. One class a name, listed in docs/raising.md."""

import math
import subprocess
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Spelling(nn.Module):
    """A function of x and of parameters that all spellings of a class share."""

    def __init__(self, function, **parameters):
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            self.register_parameter(name, nn.Parameter(value))

    def forward(self, *inputs):
        return self.function(*inputs, **dict(self.named_parameters()))


def gelu_erf(x):
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2.0)))


def gelu_erf_times(x):
    return x * 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))


def gelu_cdf(x):
    return x * (0.5 * (torch.erf(x / 2**0.5) + 1))


def gelu_tanh(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


def gelu_tanh_product(x):
    return 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608028654 * (1.0 + 0.044715 * x * x)))


def softmax(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def softmax_max(x):
    e = (x - x.max(-1, keepdim=True)[0]).exp()
    return e / torch.sum(e, dim=-1, keepdim=True)


def layer_norm_var(x, w, b):
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(var + 1e-5) * w + b


def layer_norm_rsqrt(x, w, b):
    centred = x - x.mean(-1, keepdim=True)
    return w * (centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)) + b


def layer_norm_pow(x, w, b):
    mean = torch.mean(x, dim=-1, keepdim=True)
    return w * (x - mean) / torch.sqrt((x - mean).pow(2).mean(-1, keepdim=True) + 1e-5) + b


def rms_norm_llama(x, w):
    y = x.to(torch.float32)
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
    return w * y.to(x.dtype)


def rms_norm_square(x, w):
    return x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-6) * w


def rms_norm_divided(x, w):
    return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def heads(x, w):
    q, k, v = (x @ w).view(2, 6, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
    return q, k, v


def attention(x, w):
    return F.scaled_dot_product_attention(*heads(x, w))


def attention_scaled_after(x, w):
    q, k, v = heads(x, w)
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(8), -1) @ v


def attention_scaled_before(x, w):
    q, k, v = heads(x, w)
    return torch.matmul(F.softmax(torch.matmul(q * 8**-0.5, k.transpose(2, 3)), dim=-1), v)


def attention_dropout(x, w):
    q, k, v = heads(x, w)
    scores = torch.matmul(q, k.permute(0, 1, 3, 2)) * 8**-0.5
    return F.dropout(scores.softmax(-1), 0.1, training=False) @ v


def masked(x, w, mask):
    return F.scaled_dot_product_attention(*heads(x, w), attn_mask=mask)


def masked_added(x, w, mask):
    q, k, v = heads(x, w)
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(8) + mask, -1) @ v


def causal(x, w):
    return F.scaled_dot_product_attention(*heads(x, w), is_causal=True)


def causal_filled(x, w):
    q, k, v = heads(x, w)
    scores = q @ k.transpose(-2, -1) / math.sqrt(8)
    scores = scores.masked_fill(torch.triu(torch.ones(6, 6), 1).bool(), float("-inf"))
    return torch.softmax(scores, -1) @ v


def causal_buffer(x, w):
    mask = torch.full((6, 6), float("-inf")).triu(1)
    return F.scaled_dot_product_attention(*heads(x, w), attn_mask=mask)


def grouped_heads(x, w):
    """Four heads of queries, two of keys and of values."""
    q, k, v = (x @ w).split([32, 16, 16], -1)
    return q.view(2, 6, 4, 8).transpose(1, 2), *(t.view(2, 6, 2, 8).transpose(1, 2) for t in (k, v))


def repeat_kv(x):
    return x[:, :, None, :, :].expand(2, 2, 2, 6, 8).reshape(2, 4, 6, 8)


def grouped_queries(x, w):
    return F.scaled_dot_product_attention(*grouped_heads(x, w), enable_gqa=True)


def grouped_queries_expanded(x, w):
    q, k, v = grouped_heads(x, w)
    return F.scaled_dot_product_attention(q, repeat_kv(k), repeat_kv(v))


def grouped_queries_interleaved(x, w):
    q, k, v = grouped_heads(x, w)
    return F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), torch.repeat_interleave(v, 2, dim=-3))


def grouped_queries_scaled_after(x, w):
    q, k, v = grouped_heads(x, w)
    return torch.softmax(q @ repeat_kv(k).transpose(-2, -1) / math.sqrt(8), -1) @ repeat_kv(v)


def qkv_chunk(x, w):
    return [t * 2 for t in (x @ w).chunk(3, -1)]


def qkv_split(x, w):
    return [t * 2 for t in torch.split(x @ w, 16, -1)]


def qkv_slices(x, w):
    y = torch.matmul(x, w)
    return [y[..., :16] * 2, y[..., 16:32] * 2, y[:, :, 32:] * 2]


def qkv_narrow(x, w):
    y = x @ w
    return [y.narrow(-1, i * 16, 16) * 2 for i in range(3)]


def rotary_chunk(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def rotary_slices(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * sin


def rotary_split(x, cos, sin):
    a, b = torch.split(x, 4, dim=-1)
    return torch.add(torch.mul(x, cos), torch.cat((b.neg(), a), dim=-1) * sin)


def gather_scale_scatter(x, source, target, weight):
    return torch.zeros(10, 8).index_add(0, target, x.index_select(0, source) * weight[:, None])


def gather_scale_scatter_in_place(x, source, target, weight):
    return torch.zeros(10, 8).index_add_(0, target, weight.unsqueeze(-1) * torch.index_select(x, 0, source))


def gather_scale_scatter_expanded(x, source, target, weight):
    messages = weight.view(-1, 1) * x.index_select(0, source)
    return torch.zeros(10, 8).scatter_add_(0, target.view(-1, 1).expand(-1, 8), messages)


def linear(x, w, b):
    return F.linear(x, w, b)


def linear_matmul(x, w, b):
    return x @ w.t() + b


def linear_addmm(x, w, b):
    return torch.addmm(b, x.reshape(-1, 16), w.t()).view(2, 6, -1)


def pooled(x):
    return F.adaptive_avg_pool2d(x, 1).flatten(1)


def pooled_mean(x):
    return x.mean((2, 3))


def pooled_kept(x):
    return x.mean([-1, -2], keepdim=True).squeeze(-1).squeeze(-1)


def grouped(x, w, b):
    return F.group_norm(x, 2, w, b)


def grouped_one_by_one(x, w, b):
    groups = F.group_norm(x.reshape(x.shape[0], 2, -1), 2)
    return groups.reshape(x.shape) * w.reshape(-1, 1, 1) + b.reshape(1, -1, 1, 1)


def grouped_by_ones(x, w, b):
    groups = F.group_norm(x.reshape(x.shape[0], 2, -1), 2, torch.ones(2), torch.zeros(2))
    return groups.reshape(x.shape) * w[:, None, None] + b[:, None, None]


def padded(x, k):
    return F.conv2d(F.pad(x, (0, 1, 0, 2)), k, padding=1)


def padded_around(x, k):
    return F.conv2d(F.pad(x, (1, 2, 1, 3)), k)


def padded_twice(x, k):
    return F.conv2d(F.pad(F.pad(x, (1, 1, 1, 1)), (0, 1, 0, 2)), k)


def hidden(x, see):
    mask = see[:, None, None, :].expand(2, 1, 6, 6)
    return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], attn_mask=mask)


def hidden_by_places(x, see):
    rows, columns = torch.arange(2), torch.arange(6)
    mask = see[rows[:, None, None, None], columns[None, None, None, :]] & torch.ones(1, 1, 6, 1, dtype=torch.bool)
    return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], attn_mask=mask)


def hidden_by_flat_places(x, see):
    mask = see.reshape(12)[torch.arange(12).reshape(2, 1, 1, 6)].logical_and(torch.ones(6, 1, dtype=torch.bool))
    return F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], attn_mask=mask)


def hardswish(x):
    return x * F.relu6(x + 3) / 6


X, IMAGE = torch.randn(2, 6, 16), torch.randn(2, 3, 4, 5)
QKV = {"w": torch.randn(16, 48)}
NORM = {"w": torch.randn(16), "b": torch.randn(16)}
MAPS = torch.randn(2, 4, 6, 5)
CHANNELS = {"w": torch.randn(4), "b": torch.randn(4)}
EDGES = (torch.randn(10, 8), torch.randint(0, 10, (30,)), torch.randint(0, 10, (30,)), torch.rand(30))

# name: inputs, parameters, spellings
CLASSES = {
    "gelu": ((X,), {}, [F.gelu, nn.GELU(), gelu_erf, gelu_erf_times, gelu_cdf]),
    "gelu, tanh": ((X,), {}, [lambda x: F.gelu(x, approximate="tanh"), gelu_tanh, gelu_tanh_product]),
    "silu": ((X,), {}, [F.silu, lambda x: x * torch.sigmoid(x), lambda x: torch.sigmoid(x).mul(x), lambda x: x / (1 + torch.exp(-x))]),
    "softmax": ((X,), {}, [lambda x: x.softmax(-1), softmax, softmax_max]),
    "layer norm": ((X,), NORM, [lambda x, w, b: F.layer_norm(x, (16,), w, b), layer_norm_var, layer_norm_rsqrt, layer_norm_pow]),
    "RMS norm": ((X,), {"w": NORM["w"]}, [lambda x, w: F.rms_norm(x, (16,), w, 1e-6), rms_norm_llama, rms_norm_square, rms_norm_divided]),
    "attention": ((X,), QKV, [attention, attention_scaled_after, attention_scaled_before, attention_dropout]),
    "attention, mask": ((X,), {**QKV, "mask": torch.randn(6, 6)}, [masked, masked_added]),
    "attention, causal": ((X,), QKV, [causal, causal_filled, causal_buffer]),
    "attention, grouped queries": (
        (X,),
        {"w": torch.randn(16, 64)},
        [grouped_queries, grouped_queries_expanded, grouped_queries_interleaved, grouped_queries_scaled_after],
    ),
    "fused QKV": ((X,), QKV, [qkv_chunk, qkv_split, qkv_slices, qkv_narrow]),
    "rotary embedding": ((torch.randn(2, 2, 6, 8), torch.randn(6, 8), torch.randn(6, 8)), {}, [rotary_chunk, rotary_slices, rotary_split]),
    "gather, scale, scatter": (EDGES, {}, [gather_scale_scatter, gather_scale_scatter_in_place, gather_scale_scatter_expanded]),
    "linear": ((X,), {"w": torch.randn(5, 16), "b": torch.randn(5)}, [linear, linear_matmul, linear_addmm]),
    "attention, hidden keys": ((X, torch.rand(2, 6) < 0.8), {}, [hidden, hidden_by_places, hidden_by_flat_places]),
    "group norm": ((MAPS,), CHANNELS, [grouped, grouped_one_by_one, grouped_by_ones]),
    "padded convolution": ((MAPS,), {"k": torch.randn(3, 4, 3, 3)}, [padded, padded_around, padded_twice]),
    "pool of a map": ((IMAGE,), {}, [pooled, pooled_mean, pooled_kept]),
    "hard swish": ((X,), {}, [F.hardswish, hardswish]),
}


def written(folder, spellings, inputs, parameters):
    """Each spelling traced, exported, and exported with decompositions."""
    for i, function in enumerate(spellings):
        model = Spelling(function, **parameters).eval()
        with torch.no_grad():
            torch.jit.trace(model, inputs).save(str(folder / f"{i}.pt"))
        program = torch.export.export(model, inputs)
        torch.export.save(program, str(folder / f"{i}.pt2"))
        torch.export.save(program.run_decompositions(), str(folder / f"{i}.core.pt2"))
        yield from (folder / f"{i}{kind}" for kind in (".pt", ".pt2", ".core.pt2"))


@pytest.mark.parametrize("name", CLASSES)
def test_one_graph(tenon, tmp_path, name):
    inputs, parameters, spellings = CLASSES[name]
    first, *others = written(tmp_path, spellings, inputs, parameters)
    dtypes = {torch.float32: "f32", torch.int64: "i64", torch.bool: "bool"}
    shapes = [f"--input={dtypes[x.dtype]}[{','.join(map(str, x.shape))}]" for x in inputs]
    different = []
    for other in others:
        done = subprocess.run([tenon, "equiv", first, other, "--samples", "1"], capture_output=True, text=True)
        if "same numbers, same fused graph" not in done.stdout:
            different.append(f"{other.name}: {done.stdout}{done.stderr}")
    assert not different, "\n".join(different)


def test_the_page_lists_every_class():
    page = (Path(__file__).parents[2] / "docs/raising.md").read_text()
    for name, (_, _, spellings) in CLASSES.items():
        assert f"| {name} | {len(spellings)} |" in page, name


Q, K = torch.randn(2, 3, 4, 4), torch.randn(2, 3, 1, 4)
FIRST_KEY = torch.tensor([[True, False, False, False]])
LOOK_ALIKES = {
    "a mask of one row": ((Q, Q, Q), lambda q, k, v: F.scaled_dot_product_attention(q, k, v, FIRST_KEY)),
    "a mask of one row, filled in": ((Q, Q, Q), lambda q, k, v: (q @ k.mT).masked_fill(~FIRST_KEY, -torch.inf).softmax(-1) @ v),
    "a mask that widens the batch": ((Q[:1], Q[:1], Q[:1]), lambda q, k, v: (q @ k.mT + torch.ones(2, 1, 4, 4)).softmax(-1) @ v),
    "a mask that adds queries": ((K, Q, Q), lambda q, k, v: (q @ k.mT + torch.eye(4)).softmax(-1) @ v),
    "a clamp to five": ((Q,), lambda x: x * F.hardtanh(x + 3, 0, 5) / 6),
    "a sigmoid of another value": ((Q, Q * 2), lambda x, y: x / (1 + torch.exp(-y))),
}


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_alike_keeps_its_numbers(tenon, tmp_path, name):
    inputs, function = LOOK_ALIKES[name]
    torch.jit.trace(Spelling(function), inputs).save(str(tmp_path / "model.pt"))
    done = subprocess.run([tenon, "verify", tmp_path / "model.pt"], capture_output=True, text=True)
    assert done.returncode == 0 and "verified" in done.stdout, done.stdout + done.stderr
