"""What a newcomer hands over by mistake: files that are no model, arrays that do not fit."""

import subprocess
import tarfile
import zipfile

import numpy
import pytest

torch = pytest.importorskip("torch")

BAD_INPUT, UNSUPPORTED = 2, 3


XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
DOWNLOADS = {
    "mark.pt": "\ufeff<!doctype html><title>404</title>",
    "xhtml.pt": XML + '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "">\n<html></html>',
    "comment.pt": "<!-- saved -->\n<HTML></HTML>",
    "store.pt": "\ufeff" + XML + "<Error><Code>AccessDenied</Code></Error>",
    "hub.pt": '{"error":"Repository not found"}',
    "mark.xml": "\ufeff" + XML + '<net name="n" version="11"></net>',
    "drawing.xml": XML + "<svg></svg>",
}


@pytest.fixture(scope="module")
def place(tenon, tmp_path_factory):
    folder = tmp_path_factory.mktemp("newcomer")
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.ReLU()).eval()
    torch.jit.trace(net, torch.zeros(1, 3, 8, 9)).save(folder / "net.pt")
    subprocess.run([tenon, "convert", "net.pt", "--no-verify"], cwd=folder, check=True, capture_output=True)
    torch.save({"epoch": 3, "model": net.state_dict()}, folder / "checkpoint.pt")
    torch.save(net, folder / "module.pt")
    with tarfile.open(folder / "my net.tar", "w") as tar:
        tar.add(folder / "net.pt", "net.pt")
    with zipfile.ZipFile(folder / "net.zip", "w") as archive:
        archive.write(folder / "net.pt", "net.pt")
    with zipfile.ZipFile(folder / "net.keras", "w") as archive:
        for name in ("config.json", "model.weights.h5"):
            archive.writestr(name, "{}")
    (folder / "net.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    (folder / "net.gz").write_bytes(b"\x1f\x8b" + bytes(64))
    (folder / "net.ort").write_bytes(b"\x30\0\0\0ORTM" + bytes(64))
    (folder / "net.onnx").write_text("\n<!DOCTYPE html>\n<html>404</html>\n")
    (folder / "net.xml").write_text('<?xml version="1.0"?>\n<net name="n" version="11"></net>\n')
    for name, text in DOWNLOADS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "empty.pt").write_bytes(b"")
    arrays = {"x": (1, 3, 8, 9), "last": (1, 8, 9, 3), "one": (3, 8, 9), "other": (1, 4, 8, 9), "flat": (216,)}
    for name, shape in arrays.items():
        numpy.save(folder / f"{name}.npy", numpy.zeros(shape, "float32"))
    numpy.save(folder / "double.npy", numpy.zeros((1, 3, 8, 9)))
    (folder / "text.npy").write_text("0 1 2")
    (folder / "image.JPG").write_bytes(b"\xff\xd8\xff")
    return folder


MODELS = [
    ("checkpoint.pt", BAD_INPUT, ["weights without a graph", "torch.export.save"]),
    ("module.pt", BAD_INPUT, ["a pickled module", "torch.export.save"]),
    ("my net.tar", BAD_INPUT, ["a tar archive", "tar xf 'my net.tar'"]),
    ("net.zip", BAD_INPUT, ["unzip net.zip"]),
    ("net.keras", UNSUPPORTED, ["a model of Keras 3", "load_model"]),
    ("net.h5", UNSUPPORTED, ["HDF5", "--keras net.h5"]),
    ("net.gz", BAD_INPUT, ["gzip", "gunzip --keep net.gz"]),
    ("net.ort", UNSUPPORTED, ["ONNX Runtime's own format", "give the .onnx"]),
    ("net.onnx", BAD_INPUT, ["a web page instead of the model"]),
    ("net.xml", UNSUPPORTED, ["OpenVINO", "torch.export.save"]),
    ("mark.pt", BAD_INPUT, ["a web page instead of the model"]),
    ("xhtml.pt", BAD_INPUT, ["a web page instead of the model"]),
    ("comment.pt", BAD_INPUT, ["a web page instead of the model"]),
    ("store.pt", BAD_INPUT, ["a server's error instead of the model"]),
    ("hub.pt", BAD_INPUT, ["a server's error instead of the model"]),
    ("mark.xml", UNSUPPORTED, ["OpenVINO"]),
    ("drawing.xml", BAD_INPUT, ["a text file"]),
    ("empty.pt", BAD_INPUT, ["an empty file", "again"]),
]


@pytest.mark.parametrize("name, code, words", MODELS, ids=[row[0] for row in MODELS])
def test_a_file_that_is_no_model(tenon, place, name, code, words):
    done = subprocess.run([tenon, "convert", name, "-o", "out.tenon"], cwd=place, capture_output=True, text=True)
    assert done.returncode == code, done
    for word in words:
        assert word in done.stderr
    assert "FILE" not in done.stderr and not (place / "out.tenon").exists()


ARRAYS = [
    ("net.tenon", "last.npy", ["its axes stand in another order: array.transpose(0, 3, 1, 2)"]),
    ("net.tenon", "one.npy", ["its rank is 3, not 4", "numpy.expand_dims(array, 0)"]),
    ("net.pt", "one.npy", ["traced with rank 4", "numpy.expand_dims(array, 0)"]),
    ("net.tenon", "other.npy", ["dim 1 is 4, not 3", "--input 'input=f32[1,d1,8,9]'"]),
    ("net.tenon", "flat.npy", ["its rank is 1, not 4"]),
    ("net.tenon", "double.npy", ["f64", ".astype('float32')"]),
    ("net.pt", "double.npy", ["input input is given as f64", ".astype('float32')", "model.double()"]),
    ("net.tenon", "text.npy", ["not a .npy file", "numpy.save"]),
    ("net.tenon", "image.JPG", [".jpg files are not read", "--input image.npy"]),
]


@pytest.mark.parametrize("model, array, words", ARRAYS, ids=[f"{a} into {m}" for m, a, _ in ARRAYS])
def test_an_array_that_does_not_fit(tenon, place, model, array, words):
    done = subprocess.run([tenon, "run", model, "--input", array], cwd=place, capture_output=True, text=True)
    assert done.returncode == BAD_INPUT, done
    for word in words:
        assert word in done.stderr
    if array == "flat.npy":
        assert "axes" not in done.stderr and "expand_dims" not in done.stderr
