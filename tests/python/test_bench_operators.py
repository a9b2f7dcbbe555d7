"""The benchmark of operators: it exports, checks and times cases, and sees rows that became slower."""

import json
import subprocess
import sys

from conftest import ROOT

BENCH = ROOT / "bench/operators"


def bench(tenon, *arguments, code=0):
    done = subprocess.run([sys.executable, BENCH, "--tenon", tenon, "--rounds", "2", "--seconds", "0", *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_cases_are_timed_and_compared(tenon, tmp_path):
    said = bench(tenon, "outer f32", "matrix times vector bf16", "--json", tmp_path / "now.json")
    assert "2 cases, 0 failed" in said
    report = json.loads((tmp_path / "now.json").read_text())
    for found in report["cases"].values():
        assert found["ratio"] > 0 and len(found["tenon"]["bursts_ms"]) == len(found["eager"]["bursts_ms"]) == 2

    for found in report["cases"].values():
        found["tenon"]["bursts_ms"] = [time / 1e4 for time in found["tenon"]["bursts_ms"]]
    (tmp_path / "before.json").write_text(json.dumps(report))
    said = bench(tenon, "outer f32", "--compare", tmp_path / "before.json", code=1)
    assert "outer f32 1024 1024: ratio" in said


def test_the_table_names_every_case_once(tenon):
    names = bench(tenon, "--list").splitlines()
    assert len(names) >= 150 and len(set(names)) == len(names)
    for dtype in ("f32", "f16", "bf16", "f64", "i8", "i32", "i64", "b"):
        assert any(f" {dtype} " in name for name in names), dtype


def test_sizes_are_scaled_but_not_those_that_mean_something(tenon):
    said = bench(tenon, "max unpool", "convolution of stride 2 f32", "--scale", "0.3", "--list")
    assert said.splitlines() == ["max unpool f32 4,19,34,34", "convolution of stride 2 f32 1,19,17,17 w:38,19,3,3"]


def test_operators_of_pytorchs_database_are_enlarged(tenon):
    said = bench(tenon, "--database", "atanh", "sgn", "--dtypes", "f32 i64 c64")
    names = [line.split()[:2] for line in said.splitlines()[1:-1]]
    assert names == [["atanh", "f32"], ["atanh", "i64"], ["atanh", "c64"], ["sgn", "f32"], ["sgn", "i64"], ["sgn", "c64"]]
    assert "6 cases, 0 failed" in said
