"""Operators of one's own: the example in examples/operators, and libraries that are not what they should be."""

import json
import runpy
import subprocess
from pathlib import Path

import numpy
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/operators"

HEAD = "#include <tenon/operator.h>\n"
NOTHING = "static int compute(const tenon_tensor* i, const tenon_tensor* o, const tenon_argument* a, char* m, size_t n)" \
          " { (void)i; (void)o; (void)a; (void)m; (void)n; return 0; }\n"


def compiled(source: Path, target: Path) -> Path:
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-I", ROOT / "include", source, "-o", target, "-lm"], check=True)
    return target


@pytest.fixture(scope="module")
def mylib(tmp_path_factory):
    return compiled(EXAMPLE / "mylib.c", tmp_path_factory.mktemp("mylib") / "libmylib.so")


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """The folder with net.pt and net.pt2, and an input with what PyTorch gives for it."""
    folder = tmp_path_factory.mktemp("net")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        example = runpy.run_path(str(EXAMPLE / "mylib.py"), run_name="__main__")
        x = torch.randn(9, 8)
        torch.manual_seed(0)
        with torch.no_grad():
            outputs = example["Net"]().eval()(x)
    numpy.save(folder / "x.npy", x.numpy())
    return folder, [y.numpy() for y in outputs]


@pytest.fixture
def library(tmp_path):
    """library(text): the text compiled."""

    def library(text: str) -> Path:
        source = tmp_path / "given.c"
        source.write_text(HEAD + NOTHING + text)
        return compiled(source, tmp_path / "libgiven.so")

    return library


def listing(rows: str, abi: str = "TENON_OPERATOR_ABI") -> str:
    return f"static const tenon_operator all[] = {{{rows}}};\n" \
           f"static const tenon_operator_library lib = {{{abi}, sizeof all / sizeof *all, all}};\n" \
           "const tenon_operator_library* tenon_operators(void) { return &lib; }\n"


@pytest.mark.parametrize("name, inputs", [("net.pt", ["--input", "x=f32[N,8]"]), ("net.pt2", [])])
def test_a_model_with_operators_of_a_library(run, mylib, net, tmp_path, name, inputs):
    folder, expected = net
    said = run("convert", folder / name, "-o", "net.tenon", "--operators", mylib, *inputs, code=0)
    assert "equal to LibTorch" in said
    assert "computed by libmylib.so on both sides" in said
    run("run", "net.tenon", "--operators", mylib, "--input", folder / "x.npy", "-o", "out.npz", code=0)
    outputs = numpy.load(tmp_path / "out.npz")
    for got, wanted in zip(outputs.values(), expected, strict=True):
        assert got.dtype == wanted.dtype
        numpy.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    run("run", "net.tenon", "--operators", mylib, "--check", code=0)


@pytest.fixture
def soft_gpu(tenon, tmp_path, monkeypatch):
    drivers = tenon.parent / "softgpu"
    if not drivers.exists():
        pytest.skip("the emulation of GPUs is built by g++ on x86-64 only")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(drivers))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.parametrize("device", ["cuda", "hip"])
def test_a_library_has_kernels_for_gpus(run, mylib, net, tmp_path, soft_gpu, device):
    folder, expected = net
    on_device = ["--operators", mylib, "--device", device]
    run("run", folder / "net.pt", *on_device, "--input", folder / "x.npy", "-o", "out.npz", code=0)
    for got, wanted in zip(numpy.load(tmp_path / "out.npz").values(), expected, strict=True):
        assert got.dtype == wanted.dtype
        numpy.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    plan = run("inspect", folder / "net.pt", *on_device, "--input", "x=f32[9,8]", "--ir", "planned", code=0)
    assert "[mylib::gated_swish]" in plan and "[mylib::windows]" in plan


KERNELS = "static const tenon_kernel of_gpu[] = {{{rows}}};\n" \
          "static const tenon_kernel_library kernels = {{{abi}, 1, of_gpu}};\n" \
          "const tenon_kernel_library* tenon_kernels(void) {{ return &kernels; }}\n"
SIGNATURE = '{"mylib::gated_swish", "(x: f32[...,C], weight: f32[C], beta: float = 1.0) -> f32[...,C]", compute}'


@pytest.mark.parametrize("rows, abi, said", [
    ('"mylib::gated_swish", "", 0, 0', "TENON_OPERATOR_ABI", "lacks its operator's name, its text or its function"),
    ('"mylib::other", "", "f", 0', "TENON_OPERATOR_ABI", "mylib::other, which is no operator of the library"),
    ('"mylib::gated_swish", "", "f", 1', "TENON_OPERATOR_ABI", "counts the elements of result 1, which there is not"),
    ('"mylib::gated_swish", "", "f", 0', "99", "is built for version 99"),
])  # fmt: skip
def test_kernels_that_are_wrong(run, net, library, rows, abi, said):
    given = library(listing(SIGNATURE) + KERNELS.format(rows=f"{{{rows}}}", abi=abi))
    assert said in run("run", net[0] / "net.pt", "--operators", given, code=2)


