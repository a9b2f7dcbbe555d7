"""Models on GPUs, as drivers of our own emulate them on the CPU (tests/softgpu): the whole path, but for speed. Memory of the device is
unreadable there, streams lag behind, and misuse is an error."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import models
from chosen import chosen

VENDORS = ["cuda", "hip"]
# With and without matrix units, waves of 32 and of 64.
ARCHITECTURES = {"sm_90": "cuda", "sm_75": "cuda", "gfx942": "hip", "gfx1100": "hip", "gfx1030": "hip"}
# What a model's file does not say of its inputs.
INPUTS = {"silero_vad": ["--input", "x=f32[1,512]", "--input", "sr=16000"]}


@pytest.mark.parametrize("name, vendor", chosen([(n, v) for n in models.NAMES for v in VENDORS], 3))
def test_tiny_models_equal_libtorch(on_gpu, exported_tiny, name, vendor):
    verify = ["verify", exported_tiny(name) / "model.pt", *INPUTS.get(name, []), "--against", "torch"]
    assert "verified" in on_gpu(vendor, *verify, code=0)


@pytest.mark.parametrize("vendor", VENDORS)
def test_operators_without_kernel_may_fall_back(on_gpu, tmp_path, vendor):
    import onnx

    text = '<ir_version: 10, opset_import: ["" : 21]> g (string[2] x, string[2] y) => (bool[2] z, string[2] both)' \
           '{ z = Equal(x, y) both = StringConcat(x, y) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    refused = on_gpu(vendor, "run", "model.onnx", code=3)
    assert f"{vendor}:0 has no kernel for 2 operators:\n  equal -> bool[2]\n  concat_strings -> string[2]\n" in refused
    assert "--fallback cpu" in refused
    assert "verified" in on_gpu(vendor, "verify", "model.onnx", "--against", "onnxruntime", "--fallback", "cpu", code=0)


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_verb_runs_on_it(on_gpu, exported_tiny, tmp_path, vendor):
    model = exported_tiny("resnet9") / "model.pt"
    for what in ["--bisect"], ["--properties", "--samples", 2]:
        on_gpu(vendor, "verify", model, *what, code=0)
    profile = json.loads(on_gpu(vendor, "profile", model, "--iters", 3, "--json", "-", code=0))
    assert sum(step["ms"] for step in profile["steps"]) > 0
    case = tmp_path / "cases" / "resnet9"
    case.mkdir(parents=True)
    shutil.copy(model, case)
    on_gpu(vendor, "check", "cases", "--update", code=0)
    on_gpu(vendor, "check", "cases", code=0)
    on_gpu(vendor, "convert", model, "-o", "out.tenon", code=0)
    assert "windows product" in on_gpu(vendor, "inspect", "out.tenon", "--ir", "planned", code=0)


@pytest.mark.parametrize("vendor", VENDORS)
def test_kernels_are_compiled_once(on_gpu, exported_tiny, tmp_path, vendor):
    model = exported_tiny("mlp") / "model.pt"
    on_gpu(vendor, "run", model, code=0)
    kept = {f: f.stat().st_mtime_ns for f in (tmp_path / "cache/tenon/kernels").iterdir()}
    assert kept
    damaged = min(kept)
    damaged.write_bytes(damaged.read_bytes()[:-7])
    on_gpu(vendor, "run", model, code=0)
    written = [f for f, at in kept.items() if f.stat().st_mtime_ns != at]
    assert written == [damaged]


def test_a_fallback_that_is_none(on_gpu, exported_tiny, monkeypatch):
    monkeypatch.setenv("TENON_FALLBACK", "0")
    assert "operators cannot fall back to '0'" in on_gpu("cuda", "run", exported_tiny("mlp") / "model.pt", code=2)


def test_devices_without_tf32_refuse_it(on_gpu, exported_tiny):
    model = exported_tiny("mlp") / "model.pt"
    for device in "hip", "cpu":
        said = on_gpu(device, "run", model, "--precision", "tf32", code=2)
        assert f"{device} has no numbers of TF32" in said and "at: --precision" in said
    assert "f8 not in {tf32,bf16,f16,bf16w,f16w,int8w,int4w}" in on_gpu("cuda", "run", model, "--precision", "f8", code=2)


def test_a_machine_without_the_driver_says_so(run, exported_tiny):
    said = run("run", exported_tiny("mlp") / "model.pt", "--device", "hip:0", code=4)
    assert "there is no device 'hip:0': none of libamdhip64.so.7" in said and "this machine has: cpu; tenon doctor" in said


@pytest.mark.parametrize("name", ["cud", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cpu:1", "hip:0:0"])
def test_what_no_device_can_be_called_is_wrong_usage(run, exported_tiny, name):
    said = run("run", exported_tiny("mlp") / "model.pt", "--device", name, code=2)
    assert f"there is no device '{name}'" in said and "devices are cpu, cuda, cuda:1, hip" in said


def test_a_driver_without_devices_is_no_lack_and_one_that_does_not_start_is(tenon, tmp_path, soft_drivers):
    """Of one vendor: a process can use the emulated drivers of one."""
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    for name in ["libcuda.so.1", "libnvrtc.so.13", "softgpu-device"]:
        (drivers / name).symlink_to(pathlib.Path(soft_drivers["LD_LIBRARY_PATH"]) / name)

    def doctor(code, **variables):
        done = subprocess.run([tenon, "doctor"], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "LD_LIBRARY_PATH": str(drivers), **variables})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    assert "no GPU: the driver knows no device" in doctor(0, SOFTGPU_DEVICES="0")
    (drivers / "softgpu-device").unlink()
    assert "starting the driver failed" in doctor(4)


def test_a_compiler_that_does_not_start_is_no_bug_of_a_kernel(on_gpu, exported_tiny, monkeypatch):
    monkeypatch.setenv("SOFTGPU_CXX", "no-such-compiler")
    monkeypatch.setenv("SOFTGPU_FAULT", "open:cublasLt")  # whose kernels are compiled by itself
    said = on_gpu("cuda", "run", exported_tiny("mlp") / "model.pt", code=4)
    assert "libnvrtc" in said and "no-such-compiler" in said


@pytest.mark.parametrize("driver, compiler", [("12080", "libnvrtc.so.12"), ("13010", "libnvrtc.so.13")])
def test_the_compiler_is_not_newer_than_the_driver(tenon, tmp_path, driver, compiler):
    """Where both compilers are installed."""
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    for entry in (tenon.parent / "softgpu").iterdir():
        (drivers / entry.name).symlink_to(entry)
    (drivers / "libnvrtc.so.12").symlink_to(tenon.parent / "softgpu/libnvrtc.so.13")
    said = subprocess.run([tenon, "doctor"], capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(drivers), "SOFTGPU_DRIVER": driver}).stdout
    assert f"driver {driver}" in said and f"({compiler})" in said


def products(x, w, image, line, volume, long, pairs):
    """Products and convolutions of many forms; results that stand beside others in a concatenation have rows with gaps."""
    import torch
    from torch.nn.functional import conv1d, conv2d, conv3d, conv_transpose2d, linear

    k = torch.linspace(-1, 1, 4 * 2 * 3 * 3).reshape(4, 2, 3, 3)
    return (
        torch.cat([linear(x, w[:1]), linear(x, w)], 1),
        torch.cat([conv2d(image, k[:1]), conv2d(image, k)], 1),
        linear(x[0], w, w[:, 0]).relu(),
        (x @ w.t() + x[:, :1]) * x[:1, :1],
        x.t() @ x,
        x[:, None] @ x[:, :, None],
        w.expand(3, *w.shape) @ x.t().expand(3, 7, 5),
        conv2d(image, k, stride=2, padding=(2, 1), dilation=(1, 2)).sigmoid(),
        conv2d(image.contiguous(memory_format=torch.channels_last), k, k[:, 0, 0, 0]),
        conv2d(image, k[:2, :1], groups=2, padding="same"),
        conv2d(image, k * x[0, 0], padding=1).relu(),
        conv2d(image, (k * x[0, 0])[:, :1], groups=2),
        conv_transpose2d(image, k[:2] * x[0, 0], stride=2),
        conv_transpose2d(image, k[:2], stride=2, padding=1, output_padding=1),
        conv_transpose2d(image, k[:2], groups=2, dilation=2),
        conv1d(line, k[:, :, 0], padding=1) + line[:, :1],
        conv3d(volume, k[:, :, None], stride=(2, 1, 1)),
        torch.where(linear(x, w) > 0, x[:, :3], 0.5).half(),
        long.reshape(70000, 1, 3) @ long.reshape(70000, 3, 1),
    )


def typed_products(x, w, image, line, volume, long, pairs):
    """Both sides with their elements side by side along the depth, across it, and neither; few rows and many; a long depth, which blocks split."""
    import torch
    from torch.nn.functional import conv2d, linear

    results = []
    wide, deep = torch.linspace(-1, 1, 200 * 64).reshape(200, 64).sin(), long.reshape(30, 7000)
    taps = torch.linspace(-1, 1, 24 * 16 * 9).reshape(24, 16, 3, 3).cos()
    for t in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        left, right = wide.to(t), wide.flip(0).to(t)
        results += [linear(left[:rows], right) for rows in (1, 2, 3)] + [linear(left[:2, :8], long.reshape(-1, 8).to(t)).relu()]
        results += [linear(left, right), left.t() @ right, left[:, ::2] @ right.t()[::2], left[:3] @ right.t(), linear(x.to(t), w.to(t)),
                    linear(deep[:, 1:].to(t), deep[:20, 1:].to(t)), conv2d(wide.reshape(2, 16, 20, 20).to(t), taps.to(t), padding=1).relu()]
    integers = (100 * wide).int()
    results += [integers.to(t) @ integers.t().to(t) for t in (torch.int32, torch.int64, torch.int8)]
    infinite = torch.where(wide > 0.99, torch.inf, wide)
    return (*results, linear(infinite, wide), linear(1e38 * wide, wide), linear(wide.half(), wide.half()).float() @ wide)


def attentions(x, w, image, line, volume, long, pairs):
    """Sizes of rows and numbers of queries and keys that fill no tile; masks of each kind, rows without keys; heads that lie in one matrix."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention as attend

    values = long.reshape(-1)
    results = []
    sizes = (70, 90, 64, 64), (1, 33, 20, 40), (17, 5, 7, 3), (40, 40, 128, 128), (2, 300, 24, 64)
    for nth, t in enumerate((torch.float32, torch.float16, torch.bfloat16)):
        for kind, (queries, keys, size, value_size) in enumerate(sizes):
            shapes = (2, 3, queries, size), (2, 3, keys, size), (2, 3, keys, value_size)
            q, k, v = (values[i : i + a * b * c * d].reshape(a, b, c, d).to(t) for i, (a, b, c, d) in enumerate(shapes))
            added = values[: 2 * queries * keys].reshape(2, 1, queries, keys).to(t)
            kept = added[0, 0] > -0.5
            kept[0] = False
            masks = {}, {"is_causal": True}, {"attn_mask": added}, {"attn_mask": kept}
            results.append(attend(q, k, v, **masks[(kind + nth) % 4]))
    one = values[: 2 * 50 * 3 * 4 * 16].reshape(2, 50, 3, 4, 16)
    q, k, v = (one[:, :, i].transpose(1, 2) for i in range(3))
    results += [attend(q, k, v, scale=0.3).transpose(1, 2).reshape(2, 50, 64), attend(q.double(), k.double(), v.double()),
                attend(q[:, :, :2], k.where(k < k.amax(), torch.inf), v), attend(q, k[:, :1], v[:, :1])]
    return tuple(results)


