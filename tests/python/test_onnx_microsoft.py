"""Operators of com.microsoft that fuse or move things: as ONNX Runtime computes them, or PyTorch where it has no CPU kernel for them."""

import math

import numpy as np
import pytest
import torch
from compared import Refused
from one_node import Case, assert_equal, run_onnxruntime, run_tenon, weight

R = np.random.default_rng(5)


def f32(*shape):
    return R.standard_normal(shape).astype(np.float32)


IMAGE, FILTERS, BIAS = f32(2, 3, 8, 9), weight(f32(6, 3, 3, 3)), weight(f32(6))
ADDED = f32(2, 6, 8, 9)
SAME = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
A, B, C = f32(5, 8), weight(f32(8, 6)), weight(f32(6))
IDS = R.integers(0, 9, (2, 5)).astype(np.int32)
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=np.int32)
WORDS, PLACES, SEGMENTS = weight(f32(9, 8)), weight(f32(7, 8)), weight(f32(2, 8))
SCALE, SHIFT = weight(f32(8)), weight(f32(8))
EXPERTS = [weight(f32(4, 16, 8)), weight(f32(4, 16)), weight(f32(4, 8, 16)), weight(f32(4, 8))]
HALVED = [weight(f32(4, 32, 8)), weight(f32(4, 32)), weight(f32(4, 8, 16)), weight(f32(4, 8))]
GATES = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 1.5}

