"""`tenon check`: what it promises to a CI that trusts it."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest

torch = pytest.importorskip("torch")

PASSED, FAILED, BAD_INPUT = 0, 1, 2
DATA = Path(__file__).resolve().parents[1] / "data" / "check"


@pytest.fixture
def check(tenon, tmp_path):
    """check("cases", ...) runs `tenon check cases ...`."""

    def run(*arguments, **options):
        environment = {k: v for k, v in os.environ.items() if k != "GITHUB_ACTIONS"}
        return subprocess.run(
            [tenon, "check", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
            stdin=subprocess.DEVNULL, env=environment, **options,
        )

    return run


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.act = torch.nn.ReLU()
        self.head = torch.nn.Conv2d(8, 4, 1)

    def forward(self, x):
        return self.head(self.act(self.conv(x)))


class Slow(torch.nn.Module):
    """Many seconds of matrix products in little memory."""

    def forward(self, x):
        for _ in range(100):
            x = torch.tanh(x @ x)
        return x


class Huge(torch.nn.Module):
    """Forty gigabytes from an input of 400 KB."""

    def forward(self, x):
        return (x[:, None] + x[None, :]).sort(1)[0].sum()


class Unsupported(torch.nn.Module):
    def forward(self, x):
        return x.to_sparse().sum()


@pytest.fixture(scope="session")
def sources(tmp_path_factory):
    """Traced models with an input each, as folders to copy."""
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("sources")
    inputs = {"block": (Block, (1, 3, 8, 8)), "slow": (Slow, (2048, 2048)), "huge": (Huge, (100000,)),
              "unsupported": (Unsupported, (4, 4))}
    for name, (module, shape) in inputs.items():
        folder = root / name
        folder.mkdir()
        x = torch.randn(shape)
        example = x if name != "huge" else torch.randn(4)
        torch.jit.trace(module().eval(), example, check_trace=False).save(folder / "model.pt")
        numpy.save(folder / "in_0.npy", x.numpy())
    return root


@pytest.fixture
def case(sources, tmp_path):
    """case("block", "name", toml="...") makes cases/name from a source model."""

    def make(model, name, toml=""):
        folder = tmp_path / "cases" / name
        shutil.copytree(sources / model, folder)
        if toml:
            (folder / "case.toml").write_text(toml)
        return folder

    return make


@pytest.fixture
def block(case, check):
    """A recorded case that passes."""
    folder = case("block", "block")
    done = check("cases", "--update")
    assert done.returncode == PASSED, done.stdout + done.stderr
    return folder


def last_line(done):
    return done.stdout.splitlines()[-1]


def test_recording_makes_a_case_that_passes(check, block):
    assert sorted(os.listdir(block)) == ["fused.ir", "in_0.npy", "model.pt", "out_0.npy"]
    done = check("cases")
    assert done.returncode == PASSED
    assert last_line(done) == "1 passed, 0 failed, 0 skipped"


def test_recording_takes_the_outputs_of_libtorch(block):
    with torch.no_grad():
        expected = torch.jit.load(block / "model.pt")(torch.from_numpy(numpy.load(block / "in_0.npy")))
    numpy.testing.assert_array_equal(numpy.load(block / "out_0.npy"), expected.numpy())


def test_a_model_alone_is_recorded_with_random_inputs(check, case):
    folder = case("block", "alone")
    (folder / "in_0.npy").unlink()
    done = check("cases", "--update")
    assert done.returncode == PASSED and "in_0.npy: new, random" in done.stdout
    assert check("cases").returncode == PASSED


class Steps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(8, 16, batch_first=True)
        self.out = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


def test_a_model_of_any_batch_is_recorded_as_it_is_checked(check, tmp_path):
    program = torch.export.export(Steps().eval(), (torch.randn(2, 6, 8),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    (tmp_path / "steps").mkdir()
    torch.export.save(program, tmp_path / "steps" / "model.pt2")
    assert check("steps", "--update").returncode == PASSED
    again = check("steps")
    assert again.returncode == PASSED, again.stdout


def test_recording_says_what_changes_and_touches_nothing_else(check, block):
    before = {f: (block / f).stat().st_mtime_ns for f in os.listdir(block)}
    done = check("cases", "--update")
    assert "out_0.npy: unchanged" in done.stdout and "fused.ir: unchanged" in done.stdout
    assert before == {f: (block / f).stat().st_mtime_ns for f in os.listdir(block)}
    numpy.save(block / "out_0.npy", numpy.load(block / "out_0.npy") + 1)
    graph = (block / "fused.ir").stat().st_mtime_ns
    done = check("cases", "--update=outputs")
    assert re.search(r"out_0.npy: changed, max error 1 of", done.stdout)
    assert (block / "fused.ir").stat().st_mtime_ns == graph
    assert check("cases").returncode == PASSED


def test_a_case_without_anything_to_compare_fails(check, case):
    case("block", "empty")
    done = check("cases")
    assert done.returncode == FAILED and "output out of sample is not stored" in done.stdout


def test_a_wrong_number_is_named(check, block):
    values = numpy.load(block / "out_0.npy")
    values[0, 2, 3, 4] += 5
    numpy.save(block / "out_0.npy", values)
    done = check("cases", "--json", "result.json")
    assert done.returncode == FAILED
    assert "1 of 256 elements" in done.stdout
    assert "at [0,2,3,4]" in done.stdout and f"expected {values[0, 2, 3, 4]:.4g}"[:12] in done.stdout
    assert "errors, as a share of the largest value" in done.stdout and "####" in done.stdout
    assert "it would pass with tolerance = " in done.stdout
    assert "LibTorch gives what Tenon gives: the stored output is not this model's" in done.stdout
    enough = re.search(r"it would pass with tolerance = (\S+)", done.stdout).group(1)
    (block / "case.toml").write_text(f"tolerance = {enough}")
    assert check("cases").returncode == PASSED


def test_a_difference_from_libtorch_is_searched_for_in_the_model(check, block):
    """Without any tolerance, rounding is a difference: either its place is named, or that no step is to blame."""
    (block / "case.toml").write_text("tolerance = 1e-12")
    done = check("cases")
    assert done.returncode == FAILED and "largest error" in done.stdout
    assert re.search(r"first difference: .*\n.*\n +at: \{?conv\b|no step of the model differs", done.stdout)
    assert "LibTorch gives what Tenon gives" not in done.stdout


@pytest.mark.parametrize("bad, words", [
    (lambda v: v[:, :2], ["f32[1,4,8,8]", "f32[1,2,8,8]"]),
    (lambda v: v.astype("float64"), ["f64[1,4,8,8]"]),
    (lambda v: numpy.where(v > 0, numpy.nan, v), ["the first NaN or infinity at [", "NaN or infinite on one side", "NaN or Inf ", "expected nan"]),
])
def test_another_shape_dtype_or_nan_is_named(check, block, bad, words):
    numpy.save(block / "out_0.npy", bad(numpy.load(block / "out_0.npy")).astype(bad(numpy.load(block / "out_0.npy")).dtype))
    done = check("cases")
    assert done.returncode == FAILED
    for word in words:
        assert word in done.stdout


def test_elementwise_tolerances_and_those_of_one_output(check, block):
    values = numpy.load(block / "out_0.npy")
    numpy.save(block / "out_0.npy", values * (1 + 1e-3))
    assert check("cases").returncode == FAILED
    (block / "case.toml").write_text("rtol = 2e-3\natol = 1e-6\n")
    assert check("cases").returncode == PASSED
    (block / "case.toml").write_text("rtol = 5e-4\natol = 1e-6\n")
    done = check("cases")
    assert done.returncode == FAILED and "it would pass with rtol = " in done.stdout
    (block / "case.toml").write_text("[outputs.out]\nrtol = 2e-3\natol = 1e-6\n")
    assert check("cases").returncode == PASSED


def test_a_lost_fusion_is_named(check, block):
    (block / "case.toml").write_text('off = ["fuse_anchors"]')
    done = check("cases", "--json", "result.json")
    assert done.returncode == FAILED
    assert "graph: 1 fused group is no longer made, the first is fused conv+relu at {conv,act}" in done.stdout
    assert re.search(r"fused conv\+relu +1 +0", done.stdout)
    assert "now: " in done.stdout
    assert "because: case.toml switches off fuse_anchors" in done.stdout
    [failure] = json.loads((block.parents[1] / "result.json").read_text())["cases"][0]["failures"]
    assert failure["kind"] == "graph" and failure["file"] == "fused.ir"
    assert failure["data"]["lost"][0]["kind"] == "fused conv+relu"
    assert check("cases", "--update=graph").returncode == PASSED
    assert check("cases").returncode == PASSED


def test_operator_counts_and_limits(check, block):
    (block / "case.toml").write_text('[operators]\n"fused conv+relu" = 1\nconv = 1\n[limits]\nnodes = 2\narena = "1 MiB"\n')
    assert check("cases").returncode == PASSED
    (block / "case.toml").write_text('[operators]\nconv = 0\n[limits]\nnodes = 1\nsteps = 1\narena = 16\nartifact = 100\n')
    done = check("cases")
    assert done.returncode == FAILED
    for word in ("there are 1 of conv, case.toml asks for 0", "2 nodes, case.toml allows 1", "steps, case.toml allows 1",
                 "bytes of arena, case.toml allows 16", "bytes of artifact, case.toml allows 100"):
        assert word in done.stdout


def test_a_damaged_graph_golden_says_how_to_record_it(check, block):
    (block / "fused.ir").write_text("graph {")
    done = check("cases")
    assert done.returncode == FAILED and "fused.ir cannot be read" in done.stdout and "--update=graph" in done.stdout


def child_of(process):
    """The process of the case that runs."""
    end = time.time() + 60
    while time.time() < end:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == process.pid and b"check-case" in words:
                return int(entry.name)
        time.sleep(0.02)
    raise AssertionError("no case runs")


def test_a_crash_is_one_failed_case(tenon, case, block, tmp_path):
    case("slow", "slow")
    suite = subprocess.Popen([tenon, "check", "cases", "--filter", "slow"], cwd=tmp_path, stdout=subprocess.PIPE,
                             text=True)
    os.kill(child_of(suite), signal.SIGSEGV)
    printed, _ = suite.communicate(timeout=60)
    assert suite.returncode == FAILED
    assert "crash: crashed with SIGSEGV (Segmentation fault) while " in printed
    assert printed.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_timeout_is_one_failed_case(check, case, block):
    case("slow", "slow", "timeout = 3")
    done = check("cases", "--jobs", 2)
    assert done.returncode == FAILED
    assert re.search(r"timeout: not done after 3 s, while running sample", done.stdout), done.stdout
    assert last_line(done) == "1 passed, 1 failed, 0 skipped"


def test_too_much_memory_is_one_failed_case(check, case, block):
    case("huge", "huge", 'memory = "1 GiB"\n[inputs]\nx = "f32[N]"')
    done = check("cases")
    assert done.returncode == FAILED
    assert "memory: out of memory: the limit is 1024 MiB" in done.stdout
    assert last_line(done) == "1 passed, 1 failed, 0 skipped"


def test_the_memory_limit_is_tenons_and_not_that_of_libtorchs_process(check, block):
    assert check("cases", "--memory", "64MiB").returncode == PASSED


def heed_interrupts():
    """What runs these tests may ignore them, as a shell has its jobs in the background do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("flags", [[], ["--update"]])
