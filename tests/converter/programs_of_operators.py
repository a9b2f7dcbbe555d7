"""Programs of tensor operators: type promotion, views and writes, products, indexing, reductions, norms."""

import torch
import torch.nn.functional as F
from program_cases import arange, case, randn
from torch import nn


# ---- type promotion ----


@case((arange(2, 3), randn(2, 3), arange(2, 3, dtype=torch.int32), arange(2, 3) > 2))
def promotion(i, f, j, b):
    return (
        i * 0.5, i + 1, f * 2, i / 2, i // 2, i % 2, b + 1, b * f, i + f, i + j, j * 2.5, b & (i > 1), i == f,
        f > 1, f.sum() * i, i.sum() + f, torch.true_divide(i, j + 1), f.double() * f, 2 - i, 1.5 - j, b | b, ~b, -i,
        i.float() ** 2, i**2, f**3, torch.exp(i), torch.sqrt(j), b.sum(), b.float().mean(), i.sum(1), j.sum(),
        j.cumsum(0), i.max(), f.clamp(min=0), i.clamp(min=0.5), torch.where(b, i, f), torch.where(b, f, 0.0),
        f.masked_fill(b, -1e9), i.masked_fill(b, 7), torch.maximum(f, f.new_zeros(1)), i.to(f), torch.atan2(f, f + 3),
    )  # fmt: skip


@case((arange(6), torch.tensor(0.5, dtype=torch.float64), torch.tensor(2)))
def rank_0_operands(i, d, k):
    f = i.float()
    return i * d, f * d, f * k, i * k, d * k, f + d.float(), i.float() + k / 3


@case((arange(2, 3), randn(2, 3)))
def constant_tensors_as_numbers(i, f):
    half = torch.tensor(0.5)
    return i * 0.5, i + half, f + torch.tensor(0.5, dtype=torch.float64), i - 2.5, i * 3, f.add(i, alpha=2)


@case((randn(2, 3, 4), randn(5, 4), randn(5)))
def biases_are_broadcast(x, w, b):
    return (
        F.linear(x, w, b[:1]), F.linear(x, w, b[0]), F.linear(x[0], w, b.view(1, 5)), F.linear(x[0, 0], w, b.view(1, 5)),
        F.linear(x[0], w, b[:3].view(3, 1)), F.linear(x, w, b.expand(3, 5)), F.linear(x[0, 0], w, b[:1]),
    )  # fmt: skip


@case((arange(2, 6, dtype=torch.uint8), 20 * arange(2, 6, dtype=torch.uint8)))
def integers_wrap_around_before_they_meet_floats(a, b):
    c = b.flip(1)
    return (
        F.pairwise_distance(a, b), F.triplet_margin_loss(a, b, c), F.margin_ranking_loss(a, b, c), torch.trapezoid(b, a),
        torch.trapezoid(a, c), torch.trapezoid(a.float(), c[0]), torch.cumulative_trapezoid(a, c), torch.trapezoid(a, dx=0.5),
        torch.cumulative_trapezoid(a, dx=2.0),
    )  # fmt: skip


@case((400 * torch.ones(8, dtype=torch.float16),))
def norms_whose_squares_are_beyond_halves(x):
    return torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, dtype=torch.float16), x.norm(dtype=torch.float16)


# ---- PyTorch's fast paths ----


@case((randn(2, 4, 8), torch.tensor([[False] * 4, [False, False, True, True]])))
class TransformerEncoderLayers(nn.Module):
    def __init__(self):
        super().__init__()
        forms = [(False, "relu"), (True, "gelu")]
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(8, 2, 16, activation=act, norm_first=first, batch_first=True) for first, act in forms
        )

    def forward(self, x, padding):
        return [layer(x, src_key_padding_mask=padding) for layer in self.layers] + [self.layers[0](x)]


@case((randn(2, 4, 8),))
class AttentionWithWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x), self.attention(x, x, x, average_attn_weights=False)[1]


# ---- views and in-place writes ----


