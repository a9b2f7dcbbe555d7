"""Backward operators, which exported training steps hold: each of PyTorch's own list is equal to PyTorch, or listed as refused."""

import numpy
import pytest
import torch


class Operators:
    """torch.ops.aten by its default overloads."""

    def __getattr__(self, name):
        return getattr(torch.ops.aten, name).default


aten = Operators()
# What no exported training step on the CPU holds, or what takes more than dense tensors.
OTHER = ("cudnn", "miopen", "mkldnn", "mps", "nested", "sparse", "quantiz", "thnn", "_flash_attention_backward",
         "efficient", "cuda", "fake_quantize", "jagged", "overrideable", "_double_backward", "backward_elemt", "backward_reduce",
         "cudnn_attention", "backward_jvp", "max_unpool", "_scaled_dot_product_flash_attention_backward", "hspmm")  # fmt: skip
# Composites, which an export takes apart, and those that are refused by name.
NOT_HELD = {"_backward", "backward", "dist_backward", "index_select_backward", "linear_backward", "matmul_backward", "to_dense_backward",
            "masked_select_backward", "matrix_exp_backward", "_weight_norm_differentiable_backward", "cummaxmin_backward",
            "infinitely_differentiable_gelu_backward", "_pack_padded_sequence_backward", "_batch_norm_impl_index_backward",
            "_grid_sampler_2d_cpu_fallback_backward", "_embedding_bag_backward", "_fused_rms_norm_backward", "_slow_conv2d_backward",
            "adaptive_avg_pool3d_backward", "embedding_backward", "gather_backward", "conv_tbc_backward", "affine_grid_generator_backward", "max_pool2d_backward",
            "cumprod_backward", "trace_backward", "value_selecting_reduction_backward", "masked_scatter_backward"}  # fmt: skip
REFUSED = {"_ctc_loss_backward"}
# Their lists of bools are nothing that torch.jit.trace takes.
MASKED = {"convolution_backward", "native_layer_norm_backward", "native_group_norm_backward", "native_batch_norm_backward",
          "batch_norm_backward", "grid_sampler_2d_backward", "grid_sampler_3d_backward"}  # fmt: skip


def t(*shape):
    return torch.randn(*shape)


def kinks(*shape):
    """Numbers at and around the places where activations bend."""
    return torch.linspace(-4, 4, int(numpy.prod(shape))).reshape(*shape).mul(2).round().div(2)


