"""A .pt2 with its weights in a .safetensors file beside it."""

import zipfile

import numpy
import pytest
import torch
from safetensors.torch import save_file


class Net(torch.nn.Module):
    """With a tied weight, a buffer and a constant of the code."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(11, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.head = torch.nn.Linear(6, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.norm(self.embed(ids).sum(1)) * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        return self.head(x)


def without_weights(source, target, drop):
    """A copy of the archive without the entries that `drop` names."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            if not drop(entry.filename):
                new.writestr(entry.filename, old.read(entry.filename))


def data(name):
    return "data/weights/" in name and not name.endswith(".json")


def everything(name):
    return "data/weights/" in name


@pytest.fixture
def net(tmp_path):
    """net.pt2, w.safetensors with other weights, and what the model with those gives for ids.npy."""
    torch.manual_seed(0)
    ids = torch.randint(0, 11, (3, 4))
    torch.export.save(torch.export.export(Net().eval(), (ids,)), tmp_path / "net.pt2")
    torch.manual_seed(1)
    other = Net().eval()
    with torch.no_grad():
        expected = other(ids).numpy()
    state = {name: t.contiguous() for name, t in other.state_dict().items() if name != "head.weight"}
    save_file(state, tmp_path / "w.safetensors")
    numpy.save(tmp_path / "ids.npy", ids.numpy())
    return tmp_path, state, expected


def check(run, folder, model, expected, *more):
    said = run("convert", model, "--weights-from", "w.safetensors", "-o", "net.tenon", *more, code=0)
    run("run", "net.tenon", "--input", "ids.npy", "-o", "out.npy", code=0)
    numpy.testing.assert_allclose(numpy.load(folder / "out.npy"), expected, rtol=1e-5, atol=1e-6)
    return said


def test_what_stands_beside_takes_the_place_of_what_the_archive_holds(run, net):
    folder, _, expected = net
    assert "equal to LibTorch" in check(run, folder, "net.pt2", expected)


def test_the_archive_may_hold_no_weights(run, net):
    folder, _, expected = net
    without_weights(folder / "net.pt2", folder / "bare.pt2", data)
    assert "equal to LibTorch" in check(run, folder, "bare.pt2", expected)
    said = run("convert", "bare.pt2", "-o", "net.tenon", code=2)
    assert "the data of" in said and "embed.weight" in said and "--weights-from" in said


def test_not_even_their_list(run, net):
    folder, state, expected = net
    without_weights(folder / "net.pt2", folder / "bare.pt2", everything)
    save_file({**state, "head.weight": state["embed.weight"].clone()}, folder / "w.safetensors")
    check(run, folder, "bare.pt2", expected)


def test_names_that_are_missing_or_not_used(run, net):
    folder, state, expected = net
    without_weights(folder / "net.pt2", folder / "bare.pt2", data)
    some = {name: t for name, t in state.items() if name != "norm.weight"}
    save_file(some, folder / "w.safetensors")
    said = run("convert", "bare.pt2", "--weights-from", "w.safetensors", "-o", "net.tenon", code=2)
    assert "the data of a weight are missing: norm.weight" in said
    # Not even those that the archive holds: weights of two models would be mixed.
    said = run("convert", "net.pt2", "--weights-from", "w.safetensors", "-o", "net.tenon", code=2)
    assert "the data of a weight are missing: norm.weight" in said
    save_file({**state, "lost.bias": torch.zeros(2)}, folder / "w.safetensors")
    said = check(run, folder, "net.pt2", expected)
    assert "w.safetensors names weights that the model does not use: lost.bias" in said


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("norm.weight", torch.zeros(7), "the weight norm.weight is f32[7], the program takes f32[6]"),
        ("norm.weight", torch.zeros(6, dtype=torch.float64), "the weight norm.weight is f64[6], the program takes f32[6]"),
        ("embed.weight", torch.zeros(11), "the weight embed.weight is f32[11], the program takes f32[11,6]"),
    ],
)
def test_weights_of_another_type(run, net, name, value, message):
    folder, state, _ = net
    save_file({**state, name: value}, folder / "w.safetensors")
    assert message in run("convert", "net.pt2", "--weights-from", "w.safetensors", "-o", "net.tenon", code=2)


def test_files_that_are_not_what_they_should_be(run, net):
    folder, _, _ = net
    whole = (folder / "w.safetensors").read_bytes()
    (folder / "w.safetensors").write_bytes(whole[:-1])
    assert "w.safetensors" in run("convert", "net.pt2", "--weights-from", "w.safetensors", "-o", "net.tenon", code=2)
    said = run("convert", "net.pt2", "--weights-from", "ids.npy", "-o", "net.tenon", code=2)
    assert "a NumPy array" in said and "a .safetensors file" in said, said
    assert "nowhere" in run("convert", "net.pt2", "--weights-from", "nowhere.safetensors", "-o", "net.tenon", code=2)
    torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2)).save(folder / "net.pt")
    said = run("convert", "net.pt", "--weights-from", "w.safetensors", "-o", "net.tenon", code=2)
    assert "weights beside a model are read for .pt2 files" in said


def test_an_artifact_is_compared_with_its_source_and_the_weights_beside_that(run, net):
    folder, _, _ = net
    weights = ["--weights-from", "w.safetensors"]
    without_weights(folder / "net.pt2", folder / "bare.pt2", data)
    run("convert", "bare.pt2", *weights, "-o", "net.tenon", code=0)
    assert "verified" in run("verify", "net.tenon", "--source", "bare.pt2", *weights, code=0)
    (folder / "moved").mkdir()
    (folder / "net.tenon").rename(folder / "moved/net.tenon")
    said = run("verify", "moved/net.tenon", *weights, code=2)
    assert "--source model.pt2" in said
    assert "DIFFERS" in run("verify", "moved/net.tenon", "--source", "net.pt2", code=1), "other weights"
    (folder / "cut.safetensors").write_bytes((folder / "w.safetensors").read_bytes()[:-1])
    for wrong in ("nowhere.safetensors", "cut.safetensors"):
        said = run("verify", "moved/net.tenon", "--source", "net.pt2", "--weights-from", wrong, code=2)
        assert f"  at: {wrong}" in said, said
    assert "same numbers" in run("equiv", "moved/net.tenon", "bare.pt2", *weights, code=0)
    assert "same numbers" in run("equiv", "bare.pt2", "moved/net.tenon", *weights, code=0)
    run("profile", "moved/net.tenon", "bare.pt2", *weights, "--iters", 1, "--no-roofline", code=0)
    assert "converted and fused already" in run("run", "moved/net.tenon", *weights, code=2)
