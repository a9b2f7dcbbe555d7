"""What `tenon convert` says of a conversion."""

import json

import pytest
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x):
        y = self.norm(self.conv(x))
        return 0.5 * y * (1 + torch.erf(y / 2**0.5))


class Unsupported(torch.nn.Module):
    def forward(self, x):
        a = (x @ x.mT).to_sparse()
        b = (x.mT @ x).to_sparse()
        return a.sum() + b.to_dense().sum()


@pytest.fixture
def block(tmp_path):
    torch.jit.trace(Block().eval(), torch.randn(2, 3, 8, 8)).save(tmp_path / "block.pt")
    return "block.pt"


def test_a_report_has_what_became_of_the_model(run, block, tmp_path):
    said = run("convert", block, "--input", "x=f32[N,3,8,8]", "--report", "--json", "report.json", code=0)
    folded, raised, fused = (said.index(word) for word in ("\nfolded\n", "\nraised\n", "\nfused\n"))
    assert folded < said.index("batch_norm") and raised < said.index("gelu") < fused
    assert "N: any size from 1 (dim 0 of input x)" in said
    assert not (tmp_path / "block.tenon").exists()
    record = json.loads((tmp_path / "report.json").read_text())
    assert record["schema"] == "tenon.conversion/1"
    assert any(u["rule"] == "gelu" and u["count"] == 1 for u in record["rewrites"]["raise"])
    assert record["unsupported"] == []


def test_with_an_output_the_artifact_is_written_too(run, block, tmp_path):
    run("convert", block, "--report", "-o", "block.tenon", "--json", "report.json", code=0)
    assert (tmp_path / "block.tenon").exists() and (tmp_path / "report.json").exists()


def test_unsupported_operators_have_places_counts_and_what_is_near(run, tmp_path):
    torch.jit.trace(Unsupported(), torch.randn(4, 4), check_trace=False).save(tmp_path / "model.pt")
    said = run("convert", "model.pt", "-o", "model.tenon", "--json", "report.json", code=3)
    assert "the model uses 2 things that Tenon does not support" in said
    assert "bring an operator of your own: --operators LIBRARY.so" in said
    first, second = json.loads((tmp_path / "report.json").read_text())["unsupported"]
    assert (first["what"], first["count"]) == ("aten::to_sparse", 2)
    assert len(first["places"]) == 2 and "test_conversion_report.py:" in first["places"][0]
    assert first["nearest"].startswith("aten::")
    assert (second["what"], second["count"]) == ("aten::to_dense", 1)
