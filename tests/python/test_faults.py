"""What the verbs say when something is wrong: a wrong kernel, a slow kernel and a lost fusion are caught and named.

`faulty_tenon` is tenon with devices that have a fault (tests/faulty); a lost fusion is one that `--off` forbids.
"""

import json
import shutil
import subprocess

import numpy
import pytest

DONE, DIFFERS, BAD_INPUT = 0, 1, 2


@pytest.fixture
def resnet9(exported_tiny):
    return exported_tiny("resnet9") / "model.pt"


@pytest.fixture
def case(run, resnet9, tmp_path):
    """A recorded case in cases/r; case("...") adds a case.toml."""
    folder = tmp_path / "cases" / "r"
    folder.mkdir(parents=True)
    shutil.copy(resnet9, folder)
    run("check", "cases", "--update", code=DONE)
    return lambda settings: (folder / "case.toml").write_text(settings)


def test_convert_writes_no_artifact_with_a_wrong_kernel(run, resnet9, tmp_path):
    said = run("convert", resnet9, "-o", "out.tenon", code=DIFFERS, device="wrong conv")
    assert "output out differs from LibTorch's" in said and "verify" in said
    assert not (tmp_path / "out.tenon").exists()


@pytest.mark.parametrize("against", ["torch", "reference"])
def test_verify_names_the_wrong_kernel_and_what_it_stands_for(run, resnet9, against):
    said = run("verify", resnet9, "--bisect", "--against", against, code=DIFFERS, device="wrong conv")
    assert "first difference: a kernel" in said
    assert "fused conv" in said and "at: prep.{0,1,2} (resnet9.py:" in said
    assert "stands for: %2 = batch_norm" in said


def test_run_computes_on_the_device(run, resnet9, tmp_path):
    for device, file in ("", "right.npy"), ("wrong linear", "wrong.npy"):
        run("run", resnet9, "--input", resnet9.parent / "in_0.npy", "--output", file, code=DONE, device=device)
    difference = numpy.load(tmp_path / "wrong.npy") - numpy.load(tmp_path / "right.npy")
    assert (difference != 0).sum() == 1  # what tests/faults.h spoils


def test_the_first_wrong_linear_is_named_behind_right_convolutions(run, resnet9):
    said = run("verify", resnet9, "--bisect", code=DIFFERS, device="wrong linear")
    assert "first difference: a kernel" in said and "at: fc" in said


def test_properties_break_with_a_wrong_kernel_without_any_reference(run, resnet9):
    run("verify", resnet9, "--properties", "--input", "x=f32[N,3,32,32]", code=DONE)
    said = run("verify", resnet9, "--properties", "--input", "x=f32[N,3,32,32]", code=DIFFERS, device="wrong conv")
    assert "prep" in said


def test_check_names_the_wrong_kernel(run, case):
    said = run("check", "cases", code=DIFFERS, device="wrong conv")
    assert "outputs: output out of sample differs" in said
    assert "first difference: a kernel" in said and "at: prep.{0,1,2}" in said


def test_check_names_the_lost_fusion(run, case):
    case('off = ["fuse_anchors"]\n')
    said = run("check", "cases", code=DIFFERS)
    assert "fused groups are no longer made" in said and "fused conv+relu at prep.{0,1,2}" in said


def test_profile_names_the_slow_kernel(run, resnet9, tmp_path):
    run("profile", resnet9, "--iters", 30, "--no-roofline", "--json", "before.json", code=DONE, device="slow conv")
    said = run("profile", resnet9, "--iters", 30, "--no-roofline", "--compare", "before.json", "--max-slowdown", 3,
               code=DIFFERS, device="slow conv", module="layer2")
    slower = [float(line.split()[2]) for line in said.splitlines() if "SLOWER  layer2" in line]
    assert slower and max(slower) > 3


