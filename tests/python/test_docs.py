"""The pages that show commands show what happens: each is run as it is written, in an empty folder."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def masked(text):
    """Numbers, times and the width of columns may differ."""
    text = re.sub(r"\d[\d.]*(e[+-]?\d+)?", "#", text)
    return [re.sub(r"[\s-]+", " ", line).strip() for line in text.strip().splitlines()]


def commands(block):
    """(command, expected output) for each line that begins with "$ "."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        count = next(i for i, line in enumerate(lines) if not line.endswith("\\")) + 1
        yield "\n".join(lines[:count]), "\n".join(lines[count:])


def assert_as_shown(command, shown, said):
    """A line "..." stands for any others."""
    expected, got = masked(shown), masked(said)
    if expected[-1:] == ["..."]:
        expected, got = expected[:-1], got[: len(expected) - 1]
    assert got == expected, f"$ {command}\n{said}"


@pytest.fixture
def shell(tenon, tmp_path):
    """shell(COMMAND): what it says, with this tenon and this Python in reach; written Python files are there."""
    tools = tmp_path / ".bin"
    tools.mkdir()
    (tools / "tenon").symlink_to(tenon)
    (tools / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -W ignore "$@"\n')
    (tools / "python").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TENON_PYTHON": sys.executable}
    environment.pop("GITHUB_ACTIONS", None)

    def run(command):
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=300)
        return done.returncode, done.stdout

    return run


def follow(page, shell, tmp_path):
    """Runs the page from top to bottom. A Python block that begins with "# NAME.py" is the file of that name. What
    stands behind "<!-- varies -->" is run, not compared."""
    text = (ROOT / page).read_text()
    for found in BLOCK.finditer(text):
        kind, block = found.groups()
        if kind == "python":
            (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block)
            continue
        for command, shown in commands(block):
            _, said = shell(command)
            if not text[: found.start()].endswith("<!-- varies -->\n"):
                assert_as_shown(command, shown, said)


def test_the_model_file_of_the_readme(shell, tmp_path):
    """README's Python makes all three kinds of file, and each converts."""
    block = next(b for kind, b in BLOCK.findall((ROOT / "README.md").read_text()) if kind == "python")
    assert len(block.strip().splitlines()) <= 6
    (tmp_path / "export.py").write_text(block)
    code, said = shell("python export.py")
    assert code == 0, said
    for name in ("model.pt2", "model.pt", "model.onnx"):
        code, said = shell(f"tenon convert {name} -o {name}.tenon")
        assert code == 0 and "equal to" in said, said


@pytest.mark.parametrize("page", ["docs/tutorial.md", "docs/troubleshooting.md"])
def test_a_page_shows_what_happens(shell, tmp_path, page):
    follow(page, shell, tmp_path)


def test_exit_codes_of_the_help_are_those_of_the_docs(tenon):
    text = subprocess.run([tenon, "help"], check=True, capture_output=True, text=True).stdout
    codes = " ".join(text.split("Exit codes: ")[1].split(".\n")[0].split())
    page = " ".join((ROOT / "docs/cli.md").read_text().split())
    for code in codes.split(", "):
        assert code in page, code


def test_the_man_page_has_every_verb_and_option(tenon):
    page = subprocess.run([tenon, "manual", "--man"], check=True, capture_output=True, text=True).stdout
    assert page.startswith(".TH TENON 1")
    plain = page.replace("\\-", "-")
    manual = subprocess.run([tenon, "manual"], check=True, capture_output=True, text=True).stdout
    for line in manual.splitlines():
        if line.startswith("## "):
            assert f".SS {line.removeprefix('## ')}" in plain
        elif line.startswith("| `-"):
            assert f".B {line.split('`')[1]}".replace("\\|", "|") in plain
    for name in ("EXIT STATUS", "ENVIRONMENT"):
        assert f".SH {name}" in page
    assert (tenon.parent / "tenon.1").read_text() == page
