"""The operators that the benchmark times, at sizes that models use: a row is an operator, its dtypes and its operands.

An operand is written as its sizes ("8,512,768"), in the row's dtype. A prefix makes it something else: `w:` a weight of
the model (not an input), `+:` positive numbers, `u:` numbers in (-1, 1), `f:` float32 whatever the row's dtype is,
`d:` symmetric positive definite matrices, `b:` bools, `k<N:` int64 in [0, N).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import fft

FLOATS = "f32 f64 f16 bf16"
HALVES = "f16 bf16"


@dataclass(frozen=True)
class Row:
    operator: str
    dtypes: str
    operands: tuple[str, ...]
    function: Callable


def row(operator: str, dtypes: str, *operands: str, do: Callable) -> Row:
    return Row(operator, dtypes, operands, do)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def lstm(x, h, c, wi, wh, bi, bh):
    return torch.lstm(x, (h, c), (wi, wh, bi, bh), True, 1, 0.0, False, False, True)[0]


def gru(x, h, wi, wh, bi, bh):
    return torch.gru(x, h, (wi, wh, bi, bh), True, 1, 0.0, False, False, True)[0]


def stft(x, window):
    n = window.shape[0]
    return torch.view_as_real(torch.stft(x, n, hop_length=n // 4, window=window, return_complex=True))


def real(x):
    return torch.view_as_real(x)


def triangular_solve(a, b):
    return torch.linalg.solve_triangular(a, b, upper=False)


def ldl_solve(a, b):
    return torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b)


def columns_for(square: str) -> str:
    """Four columns for the right side of systems of equations."""
    return square[: square.rindex(",")] + ",4"


SQUARE = ("1024,4,4", "64,32,32", "128,128", "512,512")
FACTORISATIONS = {
    "cholesky": torch.linalg.cholesky,
    "inverse": torch.linalg.inv,
    "determinant": lambda a: torch.linalg.slogdet(a)[1],
    "lu": lambda a: torch.linalg.lu_factor(a)[0],
    "qr": torch.linalg.qr,
    "reflections": lambda a: torch.geqrf(a)[0],
    "ldl": lambda a: torch.linalg.ldl_factor(a)[0],
}

ROWS = [
    # Pointwise, a million elements: a transformer's or an image network's activations.
    row("add", "f32 f64 f16 bf16 i8 i32 i64", "8,128,1024", "8,128,1024", do=lambda a, b: a + b),
    row("add row", "f32 bf16", "8,128,1024", "1024", do=lambda a, b: a + b),
    row("add column", "f32", "8,128,1024", "8,128,1", do=lambda a, b: a + b),
    row("multiply and add", "i8 i32 i64 f64", "8,128,1024", "8,128,1024", do=lambda a, b: a * b + a),
    row("divide", "f32 f64 f16", "8,128,1024", "+:8,128,1024", do=lambda a, b: a / b),
    row("floor divide", "i32 i64", "8,128,1024", "+:8,128,1024", do=lambda a, b: torch.div(a, b, rounding_mode="floor")),
    row("relu", "f32 bf16", "8,64,56,56", do=F.relu),
    row("leaky relu", "f32 bf16", "8,64,56,56", do=lambda x: F.leaky_relu(x, 0.1)),
    row("prelu", "f32", "8,64,56,56", "w:64", do=F.prelu),
    row("elu", "f32", "8,64,56,56", do=F.elu),
    row("mish", "f32", "8,64,56,56", do=F.mish),
    row("softplus", "f32 bf16", "8,128,1024", do=F.softplus),
    row("glu", "f32", "8,128,2048", do=F.glu),
    row("gelu", FLOATS, "8,128,1024", do=F.gelu),
    row("gelu tanh", "f32", "8,128,1024", do=lambda x: F.gelu(x, approximate="tanh")),
    row("silu", "f32 f16 bf16", "8,128,1024", do=F.silu),
    row("hardswish", "f32", "8,64,56,56", do=F.hardswish),
    row("sigmoid", "f32 f64 bf16", "8,128,1024", do=torch.sigmoid),
    row("tanh", "f32 f64 f16", "8,128,1024", do=torch.tanh),
    row("exp", "f32 f64 bf16", "8,128,1024", do=torch.exp),
    row("log", "f32 f64", "+:8,128,1024", do=torch.log),
    row("exp2", "f32 f64", "8,128,1024", do=torch.exp2),
    row("log2", "f32 f64", "+:8,128,1024", do=torch.log2),
    row("log1p", "f32 f64", "+:8,128,1024", do=torch.log1p),
    row("sin", "f32 f64", "8,128,1024", do=torch.sin),
    row("tan", "f32 f64", "8,128,1024", do=torch.tan),
    row("asin", "f32 f64", "u:8,128,1024", do=torch.asin),
    row("acos", "f32 f64", "u:8,128,1024", do=torch.acos),
    row("atan", "f32 f64", "8,128,1024", do=torch.atan),
    row("sinh", "f32 f64", "8,128,1024", do=torch.sinh),
    row("cosh", "f32 f64", "8,128,1024", do=torch.cosh),
    row("erf", "f32 f64", "8,128,1024", do=torch.erf),
    row("erfc", "f32 f64", "8,128,1024", do=torch.erfc),
    row("power of 3", "f32 f64", "8,128,1024", do=lambda x: x**3),
    row("pow", "f32", "+:8,128,1024", "8,128,1024", do=torch.pow),
    row("sqrt", "f32 f64", "+:8,128,1024", do=torch.sqrt),
    row("round", "f32 f16", "8,128,1024", do=torch.round),
    row("floor", "f32", "8,128,1024", do=torch.floor),
    row("fmod", "f32 f64", "8,128,1024", "+:8,128,1024", do=torch.fmod),
    row("remainder", "f32 f64 i64", "8,128,1024", "+:8,128,1024", do=torch.remainder),
    row("atan2", "f32", "8,128,1024", "8,128,1024", do=torch.atan2),
    row("erfinv", "f32", "u:8,128,1024", do=torch.erfinv),
    row("lgamma", "f32", "+:8,128,1024", do=torch.lgamma),
    row("where", "f32 f16 i64", "b:8,128,1024", "8,128,1024", "8,128,1024", do=torch.where),
    row("clamp", "f32 f16 i32", "8,128,1024", do=lambda x: x.clamp(-1, 1)),
    row("less", "f32 i64", "8,128,1024", "8,128,1024", do=lambda a, b: a < b),
    row("logical and", "b", "b:8,128,1024", "b:8,128,1024", do=torch.logical_and),
    row("bitwise and", "i32 i64", "8,128,1024", "8,128,1024", do=torch.bitwise_and),
    row("cast to f16", "f32", "8,128,1024", do=lambda x: x.half()),
    row("cast to f32", "f16 bf16 i64 b", "8,128,1024", do=lambda x: x.float()),
    row("cast to i64", "f32 i32 b", "8,128,1024", do=lambda x: x.long()),
    row("rotary", "f32 bf16", "1,12,128,64", "128,64", "128,64", do=lambda x, c, s: (
        x * c + torch.cat((-x[..., 32:], x[..., :32]), -1) * s)),
    # Reductions.
    row("sum", FLOATS + " i32 i64", "64,128,256", do=lambda x: x.sum(-1)),
    row("sum over rows", "f32 f64 bf16 i32 i64", "64,128,256", do=lambda x: x.sum(1)),
    row("sum of all", "f32 i64", "1024,1024", do=lambda x: x.sum()),
    row("sum of short rows", "f32", "65536,16", do=lambda x: x.sum(-1)),
    row("mean of images", "f32 bf16", "8,256,28,28", do=lambda x: x.mean((2, 3))),
    row("prod", "f32", "1024,1024", do=lambda x: x.prod(-1)),
    row("prod over rows", "f32", "1024,1024", do=lambda x: x.prod(0)),
    row("max", "f32 f64 bf16 i8 i64", "1024,1024", do=lambda x: x.amax(-1)),
    row("max over rows", "f32 f64 i8 i32", "1024,1024", do=lambda x: x.amax(0)),
    row("argmax", "f32 f16", "1024,1024", do=lambda x: x.argmax(-1)),
    row("argmax over channels", "f32", "1,21,256,256", do=lambda x: x.argmax(1)),
    row("any", "b", "b:1024,1024", do=lambda x: x.any(-1)),
    row("variance", "f32 f64", "1024,1024", do=lambda x: x.var(-1)),
    row("variance over rows", "f32", "1024,1024", do=lambda x: x.var(0)),
    row("vector norm", "f32", "1024,1024", do=lambda x: torch.linalg.vector_norm(x, dim=-1)),
    row("cross entropy", "f32", "256,1000", "k<1000:256", do=F.cross_entropy),
    row("logsumexp", "f32", "1024,1024", do=lambda x: torch.logsumexp(x, -1)),
    # Softmax and norms.
    row("softmax", FLOATS, "8,12,128,128", do=lambda x: F.softmax(x, -1)),
    row("softmax over channels", "f32", "1,21,256,256", do=lambda x: F.softmax(x, 1)),
    row("softmax over rows", "f32 f64", "64,128,256", do=lambda x: F.softmax(x, 1)),
    row("log softmax", "f32 f64 bf16", "32,30522", do=lambda x: F.log_softmax(x, -1)),
    row("layer norm", FLOATS, "8,128,768", "w:768", "w:768", do=lambda x, w, b: F.layer_norm(x, (768,), w, b)),
    row("layer norm over channels", "f32", "2,96,56,56", "w:96,1,1", "w:96,1,1", do=lambda x, w, b: (
        x - x.mean(1, keepdim=True)) * torch.rsqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5) * w + b),
    row("layer norm of short rows", "f32", "4096,64", "w:64", "w:64", do=lambda x, w, b: F.layer_norm(x, (64,), w, b)),
    row("rms norm", "f32 bf16", "8,128,768", "w:768", do=lambda x, w: F.rms_norm(x, (768,), w)),
    row("group norm", "f32 f64 bf16", "2,320,32,32", "w:320", "w:320", do=lambda x, w, b: F.group_norm(x, 32, w, b)),
    row("instance norm", "f32", "2,64,64,64", do=F.instance_norm),
    row("batch norm", "f32 f64 bf16", "8,64,56,56", "w:64", "+:64", do=lambda x, m, v: F.batch_norm(x, m, v)),
    row("batch norm of rows", "f32", "256,1024", "w:1024", "+:1024", do=lambda x, m, v: F.batch_norm(x, m, v)),
    row("local response norm", "f32", "2,64,56,56", do=lambda x: F.local_response_norm(x, 5)),
    row("normalize over channels", "f32", "2,256,28,28", do=lambda x: F.normalize(x, dim=1)),
    # Sorting, scans.
    row("top k", "f32 f16", "1,50257", do=lambda x: torch.topk(x, 50)[0]),
    row("top k of lines", "f32", "64,1000", do=lambda x: torch.topk(x, 5)[0]),
    row("top 1 of lines", "f32", "512,1000", do=lambda x: torch.topk(x, 1)[1]),
    row("top 2 of experts", "f32", "4096,64", do=lambda x: torch.topk(x, 2)[0]),
    row("sort", "f32 f16 i64", "64,1000", do=lambda x: torch.sort(x)[0]),
    row("sort of a line", "f32", "1,50257", do=lambda x: torch.sort(x)[0]),
    row("median", "f32", "64,1025", do=lambda x: x.median(-1)[0]),
    row("kth value", "f32", "64,1000", do=lambda x: torch.kthvalue(x, 10)[0]),
    row("cumsum", "f32 f64 i32 i64", "64,4096", do=lambda x: x.cumsum(-1)),
    row("cumsum over rows", "f32", "256,1024", do=lambda x: x.cumsum(0)),
    row("cummax", "f32", "64,4096", do=lambda x: x.cummax(-1)[0]),
    row("cumprod", "f32", "64,4096", do=lambda x: x.cumprod(-1)),
    # Places.
    row("cummin", "f32 i64", "64,4096", do=lambda x: x.cummin(1)),
    row("cummax over rows", "f32", "256,1024", do=lambda x: x.cummax(0).values),
    row("logcumsumexp", "f32", "64,4096", do=lambda x: x.logcumsumexp(1)),
    row("mode", "i64", "64,1000", do=lambda x: x.mode(1)),
    row("unique", "i64", "k<1000:65536", do=lambda k: torch.unique(k, return_inverse=True)),
    row("nonzero", "b", "b:512,512", do=torch.nonzero),
    row("masked select", "f32", "512,512", "b:512,512", do=torch.masked_select),
    row("searchsorted", "f32", "64,512", "64,512", do=lambda a, x: torch.searchsorted(a.sort(1).values, x)),
    row("embedding", "f32 bf16", "w:30522,768", "k<30522:8,128", do=lambda w, i: F.embedding(i, w)),
    row("index select", "f32 f16", "10000,128", "k<10000:20000", do=lambda x, i: x.index_select(0, i)),
    row("index select of columns", "f32", "256,4096", "k<4096:1024", do=lambda x, i: x.index_select(1, i)),
    row("gather", "f32 f16 i32 i64", "64,4096", "k<4096:64,1024", do=lambda x, i: x.gather(1, i)),
    row("index of a vector", "f32", "100000", "k<100000:65536", do=lambda x, i: x[i]),
    row("index of pairs", "f32", "512,512", "k<512:65536", "k<512:65536", do=lambda x, i, j: x[i, j]),
    row("gather and add", "f16", "10000,128", "k<10000:20000", "20000,128", do=lambda x, i, y: x[i] + y),
    row("scatter", "f32 f16 i64", "64,4096", "k<4096:64,1024", "64,1024", do=lambda x, i, y: x.scatter(1, i, y)),
    row("scatter add", "f32", "64,4096", "k<4096:64,1024", "64,1024", do=lambda x, i, y: x.scatter_add(1, i, y)),
    row("scatter of maxima", "f32", "64,4096", "k<4096:64,1024", "64,1024", do=lambda x, i, y: x.scatter_reduce(1, i, y, "amax")),
    row("index copy", "f32", "10000,128", "k<10000:2000", "2000,128", do=lambda x, i, y: x.index_copy(0, i, y)),
    row("index add", "f32 f64", "10000,128", "k<10000:20000", "20000,128", do=lambda x, i, y: x.index_add(0, i, y)),
    row("masked fill", "f32", "8,12,128,128", "b:128,128", do=lambda x, m: x.masked_fill(m, -1e9)),
    row("embedding bag", "f32", "w:10000,128", "k<10000:256,16", do=lambda w, i: F.embedding_bag(i, w)),
    row("bucketize", "f32", "8,128,1024", "w:16", do=lambda x, w: torch.bucketize(x, w.sort()[0])),
    row("one hot", "i64", "k<1000:1024", do=lambda i: F.one_hot(i, 1000)),
    # Copies.
    row("pad constant", "f32 f16 i8", "8,64,56,56", do=lambda x: F.pad(x, (1, 1, 1, 1))),
    row("pad reflect", "f32 bf16", "8,64,56,56", do=lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")),
    row("pad replicate", "f32", "8,64,56,56", do=lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate")),
    row("pad circular", "f32", "8,64,56,56", do=lambda x: F.pad(x, (1, 1, 1, 1), mode="circular")),
    row("pad of lines", "f32", "64,16000", do=lambda x: F.pad(x, (200, 200), mode="reflect")),
    row("cat", "f32 i64", "8,64,56,56", "8,64,56,56", do=lambda a, b: torch.cat((a, b), 1)),
    row("cat of columns", "f32", "1024,256", "1024,256", do=lambda a, b: torch.cat((a, b), 1)),
    row("cat of a cache", "f32 bf16", "1,12,511,64", "1,12,1,64", do=lambda a, b: torch.cat((a, b), 2)),
    row("stack last", "f32", "8,128,512", "8,128,512", do=lambda a, b: torch.stack((a, b), -1)),
    row("transpose", "f32 f64 f16 i8", "1024,1024", do=lambda x: x.t().contiguous()),
    row("transpose of a batch", "f32 f16", "96,128,64", do=lambda x: x.transpose(1, 2).contiguous()),
    row("heads", "f32 bf16", "8,128,768", do=lambda x: x.view(8, 128, 12, 64).transpose(1, 2).contiguous()),
    row("channels last", "f32", "8,64,56,56", do=lambda x: x.permute(0, 2, 3, 1).contiguous()),
    row("channels first", "f32", "8,224,224,3", do=lambda x: x.permute(0, 3, 1, 2).contiguous()),
    row("channels first of bytes", "i8", "8,224,224,3", do=lambda x: x.permute(0, 3, 1, 2).float() / 127),
    row("pixel shuffle", "f32", "2,64,64,64", do=lambda x: F.pixel_shuffle(x, 2)),
    row("roll", "f32", "8,56,56,96", do=lambda x: x.roll((3, 3), (1, 2))),
    row("flip", "f32", "8,64,56,56", do=lambda x: x.flip(-1)),
    row("tril", "f32", "1024,1024", do=torch.tril),
    row("repeat interleave", "f32", "8,8,128,64", do=lambda x: x.repeat_interleave(4, 1)),
    row("repeat interleave last", "f32", "8,128,256", do=lambda x: x.repeat_interleave(2, -1)),
    row("strided slice", "f32 f64", "8,64,112,112", do=lambda x: x[:, :, ::2, ::2].contiguous()),
    row("unfold", "f32 f16", "2,64,56,56", do=lambda x: F.unfold(x, 3, padding=1)),
    row("unfold of lines", "f32", "8,16000", do=lambda x: x.unfold(-1, 400, 160).contiguous()),
    row("fold", "f32 f16", "2,576,3136", do=lambda x: F.fold(x, (56, 56), 3, padding=1)),
    # Images.
    row("resize nearest", "f32 bf16", "2,64,56,56", do=lambda x: F.interpolate(x, scale_factor=2)),
    row("resize bilinear", "f32 f64 bf16", "2,64,56,56", do=lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")),
    row("resize bilinear down", "f32", "2,3,512,512", do=lambda x: F.interpolate(x, (224, 224), mode="bilinear")),
    row("resize antialiased", "f32", "2,3,512,512", do=lambda x: F.interpolate(x, (224, 224), mode="bilinear", antialias=True)),
    row("resize bicubic", "f32 f64", "2,64,56,56", do=lambda x: F.interpolate(x, scale_factor=2, mode="bicubic")),
    row("grid sample", "f32 f64", "2,32,64,64", "u:2,64,64,2", do=lambda x, g: F.grid_sample(x, g, align_corners=False)),
    row("grid sample nearest", "f32", "2,32,64,64", "u:2,64,64,2", do=lambda x, g: F.grid_sample(
        x, g, mode="nearest", align_corners=False)),
    row("max pool", "f32 f64 bf16", "4,64,112,112", do=lambda x: F.max_pool2d(x, 3, 2, 1)),
    row("average pool", "f32 f64 bf16", "4,64,112,112", do=lambda x: F.avg_pool2d(x, 2)),
    row("adaptive pool", "f32 f64 bf16", "4,256,28,28", do=lambda x: F.adaptive_avg_pool2d(x, 7)),
    row("max pool 3d", "f32", "1,32,16,56,56", do=lambda x: F.max_pool3d(x, 2)),
    row("global pool", "f32 f64 bf16", "4,512,7,7", do=lambda x: F.adaptive_avg_pool2d(x, 1)),
    row("max pool with indices", "f32 bf16", "4,64,112,112", do=lambda x: F.max_pool2d(x, 2, return_indices=True)),
    row("adaptive max pool with indices", "f32", "4,256,28,28", do=lambda x: F.adaptive_max_pool2d(x, 7, return_indices=True)),
    row("max unpool", "f32", "4,64,112,112", do=lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)),
    # Products.
    row("matmul", FLOATS, "512,512", "512,512", do=torch.matmul),
    row("matmul", "i32 i64", "256,256", "256,256", do=torch.matmul),
    row("linear", FLOATS, "128,768", "w:3072,768", "w:3072", do=F.linear),
    row("linear of one row", "f32 f64 bf16", "1,768", "w:3072,768", "w:3072", do=F.linear),
    row("bmm", FLOATS, "96,128,64", "96,64,128", do=torch.bmm),
    row("bmm across", "f32 f16 bf16", "32,197,64", "32,197,64", do=lambda a, b: a @ b.transpose(1, 2)),
    row("bmm of one row", "f32 bf16", "32,1,64", "32,64,512", do=torch.bmm),
    row("matmul of many rows", "f32 bf16", "4096,64", "64,64", do=torch.matmul),
    row("matrix times vector", FLOATS, "1024,1024", "1024", do=torch.mv),
    row("vector times matrix", "f32 f64", "1024", "1024,1024", do=torch.matmul),
    row("outer", "f32", "1024", "1024", do=torch.outer),
    row("einsum scores", "f32", "8,12,128,64", "8,12,128,64", do=lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k)),
    row("einsum bilinear", "f32", "32,64", "w:64,64,64", "32,64", do=lambda a, w, b: torch.einsum("bi,oij,bj->bo", a, w, b)),
    row("distances", "f32", "512,64", "512,64", do=torch.cdist),
    # Convolutions.
    row("convolution", "f32 f64 bf16", "1,64,56,56", "w:64,64,3,3", do=lambda x, w: F.conv2d(x, w, padding=1)),
    row("convolution 1x1", "f32 bf16", "1,256,28,28", "w:128,256,1,1", do=F.conv2d),
    row("convolution of stride 2", "f32 bf16", "1,64,56,56", "w:128,64,3,3", do=lambda x, w: F.conv2d(x, w, stride=2, padding=1)),
    row("convolution dilated", "f32", "1,64,56,56", "w:64,64,3,3", do=lambda x, w: F.conv2d(x, w, padding=2, dilation=2)),
    row("convolution of groups", "f32 bf16", "1,128,28,28", "w:128,32,3,3", do=lambda x, w: F.conv2d(x, w, padding=1, groups=4)),
    row("convolution depthwise", "f32", "1,96,56,56", "w:96,1,3,3", do=lambda x, w: F.conv2d(x, w, padding=1, groups=96)),
    row("convolution 1d", "f32", "4,128,512", "w:128,128,3", do=lambda x, w: F.conv1d(x, w, padding=1)),
    row("convolution 3d", "f32", "1,16,16,28,28", "w:32,16,3,3,3", do=lambda x, w: F.conv3d(x, w, padding=1)),
    row("convolution transposed", "f32 f64", "1,128,28,28", "w:128,64,2,2", do=lambda x, w: F.conv_transpose2d(x, w, stride=2)),
    row("convolution, computed weight", "f32", "1,64,56,56", "64,64,3,3", do=lambda x, w: F.conv2d(x, w, padding=1)),
    row("correlation, computed weight", "f32", "1,256,31,31", "256,1,7,7", do=lambda x, w: F.conv2d(x, w, groups=256)),
    # Matrices.
    *[row(name, "f32 f64", f"d:{size}", do=do) for name, do in FACTORISATIONS.items() for size in SQUARE],
    *[row("solve", "f32 f64", f"d:{size}", columns_for(size), do=torch.linalg.solve) for size in SQUARE],
    *[row("triangular solve", "f32 f64", f"d:{size}", columns_for(size), do=triangular_solve) for size in SQUARE],
    *[row("ldl solve", "f32 f64", f"d:{size}", columns_for(size), do=ldl_solve) for size in SQUARE],
    row("inverse of small", "f32", "4096,4,4", do=lambda a: torch.linalg.inv(a + 4 * torch.eye(4))),
    row("singular values", "f32 f64", "16,32,32", do=torch.linalg.svdvals),
    row("singular values", "f32", "128,128", do=torch.linalg.svdvals),
    row("singular vectors", "f32", "16,32,32", do=lambda a: (lambda u, s, v: (u * s[:, None]) @ v)(*torch.linalg.svd(a))),
    row("eigenvalues", "f32 f64", "16,32,32", do=lambda a: torch.linalg.eigvalsh(a + a.mT)),
    row("eigenvalues", "f32", "128,128", do=lambda a: torch.linalg.eigvalsh(a + a.mT)),
    row("eigenvectors", "f32", "16,32,32", do=lambda a: torch.linalg.eigh(a + a.mT)[1].abs()),
    row("matrix exponential", "f32 f64", "64,16,16", do=lambda a: torch.linalg.matrix_exp(a / 4)),
    # Spectra.
    row("fft", "f32", "64,1024,2", do=lambda x: real(fft.fft(torch.view_as_complex(x)))),
    row("rfft", "f32 f64", "64,1024", do=lambda x: real(fft.rfft(x))),
    row("rfft of a prime", "f32", "64,1009", do=lambda x: real(fft.rfft(x))),
    row("irfft", "f32", "64,513,2", do=lambda x: fft.irfft(torch.view_as_complex(x))),
    row("rfft2", "f32", "16,128,128", do=lambda x: real(fft.rfft2(x))),
    row("stft", "f32", "1,160000", "w:400", do=stft),
    # Recurrent networks, attention.
    row("lstm", "f32", "1,64,256", "1,1,256", "1,1,256", "w:1024,256", "w:1024,256", "w:1024", "w:1024", do=lstm),
    row("lstm of a batch", "f32", "16,32,256", "1,16,256", "1,16,256", "w:1024,256", "w:1024,256", "w:1024", "w:1024", do=lstm),
    row("gru", "f32", "1,64,256", "1,1,256", "w:768,256", "w:768,256", "w:768", "w:768", do=gru),
    row("attention", "f32 f64 bf16", "2,12,128,64", "2,12,128,64", "2,12,128,64", do=attention),
    row("attention causal", "f32 bf16", "2,12,128,64", "2,12,128,64", "2,12,128,64", do=lambda q, k, v: (
        F.scaled_dot_product_attention(q, k, v, is_causal=True))),
    row("attention of one query", "f32", "1,12,1,64", "1,12,512,64", "1,12,512,64", do=attention),
]
