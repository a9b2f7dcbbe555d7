"""Complex numbers in the middle of a model: each line is traced, scripted and exported, and compared with PyTorch as pairs of real numbers."""

import sys

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
         "torch.isclose(z, z * 1.001, rtol=1e-2)", "torch.isclose(z / 0, z / 0, equal_nan=True)")  # fmt: skip
WRITES = ("w = z * 1; w[0] = 1.0; w.mul_(2)", "w = z * 1; w[:, 1] = z[:, 0]", "w = z * 1; w.copy_(x)", "w = z * 1; w.zero_()", "w = z * 1; w.t()[1].add_(x[:, 0])")
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
