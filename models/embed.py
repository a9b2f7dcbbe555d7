#!/usr/bin/env python3
"""Sentence embeddings by tenon beside PyTorch: python models/embed.py SENTENCE...

Runs the MiniLM artifact (or model.pt) with `tenon run`, prints the cosine of each embedding with PyTorch's, then how
alike the sentences are. Exit code 1 if a cosine is below 0.99999.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import models  # noqa: E402
from models.minilm import SENTENCES, tokenize  # noqa: E402

LEAST_COSINE = 0.99999


def by_tenon(binary: Path, artifact: Path, inputs: dict[str, torch.Tensor]) -> numpy.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        command = [str(binary), "run", str(artifact)]
        for name, value in inputs.items():
            numpy.save(f"{folder}/{name}.npy", value.numpy())
            command += ["--input", f"{name}={folder}/{name}.npy"]
        subprocess.run(command + ["--output", f"{folder}/embedding.npy"], check=True, stdout=subprocess.DEVNULL)
        return numpy.load(f"{folder}/embedding.npy")


def by_pytorch(inputs: dict[str, torch.Tensor]) -> numpy.ndarray:
    with torch.no_grad():
        return models.load("minilm").model(*inputs.values()).numpy()


def cosines(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    return (a * b).sum(1) / (numpy.linalg.norm(a, axis=1) * numpy.linalg.norm(b, axis=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentences", nargs="*", default=SENTENCES, help="default: the sentences it was exported with")
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon")
    parser.add_argument("--artifact", type=Path, default=ROOT / "build/models/minilm/model.tenon")
    arguments = parser.parse_args()
    inputs = tokenize(arguments.sentences)
    ours = by_tenon(arguments.tenon, arguments.artifact, inputs)
    same = cosines(ours, by_pytorch(inputs))
    for cosine, sentence in zip(same, arguments.sentences):
        print(f"{cosine:.7f}  {sentence}")
    alike = ours @ ours.T
    numpy.fill_diagonal(alike, -1)
    if len(ours) > 1:
        first, second = divmod(int(alike.argmax()), len(ours))
        print(f"most alike: {alike.max():.3f}  {arguments.sentences[first]} | {arguments.sentences[second]}")
    print(f"least cosine with PyTorch: {same.min():.7f}")
    return 0 if same.min() >= LEAST_COSINE else 1


if __name__ == "__main__":
    sys.exit(main())