@case((randn(4, 6),))
def writes_through_views(x):
    a = x.clone()
    row = a[1]
    row.fill_(7.0)
    a[:, 2:4] = 1.0
    a[0, 1] += 5
    a.t()[3].mul_(2.0)
    column = a[:, 0]
    column.add_(x[:, 5])
    b = a.view(2, 12)
    b[1, ::3] = -1.0
    return a, row, column, b


@case((randn(2, 8),))
def in_place_chain(x):
    y = x + 1
    z = y
    y.relu_()
    y.mul_(2).add_(x, alpha=0.5)
    y[y > 3] = 0.25
    w = y.unsqueeze(0).expand(3, 2, 8)
    y.sub_(1)
    return z, w


@case((randn(3, 5),))
def in_place_on_input(x):
    x = x.relu_()
    return x + 1


@case((randn(2, 3, 4),))
def parts_of_one(x):
    y = x * 1
    a, b, c = y.unbind(1)
    a.zero_()
    p, q = y.split([1, 3], dim=2)
    q.clamp_(min=-0.5)
    return y, a, b, c, p, q, y.chunk(2, dim=2)[1], torch.stack([a, b])


@case((randn(2, 6, 4, 4),))
def reshape_then_write(x):
    y = x * 2
    z = y.reshape(2, 24, 4)
    z[:, 0] = 3
    turned = y.transpose(1, 2)
    copy = turned.reshape(2, -1)
    copy.add_(1)
    return y, z, y.flatten(1), turned, copy


# ---- operators that are not one operator ----


@case((randn(2, 3, 4), randn(2, 4, 5), randn(4), randn(3, 4)))
def products(a, b, v, m):
    return (
        torch.matmul(a, b), a @ v, v @ b, m @ v, v @ v, torch.einsum("bik,bkj->bij", a, b),
        torch.einsum("bik,jk->bj", a, m), torch.einsum("...k,k->...", a, v), torch.einsum("bik->kib", a),
        torch.einsum("ik,jk,j->i", m, m, m.sum(1)), torch.einsum("i,j->ij", v, v), torch.einsum("ij", m),
        torch.addmm(m[:, :1], m, m.t(), beta=0.5, alpha=2), torch.baddbmm(a[:, :, :1], a, b), torch.bmm(a, b),
        F.linear(a, m, m[:, 0]), torch.outer(v, v), torch.tensordot(a, b, dims=([2], [1])),
    )  # fmt: skip


@case((randn(3, 4, 5), torch.tensor([[2, 0], [1, 1]]), torch.tensor([0, 2])))
def indexing(x, i, j):
    picked = x.gather(1, torch.tensor([[[0, 1, 2, 3, 0]], [[3, 2, 1, 0, 3]], [[1, 1, 1, 1, 1]]]))
    written = torch.zeros(3, 5).scatter(0, torch.tensor([[0, 1, 2, 0, 1]]), 1.0)
    put = x.clone()
    put[j, :, j] = 0.5
    return (
        x[i], x[:, i], x[i, j], x[j, :, j], x[:, j, j], x.index_select(1, j), picked, written, put, x[..., None, 0],
        torch.zeros(3, 4).index_add(0, j, x[:2, :, 0]), x.flip(0, 2), F.embedding(i, x[:, :, 0]), x[:, ::2], x[-1],
        torch.zeros(4, 5).scatter_add(0, j[None].expand(2, 2), x[0, :2, :2]), F.one_hot(i, 4), x.take_along_dim(picked.long() * 0, 1),
    )  # fmt: skip


@case((randn(2, 4, 6),))
def reductions(x):
    values, places = x.max(dim=1)
    top = x.topk(2, dim=-1)
    ordered = x.sort(dim=1, descending=True)
    return (
        x.sum((0, 2)), x.mean(-1, keepdim=True), x.var(1), x.std(dim=2, unbiased=False), x.norm(dim=1), values, places,
        x.argmax(), x.argmin(1), x.amax((1, 2)), x.prod(2), (x > 0).any(1), (x > 0).all(), x.logsumexp(1), top[0],
        top[1], ordered[0], ordered[1], x.cumsum(1), F.softmax(x, 1), F.log_softmax(x, -1), F.normalize(x, dim=2),
        x.var(), torch.linalg.vector_norm(x, 1, dim=0), F.cosine_similarity(x[:, 0], x[:, 1]),
    )  # fmt: skip


