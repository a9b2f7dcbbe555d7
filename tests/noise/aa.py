"""A/A test: compares a model with itself again and again, and counts alarms. There must be none.

    build/venv/bin/python tests/noise/aa.py build/models/resnet9/model.pt --runs 20
    build/venv/bin/python tests/noise/aa.py build/models/resnet9/model.pt --runs 5 --stored
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def profile(*arguments: str) -> subprocess.CompletedProcess:
    tenon = os.environ.get("TENON", str(ROOT / "build/release/tenon"))
    return subprocess.run([tenon, "profile", *arguments], capture_output=True, text=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--iters", type=int, default=20)
    parser.add_argument("--max-slowdown", default="1.05")
    parser.add_argument("--stored", action="store_true", help="through --json and --compare")
    options = parser.parse_args()
    alarms, confirmed, ratios = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        old, new = f"{folder}/old.json", f"{folder}/new.json"
        common = [options.model, "--iters", str(options.iters), "--json", new]
        for _ in range(options.runs):
            other = options.model
            if options.stored:
                assert profile(options.model, "--iters", str(options.iters), "--json", old).returncode == 0
            done = profile(*common, "--max-slowdown", options.max_slowdown,
                           *(["--compare", old] if options.stored else [other]))
            assert done.returncode in (0, 1), done.stderr
            alarms += done.returncode
            comparison = json.loads(Path(new).read_text())["comparison"]
            confirmed += comparison["rounds"] - 1
            ratios.append(comparison["total"]["ratio"])
            if done.returncode:
                print(done.stdout)
    print(f"{options.runs} runs, {alarms} alarms; {confirmed} suspicions measured again; ratio of the totals "
          f"{min(ratios):.3f} to {max(ratios):.3f}, median {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
