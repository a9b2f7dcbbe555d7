"""8-bit floats as PyTorch has them: casts, moves, scaled products, weights, and what it refuses."""

import numpy
import pytest
import torch

from compared import flat, tenon_run

TYPES = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
E4M3, E5M2 = TYPES[:2]
NAMES = dict(zip(TYPES, ("f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz"))) | {torch.float32: "f32", torch.int64: "i64", torch.uint8: "u8"}


def bits(tensor):
    """NumPy has no type for them."""
    return tensor.view(torch.uint8) if tensor.dtype in TYPES else tensor


def saved(module, inputs, folder, form):
    path = folder / f"model.{form}"
    if form == "pt2":
        torch.export.save(torch.export.export(module, tuple(inputs)), path)
    else:
        (torch.jit.trace(module, tuple(inputs)) if form == "pt" else torch.jit.script(module)).save(str(path))
    return path


def run(tenon, path, inputs, folder):
    """Converted, without a comparison, and run."""
    files, types = [], []
    for i, tensor in enumerate(inputs):
        types.append(f"--input={NAMES[tensor.dtype]}{list(tensor.shape)}")
        array = bits(tensor).numpy()
        numpy.save(folder / f"in_{i}.npy", array.view("V1") if tensor.dtype in TYPES else array)
        files.append(f"--input={folder / f'in_{i}.npy'}")
    tenon_run(tenon, "convert", path, "-o", folder / "model.tenon", "--no-verify", *types)
    tenon_run(tenon, "run", folder / "model.tenon", *files, "--output", folder / "out.npz")
    return list(numpy.load(folder / "out.npz").values())


def same(got, want):
    """As bits, and of the same type but for that of float8 and bfloat16, whose names NumPy lacks."""
    want = [t.detach() for t in flat(want)]
    assert len(got) == len(want)
    for g, w in zip(got, want):
        array = bits(w).view(torch.uint16).numpy() if w.dtype == torch.bfloat16 else bits(w).numpy()
        assert g.shape == array.shape
        numpy.testing.assert_array_equal(g.view(array.dtype), array)


class Casts(torch.nn.Module):
    def forward(self, x, codes):
        ways = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32)
        to = [x.to(source).to(t).view(torch.uint8) for t in TYPES for source in ways]
        return [*to, *[codes.view(t).to(target) for t in TYPES for target in ways[:4]]]


def test_casts_are_pytorchs(tenon, tmp_path):
    """Floats of every size and all that lies between two numbers; every code. A NaN has no sign that is promised."""
    x = torch.arange(0, 2**32, 77777).to(torch.int32).view(torch.float32)
    numbers = torch.cat([torch.arange(256, dtype=torch.uint8).view(t).float() for t in TYPES]).nan_to_num(0, 0, 0).unique()
    middle = numbers[:-1] + (numbers[1:] - numbers[:-1]) / 2
    inf = torch.tensor(torch.inf)
    x = torch.cat([x[~x.isnan()], *[torch.nextafter(middle, way) for way in (inf, middle, -inf)], torch.tensor([torch.inf, -torch.inf, -0.0])])
    inputs = [x, torch.arange(256, dtype=torch.uint8)]
    got = run(tenon, saved(Casts(), inputs, tmp_path, "pt2"), inputs, tmp_path)
    want = Casts()(*inputs)
    same(got[:20], want[:20])
    for g, w in zip(got[20:], want[20:]):
        w = w.float().numpy()
        g = (g.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32) if g.dtype.kind == "V" else g.astype(numpy.float32)
        numpy.testing.assert_array_equal(g, w)
        numpy.testing.assert_array_equal(numpy.signbit(g[w == 0]), numpy.signbit(w[w == 0]))