CASES = [
    *[Case(name, "FusedConv", [IMAGE, FILTERS, BIAS], {**SAME, "activation": name}) for name in ("Relu", "Tanh", "Sigmoid")],
    Case("LeakyRelu", "FusedConv", [IMAGE, FILTERS], {**SAME, "activation": "LeakyRelu", "activation_params": [0.2]}),
    Case("Clip", "FusedConv", [IMAGE, FILTERS], {**SAME, "activation": "Clip", "activation_params": [-1.0, 2.0]}),
    Case("HardSigmoid", "FusedConv", [IMAGE, FILTERS], {**SAME, "activation": "HardSigmoid", "activation_params": [0.3, 0.4]}),
    Case("sum", "FusedConv", [IMAGE, FILTERS, BIAS, ADDED], {**SAME, "activation": "Relu"}),
    Case("Relu", "FusedGemm", [A, B, C], {"activation": "Relu"}),
    Case("LeakyRelu", "FusedGemm", [A, B, C], {"activation": "LeakyRelu", "activation_alpha": 0.3, "alpha": 0.5, "beta": 2.0}),
    Case("transposed", "FusedMatMul", [f32(2, 8, 5), f32(2, 6, 8)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    Case("batch behind rows", "FusedMatMul", [f32(5, 2, 8), f32(8, 2, 6)], {"transBatchA": 1, "transBatchB": 1}),
    Case("batch behind columns", "FusedMatMul", [f32(8, 2, 5), f32(2, 8, 6)], {"transBatchA": 1, "transA": 1}),
    Case("", "Inverse", [f32(2, 4, 4)]),
    Case("", "CDist", [f32(5, 4), f32(3, 4)], {"metric": "euclidean"}),
    Case("squares", "CDist", [f32(5, 4), f32(3, 4)], {"metric": "sqeuclidean"}),
    Case("", "Trilu", [f32(4, 5), weight(np.array(1))], {"upper": 0}),
    Case("", "GatherND", [f32(3, 4, 5), np.array([[0, 1], [2, 3]])]),
    Case("", "ExpandDims", [f32(3, 4), weight(np.array([-1], dtype=np.int32))]),
    Case("", "Pad", [f32(3, 4), weight(np.array([0, 1, 2, 1])), weight(np.float32(7))]),
    Case("edge", "Pad", [f32(3, 4), weight(np.array([0, 1, 2, 1]))], {"mode": "edge"}),
    Case("", "Unique", [np.array([2, 1, 1, 3, 4, 3], dtype=np.float32)], {}, 3),
    Case("", "Range", [weight(np.float32(1)), weight(np.float32(9)), weight(np.float32(2))]),
    Case("", "EmbedLayerNormalization", [IDS, IDS % 2, WORDS, PLACES, SEGMENTS, SCALE, SHIFT, MASK], {}, 2),
    Case("without segments", "EmbedLayerNormalization", [IDS, None, WORDS, PLACES, None, SCALE, SHIFT], {"epsilon": 0.1}, 3),
    Case("places", "EmbedLayerNormalization", [IDS, IDS % 2, WORDS, PLACES, SEGMENTS, SCALE, SHIFT, MASK, IDS % 7], {}, 3),
    Case("one row added", "SkipLayerNormalization", [f32(2, 5, 8), f32(1, 5, 8), SCALE, SHIFT], {}, 1),
    Case("sum", "SkipLayerNormalization", [f32(2, 5, 8), f32(2, 5, 8), SCALE, None, SHIFT], {"epsilon": 1e-3}, 1),
    Case("", "SkipSimplifiedLayerNormalization", [f32(2, 5, 8), f32(2, 5, 8), SCALE, SHIFT], {}, 1),
    Case("", "SimplifiedLayerNormalization", [f32(2, 5, 8), SCALE], {"epsilon": 1e-3}, domain=""),
    Case("two of four", "MoE", [f32(7, 8), f32(7, 4), *EXPERTS], {"k": 2, "activation_type": "gelu", "normalize_routing_weights": 1}),
    Case("one of four", "MoE", [f32(2, 5, 8), f32(10, 4), *EXPERTS], {"k": 1, "activation_type": "silu"}),
    Case("gates between", "MoE", [f32(7, 8), f32(7, 4), *HALVED], GATES),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.id)
def test_as_onnxruntime(tenon, tmp_path, case):
    model, feeds = case.model(), case.feeds()
    assert_equal(run_tenon(tenon, model, feeds, tmp_path), run_onnxruntime(model, feeds))


def last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def torch_of(function):
    return lambda *x: [y.numpy() for y in function(*(torch.from_numpy(np.asarray(v)) for v in x))]


def group_norm(x, scale, bias, skip=None, more=None, activation=0):
    if skip is not None:
        x = x + (skip if skip.dim() == 4 else skip[:, :, None, None])
    if more is not None:
        x = x + more[:, None, None]
    y = torch.nn.functional.group_norm(x, 3, scale, bias, 1e-5)
    return torch.nn.functional.silu(y) if activation else y, x


def group_norm_silu(x, scale, bias):
    return group_norm(x, scale, bias, activation=1)


def split_gelu(x, bias):
    left, right = (x + bias).chunk(2, dim=-1)
    return [left * torch.nn.functional.gelu(right)]


def conv(x, filters, bias):
    return [torch.nn.functional.conv2d(x, filters, bias, padding=1)]


def position_bias(table, queries, keys, both, farthest=40):
    """Raffel et al. 2020: buckets of one place, then logarithmic ones; with both directions each has half of the buckets."""
    rows = []
    for i in range(queries):
        for j in range(keys):
            count = len(table) // 2 if both else len(table)
            first = count if both and j > i else 0
            distance = abs(j - i) if both else max(i - j, 0)
            near = count // 2
            if distance >= near:
                far = math.log(distance / near) / math.log(farthest / near) * (count - near)
                distance = min(near + int(far + 1e-6), count - 1)
            rows.append(table[first + distance])
    return [torch.stack(rows).reshape(queries, keys, -1).permute(2, 0, 1)[None]]


def gated_bias(q, bias, places, weights, shift, scale):
    x = (q + bias).reshape(2, 5, 4, 8).transpose(1, 2)
    u, r = torch.sigmoid((x @ weights + shift).view(2, 4, 5, 2, 6).sum(-1)).chunk(2, dim=-1)
    return [(u * (r * scale - 1.0) + 2.0) * places]


X6, S6, B6 = f32(2, 6, 4, 4), weight(f32(6)), weight(f32(6))
GATED = [f32(2, 5, 32), weight(f32(32)), f32(1, 4, 5, 5), weight(f32(8, 12)), weight(f32(12)), weight(f32(1, 4, 1, 1))]
TABLE = weight(f32(16, 4))
LENGTHS = [weight(np.array([12])), weight(np.array([60]))]
PAIRS = [f32(2, 5, 2), f32(2, 5, 2)]
GROUPS = {"groups": 3, "activation": 1}


def complex_of(x):
    return torch.view_as_complex(torch.from_numpy(np.array(x)))


# The operators that ONNX Runtime has on GPUs alone.
BESIDE_TORCH = [
    (Case("", "GroupNorm", [last(X6), S6, B6], GROUPS), lambda: [last(torch_of(group_norm_silu)(X6, S6, B6)[0])]),
    (Case("channels first", "GroupNorm", [X6, S6, B6], {**GROUPS, "activation": 0, "channels_last": 0}),
     lambda: torch_of(group_norm)(X6, S6, B6)[:1]),
    (Case("", "SkipGroupNorm", [last(X6), S6, B6, last(ADDED[:, :, :4, :4]), B6], {**GROUPS, "activation": 0}, 2),
     lambda: [last(y) for y in torch_of(group_norm)(X6, S6, B6, ADDED[:, :, :4, :4], B6)]),
    (Case("a row for each sample", "SkipGroupNorm", [last(X6), S6, B6, ADDED[:, :, 0, 0]], {**GROUPS, "activation": 0}, 2),
     lambda: [last(y) for y in torch_of(group_norm)(X6, S6, B6, ADDED[:, :, 0, 0])]),
    (Case("", "BiasAdd", [X6[0], weight(X6[0, 0, 0]), X6[1]]), lambda: [X6[0] + X6[0, 0, 0] + X6[1]]),
    (Case("", "BiasSplitGelu", [f32(2, 5, 8) * 0 + WORDS[:5], SCALE]),
     lambda: torch_of(split_gelu)(np.broadcast_to(WORDS[:5], (2, 5, 8)).copy(), SCALE)),
    (Case("", "ComplexMul", PAIRS), lambda: [torch.view_as_real(complex_of(PAIRS[0]) * complex_of(PAIRS[1])).numpy()]),
    (Case("", "ComplexMulConj", PAIRS),
     lambda: [torch.view_as_real(complex_of(PAIRS[0]) * complex_of(PAIRS[1]).conj()).numpy()]),
    (Case("", "Rfft", [IMAGE[..., :8]], {"signal_ndim": 1, "onesided": 1, "normalized": 0}),
     lambda: [torch.view_as_real(torch.fft.rfft(torch.from_numpy(IMAGE[..., :8].copy()))).numpy()]),
    (Case("", "Irfft", [PAIRS[0]], {"signal_ndim": 1, "onesided": 1, "normalized": 0}),
     lambda: [torch.fft.irfft(complex_of(PAIRS[0])).numpy()]),
    (Case("", "RelativePositionBias", [TABLE, *LENGTHS], {"max_distance": 40}),
     lambda: torch_of(lambda t: position_bias(t, 12, 60, False))(TABLE)),
    (Case("both directions", "RelativePositionBias", [TABLE, *LENGTHS], {"max_distance": 40, "is_bidirectional": 1}),
     lambda: torch_of(lambda t: position_bias(t, 12, 60, True))(TABLE)),
    (Case("", "GatedRelativePositionBias", GATED, {"num_heads": 4}), lambda: torch_of(gated_bias)(*GATED)),
    (Case("", "NhwcConv", [last(IMAGE), FILTERS, BIAS], SAME), lambda: [last(y) for y in torch_of(conv)(IMAGE, FILTERS, BIAS)]),
    (Case("sum", "NhwcFusedConv", [last(IMAGE), FILTERS, BIAS, last(ADDED)], {**SAME, "activation": "Relu"}),
     lambda: [last(np.maximum(torch_of(conv)(IMAGE, FILTERS, BIAS)[0] + ADDED, 0))]),
]


@pytest.mark.parametrize("case, peer", BESIDE_TORCH, ids=lambda c: c.id if isinstance(c, Case) else "torch")
def test_as_torch(tenon, tmp_path, case, peer):
    assert_equal(run_tenon(tenon, case.model(), case.feeds(), tmp_path), peer())


REFUSED = [
    (Case("", "GreedySearch", [IDS, IDS], {"eos_token_id": 0, "pad_token_id": 0}), "runs the model again for every token"),
    (Case("", "RemovePadding", [f32(2, 5, 8), MASK], {}, 4), "a number of rows that a mask decides"),
    (Case("", "FusedConv", [IMAGE, FILTERS], {**SAME, "activation": "Sine"}), "its activation Sine"),
    (Case("", "CDist", [f32(5, 4), f32(3, 4)], {"metric": "cosine"}), "its metric cosine"),
    (Case("", "Rfft", [IMAGE], {"signal_ndim": 2, "onesided": 1, "normalized": 0}), "more than one axis"),
    (Case("", "MoE", [f32(7, 8), f32(7, 4), *EXPERTS], {"k": 2, "use_sparse_mixer": 1}), "its sparse mixer"),
]


@pytest.mark.parametrize("case, reason", REFUSED, ids=lambda c: c if isinstance(c, str) else c.op)
def test_refused(tenon, tmp_path, case, reason):
    with pytest.raises(Refused, match=reason):
        run_tenon(tenon, case.model(), case.feeds(), tmp_path)
