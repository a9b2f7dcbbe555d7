"""Complex numbers in the middle of a model: each line is traced, scripted and exported, and compared with PyTorch as pairs of real numbers."""

import subprocess
import sys

import numpy
import pytest
import torch

from tests.python.compared import assert_equal, convert, flat, run, tenon_run

LINES = ("x.to(torch.complex64) * 2", "x.to(torch.complex128)", "x.cfloat() + z", "x.type(torch.complex128) * z", "z.to(torch.complex128)",
         "torch.einsum('ij,kj->ik', z, z)", "torch.einsum('ij,ij,kj->k', z, z, z.conj())", "torch.einsum('ij->j', z)", "torch.tensordot(z, z.mT, 1)",
         "z @ z.mH", "z @ z[0]", "z.cfloat() @ x.mT.cfloat()", "torch.dot(z[0], z[1])", "torch.outer(z[0], z[1])", "torch.mv(z, z[1])",
         "z.conj().resolve_conj()", "x.conj()", "z.H", "z.sum(1)", "z.mean(0, keepdim=True)", "z.cumsum(1)", "torch.tril(z)", "z.repeat(2, 1)",
         "z.pow(3)", "z ** 0.5", "z ** -1.5", "torch.sqrt(z)", "torch.log(z)", "torch.sin(z)", "torch.cos(z)", "z.masked_fill(x > 0, 0)",
         "torch.where(x > 0, z, z * 2)", "(z == z.conj()) | (z != z)", "z.norm()", "torch.linalg.vector_norm(z, dim=1)", "z.to(torch.float64)",
         "torch.view_as_complex(x.reshape(3, 2, 2))", "torch.polar(x.abs(), x)", "torch.linalg.eigvals(x[:, :3]).sum()",
         "torch.tanh(z)", "torch.tanh(z * 40)", "torch.sigmoid(z)", "torch.sigmoid(z * 0 - 100)", "torch.sigmoid(z * 0 + 100)", "z.prod()", "z.prod(1)", "z.prod(0, keepdim=True)", "z[:0].prod(0)", "torch.isclose(z, z + 1e-7)",
         "torch.isclose(z, z * 1.001, rtol=1e-2)", "torch.isclose(z / 0, z / 0, equal_nan=True)",
         "x * 1j", "torch.exp(x * 1j)", "z - (2 - 1j)", "x.double() * (1 + 2j)", "z[torch.tensor([0, 2])]", "z[x > 0]", "z.take(torch.tensor([1, 5]))",
         "torch.addmm(z @ z.mT, z, z.mT, beta=0.5, alpha=2)", "torch.addcmul(z, z, z, value=2)", "torch.addcdiv(z, z, z + 3)",
         "z.var()", "z.std(1)", "torch.asin(z)", "torch.acos(z)", "torch.atan(z)", "torch.asinh(z)", "torch.acosh(z)", "torch.atanh(z)",
         "torch.tan(z)", "torch.sinh(z)", "torch.cosh(z)", "torch.log1p(z)", "torch.expm1(z)", "torch.log2(z)", "torch.log10(z)",
         "torch.rsqrt(z)", "torch.sgn(z)", "torch.sgn(z * 0)", "z ** z", "torch.pow(2.0, z)", "z.all(1)", "(z * 0).any()", "torch.logical_not(z)", "z.nonzero()",
         "torch.isfinite(z / 0)", "torch.zeros_like(z)", "torch.full_like(z, 2.0)", "z.rot90()", "torch.block_diag(z, z)", "torch.kron(z, z)",
         "torch.vdot(z[0], z[1])", "torch.linalg.inv(z @ z.mH + torch.eye(3))", "torch.linalg.solve(z @ z.mH + torch.eye(3), z)",
         "torch.linalg.matrix_power(z @ z.mH, 3)", "torch.linalg.svdvals(z)", "torch.linalg.eigvalsh(z @ z.mH)",
         "torch.nn.functional.pad(z, [1, 2])", "torch.scatter_add(z, 1, torch.tensor([[0, 0, 1, 3]]), z)", "z.diff(dim=1)", "z.sum(1, dtype=torch.complex128)",
         "torch.arange(3) * 1j", "(1 + 2j) + torch.arange(3)", "torch.hstack([z, torch.ones(3, 2, dtype=torch.int64)])", "torch.block_diag(z, torch.ones(2, 2, dtype=torch.bool))",
         "z.diff(prepend=torch.ones(3, 1, dtype=torch.int64))", "(z.imag * 1j).to(torch.bool)", "torch.where((x * 1j).to(torch.bool), 1, 2)",
         "torch.addmm(torch.full((3, 3), float('nan')) * z[:, :3], z, z.mT, beta=0)", "torch.asin(torch.complex(x.abs() + 2, x.abs() * 0))", "torch.acos(torch.complex(-x.abs() - 2, x.abs() * 0))",
         "torch.exp(z * 0 + 100)", "torch.cosh(z * 0 + 800)", "torch.linalg.matrix_rank(torch.diag(torch.complex(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 3.5e-7]))))",
         "torch.linalg.pinv(z)", "torch.linalg.eigvalsh(z[:, :3], UPLO='u')", "torch.linalg.vector_norm(z, dtype=torch.complex128)",
         "z[0, 0].to(torch.complex64).masked_fill(x[0, 0] < 1e9, z[0, 1].to(torch.complex128))")  # fmt: skip
