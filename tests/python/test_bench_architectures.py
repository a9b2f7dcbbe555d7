"""The benchmark of architectures: what it exports, bench/models can time."""

import json
import subprocess
import sys

from conftest import ROOT


def run(*command):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_architecture_is_exported_and_timed_beside_a_peer(tenon, tmp_path):
    folders = run(ROOT / "bench/architectures", "--out", tmp_path, "dilated_*").split()
    assert folders == [str(tmp_path / "dilated_tcn")]
    subprocess.run([tenon, "convert", f"{folders[0]}/model.pt", "-o", f"{folders[0]}/model.tenon"], check=True, timeout=300)

    report = tmp_path / "times.json"
    run(ROOT / "bench/models", *folders, "--tenon", tenon, "--peers", "ONNX Runtime", "--rounds", "2", "--seconds", "0.01", "--json", report)
    rows = json.loads(report.read_text())["models"]["dilated_tcn"]["1"]
    assert {row["peer"] for row in rows} == {"tenon", "ONNX Runtime"} and all(row["ratio"] > 0 for row in rows)
