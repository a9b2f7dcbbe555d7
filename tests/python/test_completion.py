"""What the shells are told, and what docs/cli.md says, is what the command line takes."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def completed(tenon, *words):
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in ("tenon", *words))
    script = (
        f"source <('{tenon}' completion bash); COMP_WORDS=({line}); COMP_CWORD={len(words)}; _tenon; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return output("bash", "-c", script).split()


def test_bash_completes_verbs_options_and_values(tenon):
    assert "convert" in completed(tenon, "con")
    assert completed(tenon, "insp") == ["inspect"]
    assert "--threads" in completed(tenon, "run", "--th")
    assert "--junit" in completed(tenon, "check", "--j")
    assert completed(tenon, "inspect", "--ir", "pl") == ["planned"]
    assert set(completed(tenon, "completion", "")) == {"bash", "zsh", "fish"}


def test_every_verb_completes_its_options(tenon):
    for verb in completed(tenon, ""):
        if not verb.startswith("-"):
            assert "--help" in completed(tenon, verb, "--")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_parse(tenon, tmp_path, shell):
    script = tmp_path / "script"
    script.write_text(output(tenon, "completion", shell))
    if shutil.which(shell):
        output(shell, "-n", script)
    assert "completion" in script.read_text()


def test_the_manual_in_the_docs_is_the_one_of_this_build(tenon):
    page = (ROOT / "docs/cli.md").read_text()
    assert page.split("<!-- tenon manual -->\n")[1] == output(tenon, "manual"), "run ./dev docs"