def cases():
    """name: (arguments with their tensors, function of the tensors)."""
    x, g = kinks(4, 17), t(4, 17)
    p = torch.rand(4, 17).clamp(0.05, 0.95)
    yield "sigmoid_backward", (g, p), aten.sigmoid_backward
    yield "tanh_backward", (g, p), aten.tanh_backward
    yield "_softmax_backward_data", (g, p), lambda g, y: aten._softmax_backward_data(g, y, 1, torch.float32)
    yield "_log_softmax_backward_data", (g, p), lambda g, y: aten._log_softmax_backward_data(g, y, -1, torch.float32)
    yield "threshold_backward", (g, x), lambda g, x: aten.threshold_backward(g, x, 0)
    yield "gelu_backward", (g, x), aten.gelu_backward
    yield "gelu_backward", (g, x), lambda g, x: aten.gelu_backward(g, x, approximate="tanh")
    for name in ("silu_backward", "mish_backward", "hardswish_backward", "hardsigmoid_backward"):
        yield name, (g, x), getattr(aten, name)
    yield "hardtanh_backward", (g, x), lambda g, x: aten.hardtanh_backward(g, x, -1, 1)
    yield "leaky_relu_backward", (g, x), lambda g, x: aten.leaky_relu_backward(g, x, 0.1, False)
    yield "elu_backward", (g, x), lambda g, x: aten.elu_backward(g, 1.5, 0.5, 2.0, False, x)
    yield "elu_backward", (g, x), lambda g, x: aten.elu_backward(g, 1.5, 0.5, 2.0, True, x)
    yield "softplus_backward", (g, x), lambda g, x: aten.softplus_backward(g, x, 2, 3)
    yield "softshrink_backward", (g, x), lambda g, x: aten.softshrink_backward(g, x, 0.5)
    yield "hardshrink_backward", (g, x), lambda g, x: aten.hardshrink_backward(g, x, 0.5)
    yield "log_sigmoid_backward", (g, x), lambda g, x: aten.log_sigmoid_backward(g, x, torch.exp(-x.abs()))
    yield "logit_backward", (g, p), aten.logit_backward
    yield "logit_backward", (g, p), lambda g, x: aten.logit_backward(g, x, 0.2)
    yield "glu_backward", (t(4, 8), t(4, 16)), lambda g, x: aten.glu_backward(g, x, 1)
    yield "_prelu_kernel_backward", (g, x, t(4, 17)), aten._prelu_kernel_backward
    yield "_prelu_kernel_backward", (g, x, t(1, 17)), aten._prelu_kernel_backward
    factors = torch.tensor([[2.0, 3, 0, 4, 0, 5], [1, -2, 3, 4, 5, 6], [0, 2, 3, 1, 1, 1]])
    yield "cumprod_backward", (t(3, 6), factors, factors.cumprod(1)), lambda g, x, y: aten.cumprod_backward(g, x, 1, y)
    yield "rrelu_with_noise_backward", (g, x, p), lambda g, x, n: aten.rrelu_with_noise_backward(g, x, n, 0.1, 0.3, False, False)
    yield "rrelu_with_noise_backward", (g, x, p), lambda g, x, n: aten.rrelu_with_noise_backward(g, x, n, 0.1, 0.3, True, False)
    yield "native_dropout_backward", (g, x > 0), lambda g, m: aten.native_dropout_backward(g, m, 2.0)
    target = t(4, 17)
    for reduction in (0, 1, 2):
        of = g if reduction == 0 else t(1).reshape(())
        yield "mse_loss_backward", (of, x, target), lambda g, x, y, r=reduction: aten.mse_loss_backward(g, x, y, r)
        yield "huber_loss_backward", (of, x, target), lambda g, x, y, r=reduction: aten.huber_loss_backward(g, x, y, r, 1.5)
        yield "smooth_l1_loss_backward", (of, x, target), lambda g, x, y, r=reduction: aten.smooth_l1_loss_backward(g, x, y, r, 0.7)
        yield "soft_margin_loss_backward", (of, x, target.sign()), lambda g, x, y, r=reduction: aten.soft_margin_loss_backward(g, x, y, r)
        yield "binary_cross_entropy_backward", (of, p, (target > 0).float()), lambda g, x, y, r=reduction: aten.binary_cross_entropy_backward(g, x, y, None, r)
        classes, weight = torch.tensor([1, 0, 5, 2]), torch.rand(17)
        row = t(4) if reduction == 0 else of
        yield "nll_loss_backward", (row, x, classes, weight), lambda g, x, y, w, r=reduction: aten.nll_loss_backward(g, x, y, w, r, 2, w[y[:3]].sum())
        yield "nll_loss_backward", (row, x, torch.full((4,), 3)), lambda g, x, y, r=reduction: aten.nll_loss_backward(g, x, y, None, r, 3, torch.tensor(0.0))
        yield "multi_margin_loss_backward", (row, x, classes), lambda g, x, y, r=reduction: aten.multi_margin_loss_backward(g, x, y, 1, 1, None, r)
        image, labels = t(2, 5, 3, 3), torch.randint(0, 5, (2, 3, 3))
        of = t(2, 3, 3) if reduction == 0 else t(1).reshape(())
        yield "nll_loss2d_backward", (of, image, labels), lambda g, x, y, r=reduction: aten.nll_loss2d_backward(g, x, y, None, r, -100, torch.tensor(18.0))
    image = t(2, 3, 9, 8)
    for ceil in (False, True):
        y, places = aten.max_pool2d_with_indices(image, [3, 3], [2, 2], [1, 1], [1, 1], ceil)
        yield "max_pool2d_with_indices_backward", (torch.randn_like(y), image, places), lambda g, x, i, c=ceil: aten.max_pool2d_with_indices_backward(g, x, [3, 3], [2, 2], [1, 1], [1, 1], c, i)
        y = aten.avg_pool2d(image, [3, 3], [2, 2], [1, 1], ceil, False)
        yield "avg_pool2d_backward", (torch.randn_like(y), image), lambda g, x, c=ceil: aten.avg_pool2d_backward(g, x, [3, 3], [2, 2], [1, 1], c, False, None)
    for size in ((3, 4), (4, 3), (1, 1)):
        yield "_adaptive_avg_pool2d_backward", (t(2, 3, *size), image), aten._adaptive_avg_pool2d_backward
    y, places = aten.adaptive_max_pool2d(image, [4, 3])
    yield "adaptive_max_pool2d_backward", (torch.randn_like(y), image, places), aten.adaptive_max_pool2d_backward
    volume = t(1, 2, 5, 6, 4)
    y, places = aten.max_pool3d_with_indices(volume, [2, 2, 2])
    yield "max_pool3d_with_indices_backward", (torch.randn_like(y), volume, places), lambda g, x, i: aten.max_pool3d_with_indices_backward(g, x, [2, 2, 2], [2, 2, 2], [0, 0, 0], [1, 1, 1], False, i)
    y, places = aten.adaptive_max_pool3d(volume, [2, 3, 2])
    yield "adaptive_max_pool3d_backward", (torch.randn_like(y), volume, places), aten.adaptive_max_pool3d_backward
    yield "avg_pool3d_backward", (t(1, 2, 2, 3, 2), volume), lambda g, x: aten.avg_pool3d_backward(g, x, [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None)
    yield "_adaptive_avg_pool3d_backward", (t(1, 2, 2, 4, 3), volume), aten._adaptive_avg_pool3d_backward
    samples = torch.rand(2, 3, 2)
    y, places = aten.fractional_max_pool2d(image, [2, 2], [4, 4], samples)
    yield "fractional_max_pool2d_backward", (torch.randn_like(y), image, places), lambda g, x, i: aten.fractional_max_pool2d_backward(g, x, [2, 2], [4, 4], i)
    y, places = aten.fractional_max_pool3d(volume, [2, 2, 2], [2, 3, 2], torch.rand(1, 2, 3))
    yield "fractional_max_pool3d_backward", (torch.randn_like(y), volume, places), lambda g, x, i: aten.fractional_max_pool3d_backward(g, x, [2, 2, 2], [2, 3, 2], i)
    for dims, x in ((1, t(2, 3, 7)), (2, image), (3, volume)):
        pads = [1, 2] * dims
        y = getattr(aten, f"replication_pad{dims}d")(x, pads)
        for kind in ("replication", "reflection"):
            yield f"{kind}_pad{dims}d_backward", (torch.randn_like(y), x), lambda g, x, n=f"{kind}_pad{dims}d_backward", p=pads: getattr(aten, n)(g, x, p)
        bigger = [s + s // 2 + 1 for s in x.shape[2:]]
        grad = t(*x.shape[:2], *bigger)
        names = [f"upsample_nearest{dims}d", f"_upsample_nearest_exact{dims}d"]
        for name in names:
            yield f"{name}_backward", (grad,), lambda g, n=f"{name}_backward", b=bigger, s=list(x.shape): getattr(aten, n)(g, b, s)
        smooth = ["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"][dims - 1]
        for name in [smooth] + (["upsample_bicubic2d"] if dims == 2 else []):
            for corners in (False, True):
                yield f"{name}_backward", (grad,), lambda g, n=f"{name}_backward", b=bigger, s=list(x.shape), c=corners: getattr(aten, n)(g, b, s, c)
        if dims == 2:
            for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"):
                yield f"{name}_backward", (grad,), lambda g, n=f"{name}_backward", b=bigger, s=list(x.shape): getattr(aten, n)(g, b, s, False)
    x, weight = t(2, 4, 9, 8), t(6, 2, 3, 3)
    y = torch.conv2d(x, weight, None, 2, 1, 1, 2)
    yield "convolution_backward", (torch.randn_like(y), x, weight), lambda g, x, w: aten.convolution_backward(g, x, w, [6], [2, 2], [1, 1], [1, 1], False, [0, 0], 2, [True, True, True])
    yield "convolution_backward", (torch.randn_like(y), x, weight), lambda g, x, w: aten.convolution_backward(g, x, w, [6], [2, 2], [1, 1], [1, 1], False, [0, 0], 2, [False, True, False])[1:2]
    weight = t(4, 3, 3, 3)
    y = torch.conv_transpose2d(x, weight, None, 2, 1, 1)
    yield "convolution_backward", (torch.randn_like(y), x, weight), lambda g, x, w: aten.convolution_backward(g, x, w, [3], [2, 2], [1, 1], [1, 1], True, [1, 1], 1, [True, True, True])
    x, w, b = t(3, 5, 8), t(8), t(8)
    y, mean, rstd = aten.native_layer_norm(x, [8], w, b, 1e-5)
    yield "native_layer_norm_backward", (t(3, 5, 8), x, mean, rstd, w, b), lambda g, x, m, r, w, b: aten.native_layer_norm_backward(g, x, [8], m, r, w, b, [True, True, True])
    x, w, b = t(2, 6, 4, 5), t(6), t(6)
    y, mean, rstd = aten.native_group_norm(x, w, b, 2, 6, 20, 3, 1e-5)
    yield "native_group_norm_backward", (t(2, 6, 4, 5), x, mean, rstd, w), lambda g, x, m, r, w: aten.native_group_norm_backward(g, x, m, r, w, 2, 6, 20, 3, [True, True, True])
    running = (t(6), torch.rand(6) + 0.5)
    y, mean, rstd = aten.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5)
    for train in (True, False):
        yield "native_batch_norm_backward", (t(2, 6, 4, 5), x, w, *running, mean, rstd), lambda g, x, w, rm, rv, m, r, tr=train: aten.native_batch_norm_backward(g, x, w, rm, rv, m, r, tr, 1e-5, [True, True, True])
    y, mean, rstd, reserve = aten._batch_norm_with_update(x, w, b, running[0].clone(), running[1].clone(), 0.1, 1e-5)
    yield "batch_norm_backward", (t(2, 6, 4, 5), x, w, *running, mean, rstd, reserve), lambda g, x, w, rm, rv, m, r, e: aten.batch_norm_backward(g, x, w, rm, rv, m, r, True, 1e-5, [True, True, True], e)
    places = torch.tensor([[1, 3, 0], [3, 3, 4]])
    for padding, by_frequency in ((-1, False), (3, False), (-1, True)):
        yield "embedding_dense_backward", (t(2, 3, 4), places), lambda g, i, p=padding, f=by_frequency: aten.embedding_dense_backward(g, i, 6, p, f)
    places, starts, table, weights = torch.tensor([1, 3, 0, 3, 3, 4, 2]), torch.tensor([0, 2, 2, 5]), t(6, 4), t(7)
    for mode, padding, scales in ((0, -1, None), (0, 3, weights), (1, -1, None), (1, 3, None), (2, -1, None)):
        _, bags, sizes, maxima = aten._embedding_bag(table, places, starts, False, mode, False, scales, False, padding)
        if mode == 0:
            bags = torch.tensor([0, 0, 2, 2, 2, 3, 3])
        given = (t(4, 4), places, bags, sizes, maxima) + (() if scales is None else (scales,))
        yield "_embedding_bag_dense_backward", given, lambda g, i, b, s, m, w=None, o=mode, p=padding: aten._embedding_bag_dense_backward(g, i, b, s, m, 6, False, o, w, p)
        if mode == 0:
            yield "_embedding_bag_per_sample_weights_backward", (t(4, 4), table, places, starts, bags), lambda g, w, i, o, b, p=padding: aten._embedding_bag_per_sample_weights_backward(g, w, i, o, b, 0, p)
    mask = t(2, 3, 5) > 0
    yield "_masked_softmax_backward", (t(2, 3, 5), torch.softmax(t(2, 3, 5), -1), mask), lambda g, y, m: aten._masked_softmax_backward(g, y, m)
    data, lengths = t(7, 2), torch.tensor([2, 0, 4, 1])
    for reduce in ("sum", "mean", "max", "min", "prod"):
        y = torch.segment_reduce(data, reduce, lengths=lengths)
        yield "_segment_reduce_backward", (t(4, 2), y, data, lengths), lambda g, y, x, n, r=reduce: aten._segment_reduce_backward(g, y, x, r, lengths=n)
    target = torch.tensor([[3, 0, -1, 1], [-1, 2, 1, 0], [1, 2, 0, 3]])
    for reduction in (0, 1, 2):
        of = t(3) if reduction == 0 else t(1).reshape(())
        x = t(3, 4)
        _, is_target = aten.multilabel_margin_loss_forward(x, target, reduction)
        yield "multilabel_margin_loss_backward", (of, x, target, is_target), lambda g, x, y, i, r=reduction: aten.multilabel_margin_loss_backward(g, x, y, r, i)
    yield "slice_backward", (t(2, 3),), lambda g: aten.slice_backward(g, [2, 8], 1, 1, 7, 2)
    yield "select_backward", (t(2, 3),), lambda g: aten.select_backward(g, [2, 4, 3], 1, -2)
    yield "diagonal_backward", (t(3),), lambda g: aten.diagonal_backward(g, [3, 4], 1, 0, 1)
    yield "unfold_backward", (t(2, 3, 4),), lambda g: aten.unfold_backward(g, [2, 8], 1, 4, 2)
    x, grid = t(1, 2, 4, 5), torch.rand(1, 3, 3, 2) * 2.2 - 1.1
    yield "grid_sampler_2d_backward", (t(1, 2, 3, 3), x, grid), lambda g, x, i: aten.grid_sampler_2d_backward(g, x, i, 0, 0, False, [True, True])
    x, grid = t(1, 2, 3, 4, 3), torch.rand(1, 2, 3, 2, 3) * 2.2 - 1.1
    yield "grid_sampler_3d_backward", (t(1, 2, 2, 3, 2), x, grid), lambda g, x, i: aten.grid_sampler_3d_backward(g, x, i, 0, 0, False, [True, True])
    q, k, v = t(2, 3, 5, 8), t(2, 3, 6, 8), t(2, 3, 6, 8)
    y, lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
    yield "_scaled_dot_product_flash_attention_for_cpu_backward", (torch.randn_like(y), q, k, v, y, lse), lambda g, q, k, v, y, s: aten._scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, y, s, 0.0, False)
    v, w = t(4, 3), t(4, 1)
    _, norms = aten._weight_norm_interface(v, w)
    yield "_weight_norm_interface_backward", (t(4, 3), v, w, norms), lambda g, v, w, n: aten._weight_norm_interface_backward(g, v, w, n, 0)
    a, b = t(4, 3), t(5, 3)
    yield "_cdist_backward", (t(4, 5), a, b, torch.cdist(a, b, p=3.0)), lambda g, a, b, d: aten._cdist_backward(g, a, b, 3.0, d)
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
        same = torch.cat([a, b[:2]])
        yield "_cdist_backward", (t(6, 6), same, same, torch.cdist(same, same, p=p)), lambda g, a, b, d, p=p: aten._cdist_backward(g, a, b, p, d)
    yield "_pdist_backward", (t(6), a, torch.pdist(a)), lambda g, a, d: aten._pdist_backward(g, a, 2.0, d)


