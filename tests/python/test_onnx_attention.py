"""Attention operators that ONNX Runtime's and Olive's optimisers write: as ONNX Runtime computes them, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from compared import Refused
from one_node import Case, Weight, assert_equal, run_onnxruntime, run_tenon, weight

R = np.random.default_rng(7)
B, S, N, H = 2, 5, 4, 16  # samples, places, heads, width of a head
D = N * H


def f32(*shape):
    return R.standard_normal(shape).astype(np.float32)


def i32(*values):
    return np.array(values, dtype=np.int32)


X, QKV, BIAS = f32(B, S, 24), weight(f32(24, 3 * D) * 0.3), weight(f32(3 * D))
WIDE_V = {"qkv_hidden_sizes": [D, D, 2 * D], "num_heads": N}
PAST = f32(2, B, N, 3, H)
KEPT = (R.random((B, S)) > 0.3).astype(np.int32) | np.eye(B, S, dtype=np.int32)
KEPT_ALL = (R.random((B, S, S)) > 0.3).astype(np.int32)

ATTENTION = [
    Case("plain", "Attention", [X, QKV, BIAS], {"num_heads": N}),
    Case("scale", "Attention", [X, QKV, BIAS], {"num_heads": N, "scale": 0.2}),
    Case("wide values", "Attention", [X, weight(f32(24, 4 * D) * 0.3), weight(f32(4 * D))], WIDE_V),
    Case("causal", "Attention", [X, QKV, BIAS], {"num_heads": N, "unidirectional": 1}),
    Case("lengths", "Attention", [X, QKV, BIAS, i32(3, 5)], {"num_heads": N}),
    Case("ends and starts", "Attention", [X, QKV, BIAS, i32(4, 5, 1, 0)], {"num_heads": N}),
    Case("mask of keys", "Attention", [X, QKV, BIAS, KEPT], {"num_heads": N}),
    Case("mask of pairs", "Attention", [X, QKV, BIAS, KEPT_ALL], {"num_heads": N}),
    Case("all keys padding", "Attention", [X, QKV, BIAS, KEPT * i32(1, 0)[:, None]], {"num_heads": N}),
    Case("causal mask", "Attention", [X, QKV, BIAS, KEPT], {"num_heads": N, "unidirectional": 1, "mask_filter_value": -50.0}),
    Case("past", "Attention", [X, QKV, BIAS, None, PAST], {"num_heads": N, "unidirectional": 1}, 2),
    Case("present alone", "Attention", [X, QKV, BIAS], {"num_heads": N}, 2),
    Case("bias of pairs", "Attention", [X, QKV, BIAS, None, None, f32(1, N, S, S)], {"num_heads": N}),
    Case("past of any length", "Attention", [X, QKV, BIAS, np.ones((B, 3 + S), np.int32), PAST], {"num_heads": N, "unidirectional": 1}, 2,
         dims={0: ["batch", "new", 24], 3: ["batch", "all"], 4: [2, "batch", N, "past", H]}),
    Case("bias and mask", "Attention", [X, QKV, BIAS, KEPT, None, f32(B, 1, S, S)], {"num_heads": N}),
]

Q, K, V = f32(B, S, D), f32(B, 7, D), f32(B, 7, 2 * D)
LONG = (R.random((B, 7)) > 0.3).astype(np.int32) | np.eye(B, 7, dtype=np.int32)
HOLES = np.array([[1, 1, 0, 1, 1, 0, 1, 1], [1] * 8], np.int32)
KEYS_AND_VALUES = [f32(B, N, 3, H), f32(B, N, 3, H)]
MULTI_HEAD = [
    Case("plain", "MultiHeadAttention", [Q, K, V], {"num_heads": N}),
    Case("bias", "MultiHeadAttention", [Q, K, K, weight(f32(3 * D))], {"num_heads": N, "scale": 0.5}),
    Case("heads first", "MultiHeadAttention", [Q, f32(B, N, 7, H), f32(B, N, 7, H)], {"num_heads": N}),
    Case("mask", "MultiHeadAttention", [Q, K, V, None, LONG], {"num_heads": N}),
    Case("lengths", "MultiHeadAttention", [Q, K, V, None, i32(3, 7)], {"num_heads": N}),
    Case("bias of pairs", "MultiHeadAttention", [Q, K, V, None, None, f32(1, N, S, 7)], {"num_heads": N}),
    Case("causal", "MultiHeadAttention", [Q, Q, Q], {"num_heads": N, "unidirectional": 1}),
    Case("mask with a past", "MultiHeadAttention", [Q, Q, Q, None, HOLES, None, *KEYS_AND_VALUES], {"num_heads": N, "unidirectional": 1}, 3),
    Case("past", "MultiHeadAttention", [Q, Q, Q, None, None, None, *KEYS_AND_VALUES], {"num_heads": N, "unidirectional": 1}, 3),
    Case("present alone", "MultiHeadAttention", [Q, Q, Q], {"num_heads": N}, 3),
    Case("mask of pairs", "MultiHeadAttention", [Q, Q, Q, None, KEPT_ALL], {"num_heads": N}),
    Case("one step", "DecoderMaskedMultiHeadAttention", [f32(B, 1, D), f32(B, N, 7, H), f32(B, N, 7, H), LONG], {"num_heads": N}),
]

SIZE, FEW = 16, 2  # places of the tables, heads of keys and values
KV = FEW * H
ANGLES = R.random((SIZE, H // 2)).astype(np.float32) * 6
COS, SIN = weight(np.cos(ANGLES)), weight(np.sin(ANGLES))
HEADS = {"num_heads": N, "kv_num_heads": FEW}


def group_query(name, new, past, lengths, *more, total=None, samples=1, packed=False, cache=None, **attributes):
    """`new` places after `past` ones; `lengths` are those of the samples in the end."""
    q, k, v = f32(samples, new, D), f32(samples, new, KV), f32(samples, new, KV)
    inputs = [np.concatenate([q, k, v], axis=2), None, None] if packed else [q, k, v]
    size = past if cache is None else cache
    inputs += [f32(samples, FEW, size, H), f32(samples, FEW, size, H)] if size else [None, None]
    inputs += [i32(*(n - 1 for n in lengths)), weight(np.array(total or past + new, dtype=np.int32))]
    return Case(name, "GroupQueryAttention", inputs + list(more), {**HEADS, **attributes}, 3)


GROUP_QUERY = [
    group_query("prompt", 5, 0, [5]),
    group_query("prompt of samples", 5, 0, [5, 5], samples=2),
    group_query("prompt with rotation", 5, 0, [5], COS, SIN, do_rotary=1),
    group_query("packed", 5, 0, [5], COS, SIN, do_rotary=1, packed=True),
    group_query("interleaved", 5, 0, [5], COS, SIN, do_rotary=1, rotary_interleaved=1),
    group_query("step", 1, 6, [7], COS, SIN, do_rotary=1),
    group_query("step of samples", 1, 6, [7, 5], COS, SIN, do_rotary=1, samples=2),
    group_query("several steps", 3, 6, [9], COS, SIN, do_rotary=1),
    group_query("large cache", 1, 6, [7, 4], COS, SIN, total=7, samples=2, cache=12, do_rotary=1),
    group_query("prompt into a large cache", 5, 0, [5], COS, SIN, total=5, cache=12, do_rotary=1),
    group_query("window", 6, 0, [6], local_window_size=3),
    group_query("window of a step", 1, 6, [7], local_window_size=3),
    group_query("window of several steps", 3, 6, [9], COS, SIN, do_rotary=1, local_window_size=4, softcap=3.0),
    group_query("softcap", 5, 0, [5], softcap=2.0),
    group_query("softcap of a step", 1, 6, [7, 5], softcap=2.0, samples=2, scale=0.7),
    group_query("smooth", 5, 0, [5], smooth_softmax=1),
    group_query("sink", 1, 6, [7], None, None, None, None, f32(N)),
    group_query("bias of pairs", 5, 0, [5], None, None, None, f32(1, N, 5, 5)),
    group_query("softcap and bias", 1, 6, [7], None, None, None, f32(1, N, 1, 7), softcap=2.0),
    group_query("positions", 2, 6, [8], COS, SIN, np.array([[3, 9]]), do_rotary=1),
    group_query("both directions", 5, 0, [5], causal=0),
    group_query("both directions with a past", 1, 6, [7], causal=0),
]

ROTARY = [
    Case("flat", "RotaryEmbedding", [f32(B, S, D), np.array([[0, 1, 2, 3, 4], [4, 2, 0, 9, 1]]), COS, SIN]),
    Case("first place", "RotaryEmbedding", [f32(B, S, D), np.array([3]), COS, SIN]),
    Case("heads first", "RotaryEmbedding", [f32(B, N, S, H), np.array([3]), COS, SIN]),
    Case("interleaved", "RotaryEmbedding", [f32(B, S, D), np.array([0]), COS, SIN], {"interleaved": 1}),
    Case("part", "RotaryEmbedding", [f32(B, S, N * 2 * H), np.array([1]), COS, SIN], {"rotary_embedding_dim": H, "num_heads": N}),
]


def test_a_prompt_with_padding(tenon, tmp_path):
    """What the places behind a sample's length give is nobody's to read."""
    case = group_query("", 5, 0, [5, 3], COS, SIN, do_rotary=1, samples=2)
    model, feeds = case.model(), case.feeds()
    given, wanted = run_tenon(tenon, model, feeds, tmp_path), run_onnxruntime(model, feeds)
    given[0][1, 3:] = wanted[0][1, 3:] = 0
    assert_equal(given, wanted)


def halved(x):
    narrow = np.asarray(x).astype(np.float16) if x is not None and x.dtype == np.float32 else x
    return weight(narrow) if isinstance(x, Weight) else narrow


@pytest.mark.parametrize("case", GROUP_QUERY, ids=lambda c: c.id)
def test_in_16_bits(tenon, tmp_path, case):
    case = replace(case, inputs=[halved(x) for x in case.inputs])
    model, feeds = case.model(), case.feeds()
    assert_equal(run_tenon(tenon, model, feeds, tmp_path), run_onnxruntime(model, feeds), rtol=2e-3, atol=2e-3)


def flat(x):
    return x.reshape(B, -1, D)


ALL, PAIRS = f32(B, S, N, 3, H), f32(B, 7, N, 2, H)
SAME = [  # forms that ONNX Runtime has on GPUs alone, or crashes on, and those that it computes
    (
        Case("packed", "MultiHeadAttention", [ALL], {"num_heads": N}),
        Case("", "MultiHeadAttention", [flat(ALL[:, :, :, i]) for i in range(3)], {"num_heads": N}),
    ),
    (
        Case("packed pairs", "MultiHeadAttention", [Q, PAIRS], {"num_heads": N}),
        Case("", "MultiHeadAttention", [Q, flat(PAIRS[:, :, :, 0]), flat(PAIRS[:, :, :, 1])], {"num_heads": N}),
    ),
    (
        Case("without bias", "Attention", [X, QKV], {"num_heads": N}),
        Case("", "Attention", [X, QKV, weight(np.zeros(3 * D, np.float32))], {"num_heads": N}),
    ),
]


@pytest.mark.parametrize("case", ATTENTION + MULTI_HEAD + GROUP_QUERY + ROTARY, ids=lambda c: c.id)
def test_as_onnxruntime(tenon, tmp_path, case):
    model, feeds = case.model(), case.feeds()
    assert_equal(run_tenon(tenon, model, feeds, tmp_path), run_onnxruntime(model, feeds))


@pytest.mark.parametrize("case, peer", SAME, ids=lambda c: c.id)
def test_as_another_form(tenon, tmp_path, case, peer):
    assert_equal(run_tenon(tenon, case.model(), case.feeds(), tmp_path), run_onnxruntime(peer.model(), peer.feeds()))


REFUSED = [
    (Case("", "Attention", [X, QKV, BIAS], {"num_heads": N, "do_rotary": 1}), "rotary embeddings inside"),
    (Case("", "Attention", [X, QKV, BIAS, None, PAST], {"num_heads": N, "past_present_share_buffer": 1}, 2), "share one buffer"),
    (Case("", "Attention", [X, QKV, BIAS, np.ones((B, 1, S, S), np.int32)], {"num_heads": N}), r"a mask i32\[2,1,5,5\]"),
    (Case("", "MultiHeadAttention", [Q, Q, Q], {"num_heads": N}, 4), "output of scores"),
    (group_query("", 1, 6, [7], sliding_window_cache=1, local_window_size=3), "a cache that slides"),
    (group_query("", 1, 6, [7], *[None] * 7, f32(H), f32(H)), "norms of queries and keys"),
    (Case("", "RotaryEmbedding", [f32(B, S, D), np.array([3]), COS, SIN], {"scale": 2.0}), "a scale of 2"),
]


@pytest.mark.parametrize("case, reason", REFUSED, ids=lambda c: c.op if isinstance(c, Case) else c)
def test_refused(tenon, tmp_path, case, reason):
    with pytest.raises(Refused, match=reason):
        run_tenon(tenon, case.model(), case.feeds(), tmp_path)