def test_float32_keeps_its_accuracy_on_matrix_units(on_gpu, run, tmp_path):
    """Against float64, as a share of the result's size; beside it the CPU's float32, and one product of TF32: by --precision and as it
    should be."""
    import numpy as np
    import torch

    def tf32(values):
        return ((values.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32).astype(np.float64)

    for depth in 64, 512, 4096:
        torch.manual_seed(depth)
        x, w = torch.randn(64, depth), torch.randn(64, depth)
        torch.jit.trace(lambda a, b: a @ b.t(), (x, w)).save(str(tmp_path / "product.pt"))
        np.save(tmp_path / "x.npy", x.numpy())
        np.save(tmp_path / "w.npy", w.numpy())
        exact = x.double().numpy() @ w.double().numpy().T
        arguments = ["run", tmp_path / "product.pt", "--input", f"a={tmp_path}/x.npy", "--input", f"b={tmp_path}/w.npy", "-o"]
        on_gpu("cuda", *arguments, tmp_path / "gpu.npy", code=0)
        on_gpu("cuda", *arguments, tmp_path / "tf32.npy", "--precision", "tf32", code=0)
        run(*arguments, tmp_path / "cpu.npy", code=0)
        rounded = tf32(x.numpy()) @ tf32(w.numpy()).T
        results = {"three of TF32": np.load(tmp_path / "gpu.npy"), "CPU": np.load(tmp_path / "cpu.npy"),
                   "one of TF32": np.load(tmp_path / "tf32.npy"), "rounded": rounded}  # fmt: skip
        error = {name: float(np.sqrt(((r - exact) ** 2).mean() / (exact**2).mean())) for name, r in results.items()}
        print(depth, {name: f"{e:.1e}" for name, e in error.items()})
        assert error["three of TF32"] < 2 * error["CPU"] < error["rounded"]
        assert error["one of TF32"] == pytest.approx(error["rounded"], rel=0.1)


def pools(x, w, image, line, volume, long, pairs):
    from torch.nn.functional import adaptive_avg_pool2d, adaptive_max_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d

    return (
        max_pool2d(image, 3, stride=2, padding=1, ceil_mode=True),
        max_pool2d(image, 2, stride=1, dilation=2),
        max_pool1d(line, 3),
        avg_pool2d(image, 3, stride=2, padding=1, ceil_mode=True),
        avg_pool2d(image, 3, padding=1, count_include_pad=False),
        avg_pool2d(image, 2, divisor_override=3),
        avg_pool3d(volume, 2),
        adaptive_avg_pool2d(image, (3, 4)),
        adaptive_max_pool1d(line, 4),
    )


def loops(x, w, image, line, volume, long, pairs):
    import torch

    return (
        x.softmax(0),
        image.mean((0, 2, 3)),
        image.var(1).sqrt(),
        image.amax((1, 3)) - image.sum(2).sum(2).t()[0, 0],
        torch.nn.functional.layer_norm(image, (6, 6)),
        torch.nn.functional.group_norm(image, 2),
        x.argmax(1),
        x[torch.tensor([4, 0, 0])],
        x[:0].exp(),
        image.permute(3, 1, 0, 2).contiguous().flip(0),
        torch.nn.functional.pad(image, (1, 2, 0, 1), mode="reflect"),
        (x > 0).any(1),
        long.softmax(1),
        torch.nn.functional.group_norm(long.reshape(1, 6, 100, 350), 2),
        pairs.t().contiguous(),
    )


# Each on the architectures whose matrix units it uses.
FAMILIES = {products: [*ARCHITECTURES], typed_products: [*ARCHITECTURES], attentions: [a for a in ARCHITECTURES if a != "sm_75"],
            pools: ["sm_90", "gfx942"], loops: ["sm_90", "gfx942"]}  # fmt: skip
CHOSEN = [(family, a) for turn, (family, architectures) in enumerate(FAMILIES.items()) for a in chosen(architectures, 3, turn % 2)]


@pytest.mark.parametrize("family, architecture", CHOSEN, ids=lambda v: getattr(v, "__name__", v))
def test_operators_equal_libtorch(on_gpu, tmp_path, monkeypatch, family, architecture):
    import torch

    vendor = ARCHITECTURES[architecture]
    monkeypatch.setenv("SOFTGPU_ARCH", architecture)

    class Module(torch.nn.Module):
        def forward(self, *tensors):
            return family(*tensors)

    torch.manual_seed(0)
    inputs = [torch.randn(*size) for size in ((5, 7), (3, 7), (2, 2, 6, 6), (2, 2, 9), (1, 2, 4, 5, 5), (3, 70000))]
    inputs.append(torch.randn(3, 4, dtype=torch.complex128))
    torch.jit.trace(Module(), inputs).save(str(tmp_path / "model.pt"))
    assert "verified" in on_gpu(vendor, "verify", "model.pt", "--against", "torch", code=0)


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, "gfx90a"])
def test_quantised_products_read_bytes(on_gpu, tmp_path, monkeypatch, architecture):
    """MatMulInteger behind DynamicQuantizeLinear, and of two inputs: exact, from bytes of either sign and their zero points."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    weights = {"w": random.integers(-128, 128, (72, 96), np.int8), "v": random.integers(0, 256, (72, 50), np.uint8),
               "v_zero": random.integers(0, 256, 50, np.uint8), "a_zero": np.int8(-7), "b_zero": np.uint8(200)}  # fmt: skip
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             helper.make_node("MatMulInteger", ["q", "w", "z"], ["first"]),
             helper.make_node("MatMulInteger", ["q", "v", "z", "v_zero"], ["second"]),
             helper.make_node("MatMulInteger", ["a", "b", "a_zero", "b_zero"], ["third"])]  # fmt: skip
    inputs = ("x", TensorProto.FLOAT, [37, 72]), ("a", TensorProto.INT8, [19, 33]), ("b", TensorProto.UINT8, [33, 70])
    outputs = [(name, TensorProto.INT32, None) for name in ("first", "second", "third")]
    graph = helper.make_graph(nodes, "quantised", [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info(*o) for o in outputs],
                              [numpy_helper.from_array(np.asarray(w), name) for name, w in weights.items()])  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "quantised.onnx")
    monkeypatch.setenv("SOFTGPU_ARCH", architecture)
    vendor = ARCHITECTURES.get(architecture, "hip")
    assert "least tolerance that passes: 0\n" in on_gpu(vendor, "verify", "quantised.onnx", code=0)
    assert on_gpu(vendor, "inspect", "quantised.onnx", "--ir", "planned", code=0).count(" bytes] cast+sub+") == 3


@pytest.mark.parametrize("vendor", VENDORS)
def test_selftest_reports_each_family(soft_drivers, tenon, vendor):
    done = subprocess.run([tenon, "doctor", "--selftest", vendor, "--only", "pools", "--json"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, **soft_drivers})
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["device"] == f"{vendor}:0" and "compiler" in report["software"] and "Soft GPU" in report["hardware"]
    assert [f["family"] for f in report["families"]] == ["pools"]
    assert all(c["status"] == "passed" and c["kernels"] for c in report["cases"])


def test_selftest_knows_its_families(soft_drivers, tenon):
    only = ["--only", "no such family"]
    assert subprocess.run([tenon, "doctor", "--selftest", "cuda", *only], capture_output=True, env={**os.environ, **soft_drivers}).returncode == 2


# What SOFTGPU_FAULT breaks, where, what doctor says of it, the dtype of a product, and what the plan then calls it.
FAULTS = {
    "none": ("", "sm_90", "", "float16", "product 64x128 wgmma tma+tile"),
    "copies lie": ("tma", "sm_90", "wgmma bf16 by tma gives", "float16", "product 64x128 wgmma+tile"),
    "it lies": ("wgmma_f16", "sm_90", "wgmma f16 gives", "float16", "product 128x64+tile"),
    "copies do not compile": ("compile:BulkProduct", "sm_90", "wgmma f16 by tma a kernel does not compile", "float16", "product 64x128 wgmma+tile"),
    "it does not compile": ("compile:WarpgroupProduct", "sm_90", "wgmma f16 a kernel does not compile", "float16", "product 128x64+tile"),
    "two lie": ("wgmma_bf16,mma_bf16", "sm_90", "wgmma bf16 gives", "bfloat16", "cublaslt product+relu"),
    "another lies": ("wgmma_bf16", "sm_90", "wgmma bf16 gives", "float16", "product 64x128 wgmma tma+tile"),
    "float32 by bulk copies": ("", "sm_90", "", "float32", "product 128x64 wgmma tma+tile"),
    "float32's copies lie": ("tma", "sm_90", "wgmma f32 by tma gives", "float32", "product 128x64 wgmma+tile"),
    "float32 of warpgroups lies": ("wgmma_tf32", "sm_90", "wgmma f32 gives", "float32", "product 128x64+tile"),
    "float32": ("mma_tf32", "sm_80", "mma.sync f32 gives", "float32", "cublaslt product+relu"),
    "mfma": ("mfma_f16", "gfx90a", "f16 gives", "float16", "hipblaslt product+relu"),
    "wmma": ("wmma_bf16", "gfx1100", "bf16 gives", "bfloat16", "hipblaslt product+relu"),
    "bytes": ("", "sm_80", "", "int8", "product 128x64 bytes+tile"),
    "bytes lie": ("mma_u8_s8", "sm_80", "mma.sync i8 gives", "int8", "product 128x64 bytes+tile"),
    "mfma of bytes": ("mfma_i8", "gfx90a", "i8 gives", "int8", "product 64x64 bytes+tile"),
    "wmma of bytes": ("wmma_s8_u8", "gfx1100", "i8 gives", "int8", "product 64x64 bytes+tile"),
    "float8": ("", "sm_90", "", "float8_e4m3fn", "product 128x64 float8+tile"),
    "float8 lies": ("mma_e5m2_e4m3", "sm_90", "mma.sync f8 gives", "float8_e4m3fn", "product 128x64+tile"),
    "float8 does not compile": ("compile:UnitOfFloat8<float8", "sm_90", "mma.sync f8 a kernel does not compile", "float8_e4m3fn", "product 128x64+tile"),
    "float8 before Ada": ("", "sm_80", "", "float8_e4m3fn", "product 128x64+tile"),
    "mfma of float8": ("mfma_bf8_bf8", "gfx942", "f8fnuz gives", "float8_e4m3fnuz", "product 64x64+tile"),
    "CDNA 2 has no float8": ("", "gfx90a", "", "float8_e4m3fnuz", "product 64x64+tile"),
}


@pytest.fixture
def product_model(tmp_path):
    """product_model("float16"): a product large enough for the units of warpgroups, and attention, whose numbers LibTorch computes. Beside
    products of bytes and of float8, whose results are bfloat16, attention is float32."""

    def export(dtype):
        import torch

        class Module(torch.nn.Module):
            def forward(self, x, w, q):
                t = getattr(torch, dtype)
                if dtype == "int8":
                    product, t = torch._int_mm((40 * x).to(t), (40 * w).to(t).t()), torch.float32
                elif dtype.startswith("float8"):
                    product, t = torch.nn.functional.linear(x.to(t).float(), w.to(t).float()).relu().to(torch.bfloat16), torch.float32
                else:
                    product = torch.nn.functional.linear(x.to(t), w.to(t))
                return product.relu(), torch.nn.functional.scaled_dot_product_attention(*3 * [q.to(t)])

        torch.manual_seed(0)
        inputs = torch.randn(640, 64), torch.randn(1536, 64), torch.randn(1, 2, 40, 16)
        torch.jit.trace(Module(), inputs).save(str(tmp_path / "product.pt"))
        return tmp_path / "product.pt"

    return export


@pytest.mark.parametrize("fault, architecture, said, dtype, kernel", chosen(FAULTS.values(), 3), ids=chosen(FAULTS, 3))
def test_a_matrix_unit_is_proven_before_it_is_used(
    on_gpu, tenon, soft_drivers, product_model, tmp_path, monkeypatch, fault, architecture, said, dtype, kernel
):
    """A broken unit costs speed and no number: products and attention take the next one, and doctor says so."""
    monkeypatch.setenv("SOFTGPU_ARCH", architecture)
    vendor = "hip" if architecture.startswith("gfx") else "cuda"
    ours = not kernel.startswith(("cublaslt", "hipblaslt"))  # the library is faster on Hopper, or is all that there is
    monkeypatch.setenv("SOFTGPU_FAULT", ",".join(filter(None, ["open:cublasLt" if ours else "", fault])))
    model = product_model(dtype)
    assert "verified" in on_gpu(vendor, "verify", model, "--against", "torch", code=0)
    plan = on_gpu(vendor, "inspect", model, "--ir", "planned", code=0)
    tile = re.compile(r"\d+x\d+( streamed| in \d+ parts)?")  # whichever it is
    assert f"[{tile.sub('tile', kernel)}" in tile.sub("tile", plan) and ("wgmma" in kernel) == ("wgmma" in plan)
    monkeypatch.setenv("SOFTGPU_FAULT", fault)
    drivers = tmp_path / "drivers"  # of one vendor: two soft ones take the same addresses
    drivers.mkdir()
    for entry in (tenon.parent / "softgpu").iterdir():
        if entry.name != ("libcuda.so.1" if vendor == "hip" else "libamdhip64.so.7"):
            (drivers / entry.name).symlink_to(entry)
    environment = {**os.environ, **soft_drivers, "LD_LIBRARY_PATH": str(drivers)}
    told = json.loads(subprocess.run([tenon, "doctor", "--json"], capture_output=True, text=True, env=environment).stdout)
    line, self_test = told[f"units {vendor}:0"], told[f"device {vendor}:0"]
    assert self_test["ok"] and line["ok"] == (not said) and said in line["result"]
    assert bool(said) == ("report it" in line["remedy"])
    for computed, library in ("products", {"cuda": "13.0.0 (libcublasLt.so.13)", "hip": "100000 (libhipblaslt.so.1)"}), (
        "convolutions", {"cuda": "9.28.1 (libcudnn.so.9)", "hip": "3.3.0 (libMIOpen.so.1)"}):
        assert told[f"{computed} {vendor}:0"]["result"].startswith(f"{library[vendor]}, a candidate for {computed}")


def test_an_older_driver_describes_no_matrices_to_bulk_copies(on_gpu, soft_drivers, product_model, tmp_path, monkeypatch):
    """Without the function products take the next unit."""
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    for entry in pathlib.Path(soft_drivers["LD_LIBRARY_PATH"]).iterdir():
        if entry.name != "libcuda.so.1":
            (drivers / entry.name).symlink_to(entry)
        else:
            (drivers / entry.name).write_bytes(entry.read_bytes().replace(b"cuTensorMapEncodeTiled\0", b"cuTensorMapEncodeOther\0"))
    soft_drivers["LD_LIBRARY_PATH"] = str(drivers)
    model = product_model("float16")
    monkeypatch.setenv("SOFTGPU_FAULT", "open:cublasLt")
    assert "verified" in on_gpu("cuda", "verify", model, "--against", "torch", code=0)
    assert "[product 64x128 wgmma+tile" in on_gpu("cuda", "inspect", model, "--ir", "planned", code=0)


@pytest.mark.parametrize("vendor, fault, library", [("cuda", "mma_tf32,wgmma_tf32", "cublaslt"), ("hip", "mfma_f32", "hipblaslt")])
def test_the_vendors_library_multiplies_where_no_unit_of_ours_does(on_gpu, soft_drivers, tmp_path, monkeypatch, vendor, fault, library):
    """It is a candidate for products with a bias and relu; of equal estimates ours is taken. Runs are captured."""
    import torch

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.third = (torch.nn.Linear(*s) for s in ((64, 192), (192, 128), (128, 64)))

        def forward(self, x):
            return torch.tanh(self.third(self.second(torch.relu(self.first(x)))))

    torch.manual_seed(0)
    model = tmp_path / "linear.pt"
    torch.jit.trace(Module(), torch.randn(250, 64)).save(str(model))
    explained = on_gpu(vendor, "inspect", model, "--explain-plan", code=0)
    assert f"{library} product+bias+relu" in explained and f"> {library}" not in explained
    monkeypatch.setenv("SOFTGPU_FAULT", fault)
    monkeypatch.setitem(soft_drivers, "XDG_CACHE_HOME", str(tmp_path / "with the fault"))
    plan = on_gpu(vendor, "inspect", model, "--ir", "planned", code=0)
    assert f"[{library} product+bias+relu]" in plan and f"[{library} product+bias]" in plan and "[product" in plan  # before tanh
    assert "verified" in on_gpu(vendor, "verify", model, "--against", "torch", code=0)
    on_gpu(vendor, "profile", model, "--iters", "3", "--no-roofline", code=0)


@pytest.fixture
def convolution_model(tmp_path):
    """convolution_model("float16"): convolutions with all that a library does behind them; the first reads channels far apart, the groups of one
    are thin: these two are ours."""

    def export(dtype):
        import torch
        from torch.nn import Conv1d, Conv2d, Conv3d

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.plain = Conv2d(3, 16, 3), Conv2d(16, 16, 3, padding=1, bias=False)
                self.second, self.third = Conv2d(16, 16, 3, padding=1), Conv2d(16, 32, 3, stride=2, padding=2, dilation=2, groups=4)
                self.line, self.space = Conv1d(32, 24, 3, padding=1), Conv3d(24, 8, (2, 1, 3))

            def forward(self, x):
                x = torch.relu(self.first(x))
                x = torch.relu(self.second(self.plain(x)) + x)
                x = self.third(x)
                line = torch.relu(self.line(x.flatten(2)))
                return self.space(line.unflatten(2, (4, 1, -1)))

        torch.manual_seed(0)
        torch.jit.trace(Module().to(getattr(torch, dtype)), torch.randn(2, 3, 18, 14).to(getattr(torch, dtype))).save(str(tmp_path / "convolutions.pt"))
        return tmp_path / "convolutions.pt"

    return export


# What SOFTGPU_FAULT breaks, so that the library's candidate is taken, a dtype, what the plan then calls it, and how many there are.
LIBRARY_CONVOLUTIONS = {
    "cuda float32": ("cuda", "mma_tf32,wgmma_tf32", "float32", ["cudnn convolution", "cudnn convolution+bias+residual+relu", "cudnn convolution+bias"], 4),
    "cuda bfloat16": ("cuda", "mma_bf16,wgmma_bf16", "bfloat16", ["cudnn convolution", "cudnn convolution+bias+residual+relu", "cudnn convolution+bias"], 4),
    "hip float32": ("hip", "mfma_f32", "float32", ["miopen convolution", "miopen convolution+bias", "miopen convolution+bias+relu"], 3),
    "hip float16": ("hip", "mfma_f16", "float16", ["miopen convolution"], 1),
}


@pytest.mark.parametrize("vendor, fault, dtype, kernels, count", chosen(LIBRARY_CONVOLUTIONS.values(), 3), ids=chosen(LIBRARY_CONVOLUTIONS, 3))
def test_the_vendors_library_convolves_where_no_unit_of_ours_does(
    on_gpu, soft_drivers, convolution_model, tmp_path, monkeypatch, vendor, fault, dtype, kernels, count
):
    """It is a candidate for convolutions with bias, residual and relu; of equal estimates ours is taken. Runs are captured."""
    model = convolution_model(dtype)
    explained = on_gpu(vendor, "inspect", model, "--explain-plan", code=0)
    assert all(f"{k} " in explained for k in kernels) and f"> {kernels[0].split()[0]}" not in explained
    monkeypatch.setenv("SOFTGPU_FAULT", fault)
    monkeypatch.setitem(soft_drivers, "XDG_CACHE_HOME", str(tmp_path / "with the fault"))
    plan = on_gpu(vendor, "inspect", model, "--ir", "planned", code=0)
    assert all(f"[{k}]" in plan for k in kernels) and plan.count(kernels[0]) == count
    assert "[windows product" in plan  # the first one's channels lie apart
    assert "verified" in on_gpu(vendor, "verify", model, "--against", "torch", code=0)
    on_gpu(vendor, "profile", model, "--iters", "3", "--no-roofline", code=0)
    if (vendor, dtype) == ("cuda", "float32"):  # and not before it is asked for
        rounded = ["verify", model, "--against", "torch", "--precision", "tf32"]
        assert "verified" in on_gpu(vendor, *rounded, code=0) and "DIFFERS" in on_gpu(vendor, *rounded, "--tolerance", "1e-4", code=1)
        monkeypatch.setenv("SOFTGPU_FAULT", f"{fault},open:cudnn")
        plan = on_gpu(vendor, "inspect", model, "--ir", "planned", code=0)
        assert "[cudnn" not in plan and plan.count("cudnnCreate: SOFTGPU_FAULT") == 1


def test_a_proof_is_made_once(on_gpu, product_model, tmp_path, monkeypatch):
    """The programs that are compiled: with those of the proofs, with all that was kept, and with the proofs alone."""

    def compiled(name):
        monkeypatch.setenv("SOFTGPU_SOURCES", str(tmp_path / name))
        on_gpu("cuda", "run", model, code=0)
        texts = [f.read_text() for f in (tmp_path / name).glob("*.gpu")]
        return sum(any(p + "Product<Tile" in t for p in ("Tile", "Warpgroup", "Bulk")) for t in texts), len(texts)

    model = product_model("float16")
    monkeypatch.setenv("SOFTGPU_FAULT", "open:cublasLt")  # which would multiply
    products, programs = compiled("first")
    of_proofs = 2 + 3 + 3  # by waves, by warpgroups, with bulk copies
    assert products == 1 + of_proofs and programs > products
    assert compiled("second") == (0, 0)
    monkeypatch.setenv("SOFTGPU_DRIVER", "13010")
    assert compiled("with another driver") == (of_proofs, of_proofs)


def test_a_unit_that_ends_the_device_ends_one_run(on_gpu, product_model, monkeypatch):
    """The other units, which that run could not ask any more, are proven by the next."""
    model = product_model("float16")
    monkeypatch.setenv("SOFTGPU_FAULT", "crash:wgmma_f16,open:cublasLt")
    assert "CUDA_ERROR_LAUNCH_FAILED" in on_gpu("cuda", "run", model, code=4)
    assert "verified" in on_gpu("cuda", "verify", model, "--against", "torch", code=0)
    assert "[product 128x64+tile" in on_gpu("cuda", "inspect", model, "--ir", "planned", code=0)


def test_a_compiler_that_failed_once_proves_nothing(on_gpu, product_model, monkeypatch):
    """Not even that a unit is wrong: the next run proves them."""
    model = product_model("float16")
    monkeypatch.setenv("SOFTGPU_FAULT", "open:cublasLt")
    with monkeypatch.context() as broken:
        broken.setenv("SOFTGPU_CXX", "no-such-compiler")
        assert "no-such-compiler" in on_gpu("cuda", "run", model, code=4)
    assert "[product 64x128 wgmma tma+tile" in on_gpu("cuda", "inspect", model, "--ir", "planned", code=0)