def test_an_interrupted_run_ends_its_cases_and_leaves_nothing(tenon, case, tmp_path, flags):
    folder = case("slow", "slow")
    suite = subprocess.Popen([tenon, "check", "cases", "--json", "r.json", "--junit", "r.xml", *flags], cwd=tmp_path,
                             stdout=subprocess.DEVNULL, preexec_fn=heed_interrupts)
    child = child_of(suite)
    time.sleep(0.5)
    suite.send_signal(signal.SIGINT)
    assert suite.wait(timeout=60) == -signal.SIGINT
    end = time.time() + 10
    while Path(f"/proc/{child}").exists() and time.time() < end:
        time.sleep(0.02)
    assert not Path(f"/proc/{child}").exists()
    assert sorted(os.listdir(folder)) == ["in_0.npy", "model.pt"]
    assert os.listdir(tmp_path) == ["cases"]


def test_a_failed_run_records_nothing(check, case):
    folder = case("slow", "slow", "timeout = 2")
    done = check("cases", "--update")
    assert done.returncode == FAILED
    assert sorted(os.listdir(folder)) == ["case.toml", "in_0.npy", "model.pt"]


def test_an_expected_refusal_passes(check, case, block):
    folder = case("unsupported", "sparse", 'expect = "not supported"\nmessage = "to_sparse"')
    assert check("cases").returncode == PASSED
    (folder / "case.toml").write_text('expect = "not supported"\nmessage = "something else"')
    done = check("cases")
    assert done.returncode == FAILED and "not as case.toml expects" in done.stdout
    (folder / "case.toml").unlink()
    done = check("cases")
    assert done.returncode == FAILED and "refused: " in done.stdout and "to_sparse" in done.stdout
    (block / "case.toml").write_text('expect = "not supported"')
    done = check("cases", "--filter", "block")
    assert done.returncode == FAILED and "accepted: " in done.stdout