@case((randn(2, 4, 6),))
def activations(x):
    return (
        F.relu6(x * 4), F.hardtanh(x), F.leaky_relu(x, 0.2), F.elu(x, 1.5), F.selu(x), F.celu(x), F.gelu(x),
        F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.softplus(x), F.hardsigmoid(x), F.hardswish(x),
        F.softsign(x), F.logsigmoid(x), F.tanhshrink(x), F.softshrink(x), F.hardshrink(x), F.glu(x, 1), x.sigmoid(),
        F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4])), F.threshold(x, 0.1, 20.0), F.hardswish(x.clone(), inplace=True),
        torch.lerp(x, x + 1, 0.3), torch.addcmul(x, x, x, value=0.5), torch.addcdiv(x, x, x + 9), x.frac(), x.round(),
        torch.logaddexp(x, -x), x.nan_to_num(), torch.erf(x), x.rsqrt(), x.sign(), x.floor(), torch.fmod(x, 0.7),
        x % 0.7, torch.remainder(x, -0.7), torch.div(x, 0.3, rounding_mode="floor"), x.trunc(), x.logit(0.1),
    )  # fmt: skip


@case((randn(2, 400),))
def spectrograms(x):
    window = torch.hann_window(64)
    z = torch.stft(x, 64, 16, window=window, return_complex=True)
    half = torch.fft.rfft(x, norm="ortho")
    whole = torch.fft.fft2(x.reshape(2, 20, 20), norm="forward")
    return (
        z[..., :-1].abs() ** 2, torch.view_as_real(z), torch.istft(z, 64, 16, window=window, length=400), half.angle(),
        torch.fft.irfft(half * 2, n=399, norm="ortho"), torch.fft.fftshift(whole).real, torch.fft.ifft(whole).imag,
        torch.fft.irfftn(whole, dim=(1, 2)), (half * half.conj()).real, torch.fft.hfft(x[:, :9]), half.mean(1).imag,
        torch.stft(x[0], 50, 20, win_length=40, center=False, normalized=True, onesided=False, return_complex=True).real,
    )  # fmt: skip


@case((randn(2, 6, 8),))
def rotary_by_complex_numbers(x):
    angles = torch.outer(torch.arange(6.0), 100 ** -(torch.arange(4) / 4))
    turns = torch.polar(torch.ones_like(angles), angles)
    z = torch.view_as_complex(x.reshape(2, 6, 4, 2))
    turned = torch.cat([z * turns, z.flip(-1) / turns], -1)
    return torch.view_as_real(turned).flatten(2), turned.transpose(0, 1).abs(), torch.exp(z - 1).real, (2 - z).imag


@case((randn(3, 4, 4), randn(3, 4, 2)))
def matrices(x, b):
    symmetric = x @ x.mT + torch.eye(4)
    u, s, vh = torch.linalg.svd(x[:, :3])
    values, vectors = torch.linalg.eigh(symmetric)
    factors, pivots = torch.linalg.lu_factor(x)
    reflections, scales = torch.geqrf(x)
    return (
        (u * s[..., None, :]) @ vh[:, :3], vh @ vh.mT, s, (vectors * values[..., None, :]) @ vectors.mT, values,
        torch.linalg.pinv(b), torch.linalg.matrix_rank(b @ b.mT), torch.linalg.cond(symmetric), torch.linalg.norm(x, "nuc", (1, 2)),
        factors, pivots, *torch.linalg.lu(x[:, :, :3]), torch.linalg.lu_solve(factors, pivots, b),
        torch.linalg.lu_solve(factors, pivots, b.mT, left=False, adjoint=True), torch.linalg.lstsq(x[:, :, :2], b).solution,
        torch.linalg.matrix_exp(x), torch.linalg.householder_product(reflections, scales), torch.ormqr(reflections, scales, b),
    )  # fmt: skip