WRITES = ("w = z * 1; w[0] = 1.0; w.mul_(2)", "w = z * 1; w[:, 1] = z[:, 0]", "w = z * 1; w.copy_(x)", "w = z * 1; w.zero_()", "w = z * 1; w.t()[1].add_(x[:, 0])", "w = z * 1; w.diagonal().fill_(2.0)",
          "w = z * 1; d = w.diagonal(); w.zero_(); w = d + 1", "w = z * 1; w.diagonal().real.mul_(3.0)", "w = z * 1; w.mul_(w.real)",
          "w = z * 1; a, b = torch.meshgrid(w[0], w[1], indexing='ij'); w.mul_(2); w = a + b")
HEAD = "import torch\n\n\ndef real(t: torch.Tensor):\n    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t\n\n\n"


def module_of(folder, name):
    """A scripted module needs its source in a file."""
    lines = [f"        out += [real({line})]\n" for line in LINES]
    for line in WRITES:
        lines += [f"        {part}\n" for part in line.split("; ")] + ["        out += [real(w)]\n"]
    body = "        z = torch.complex(x, x * x - 1)\n        out: list[torch.Tensor] = []\n" + "".join(lines) + "        return out\n"
    text = HEAD + "class Lines(torch.nn.Module):\n    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:\n" + body
    (folder / f"{name}.py").write_text(text)
    sys.path.insert(0, str(folder))
    try:
        return __import__(name).Lines().eval()
    finally:
        sys.path.remove(str(folder))


@pytest.mark.parametrize("form", ["traced", "scripted", "exported"])
def test_complex_numbers_in_a_model(tenon, tmp_path, form):
    module = module_of(tmp_path, f"complex_lines_{form}")
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    want = module(x)
    if form == "exported":
        torch.export.save(torch.export.export(module, (x,), strict=False), tmp_path / "model.pt2")
        tenon_run(tenon, "convert", tmp_path / "model.pt2", "-o", tmp_path / "model.tenon", "--no-verify")
        artifact = tmp_path / "model.tenon"
    else:
        program = torch.jit.script(module) if form == "scripted" else torch.jit.trace(module, (x,), check_trace=False, strict=False)
        artifact = convert(tenon, program, [f"f32[{','.join(map(str, x.shape))}]"], tmp_path)
    got = run(tenon, artifact, [x], tmp_path)
    assert len(got) == len(flat(want))
    for line, g, w in zip((*LINES, *WRITES), got, flat(want)):
        assert_equal([g], w, line)


def low_pass(x):
    k = torch.fft.rfft(x)
    k.real[:, 2:] = 0
    k.imag[:, 2:] = 0
    return torch.fft.irfft(k, n=x.shape[-1])


def zeroed_part(x):
    z = torch.complex(x, x + 1)
    z.imag.zero_()
    return torch.view_as_real(z)


def part_after_a_write(x):
    z = torch.complex(x, x + 1)
    part = z.real
    z.mul_(2)
    return part + 1


def transposed_part(x):
    z = torch.complex(x, x - 1).t()
    z.real[1:, 0] += 3
    return torch.view_as_real(z.resolve_conj())