def test_skipped_filtered_listed_and_first_failure(check, case, block):
    case("block", "more/later", 'skip = "needs a larger machine"')
    done = check("cases")
    assert "skipped more/later: needs a larger machine" in done.stdout
    assert last_line(done) == "1 passed, 0 failed, 1 skipped"
    assert check("cases", "--list").stdout.split() == ["block", "more/later"]
    assert last_line(check("cases", "--filter", "more/*")) == "0 passed, 0 failed, 1 skipped"
    case("block", "another")
    done = check("cases", "--fail-fast")
    assert "not run: a case failed before" in done.stdout
    assert last_line(done) == "0 passed, 1 failed, 2 skipped"
    orders = {tuple(re.findall(r"^\w+ +(\S+)", check("cases", "--shuffle", s).stdout, re.M)) for s in range(4)}
    assert len(orders) > 1


def test_a_folder_may_be_a_case_itself(check, block):
    done = check(block)
    assert done.returncode == PASSED and last_line(done) == "1 passed, 0 failed, 0 skipped"


def test_inputs_by_name_archives_and_symbolic_sizes(check, case):
    folder = case("block", "named", '[inputs]\nx = "f32[N,3,8,8]"')
    x = numpy.random.default_rng(0).standard_normal((5, 3, 8, 8), "float32")
    (folder / "in_0.npy").unlink()
    numpy.save(folder / "x.npy", x)
    assert check("cases", "--update=outputs").returncode == PASSED
    (folder / "x.npy").unlink()
    numpy.savez(folder / "in.npz", x=x)
    numpy.savez(folder / "out.npz", out=numpy.load(folder / "out_0.npy"))
    (folder / "out_0.npy").unlink()
    assert check("cases").returncode == PASSED
    numpy.savez(folder / "out.npz", out=numpy.zeros((5, 4, 8, 8), "float32"))
    assert check("cases").returncode == FAILED
    assert "out.npz out: changed" in check("cases", "--update=outputs").stdout
    assert check("cases").returncode == PASSED
    numpy.save(folder / "y.npy", x)
    done = check("cases")
    assert done.returncode == FAILED and "no input or output y" in done.stdout