@case((randn(2, 3, 8, 10), randn(6, 2, 5)))
def images_and_signals(x, scores):
    places = torch.tensor([0.0, 1.0, 1.5, 3.0, 4.0, 4.5, 7.0, 8.0])
    targets, sizes = torch.tensor([[1, 2, 2], [3, 0, 0]]), torch.tensor([3, 1])
    log_p = scores.log_softmax(-1)
    counts, edges = torch.histogram(x, 5, weight=x.abs(), density=True)
    return (
        F.interpolate(x, (3, 17), mode="bilinear", antialias=True), F.interpolate(x, (5, 4), mode="bicubic", antialias=True),
        *torch.gradient(x, spacing=0.5, dim=(2, 3), edge_order=2), *torch.gradient(x, spacing=[places], dim=2), counts, edges,
        F.ctc_loss(log_p, targets, torch.tensor([6, 4]), sizes), F.ctc_loss(log_p, targets, [6, 5], [3, 1], reduction="none"),
        torch.gcd(x.mul(9).long(), torch.tensor(6)), torch.lcm(x.mul(9).int(), torch.tensor(4, dtype=torch.int32)),
        torch.einsum("biaa->ib", x[..., :8]), torch.logspace(-1, 2, 5),
    )  # fmt: skip


@case((randn(2, 6, 9),))
def norms_1d(x):
    return (
        F.layer_norm(x, (9,)), F.group_norm(x, 3), F.instance_norm(x), F.rms_norm(x, (9,)),
        F.avg_pool1d(x, 3, 2), F.max_pool1d(x, 3, 2, 1), F.conv1d(x, x[:, :3, :3].clone(), padding="same", groups=2, dilation=2),
        F.interpolate(x, size=5, mode="linear"), x.unfold(2, 3, 2), F.pad(x, (2, 1), mode="reflect"),
        F.adaptive_avg_pool1d(x, 3), x.diff(), torch.linspace(0, 1, 7), torch.arange(1, 10, 3), torch.eye(3),
        torch.triu(x, 1), x.diagonal(0, 1, 2), torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")[0], x.movedim(0, 2),
    )  # fmt: skip


@case((randn(2, 2, 5, 8), randn(2, 2, 7, 8), torch.rand(5, 7) > 0.4))
def attention(q, k, mask):
    return (
        F.scaled_dot_product_attention(q, k, k), F.scaled_dot_product_attention(q, k, k, attn_mask=mask | (mask.sum(1, keepdim=True) == 0)),
        F.scaled_dot_product_attention(q, q, q, is_causal=True), F.scaled_dot_product_attention(q, k, k, scale=0.3),
        F.scaled_dot_product_attention(q, k, k, attn_mask=mask.float()),
    )  # fmt: skip


@case((randn(4, 2, 3),))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 5, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(3, 4, batch_first=True)
        self.rnn = nn.RNN(3, 4)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c, self.gru(x)[0], self.rnn(x)[1]


@case((randn(2, 1, 4), arange(2, 3) > 2))
def corners(x, b):
    scalar = x.sum()
    return (
        torch.squeeze(x, ()), x.squeeze(), F.pad(x, (-1, 2), mode="replicate"), torch.permute_copy(x, (2, 0, 1)),
        b.square(), scalar.cumsum(0), F.softmax(scalar, 0), F.adaptive_max_pool1d(x, 2), scalar.max(0)[0], x[:0],
        F.pad(x, (2, -1), mode="circular"), F.softmax(x[:, :, :0], 2), x[:, :0].chunk(2, 1)[1], torch.zeros(()),
        torch.heaviside(x * float("nan"), x), torch.div(b.long(), 2.0, rounding_mode="floor"),
        torch.isclose(b, ~b), x.masked_fill(torch.tensor(True), 1.0), torch.cat([x, torch.empty(0)]), torch.std_mean(x),
    )  # fmt: skip
