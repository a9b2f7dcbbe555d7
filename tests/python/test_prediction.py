"""What is promised of records, of descriptions of devices, and of predictions made from them."""

import json
import os
import pathlib
import subprocess

import pytest

DONE, BAD_INPUT = 0, 2
TRAINED_ON = json.loads((pathlib.Path(__file__).parents[2] / "runtime/cost/model.json").read_text())["training"]["digest"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Peaks are measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cli(tenon, tmp_path, cache):
    def run(*arguments, code=DONE):
        done = subprocess.run([tenon, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                              env=os.environ | {"XDG_CACHE_HOME": str(run.cache)})
        assert done.returncode == code, done.stderr
        run.stderr = done.stderr
        return done.stdout if code == DONE else done.stderr

    run.tenon, run.cache = tenon, cache
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


def test_a_description_replaces_nothing_else(cli, tmp_path):
    (tmp_path / "net.tenon").write_text("weights")
    assert "net.tenon" in cli("doctor", "--describe", "net.tenon", code=BAD_INPUT)
    assert (tmp_path / "net.tenon").read_text() == "weights"
    for _ in range(2):
        cli("doctor", "--describe", "again.json")


@pytest.fixture
def calibrated(cli, tmp_path):
    """A cache of its own, in which this machine's kernels take twice as long as the model expects: the kept entry is what a
    description says of a number of threads."""
    cli.cache = tmp_path / "calibrated"
    here = json.loads(cli("doctor", "--describe", "-"))
    entry = here["rates"][0] | {"calibrated": {"model": TRAINED_ON, "usual": 2, "kernels": {"gemm": 2}}}
    (version,) = {key.split(" | ")[2] for key in json.loads((cli.cache / "tenon/roofline.json").read_text())["peaks"]}
    key = f"{here['hardware']} | {version} | threads 1"
    (cli.cache / "tenon/calibration.json").write_text(json.dumps({"schema": "tenon.calibration/1", "rates": {key: entry}}))
    return entry["calibrated"]


def predicted(cli, *arguments):
    return json.loads(cli("predict", *arguments, "--json", "-"))


def test_what_networks_say_of_this_machine(cli):
    said = json.loads(cli("doctor", "--calibrate", "--only", "perceptron 1", "--json"))
    assert [c["threads"] for c in said["calibrations"]][0] == 1
    for c in said["calibrations"]:
        assert c["networks"] == 2 and 0 <= c["calm"] <= 2 and not c["kept"]
        assert (c["steps"] > 0) == (c["calm"] > 0) and all(factor > 0 for factor in c["kernels"].values())
    assert not (cli.cache / "tenon/calibration.json").exists()  # two networks say too little


def test_predictions_use_a_calibration(cli, model, calibrated, tmp_path):
    after = predicted(cli, model)
    parts = subprocess.run([cli.tenon, "doctor", "--json"], capture_output=True, env=os.environ | {"XDG_CACHE_HOME": str(cli.cache)}).stdout
    assert json.loads(parts)["calibration"] == {"ok": True, "result": "of 1 (--threads)", "remedy": ""}  # whatever else is missing
    assert after["calibrated"] and after["machine"]["rates"][0]["calibrated"] == calibrated
    assert "there is no calibration" not in cli("predict", model)
    (cli.cache / "tenon/calibration.json").unlink()
    before = predicted(cli, model)
    assert not before["calibrated"] and "there is no calibration of" in cli("predict", model)
    spread = [p["latency_ms"]["high"] / p["latency_ms"]["median"] for p in (before, after)]
    assert spread[0] == pytest.approx(1.3 * spread[1])


def test_a_description_takes_the_calibration_elsewhere(cli, model, calibrated, tmp_path):
    cli("doctor", "--describe", "here.json")
    here = predicted(cli, model)["latency_ms"]
    machine = json.loads((tmp_path / "here.json").read_text())
    cli.cache = tmp_path / "elsewhere"
    assert predicted(cli, model, "--device", "here.json")["latency_ms"] == here
    machine["rates"][0]["calibrated"]["model"] = "another"
    (tmp_path / "other.json").write_text(json.dumps(machine))
    assert not predicted(cli, model, "--device", "other.json")["calibrated"]
    assert "other.json was calibrated for the cost model of another version" in cli.stderr


@pytest.mark.parametrize("factor", ["0", "-1", "1e9", '"x"', "null"])
def test_a_factor_that_cannot_be(cli, model, tmp_path, factor):
    described(tmp_path, "odd", 1)
    machine = json.loads((tmp_path / "odd.json").read_text())
    machine["rates"][0]["calibrated"] = {"model": "m", "usual": 1, "kernels": {"gemm": json.loads(factor)}}
    (tmp_path / "odd.json").write_text(json.dumps(machine))
    assert "odd.json" in cli("predict", model, "--device", "odd.json", code=BAD_INPUT)


@pytest.mark.parametrize("wrong, said", [(["--only", "nothing"], "no network has a name with 'nothing' in it"), (["--roofline"], "--roofline")], ids=["only", "both"])
def test_a_calibration_that_cannot_be(cli, wrong, said):
    assert said in cli("doctor", "--calibrate", *wrong, code=BAD_INPUT)


def test_disturbed_runs_are_left_out(cli, model):
    p = json.loads(cli("profile", model, "--undisturbed", 2, "--iters", 4, "--json", "-"))
    assert p["iterations"] == len(p["samples_ms"]) == (p["calm"]["runs"] or 2)
    assert "calm" not in json.loads(cli("profile", model, "--iters", 4, "--json", "-"))
    for more in ([model], ["--unfused"], ["--streams", "1"]):
        assert "--undisturbed" in cli("profile", model, *more, "--undisturbed", 2, code=BAD_INPUT)


@pytest.mark.parametrize("damage", ['{"ms": "a", "since": 1}', '{"ms": null}', "7", '{"ms": -1, "since": 9223372036854775807}', '{"ms": 0, "since": 0}'])
def test_a_damaged_pulse_counts_as_none(cli, model, tmp_path, damage):
    cli.cache = tmp_path / "damaged"
    cli("profile", model, "--undisturbed", 0.1, "--iters", 1, "--no-roofline")
    file = cli.cache / "tenon/pulse.json"
    kept = json.loads(file.read_text())
    (key,) = kept["least"]
    file.write_text(json.dumps(kept | {"least": {key: json.loads(damage)}}))
    cli("profile", model, "--undisturbed", 0.1, "--iters", 1, "--no-roofline")
    assert json.loads(file.read_text())["least"][key]["ms"] > 0


def test_no_run_is_calm_where_the_pulse_was_once_much_faster(cli, model, tmp_path):
    cli.cache = tmp_path / "once"
    cli("profile", model, "--undisturbed", 0.1, "--iters", 2)
    file = cli.cache / "tenon/pulse.json"
    kept = json.loads(file.read_text())
    (key,) = kept["least"]
    kept["least"][key]["ms"] /= 100
    file.write_text(json.dumps(kept))
    assert "none of these runs" in cli("profile", model, "--undisturbed", 0.1, "--iters", 2)
    kept["least"][key]["since"] -= 2 * 24 * 60 * 60
    file.write_text(json.dumps(kept))
    cli("profile", model, "--undisturbed", 0.1, "--iters", 2)
    assert json.loads(file.read_text())["least"][key]["ms"] > 10 * kept["least"][key]["ms"]


@pytest.mark.parametrize("verb", [["profile", "{model}"], ["doctor", "--describe", "m.json"]], ids=lambda v: v[0])
def test_an_instruction_set_that_is_not_there(cli, model, verb):
    said = cli(*(word.format(model=model) for word in verb), "--isa", "sse9", code=BAD_INPUT)
    assert "no kernels of 'sse9'" in said and "baseline" in said


def test_a_prediction_is_the_sum_of_its_steps(cli, model, tmp_path):
    said = cli("predict", model, "--json", "p.json")
    p = json.loads((tmp_path / "p.json").read_text())
    assert p["schema"] == "tenon.prediction/1" and p["threads"] == 1 and p["coverage"] == 0.9
    assert 0 < p["latency_ms"]["low"] < p["latency_ms"]["median"] < p["latency_ms"]["high"]
    assert sum(step["ms"] for step in p["steps"]) == pytest.approx(p["latency_ms"]["median"])
    assert sum(module["ms"] for module in p["modules"]) == pytest.approx(p["latency_ms"]["median"])
    assert {step["basis"] for step in p["steps"]} <= {"trees", "additive", "not covered"}
    assert "layer1" in said and "90% interval" in said
    assert "layer1" in cli("predict", model, "--by", "module", "--depth", 1)
    for by in ("op", "kernel"):
        assert all(step[by] in cli("predict", model, "--by", by, "--top", 0) for step in p["steps"])


def test_a_calibration_that_cannot_be_used_is_said(tenon, model, tmp_path):
    def predict():
        done = subprocess.run([tenon, "predict", model], capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
        assert done.returncode == DONE, done.stderr
        return done.stderr

    kept = tmp_path / "tenon/calibration.json"
    assert "calibration" not in predict()
    kept.write_text('{"schema": "tenon.calibr')
    said = predict()
    assert said.count("warning:") == 1 and str(kept) in said and "tenon doctor --calibrate" in said


def test_measured_steps_go_before_the_model(cli, model, tmp_path):
    cli("profile", model, "--iters", 3, "--contribute", "records.jsonl")
    p = json.loads(cli("predict", model, "--records", "records.jsonl", "--json", "-"))
    measured = {line["key"]: line["median_ms"] for line in map(json.loads, (tmp_path / "records.jsonl").read_text().splitlines())
                if line["kind"] == "step"}
    assert p["measured"] == pytest.approx(1)
    assert all(step["basis"] == "measured" and step["key"] in measured for step in p["steps"])


def test_records_calibrate_the_model_for_steps_that_were_not_measured(cli, model, exported_tiny, tmp_path):
    cli("profile", model, "--iters", 3, "--contribute", "records.jsonl")
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    other = exported_tiny("unet") / "model.pt2"
    before = json.loads(cli("predict", other, "--json", "-"))
    for record in records:
        record["median_ms"] *= 100
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    after = json.loads(cli("predict", other, "--records", "records.jsonl", "--json", "-"))
    assert after["measured"] < 0.5
    assert after["latency_ms"]["median"] > 10 * before["latency_ms"]["median"]


@pytest.mark.parametrize("field, value", [("hardware", "another"), ("isa", "another"), ("threads", 64)])
def test_records_of_other_devices_are_passed_over_with_a_warning(cli, model, tmp_path, field, value):
    cli("profile", model, "--iters", 3, "--contribute", "records.jsonl")
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    for record in records:
        record["device"][field] = value
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    done = subprocess.run([cli.tenon, "predict", model, "--records", "records.jsonl", "--json", "-"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=300, env=os.environ | {"XDG_CACHE_HOME": str(cli.cache)})
    assert "records.jsonl has no step that ran on" in done.stderr and "with 1 thread" in done.stderr
    assert json.loads(done.stdout)["measured"] == 0


def described(tmp_path, name, times):
    """A machine, and what it would be were all its rates so many times as high."""
    rates = {"threads": 1, "step_ms": 1e-4, **{rate: times * value for rate, value in {"gflops": 100, "gbs": 10, "l3_gbs": 30, "l2_gbs": 80}.items()}}
    machine = {"schema": "tenon.device/1", "device": "cpu", "hardware": name, "isa": "baseline", "cores": 1, "l2_bytes": 1 << 20, "l3_bytes": 1 << 25}
    (tmp_path / f"{name}.json").write_text(json.dumps(machine | {"rates": [rates]}))


def test_devices_are_compared(cli, model, tmp_path):
    described(tmp_path, "slow", 1)
    described(tmp_path, "fast", 20)
    files = ["slow.json", "fast.json"]
    said = cli("predict", model, "--compare-devices", *files, "--json", "both.json")
    both = json.loads((tmp_path / "both.json").read_text())
    alone = [json.loads(cli("predict", model, "--device", file, "--json", "-")) for file in files]
    assert both["schema"] == "tenon.predictions/1"
    assert [p["latency_ms"] for p in both["predictions"]] == [p["latency_ms"] for p in alone]
    assert alone[0]["latency_ms"]["median"] > 2 * alone[1]["latency_ms"]["median"]
    assert "slow" in said and "fast" in said and "1.00" in said


def test_what_would_help_is_predicted(cli, model, tmp_path):
    described(tmp_path, "one", 1)
    said = cli("predict", model, "--device", "one.json", "--what-if", "--json", "p.json")
    p = json.loads((tmp_path / "p.json").read_text())
    what = {a["what"]: a["latency_ms"]["median"] for a in p["alternatives"]}
    assert set(what) == {"--precision bf16", "memory twice as fast", "arithmetic twice as fast"}  # one number of threads is described
    assert what["arithmetic twice as fast"] < p["latency_ms"]["median"]
    assert what["--precision bf16"] == json.loads(
        cli("predict", model, "--device", "one.json", "--precision", "bf16", "--json", "-"))["latency_ms"]["median"]
    assert all(line in said for line in what)


def test_a_profile_marks_what_takes_longer_than_predicted(cli, model, tmp_path):
    cli("profile", model, "--iters", 3, "--json", "p.json")
    steps = json.loads((tmp_path / "p.json").read_text())["steps"]
    assert any(step["predicted_ms"] is not None for step in steps)
    assert all(step["predicted_ms"] is None or step["predicted_ms"] > 0 for step in steps)
    assert all(not step["slow"] or step["ms"] > 1.5 * step["predicted_ms"] for step in steps)
    unknown = json.loads(cli("profile", model, "--iters", 3, "--no-roofline", "--json", "-"))["steps"]
    assert all(step["predicted_ms"] is None and not step["slow"] for step in unknown)


@pytest.mark.parametrize("limit, code, said", [(1e6, DONE, "1 passed"), (1e-6, 1, "are predicted on one, case.toml allows 1e-06")])
def test_a_case_limits_what_is_predicted(cli, model, tmp_path, limit, code, said):
    folder = tmp_path / "cases" / "net"
    folder.mkdir(parents=True)
    (folder / "model.pt2").write_bytes(model.read_bytes())
    described(folder, "one", 1)
    (folder / "case.toml").write_text(f'[speed]\npredicted_on = "one.json"\npredicted_ms = {limit:f}\n')
    printed = subprocess.run([cli.tenon, "check", "cases"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert printed.returncode == code and said in printed.stdout


def test_a_case_says_that_a_calibration_is_of_another_version(cli, model, tmp_path):
    folder = tmp_path / "cases" / "net"
    folder.mkdir(parents=True)
    (folder / "model.pt2").write_bytes(model.read_bytes())
    (folder / "case.toml").write_text('[speed]\npredicted_on = "one.json"\npredicted_ms = 1e6\n')
    described(folder, "one", 1)
    machine = json.loads((folder / "one.json").read_text())
    for digest, is_said in (("another", True), (TRAINED_ON, False)):
        machine["rates"][0]["calibrated"] = {"model": digest, "usual": 2, "kernels": {}}
        (folder / "one.json").write_text(json.dumps(machine))
        printed = subprocess.run([cli.tenon, "check", "cases"], cwd=tmp_path, capture_output=True, text=True, timeout=300).stdout
        assert ("one.json was calibrated for the cost model of another version" in printed) == is_said, printed


def test_a_file_stands_for_a_device(cli, model, tmp_path):
    cli("doctor", "--describe", "machine.json")
    slow = json.loads((tmp_path / "machine.json").read_text())
    for rates in slow["rates"]:
        for name in ("gflops", "gbs", "l3_gbs", "l2_gbs"):
            rates[name] /= 10
    (tmp_path / "slow.json").write_text(json.dumps(slow | {"hardware": "a slow one"}))
    here, there = (json.loads(cli("predict", model, "--device", file, "--json", "-")) for file in ("machine.json", "slow.json"))
    assert there["machine"]["hardware"] == "a slow one"
    assert there["latency_ms"]["median"] > 2 * here["latency_ms"]["median"]


def test_sizes_are_chosen(cli, exported_tiny):
    model = exported_tiny("resnet9") / "model.pt"
    small, large = (json.loads(cli("predict", model, "--input", f"x=f32[{n},3,32,32]", "--json", "-")) for n in (1, 8))
    assert large["latency_ms"]["median"] > 2 * small["latency_ms"]["median"]


@pytest.mark.parametrize("arguments, said", [
    (["--device", "nope.json"], "no such file"),
    (["--device", "torn.json"], "no description of a device"),
    (["--device", "zero.json"], "a rate is below 0.001"),
    (["--device", "endless.json"], "step_ms is not between 0 and 1e6"),
    (["--device", "rateless.json"], "there are no rates"),
    (["--device", "cacheless.json"], "a size is not above 0"),
    (["--records", "."], "this is a folder"),
    (["--device", "one.json", "--threads", "3"], "says nothing of 3 threads"),
    (["--device", "one.json", "--isa", "avx2"], "--isa"),
    (["--records", "torn.json"], "torn.json:1"),
    (["--depth", "1"], "--depth"),
    (["--compare-devices", "one.json", "--what-if"], "--what-if"),
], ids=lambda a: "-".join(a) if isinstance(a, list) else None)
def test_wrong_use_is_said(cli, model, tmp_path, arguments, said):
    rates = {"threads": 1, "gflops": 100, "gbs": 10, "l3_gbs": 30, "l2_gbs": 80, "step_ms": 1e-4}
    machine = {"schema": "tenon.device/1", "device": "cpu", "hardware": "h", "isa": "baseline", "cores": 1, "l2_bytes": 1, "l3_bytes": 2}
    (tmp_path / "one.json").write_text(json.dumps(machine | {"rates": [rates]}))
    (tmp_path / "zero.json").write_text(json.dumps(machine | {"rates": [rates | {"gbs": 0}]}))
    (tmp_path / "endless.json").write_text(json.dumps(machine | {"rates": [rates | {"step_ms": 1e308}]}))
    (tmp_path / "rateless.json").write_text(json.dumps(machine | {"rates": []}))
    (tmp_path / "cacheless.json").write_text(json.dumps(machine | {"rates": [rates], "l3_bytes": -5}))
    (tmp_path / "torn.json").write_text("{\n")
    assert said in cli("predict", model, *arguments, code=BAD_INPUT)
