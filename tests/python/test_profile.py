"""What readers of a profile are promised: the schema, a trace by the format's rules, comparisons with exit codes."""

import json
import os
import subprocess

import pytest

DONE, DIFFERS, BAD_INPUT, ENVIRONMENT = 0, 1, 2, 4


@pytest.fixture
def profile(tenon, tmp_path):
    def run(*arguments, **environment):
        return subprocess.run([tenon, "profile", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True,
                              timeout=300, env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")} | environment)

    return run


@pytest.fixture
def model(exported_tiny):
    return exported_tiny("resnet9") / "model.pt"


@pytest.fixture
def profiled(profile, model, tmp_path):
    done = profile(model, "--iters", 6, "--json", "p.json", "--trace", "t.json", "--unfused")
    assert done.returncode == DONE, done.stderr
    return json.loads((tmp_path / "p.json").read_text()), json.loads((tmp_path / "t.json").read_text()), done.stdout


NUMBER = (int, float)
SCHEMA = {
    "schema": str, "tenon": str, "command": list, "device": str, "threads": int, "warmup": int, "iterations": int,
    "samples_ms": list, "throughput_per_s": NUMBER, "peak_arena_bytes": int, "packed_bytes": int, "process_peak_bytes": int,
    "process_own_bytes": int, "overhead": NUMBER,
    "sizes": dict, "modules": list,
    "model": {"path": str, "kind": str, "inputs": list, "outputs": list, "parameters": int, "weight_bytes": int},
    "machine": {"cpu": str, "cores": int, "isa": str, "peak_gflops": NUMBER, "peak_gflops_of": dict,
                "peak_gbs": NUMBER},
    "latency_ms": {"min": NUMBER, "median": NUMBER, "mean": NUMBER, "max": NUMBER, "stddev": NUMBER, "p50": NUMBER,
                   "p90": NUMBER, "p99": NUMBER, "ci95": list},
    "stages": [{"name": str, "ms": NUMBER}],
    "steps": [{"index": int, "name": str, "op": str, "kernel": str, "module": str, "modules": list, "ms": NUMBER,
               "share": NUMBER, "flops": NUMBER, "bytes": NUMBER, "gflops": NUMBER, "gbs": NUMBER,
               "arithmetic": str, "roofline": NUMBER, "bound": str, "origins": list, "live_bytes": int, "parts": list,
               "key": str, "predicted_ms": NUMBER, "reads": list, "writes": list, "extents": list, "reduced_axes": list, "features": dict,
               "candidates": list}],
}


def assert_schema(value, schema, where="profile"):
    if isinstance(schema, dict):
        assert isinstance(value, dict), where
        for key, inner in schema.items():
            assert key in value, f"{where} has no {key}"
            assert_schema(value[key], inner, f"{where}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list) and value, where
        for item in value:
            assert_schema(item, schema[0], where + "[]")
    else:
        assert isinstance(value, schema) and not isinstance(value, bool), f"{where} is {value!r}"


def test_json_has_the_schema(profiled):
    p, _, _ = profiled
    assert p["schema"] == "tenon.profile/1"
    assert_schema(p, SCHEMA)
    assert [s["name"] for s in p["stages"]] == ["read", "import", "fuse", "plan", "pack", "first_run"]
    assert p["stages"][2]["passes"][0].keys() == {"name", "ms", "rewrites"}
    assert len(p["samples_ms"]) == p["iterations"] == 6


def test_json_agrees_with_itself(profiled):
    p, _, _ = profiled
    assert sum(s["share"] for s in p["steps"]) == pytest.approx(1)
    assert sum(m["share"] for m in p["modules"]) == pytest.approx(1)
    low, high = p["latency_ms"]["ci95"]
    assert p["latency_ms"]["min"] <= low <= p["latency_ms"]["median"] <= high <= p["latency_ms"]["max"]
    for step in p["steps"]:
        assert sum(part["share"] for part in step["parts"]) == pytest.approx(1 if step["parts"] else 0)
        assert step["live_bytes"] <= p["peak_arena_bytes"]
    assert p["unfused"]["steps"] > len(p["steps"])
    assert p["unfused"]["ratio_ci95"][0] <= p["unfused"]["ratio"] <= p["unfused"]["ratio_ci95"][1]


def test_trace_follows_the_format(profiled):
    """The documented Trace Event Format: phases X, C and M; complete events of one track nest or stand apart."""
    p, trace, _ = profiled
    assert set(trace) == {"displayTimeUnit", "traceEvents"}
    tracks, processes, threads = {}, set(), set()
    for event in trace["traceEvents"]:
        assert event["ph"] in ("X", "C", "M")
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and isinstance(event["name"], str)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            processes.add(event["pid"])
            threads.add((event["pid"], event["tid"]))
            continue
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert all(isinstance(v, int) for v in event["args"].values())
        else:
            assert event["dur"] >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    assert set(tracks) <= threads and {pid for pid, _ in tracks} <= processes
    for events in tracks.values():
        events.sort(key=lambda e: (e["ts"], -e["dur"]))
        end = 0
        for event in events:
            assert event["ts"] >= end - 0.01, "events of a track overlap"
            end = event["ts"] + event["dur"]
    steps = [e for e in trace["traceEvents"] if e["ph"] == "X" and "kernel" in e["args"]]
    assert len(steps) == 6 * len(p["steps"])
    assert steps[0]["args"].keys() >= {"kernel", "module", "flops", "bytes"}


def spans_of_the_worker(profile, model, trace):
    """And the names of the steps. The runs outlast the longest rest of a worker, 0.2 s."""
    assert profile(model, "--threads", 2, "--iters", 300, "--trace", trace.name).returncode == DONE
    events = json.loads(trace.read_text())["traceEvents"]
    [track] = [e["tid"] for e in events if e["ph"] == "M" and e["args"]["name"] == "worker 1"]
    run = [e for e in events if e["ph"] == "X" and e["cat"] == "run"]
    return [e for e in run if e["tid"] == track], {e["args"]["step"]: e["name"] for e in run if "kernel" in e["args"]}


def test_a_trace_of_two_threads_has_a_track_of_the_worker(profile, exported, tmp_path):
    """On a busy machine the worker may rest, hence several tries."""
    spans = []
    for _ in range(20):
        spans, steps = spans_of_the_worker(profile, exported("resnet9") / "model.pt", tmp_path / "t.json")
        if spans:
            break
    assert spans and all(steps[e["args"]["step"]] == e["name"] for e in spans)


def test_text_fits_a_hundred_columns(profile, model, profiled):
    assert max(map(len, profiled[2].splitlines()[1:])) <= 100
    for by in ("step", "module", "op", "kernel"):
        done = profile(model, "--iters", 3, "--by", by)
        assert done.returncode == DONE and "latency ms" in done.stdout


def test_sweep_has_a_line_for_each_size(profile, exported_tiny, tmp_path):
    done = profile(exported_tiny("mlp") / "model.pt", "--input", "x=f32[N,1,28,28]", "--iters", 3,
                   "--shape", "N=1,4", "--json", "p.json")
    assert done.returncode == DONE, done.stderr
    sweep = json.loads((tmp_path / "p.json").read_text())["sweep"]
    assert [s["sizes"] for s in sweep] == [{"N": 1}, {"N": 4}]
    assert "N=4" in done.stdout


def test_several_runs_at_once_have_a_line_for_each_number(profile, model, tmp_path):
    done = profile(model, "--iters", 1, "--streams", "2,1", "--no-roofline", "--json", "p.json")
    assert done.returncode == DONE, done.stderr
    table = done.stdout[done.stdout.index("streams  runs/s"):].splitlines()
    assert [line.split()[0] for line in table[:3]] == ["streams", "1", "2"]
    assert "--threads" not in done.stdout  # which would not go with it
    rows = json.loads((tmp_path / "p.json").read_text())["streams"]
    assert [row["streams"] for row in rows] == [1, 2]
    for row in rows:
        assert 0 < row["ci95"][0] <= row["runs_per_s"] <= row["ci95"][1] and 0 < row["median_ms"] <= row["p99_ms"]


@pytest.mark.parametrize("arguments", [("--streams", "1,"), ("--streams", "0"), ("--streams", "2x"), ("--streams", "2", "--threads", 2),
                                       ("--streams", "2", "--vs=--no-fuse")])  # fmt: skip
def test_streams_that_cannot_be(profile, model, arguments):
    done = profile(model, *arguments)
    assert done.returncode == BAD_INPUT and "--streams" in done.stderr


def test_an_unwritable_cache_is_no_error(profile, model):
    assert profile(model, "--iters", 2, XDG_CACHE_HOME="/proc/none").returncode == DONE


def test_json_alone_on_standard_output(profile, model):
    done = profile(model, "--iters", 2, "--no-roofline", "--json", "-")
    p = json.loads(done.stdout)
    assert p["machine"]["peak_gflops"] is None and p["steps"][0]["roofline"] is None


def test_a_slower_side_is_caught(profile, exported_tiny, tmp_path):
    model = exported_tiny("mlp") / "model.pt"
    one, many = "x=f32[2,1,28,28]", "--input x=f32[64,1,28,28]"
    done = profile(model, "--input", one, "--vs=" + many, "--max-slowdown", "1.05", "--json", "p.json")
    assert done.returncode == DIFFERS and "SLOWER" in done.stdout, done.stdout
    comparison = json.loads((tmp_path / "p.json").read_text())["comparison"]
    assert comparison["interleaved"] and comparison["slower"] and comparison["rounds"] == 3
    assert comparison["inputs"] == {"before": [{"name": "x", "type": "f32[2,1,28,28]"}],
                                    "after": [{"name": "x", "type": "f32[64,1,28,28]"}]}
    assert "inputs  x: f32[2,1,28,28]; after: x: f32[64,1,28,28]" in done.stdout
    assert profile(model, "--input", one, "--vs=" + many).returncode == DONE, "without a limit nothing fails"


def test_a_stored_profile_of_other_sizes_is_refused(profile, exported_tiny, tmp_path):
    model = exported_tiny("mlp") / "model.pt"
    varying = ["--input", "x=f32[N,1,28,28]", "--iters", 20]
    assert profile(model, *varying, "--shape", "N=2", "--json", "old.json").returncode == DONE
    done = profile(model, *varying, "--shape", "N=3", "--compare", "old.json")
    assert done.returncode == BAD_INPUT and "is of x: f32[2,1,28,28], this one of x: f32[3,1,28,28]" in done.stderr
    hours = ["--warmup", 10**9]  # nothing is measured before it is known that nothing could be compared
    for other in (["--shape", "N=3"], ["--shape", "N=2", "--threads", 2]):
        assert profile(model, *varying, *other, *hours, "--compare", "old.json").returncode == BAD_INPUT
    done = profile(model, "--input", "x=f32[2,1,28,28]", "--iters", 20, "--compare", "old.json", "--json", "p.json")
    assert done.returncode == DONE, done.stderr
    [size] = {json.dumps(json.loads((tmp_path / "p.json").read_text())["comparison"]["inputs"][side]) for side in ("before", "after")}
    assert "f32[2,1,28,28]" in size


def test_a_stored_profile_of_the_same_sizes_by_other_names_is_compared(profile, tmp_path):
    """As of a model that was exported again."""
    torch = pytest.importorskip("torch")

    class Before(torch.nn.Module):
        def forward(self, x, mask):
            return x.relu() * mask

    class After(torch.nn.Module):
        def forward(self, weight, features):
            return features.relu() * weight

    x, mask = torch.zeros(4, 8), torch.zeros(8)
    torch.jit.trace(Before(), (x, mask)).save(tmp_path / "before.pt")
    torch.jit.trace(After(), (mask, x)).save(tmp_path / "after.pt")
    runs = ["--iters", 20, "--no-roofline"]
    assert profile("before.pt", *runs, "--json", "old.json").returncode == DONE
    done = profile("after.pt", *runs, "--compare", "old.json")
    assert done.returncode == DONE and "measured apart" in done.stdout, done


def test_stored_profiles_are_compared(profile, model, tmp_path):
    assert profile(model, "--iters", 20, "--json", "old.json").returncode == DONE
    done = profile(model, "--iters", 20, "--compare", "old.json")
    assert done.returncode == DONE and "measured apart" in done.stdout
    stored = json.loads((tmp_path / "old.json").read_text())
    for samples in [stored["step_runs_ms"]] + [s["samples_ms"] for s in stored["steps"]]:
        samples[:] = [ms / 100 for ms in samples]
    (tmp_path / "fast.json").write_text(json.dumps(stored))
    done = profile(model, "--iters", 20, "--compare", "fast.json", "--max-slowdown", 1.5)
    assert done.returncode == DIFFERS and "SLOWER" in done.stdout


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        (["--device", "cuda"], ENVIRONMENT, ["cuda"]),
        (["--compare", "none.json"], BAD_INPUT, ["none.json"]),
        (["--vs=--nonsense"], BAD_INPUT, ["nonsense"]),
        (["--vs=other.pt"], BAD_INPUT, ["other.pt"]),
        (["--iters", "0"], BAD_INPUT, ["--iters"]),
        (["--by", "nothing"], BAD_INPUT, ["--by"]),
        (["--shape", "Q=1,2"], BAD_INPUT, ["Q"]),
        (["--json", "no/such/folder.json", "--iters", "1"], BAD_INPUT, ["no/such"]),
    ],
)
def test_wrong_usage(profile, model, arguments, code, words):
    done = profile(model, *arguments)
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr


def test_another_json_is_refused(profile, model, tmp_path):
    for text in ("", "[]", "{}", '{"schema": "tenon.profile/1"}'):
        (tmp_path / "other.json").write_text(text)
        done = profile(model, "--compare", "other.json")
        assert done.returncode == BAD_INPUT and "no profile" in done.stderr


def test_a_profile_edited_by_hand_is_refused_by_its_name(profile, model, tmp_path):
    assert profile(model, "--iters", 2, "--no-roofline", "--json", "old.json").returncode == DONE
    stored = json.loads((tmp_path / "old.json").read_text())
    for types in ("f32[N,3]", "f99[3]", "f32[", ""):
        stored["model"]["inputs"][0]["type"] = types
        (tmp_path / "other.json").write_text(json.dumps(stored))
        done = profile(model, "--compare", "other.json")
        assert done.returncode == BAD_INPUT and "no profile" in done.stderr and "at: other.json" in done.stderr, done


def test_the_hint_leaves_the_sizes_that_were_chosen(profile, tmp_path):
    onnx = pytest.importorskip("onnx")
    for name in ("one", "two"):
        x, y = (onnx.helper.make_tensor_value_info(v, onnx.TensorProto.FLOAT, [name, 4]) for v in "xy")
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), tmp_path / f"{name}.onnx")
    runs = ["one.onnx", "two.onnx", "--iters", 2, "--no-roofline"]
    done = profile(*runs, "--shape", "one=8")
    assert done.returncode == BAD_INPUT and "--vs='--shape two=8'" in done.stderr, done
    assert profile(*runs, "--shape", "one=8", "--vs=--shape two=8").returncode == DONE
