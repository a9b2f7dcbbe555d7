"""Writes requirements.lock: the packages of build/venv but torch, each with the hash of its archive for this Python and
machine. Run as `./dev lock`, in an environment that ./dev made from nothing."""

import json
import subprocess
import sys
from pathlib import Path

HEAD = """\
# Every Python package of build/venv but torch, whose wheel differs between indexes, with its archive's hash: for
# {tag}. Written by ./dev lock from requirements.txt and models/weights.txt.
"""


def pip(*arguments: str, **options) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def tag() -> str:
    import platform

    return f"CPython {sys.version_info.major}.{sys.version_info.minor} on {platform.machine()}"


def main():
    if sys.argv[1:] == ["--tag"]:
        print(tag())
        return
    wanted = [line for line in pip("freeze").splitlines() if not line.startswith("torch==")]
    report = json.loads(pip("install", "-q", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-", "-r", "/dev/stdin",
                            input="\n".join(wanted)))  # fmt: skip
    lines = []
    for item in report["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        lines.append(f"{name}=={version} --hash=sha256:{item['download_info']['archive_info']['hashes']['sha256']}\n")
    assert len(lines) == len(wanted), "a package is missing in the report"
    Path("requirements.lock").write_text(HEAD.format(tag=tag()) + "".join(sorted(lines, key=str.lower)))


if __name__ == "__main__":
    main()