def test_a_profile_of_another_machine_is_not_compared(run, resnet9, tmp_path):
    run("profile", resnet9, "--iters", 2, "--no-roofline", "--json", "before.json", code=DONE)
    stored = json.loads((tmp_path / "before.json").read_text())
    stored["machine"]["cpu"] = "Another CPU"
    (tmp_path / "before.json").write_text(json.dumps(stored))
    said = run("profile", resnet9, "--iters", 2, "--compare", "before.json", code=BAD_INPUT)
    assert "Another CPU" in said and "try:" in said


def test_check_guards_speed_with_a_stored_profile(run, case, tmp_path):
    case('[speed]\nbaseline = "speed.json"\nmax_slowdown = 3\n')
    assert "try: record it" in run("check", "cases", code=DIFFERS)
    assert "speed.json:" in run("check", "cases", "--update=speed", code=DONE, device="slow conv")
    run("check", "cases", "--json", "now.json", code=DONE, device="slow conv")
    said = run("check", "cases", "--json", "slow.json", code=DIFFERS, device="slow conv", module="layer2")
    assert "slower: the total takes" in said and "SLOWER  layer2" in said
    [failure] = json.loads((tmp_path / "slow.json").read_text())["cases"][0]["failures"]
    assert failure["kind"] == "slower" and failure["data"]["total"]["slower"]


def test_check_guards_speed_by_turns_with_an_artifact(run, case, resnet9, tmp_path):
    folder = tmp_path / "cases" / "r"
    run("convert", resnet9, "-o", folder / "old.tenon", code=DONE)
    case('model = "model.pt"\n[speed]\nbaseline = "old.tenon"\nmax_slowdown = 3\n')
    run("check", "cases", code=DONE)
    case('model = "model.pt"\noff = ["fuse_anchors"]\n[speed]\nover_unfused = 50\n')
    said = run("check", "cases", code=DIFFERS)
    assert "fusion makes it" in said and "case.toml wants 50" in said


def test_a_baseline_of_another_machine_is_noted_and_passes(run, case, tmp_path):
    case('[speed]\nbaseline = "speed.json"\n')
    run("check", "cases", "--update=speed", code=DONE)
    file = tmp_path / "cases/r/speed.json"
    stored = json.loads(file.read_text())
    stored["machine"]["cpu"] = "Another CPU"
    file.write_text(json.dumps(stored))
    assert "speed not compared: speed.json was recorded on Another CPU" in run("check", "cases", code=DONE)


def test_a_profile_of_another_device_is_not_compared(run, resnet9, case):
    run("profile", resnet9, "--iters", 2, "--no-roofline", "--json", "before.json", code=DONE)
    said = run("profile", resnet9, "--iters", 2, "--compare", "before.json", code=BAD_INPUT, device="slow conv")
    assert "the stored profile is of the device cpu, this one of slow conv" in said and "try: give --device cpu" in said
    case('[speed]\nbaseline = "speed.json"\n')
    run("check", "cases", "--update=speed", code=DONE)
    said = run("check", "cases", code=DIFFERS, device="slow conv")
    assert "recorded on the device cpu, the case runs on slow conv" in said and "--update=speed --device 'slow conv'" in said


def test_a_case_runs_on_the_device_that_it_names_unless_the_command_names_another(run, case):
    case('device = "gone"\n')
    said = run("check", "cases", code=DIFFERS)
    assert "there is no device 'gone'" in said and "this machine has: cpu" in said
    said = run("check", "cases", code=DIFFERS, device="wrong linear")
    assert "first difference: a kernel" in said and "at: fc" in said


def test_selftest_names_the_family_of_the_wrong_kernel(tenon, run):
    command = [tenon.parent / "faulty_tenon", "doctor", "--selftest", "wrong conv", "--only", "convolutions"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == DIFFERS
    assert "failed: convolutions, f32" in done.stdout and "graph self_test(%x: f32[" in done.stdout and "expected" in done.stdout
    run("doctor", "--selftest", "cpu", "--only", "convolutions", code=DONE)