class Moves(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.register_buffer("table", torch.randn(7, 12).to(dtype))

    def forward(self, x, i):
        both = torch.cat([x, self.table])
        written = x.clone()
        written[0] = self.table[1]
        return both.t(), both[1:, ::2].reshape(-1), self.table[i], torch.where(x == x.abs(), x, x[:1]), x * x, written


@pytest.mark.parametrize("dtype, form", [(E4M3, "pt"), (E4M3, "script"), *((t, "pt2") for t in TYPES)], ids=str)
def test_moves(tenon, tmp_path, dtype, form):
    torch.manual_seed(1)
    module, inputs = Moves(dtype), [torch.randn(5, 12).to(dtype), torch.tensor([3, 0, 6])]
    path = saved(module, inputs, tmp_path, form)
    same(run(tenon, path, inputs, tmp_path), module(*inputs))


class ScaledProduct(torch.nn.Module):
    def __init__(self, weight, scale, **options):
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.options = options

    def forward(self, x, scale):
        return torch._scaled_mm(x, self.weight.t(), scale, self.scale, **self.options)


M, K, N = 5, 320, 272  # larger than what is folded


@pytest.mark.parametrize(
    "form, types, rows, options",
    [
        ("pt", (E4M3, E4M3), False, {}),
        ("pt2", (E4M3, E5M2), False, {"out_dtype": torch.float32}),
        ("pt", (E5M2, E4M3), False, {"out_dtype": torch.bfloat16, "bias": torch.bfloat16}),
        ("pt2", (E4M3, E4M3), False, {"out_dtype": torch.float16, "bias": torch.float32, "use_fast_accum": True}),
        ("pt", (E4M3, E4M3), True, {"out_dtype": torch.float32}),
        ("pt2", (E4M3, E4M3), True, {"out_dtype": torch.bfloat16, "bias": torch.bfloat16}),
        ("pt", (E4M3, E4M3), False, {"out_dtype": E5M2, "scale_result": True}),
        ("pt2", (E4M3, E4M3), False, {"out_dtype": torch.float32, "scale_result": True}),
    ],
)
def test_scaled_products(tenon, tmp_path, form, types, rows, options):
    torch.manual_seed(2)
    weight, scale = torch.randn(N, K).to(types[1]), torch.rand(1, N) + 0.1 if rows else torch.tensor(0.3)
    if "bias" in options:
        options = options | {"bias": torch.randn(N).to(options["bias"])}
    if "scale_result" in options:
        options = options | {"scale_result": torch.tensor(0.25)}
    module = ScaledProduct(weight, scale, **options)
    inputs = [torch.randn(M, K).to(types[0]), torch.rand(M, 1) + 0.1 if rows else torch.tensor(1.7)]
    want = module(*inputs)
    got = torch.from_numpy(run(tenon, saved(module, inputs, tmp_path, form), inputs, tmp_path)[0].view({1: "u1", 2: "u2", 4: "f4"}[want.itemsize]))
    got = (got if want.dtype == torch.float32 else got.view(want.dtype)).float()
    last_place = {torch.float32: 2**-20, torch.bfloat16: 2**-7, torch.float16: 2**-10, E4M3: 2**-3, E5M2: 2**-2}[want.dtype]
    torch.testing.assert_close(got, want.float(), rtol=last_place, atol=1e-3 if want.itemsize > 1 else 0.13)
    assert (got == want.float()).float().mean() > (0.99 if want.itemsize < 4 else 0)
    assert (tmp_path / "model.tenon").stat().st_size < 1.2 * N * K  # a byte for each number


def test_scaled_mm_of_the_functional_interface(tenon, tmp_path):
    from torch.nn.functional import ScalingType, scaled_mm

    class Rows(torch.nn.Module):
        def forward(self, x, w, a, b):
            return scaled_mm(x, w.t(), a, ScalingType.RowWise, b, ScalingType.RowWise, output_dtype=torch.float32)

    torch.manual_seed(3)
    inputs = [torch.randn(4, 32).to(E4M3), torch.randn(8, 32).to(E4M3), torch.rand(4, 1), torch.rand(1, 8)]
    got = run(tenon, saved(Rows(), inputs, tmp_path, "pt2"), inputs, tmp_path)[0]
    numpy.testing.assert_allclose(got, Rows()(*inputs).numpy(), rtol=1e-5, atol=1e-5)


class Plus(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float8_e5m2) + x.to(torch.float8_e5m2)


class Mixed(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float8_e5m2) * x


@pytest.mark.parametrize("module, said", [(Plus(), "add of f8e5m2, which PyTorch does not have"), (Mixed(), "have no common dtype in PyTorch")])
def test_what_pytorch_refuses_is_refused(run, tmp_path, module, said):
    with pytest.raises((RuntimeError, NotImplementedError)):
        module(torch.ones(3))
    torch.jit.script(module).save(str(tmp_path / "model.pt"))
    out = run("convert", "model.pt", "--input", "f32[3]", code=2)
    assert said in out and ".to(torch.float32)" in out


def test_onnx_files_have_them(tenon, tmp_path):
    """Written as ONNX's types: ONNX Runtime gives what PyTorch gives."""
    onnxruntime = pytest.importorskip("onnxruntime")

    class Rounded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randn(64, 64).to(E4M3))

        def forward(self, x):
            return [x.to(t).float() for t in TYPES] + [x @ self.weight.float()]

    module, x = Rounded(), torch.cat([torch.randn(60, 64) * 300, torch.full((1, 64), torch.inf), torch.full((1, 64), 1e9), -torch.rand(2, 64) * 1e-4])
    tenon_run(tenon, "convert", saved(module, [x], tmp_path, "pt2"), "-o", tmp_path / "out.onnx", "--no-verify")
    session = onnxruntime.InferenceSession(tmp_path / "out.onnx")
    got = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    for g, w in zip(got[:4], module(x)):
        numpy.testing.assert_array_equal(g, w.numpy())


class InAndOut(torch.nn.Module):
    def forward(self, x):
        return x.t(), x.to(torch.float32).to(E5M2)


def test_results_are_compared_with_libtorch_and_onnx_runtime(run, tmp_path):
    pytest.importorskip("onnxruntime")
    saved(InAndOut(), [torch.randn(3, 4).to(E4M3)], tmp_path, "pt2")
    said = run("convert", "model.pt2", "-o", "model.tenon", code=0) + run("convert", "model.pt2", "-o", "model.onnx", code=0)
    assert said.count("equal to LibTorch") == 2 and "not run" not in said


def test_safetensors_names_them(tenon, tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    module = torch.nn.Module()
    for i, dtype in enumerate(TYPES):
        module.register_buffer(f"w{i}", torch.randn(300, 300).to(dtype))
    module.forward = lambda x: [x @ getattr(module, f"w{i}").float() for i in range(4)]
    path = saved(module, [torch.randn(2, 300)], tmp_path, "pt2")
    tenon_run(tenon, "convert", path, "-o", tmp_path / "weights.safetensors", "--no-verify")
    found = safetensors.load_file(tmp_path / "weights.safetensors")
    for i, dtype in enumerate(TYPES):
        assert found[f"w{i}"].dtype == dtype and torch.equal(found[f"w{i}"].view(torch.uint8), getattr(module, f"w{i}").view(torch.uint8))