@pytest.mark.usefixtures("net")
def test_a_kernel_that_does_not_compile(run, library, tmp_path, soft_gpu):
    class Gated(torch.nn.Module):
        def forward(self, x):
            return torch.ops.mylib.gated_swish(x, torch.ones(5), 1.0)

    torch.jit.trace(Gated(), torch.randn(2, 5)).save(tmp_path / "gated.pt")
    given = library(listing(SIGNATURE) + KERNELS.format(rows='{"mylib::gated_swish", "nonsense", "f", 0}', abi="TENON_OPERATOR_ABI"))
    said = run("run", "gated.pt", "--operators", given, "--input", "f32[2,5]", "--device", "cuda", code=2)
    assert "the kernel of mylib::gated_swish: a kernel does not compile" in said and "nonsense" in said and "libgiven.so" in said
    without = library(listing(SIGNATURE))
    said = run("run", "gated.pt", "--operators", without, "--input", "f32[2,5]", "--device", "cuda", code=3)
    assert "no kernel for 1 operator:\n  mylib::gated_swish -> f32[2,5]  (" in said


def test_both_formats_give_one_graph(run, mylib, net):
    folder, _ = net
    said = run("equiv", folder / "net.pt", folder / "net.pt2", "--operators", mylib, "--input", "x=f32[batch,8]",
               "--shape", "batch=5", "--strict", code=0)
    assert "same numbers, same fused graph" in said


def test_an_artifact_names_what_it_needs(run, mylib, net):
    folder, _ = net
    run("convert", folder / "net.pt", "-o", "net.tenon", "--operators", mylib, code=0)
    said = run("run", "net.tenon", code=2)
    assert "mylib::gated_swish is computed by a library that is not loaded" in said
    assert "--operators libmylib.so" in said
    assert 'call=["mylib::gated_swish",2.0]' in run("inspect", "net.tenon", "--ir", "fused", code=0)


@pytest.mark.parametrize("name", ["net.pt", "net.pt2"])
def test_all_unknown_operators_are_reported_at_once(run, net, tmp_path, name):
    said = run("convert", net[0] / name, "-o", "net.tenon", "--json", "report.json", code=3)
    assert "mylib::gated_swish: a custom operator" in said
    assert "mylib::windows: a custom operator" in said
    assert "mylib.py:" in said
    assert "--operators LIBRARY.so" in said
    uses = json.loads((tmp_path / "report.json").read_text())["unsupported"]
    assert [u["what"] for u in uses] == ["mylib::gated_swish", "mylib::windows"]
    assert all(u["count"] == 1 and u["can_be_brought"] for u in uses)
    assert not (tmp_path / "net.tenon").exists()


@pytest.mark.usefixtures("net")  # which tells PyTorch of the operators
def test_what_an_operator_says_of_its_failure(run, mylib, tmp_path):
    class Windows(torch.nn.Module):
        def forward(self, x):
            return torch.ops.mylib.windows(x, 2)[0]

    torch.jit.trace(Windows(), torch.randn(5)).save(tmp_path / "windows.pt")
    said = run("convert", "windows.pt", "--operators", mylib, "--input", "f16[5]", "--no-verify", "-o", "w.tenon", code=0)
    said = run("run", "w.tenon", "--operators", mylib, code=2)
    assert "mylib::windows failed: only f32 and f64 have windows" in said


@pytest.mark.usefixtures("net")
def test_operands_that_do_not_fit_the_signature(run, mylib, tmp_path):
    class Gated(torch.nn.Module):
        def forward(self, x):
            return torch.ops.mylib.gated_swish(x, torch.ones(5), 1.0)

    torch.jit.trace(Gated(), torch.randn(2, 5)).save(tmp_path / "gated.pt")
    said = run("convert", "gated.pt", "--operators", mylib, "--input", "f64[2,5]", code=2)
    assert "argument x is f64[2,5], not f32[...,C]: the dtype differs" in said
    said = run("convert", "gated.pt", "--operators", mylib, "--input", "f32[2,6]", code=2)
    assert "argument weight is f32[5], not f32[C]: C is 5, not known to be 6" in said


def test_another_signature_than_the_converted_one(run, mylib, net, library):
    run("convert", net[0] / "net.pt", "-o", "net.tenon", "--operators", mylib, code=0)
    other = library(listing('{"mylib::gated_swish", "(x: f32[N]) -> f32[N]", compute}'))
    assert "was converted as (x: f32[...,C]" in run("run", "net.tenon", "--operators", other, code=2)


def test_files_that_are_no_libraries(run, net, tmp_path):
    (tmp_path / "text.so").write_text("no library")
    assert "there is no such file" in run("run", net[0] / "net.pt", "--operators", "nowhere.so", code=2)
    assert "cannot be loaded" in run("run", net[0] / "net.pt", "--operators", "text.so", code=2)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "defines no tenon_operators()"),
        ("const tenon_operator_library* tenon_operators(void) { return 0; }", "gives nothing"),
        (listing('{"mylib::f", "(x: f32[N]) -> f32[N]", compute}', abi="7"), "version 7 of tenon/operator.h"),
        (listing('{"mylib::f", "(x: f32[N]) -> f32[M]", compute}'), "the signature of mylib::f is wrong"),
        (listing('{"mylib::f", "(x: f32[N]) -> f32[N]", 0}'), "lacks its name, its signature or its function"),
        (listing('{0, "(x: f32[N]) -> f32[N]", compute}'), "lacks its name"),
        (listing('{"f", "(x: f32[N]) -> f32[N]", compute}'), "'f' is not the name of an operator"),
        (listing('{"aten::relu", "(x: f32[N]) -> f32[N]", compute}'), "PyTorch's own operator"),
        (listing('{"a::f", "(x: f32[N]) -> f32[N]", compute}, {"a::f", "(x: f32[N]) -> f32[N]", compute}'),
         "a::f is in"),
    ],
)
def test_libraries_that_are_wrong(run, net, library, text, message):
    assert message in run("run", net[0] / "net.pt", "--operators", library(text), code=2)
