"""MiniLM with its real weights, from model.pt to sentence embeddings."""

import subprocess

import pytest

IDS = "i64[B,S]"


@pytest.fixture(scope="module")
def artifact(tenon, exported, tmp_path_factory):
    target = tmp_path_factory.mktemp("minilm") / "model.tenon"
    inputs = ["--input", f"input_ids={IDS}", "--input", f"attention_mask={IDS}"]
    source = exported("minilm") / "model.pt"
    done = subprocess.run([tenon, "convert", source, "-o", target, *inputs], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize(
    "sentences",
    [
        [],
        ["Hello."],
        ["One word", "and a much longer sentence, whose padding the shorter one must not see.", "Ünïcode: 猫"],
    ],
)
def test_embeddings_are_those_of_pytorch(script, tenon, artifact, sentences):
    """models/embed.py exits with 1 where a cosine is below 0.99999."""
    assert "least cosine with PyTorch: " in script(
        "models/embed.py", "--tenon", tenon, "--artifact", artifact, *sentences
    )
