"""tenon tune: measured choices are kept, used where they were measured, and never change what is right."""

import json
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(3)
    weights = [numpy_helper.from_array(rng.standard_normal((32, 32, 3, 3)).astype(np.float32) / 17, f"w{i}") for i in range(2)]
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4), helper.make_node("Conv", ["a", "w1"], ["y"], pads=[1] * 4)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 32, 20, 20]) for n in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "model.onnx")
    return "model.onnx"


def test_records_are_added_to_records_only(run, tmp_path, model):
    run("convert", model, code=0)
    for verb, text in (("profile", '{"schema": "tenon.tuning/1"}\n'), ("tune", "words\n"), ("profile", "[1]\n")):
        (tmp_path / "other.jsonl").write_text(text)
        assert "holds no records" in run(verb, "model.tenon", "--contribute", "other.jsonl", code=2)
        assert (tmp_path / "other.jsonl").read_text() == text
    (tmp_path / "new.jsonl").touch()
    run("profile", "model.tenon", "--iters", 3, "--contribute", "new.jsonl", code=0)
    lines = len((tmp_path / "new.jsonl").read_text().splitlines())
    run("profile", "model.tenon", "--iters", 3, "--contribute", "new.jsonl", code=0)
    assert lines > 1 and len((tmp_path / "new.jsonl").read_text().splitlines()) == 2 * lines


def test_choices_are_kept_and_used(run, tmp_path, model):
    run("convert", model, code=0)
    (tmp_path / "kept").mkdir()
    said = run("tune", "model.tenon", "--budget", "10", "--cache", "kept/cache.jsonl", "-o", "tuned.tenon", "--json", "tune.json", code=0)
    assert "1 kind of group with a choice: 1 measured, 0 known, 0 left" in said
    assert ("a run: " in said or "no kernel changes" in said) and "kept in tuned.tenon and kept/cache.jsonl" in said
    record = json.loads((tmp_path / "tune.json").read_text())
    (group,) = record["groups"]
    assert record["schema"] == "tenon.tune/1" and group["groups"] == 2 and sum(" (" not in t["candidate"] for t in group["tried"]) == 3
    assert record["difference"] < 1e-4

    (line,) = (tmp_path / "kept" / "cache.jsonl").read_text().splitlines()
    kept = json.loads(line)
    assert kept["schema"] == "tenon.tuning/1" and kept["key"] == group["key"] and kept["candidate"] == group["taken"]
    assert "0 measured, 1 known" in run("tune", "model.tenon", "--budget", "10", "--cache", "kept/cache.jsonl", code=0)
    assert "1 measured, 0 known" in run("tune", "model.tenon", "--budget", "10", "--cache", "kept/cache.jsonl", "-r", code=0)

    assert "1 group" in run("inspect", "tuned.tenon", code=0)
    assert "verified" in run("verify", "tuned.tenon", code=0)


def test_a_plan_takes_what_the_file_says(run, tmp_path, model):
    run("tune", model, "--budget", "10", "--cache", "cache.jsonl", code=0)
    kept = json.loads((tmp_path / "cache.jsonl").read_text())
    plan = run("inspect", model, "--ir", "planned", code=0)
    kernels = {"gemm", "winograd2", "winograd4", "winograd6"}
    (usual,) = {k for k in kernels if f"[{k}]" in plan}
    candidates = {t["candidate"] for t in json.loads(run("tune", model, "-r", "--budget", "10", "--cache", "x.jsonl", "--json", "-", code=0))["groups"][0]["tried"] if " (" not in t["candidate"]}
    other = sorted(candidates)[0]
    kept["candidate"] = other
    (tmp_path / "cache.jsonl").write_text(json.dumps(kept) + "\n")
    assert f"[{other.split()[0]}]" in run("inspect", model, "--ir", "planned", "--tuning", "cache.jsonl", code=0)
    assert f"[{usual}]" in run("inspect", model, "--ir", "planned", "--tuning", "none", code=0)
    assert "verified" in run("verify", model, "--tuning", "cache.jsonl", code=0)
    kept["threads"] = 7
    (tmp_path / "cache.jsonl").write_text(json.dumps(kept) + "\n")
    assert f"[{usual}]" in run("inspect", model, "--ir", "planned", "--tuning", "cache.jsonl", code=0)


def test_what_kernels_took_is_contributed(run, tmp_path, model):
    run("tune", model, "--budget", "5", "--cache", "c.jsonl", "--contribute", "records.jsonl", code=0)
    lines = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert all(line["schema"] == "tenon.record/1" for line in lines)
    kernels = {line["candidate"]["kernel"] for line in lines if line["kind"] == "step"}
    assert {"gemm", "winograd2", "winograd4", "winograd6"} <= kernels and not any("(" in kernel for kernel in kernels)


