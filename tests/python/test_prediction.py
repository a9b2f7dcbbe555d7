"""What is promised of records, of descriptions of devices, and of predictions made from them."""

import json
import os
import subprocess

import pytest

DONE, BAD_INPUT = 0, 2


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Peaks are measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cli(tenon, tmp_path, cache):
    def run(*arguments, code=DONE):
        done = subprocess.run([tenon, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                              env=os.environ | {"XDG_CACHE_HOME": str(cache)})
        assert done.returncode == code, done.stderr
        return done.stdout if code == DONE else done.stderr

    return run


@pytest.fixture
def model(exported_tiny):
    return exported_tiny("resnet9") / "model.pt2"


def test_records_are_lines_without_names(cli, model, tmp_path):
    for _ in range(2):
        cli("profile", model, "--iters", 3, "--contribute", "records.jsonl")
    text = (tmp_path / "records.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    run, *steps = lines[: len(lines) // 2]
    assert run["kind"] == "run" and run["steps"] == len(steps) > 0
    assert {line["program"] for line in lines} == {run["program"]}
    assert [line.get("key") for line in lines[len(lines) // 2 :]] == [None, *(s["key"] for s in steps)]
    for step in steps:
        assert step["kind"] == "step" and step["runs"] == 3 and 0 < step["min_ms"] <= step["median_ms"]
        assert step["features"]["roofline_ms"] > 0 and step["device"]["threads"] == step["features"]["threads"] == 1
    assert "resnet" not in text and "layer1" not in text


def test_a_machine_describes_itself(cli, tmp_path):
    cli("doctor", "--describe", "machine.json", "--isa", "baseline")
    machine = json.loads((tmp_path / "machine.json").read_text())
    assert machine["schema"] == "tenon.device/1" and machine["isa"] == "baseline"
    assert machine["rates"][0]["threads"] == 1
    assert all(rates[name] > 0 for rates in machine["rates"] for name in ("gflops", "gbs", "l3_gbs", "l2_gbs", "step_ms"))


@pytest.mark.parametrize("verb", [["profile", "{model}"], ["doctor", "--describe", "m.json"]], ids=lambda v: v[0])
def test_an_instruction_set_that_is_not_there(cli, model, verb):
    said = cli(*(word.format(model=model) for word in verb), "--isa", "sse9", code=BAD_INPUT)
    assert "no kernels of 'sse9'" in said and "baseline" in said