def pairs(x):
    z = torch.complex(x, x + 1)
    torch.view_as_real(z)[..., 0] = 0
    return z.abs()


def complex_of_pairs(x):
    r = torch.stack([x, -x], -1)
    torch.view_as_complex(r).mul_(2)
    return r + 1


def conjugate_after_a_write(x):
    z = torch.complex(x, x + 1)
    w = z.conj()
    z.add_(1)
    return torch.view_as_real(w.resolve_conj())


SEEN_WRITES = [low_pass, zeroed_part, part_after_a_write, transposed_part]
HIDDEN_WRITES = [pairs, complex_of_pairs, conjugate_after_a_write]


@pytest.mark.parametrize("form", ["pt", "pt2"])
@pytest.mark.parametrize("function", SEEN_WRITES + HIDDEN_WRITES)
def test_writes_through_parts_of_complex_numbers_are_seen_or_refused(run, tmp_path, function, form):
    x = torch.randn(3, 8)

    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    if form == "pt":
        torch.jit.trace(Model(), x, check_trace=False).save(tmp_path / "m.pt")
    else:
        torch.export.save(torch.export.export(Model(), (x,)), tmp_path / "m.pt2")
    said = run("verify", f"m.{form}", "--input", "f32[3,8]", code=0 if function in SEEN_WRITES else 3)
    assert "verified" in said if function in SEEN_WRITES else "in-place write" in said


class Spectrum(torch.nn.Module):
    def forward(self, z):
        return torch.fft.ifft(torch.fft.fft(z) * 1j).conj() @ z


@pytest.mark.parametrize("form", ["traced", "exported"])
def test_models_that_take_and_give_complex_numbers_are_compared(tenon, tmp_path, form):
    z = torch.randn(4, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(2))
    file = tmp_path / ("model.pt2" if form == "exported" else "model.pt")
    if form == "exported":
        torch.export.save(torch.export.export(Spectrum(), (z,)), file)
    else:
        torch.jit.trace(Spectrum(), (z,)).save(str(file))
    numpy.save(tmp_path / "in_0.npy", z.numpy())
    want = Spectrum()(z).resolve_conj().numpy()
    assert "verified" in tenon_run(tenon, "verify", file, "--input", "c64[4,4]")
    for name, stored, code in (("same", want, 0), ("conjugate", want.conj(), 1), ("less", want - 0.01 * abs(want).max(), 1)):
        (tmp_path / name).mkdir()
        numpy.save(tmp_path / name / "in_0.npy", z.numpy())
        numpy.save(tmp_path / name / "out_0.npy", stored)
        done = subprocess.run([tenon, "verify", file, "--against", tmp_path / name], capture_output=True, text=True)
        assert done.returncode == code, (name, done.stdout, done.stderr)
    shown = tenon_run(tenon, "run", file, "--input", tmp_path / "in_0.npy")
    assert "c64[4,4] magnitude min" in shown and f"{want[0, 0].real:.6g}{want[0, 0].imag:+.6g}i" in shown


def test_half_of_a_whole_spectrum_decides_its_istft(tenon, tmp_path):
    """Of a spectrum that no real signal has, PyTorch reads the first half."""
    class Istft(torch.nn.Module):
        def forward(self, z):
            return torch.istft(z, 10, window=torch.ones(10))

    z = torch.randn(10, 6, dtype=torch.complex64, generator=torch.Generator().manual_seed(3))
    torch.jit.trace(Istft(), (z,)).save(str(tmp_path / "model.pt"))
    numpy.save(tmp_path / "z.npy", z.numpy())
    assert "verified" in tenon_run(tenon, "verify", tmp_path / "model.pt", "--input", tmp_path / "z.npy")


def test_many_writes_to_parts_take_no_time_for_each_choice_of_them(tenon, tmp_path):
    def turned(x):
        z = torch.complex(x, x * x)
        for row in range(40):
            z[row] = z[row] * 1j
        return z

    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(4))
    torch.jit.trace(turned, (x,)).save(str(tmp_path / "model.pt"))
    assert "verified" in tenon_run(tenon, "verify", tmp_path / "model.pt", "--input", "f32[40,3]")