class All(torch.nn.Module):
    def __init__(self, functions, counts):
        super().__init__()
        self.functions, self.counts = functions, counts

    def forward(self, tensors: list[torch.Tensor]):
        out, at = [], 0
        for function, count in zip(self.functions, self.counts):
            result = function(*tensors[at : at + count])
            out += [result] if isinstance(result, torch.Tensor) else list(result)
            at += count
        return tuple(out)


def flat_module(module, count):
    names = ", ".join(f"x{i}" for i in range(count))
    scope = {}
    exec(f"def forward({names}): return run([{names}])", {"run": module.forward}, scope)
    flat = torch.nn.Module()
    flat.inner = module
    flat.forward = scope["forward"]
    return flat


@pytest.mark.parametrize("form", ["pt", "pt2"])
def test_every_backward_operator_of_a_training_step_is_equal_to_pytorch(run, tmp_path, form):
    torch.manual_seed(0)
    chosen = [c for c in cases() if form == "pt2" or c[0] not in MASKED]
    names, arguments, functions = zip(*chosen)
    inputs = tuple(x.contiguous() for a in arguments for x in a)
    model = flat_module(All(functions, [len(a) for a in arguments]), len(inputs)).eval()
    with torch.no_grad():
        expected = [f(*a) for f, a in zip(functions, arguments)]
        if form == "pt":
            torch.jit.trace(model, inputs, check_trace=False, strict=False).save(tmp_path / "model.pt")
        else:
            torch.export.save(torch.export.export(model, inputs, strict=False), tmp_path / "model.pt2")
    numpy.savez(tmp_path / "in.npz", **{f"x{i}": x.numpy() for i, x in enumerate(inputs)})
    run("run", f"model.{form}", "--input", "in.npz", "--output", "out.npz", code=0)
    got = list(numpy.load(tmp_path / "out.npz").values())
    at = 0
    for name, want in zip(names, expected):
        for w in [want] if isinstance(want, torch.Tensor) else want:
            torch.testing.assert_close(torch.from_numpy(got[at]), w, rtol=1e-4, atol=1e-5, equal_nan=True, msg=lambda m: f"{name}: {m}")
            at += 1
    assert at == len(got)


def test_no_backward_operator_of_pytorch_is_forgotten():
    known = {name for name, _, _ in cases()} | NOT_HELD | REFUSED
    all_of_them = {s.name.removeprefix("aten::") for s in torch._C._jit_get_all_schemas()
                   if s.name.startswith("aten::") and "backward" in s.name and "foreach" not in s.name}  # fmt: skip
    forgotten = {n for n in all_of_them if not any(o in n for o in OTHER)} - known
    assert not forgotten