def test_onnx_test_data_is_read(check, case, block):
    onnx = pytest.importorskip("onnx")
    folder = case("block", "onnx")
    (folder / "in_0.npy").unlink()
    for k, change in enumerate((0, 5e-4)):
        data = folder / f"test_data_set_{k}"
        data.mkdir()
        out = numpy.load(block / "out_0.npy") * numpy.float32(1 + change)
        for file, array in (("input_0", numpy.load(block / "in_0.npy")), ("output_0", out)):
            (data / f"{file}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    done = check("cases", "--filter", "onnx", "--json", "r.json")
    assert done.returncode == PASSED, done.stdout
    (folder / "case.toml").write_text("tolerance = 1e-4")
    done = check("cases", "--filter", "onnx")
    assert done.returncode == FAILED and "of test_data_set_1 differs" in done.stdout
    done = check("cases", "--filter", "onnx", "--update=outputs")
    assert done.returncode == FAILED and "output_0.pb is not recorded anew" in done.stdout


@pytest.mark.parametrize("toml, words", [
    ("tolerence = 1e-3", ["case.toml:1", "'tolerence'", "did you mean tolerance"]),
    ("\nthreads = 'two'", ["case.toml:2", "threads wants a number"]),
    ("[limits]\narea = 5", ["case.toml:2", "'area'", "did you mean arena"]),
    ("[inputs]\nx = 'f32['", ["case.toml:2"]),
    ("message = 'x'", ["without expect"]),
    ("a = = 1", ["no TOML", "case.toml:1"]),
    ("model = 'other.pt'", ["other.pt"]),
])
def test_a_wrong_case_toml_is_refused_before_anything_runs(check, case, block, toml, words):
    case("block", "wrong", toml)
    done = check("cases")
    assert done.returncode == BAD_INPUT
    assert done.stderr.startswith("error: ") and "passed" not in done.stdout
    for word in words:
        assert word in done.stderr


def test_wrong_usage(check, block, tmp_path):
    assert check("nowhere").returncode == BAD_INPUT
    (tmp_path / "nothing").mkdir()
    assert check("nothing").returncode == BAD_INPUT
    for flags in (["--filter", "zzz"], ["--update=everything"], ["--memory", "lots"], ["--jobs", 0], ["--junit", "no/such/r.xml"]):
        done = check("cases", *flags)
        assert done.returncode == BAD_INPUT and done.stderr.startswith("error: "), flags
    shutil.copy(block / "model.pt", block / "model.onnx")
    done = check("cases")
    assert done.returncode == BAD_INPUT and "2 models" in done.stderr and "case.toml" in done.stderr


@pytest.fixture
def mixed(check, case, block, tmp_path):
    """A run with one of each: passed, failed, process error, skipped."""
    wrong = case("block", "wrong <&\"> \u00fc")
    numpy.save(wrong / "out_0.npy", numpy.zeros((1, 4, 8, 8), "float32"))
    case("slow", "slow", "timeout = 1")
    case("block", "later", 'skip = "a \\"reason\\" & more"')
    done = check("cases", "--junit", "r.xml", "--json", "r.json", "--annotations")
    assert done.returncode == FAILED
    return done


def test_junit_is_read_by_others(mixed, tmp_path):
    junitparser = pytest.importorskip("junitparser")
    xml = junitparser.JUnitXml.fromfile(str(tmp_path / "r.xml"))
    assert (xml.tests, xml.failures, xml.errors, xml.skipped) == (4, 1, 1, 1)
    cases = {c.name: c for suite in xml for c in suite}
    assert cases["block"].is_passed
    assert cases["later"].is_skipped and cases["later"].result[0].message == 'a "reason" & more'
    assert isinstance(cases["slow"].result[0], junitparser.Error)
    wrong = cases["wrong <&\"> \u00fc"].result[0]
    assert isinstance(wrong, junitparser.Failure) and wrong.type == "outputs" and "largest error" in wrong.text
    ElementTree.parse(tmp_path / "r.xml")


def test_json_has_the_documented_form(mixed, tmp_path):
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["schema"] == "tenon.check/1"
    assert (result["passed"], result["failed"], result["skipped"]) == (1, 2, 1)
    cases = {c["name"]: c for c in result["cases"]}
    assert cases["block"]["status"] == "passed" and cases["block"]["failures"] == []
    assert cases["block"]["nodes"] == 2 and cases["block"]["operators"] == {"conv": 1, "fused conv+relu": 1}
    assert cases["block"]["arena_bytes"] > 0 and cases["block"]["relative_error"] < 1e-4
    assert cases["slow"]["failures"][0]["kind"] == "timeout"
    [wrong] = cases["wrong <&\"> \u00fc"]["failures"]
    assert wrong["kind"] == "outputs" and wrong["file"] == "out_0.npy"
    assert wrong["data"]["elements"] == 256 and len(wrong["data"]["index"]) == 4


def test_annotations_are_githubs(mixed):
    lines = [line for line in mixed.stdout.splitlines() if line.startswith("::")]
    assert len(lines) == 2
    for line in lines:
        assert re.fullmatch(r"::error file=[^,:]+,title=[^,:]+::.+", line)
    assert any("file=cases/wrong" in line and "/out_0.npy," in line and "%0A" in line for line in lines)


def test_artifacts_of_older_releases_still_run(check):
    """tests/data/check holds artifacts as they were written; their goldens are inside."""
    done = check(DATA)
    assert done.returncode == PASSED, done.stdout
    assert " 0 failed, 0 skipped" in last_line(done)