def test_caches_are_merged(run, tmp_path, model):
    run("tune", model, "--budget", "10", "--cache", "a.jsonl", code=0)
    run("tune", model, "--budget", "10", "--cache", "b.jsonl", "--threads", "2", code=0)
    assert "c.jsonl: 2 groups" in run("tune", "--merge", "a.jsonl", "--merge", "b.jsonl", "--cache", "c.jsonl", code=0)
    assert "c.jsonl: 2 groups" in run("tune", "--merge", "a.jsonl", "--cache", "c.jsonl", code=0)
    threads = sorted(json.loads(line)["threads"] for line in (tmp_path / "c.jsonl").read_text().splitlines())
    assert threads == [1, 2]


def test_searches_that_end_at_once_lose_no_line(run, tenon, tmp_path, model):
    run("tune", model, "--budget", "10", "--cache", "a.jsonl", code=0)
    line = json.loads((tmp_path / "a.jsonl").read_text())
    many = range(1, 17)
    for threads in many:
        (tmp_path / f"{threads}.jsonl").write_text(json.dumps({**line, "threads": threads}) + "\n")
    merging = [subprocess.Popen([tenon, "tune", "--merge", f"{threads}.jsonl", "--cache", "all.jsonl"], cwd=tmp_path) for threads in many]
    assert [process.wait() for process in merging] == [0] * len(many)
    kept = sorted(json.loads(line)["threads"] for line in (tmp_path / "all.jsonl").read_text().splitlines())
    assert kept == list(many)


def test_a_search_that_is_interrupted_keeps_its_rounds(run, tenon, tmp_path, model):
    process = subprocess.Popen([tenon, "tune", model, "--budget", "600", "--cache", "cache.jsonl"], cwd=tmp_path)
    while not (tmp_path / "cache.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.wait()
    kept = json.loads((tmp_path / "cache.jsonl").read_text())
    run("tune", model, "--budget", "60", "--cache", "cache.jsonl", "--json", "tune.json", code=0)
    (group,) = json.loads((tmp_path / "tune.json").read_text())["groups"]
    assert not set(kept["tried"]) & {t["candidate"] for t in group["tried"]}
    assert [p.name for p in tmp_path.iterdir() if "cache" in p.name] == ["cache.jsonl"]


def test_what_is_wrong_is_said(run, tmp_path, model):
    assert "convert it first" in run("tune", model, "--cache", "c.jsonl", "-o", "tuned.tenon", code=2)
    assert not (tmp_path / "tuned.tenon").exists()
    assert "end it in .tenon" in run("tune", model, "--cache", "c.jsonl", "-o", "tuned.onnx", code=2)
    assert "no model is named" in run("tune", "--cache", "c.jsonl", code=2)
    (tmp_path / "bad.jsonl").write_text("{}\n")
    assert "bad.jsonl:1" in run("tune", model, "--cache", "bad.jsonl", code=2)
    assert "bad.jsonl:1" in run("run", model, "--tuning", "bad.jsonl", code=2)
    assert "bad.jsonl:1" in run("tune", "--merge", "bad.jsonl", "--cache", "c.jsonl", code=2)
    assert (tmp_path / "bad.jsonl").read_text() == "{}\n"
    assert "there is no such file" in run("run", model, "--tuning", "none.jsonl", code=2)


def test_models_without_a_choice_have_nothing_to_gain(run, tmp_path):
    node = helper.make_node("Identity", ["x"], ["y"])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    graph = helper.make_graph([node], "g", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "identity.onnx")
    said = run("tune", "identity.onnx", "--cache", "c.jsonl", code=0)
    assert "0 kinds of groups with a choice" in said and "no kernel changes" in said
    assert (tmp_path / "c.jsonl").read_text() == ""
    run("run", "identity.onnx", "--tuning", "c.jsonl", code=0)


def test_an_artifact_keeps_what_other_devices_found_and_takes_its_own_alone(run, tmp_path, model):
    run("convert", model, code=0)
    run("tune", "model.tenon", "--budget", "10", "--cache", "a.jsonl", "-o", "one.tenon", code=0)
    other = json.loads((tmp_path / "a.jsonl").read_text()) | {"key": "0" * 16}
    with open(tmp_path / "a.jsonl", "a") as file:
        file.write(json.dumps(other) + "\n")
    run("tune", "one.tenon", "--budget", "10", "--threads", "2", "--cache", "a.jsonl", "-o", "both.tenon", code=0)
    assert "2 groups" in run("inspect", "both.tenon", code=0)
