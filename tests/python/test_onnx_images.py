"""ImageDecoder: pictures of every format, and files that are cut or damaged."""

import struct
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case.node import _image_decoder_data as pictures

DONE, BAD_INPUT, UNSUPPORTED = 0, 2, 3
FORMATS = ("jpeg_rgb", "jpeg2k_rgb", "bmp_rgb", "png_rgb", "tiff_rgb", "webp_rgb", "pnm_rgb")
SMALL = np.random.default_rng(1).integers(0, 256, (5, 7, 3)).astype(np.uint8)


def file_of(name):
    return getattr(pictures, f"image_decoder_decode_{name}").data


def save_model(folder, pixel_format="RGB"):
    node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format=pixel_format)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.UINT8, ["bytes"])],
                              [helper.make_tensor_value_info("y", TensorProto.UINT8, ["H", "W", "C"])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), folder / "model.onnx")


def decoded(run, folder, data, pixel_format="RGB", code=DONE):
    save_model(folder, pixel_format)
    np.save(folder / "x.npy", np.frombuffer(bytes(data), np.uint8))
    said = run("run", "model.onnx", "--input", "x=x.npy", "--output", "out.npy", code=code)
    return np.load(folder / "out.npy") if code == DONE else " ".join(said.split())


@pytest.mark.parametrize("name", FORMATS)
def test_every_format(run, tmp_path, name):
    wanted = getattr(pictures, f"image_decoder_decode_{name}").output
    np.testing.assert_array_equal(decoded(run, tmp_path, file_of(name)), wanted)


@pytest.mark.parametrize(("pixel_format", "name"), [("BGR", "jpeg_bgr"), ("Grayscale", "jpeg_grayscale")])
def test_every_order_of_colours(run, tmp_path, pixel_format, name):
    wanted = getattr(pictures, f"image_decoder_decode_{name}").output
    np.testing.assert_array_equal(decoded(run, tmp_path, file_of(name), pixel_format), wanted)


def bmp(bits, rows, palette=b"", masks=b"", from_top=False, width=7, height=5):
    compression = 3 if masks else 0
    head = struct.pack("<IiiHHIIiiII", 40, width, -height if from_top else height, 1, bits, compression, 0, 0, 0, 0, 0)
    offset = 14 + len(head) + len(masks) + len(palette)
    padded = [r + bytes(-len(r) % 4) for r in (rows if from_top else rows[::-1])]
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, offset) + head + masks + palette + b"".join(padded)


def indexed(bits):
    """Pixels as places in a palette, and the picture that they are."""
    colours = SMALL.reshape(-1, 3)[: 1 << bits][:, ::-1]
    palette = b"".join(bytes([*c, 0]) for c in np.resize(colours, (1 << bits, 3)).astype(np.uint8))
    places = np.arange(35).reshape(5, 7) % min(1 << bits, 35)
    rows = [np.packbits(np.unpackbits(r.astype(np.uint8)[:, None], axis=1)[:, 8 - bits:]).tobytes() for r in places]
    return bmp(bits, rows, palette), np.resize(colours, (1 << bits, 3))[places][..., ::-1]


FIVE_BITS = [(SMALL[y, :, 0].astype(int) >> 3 << 10 | SMALL[y, :, 1].astype(int) >> 3 << 5 | SMALL[y, :, 2].astype(int) >> 3) for y in range(5)]
SPREAD = ((SMALL.astype(int) >> 3) * 255 + 15) // 31
BITMAPS = {
    "1 bit": indexed(1), "4 bits": indexed(4), "8 bits": indexed(8),
    "24 bits": (bmp(24, [SMALL[y, :, ::-1].tobytes() for y in range(5)]), SMALL),
    "24 bits from the top": (bmp(24, [SMALL[y, :, ::-1].tobytes() for y in range(5)], from_top=True), SMALL),
    "32 bits": (bmp(32, [np.dstack([SMALL[y:y + 1, :, ::-1], SMALL[y:y + 1, :, :1]]).tobytes() for y in range(5)]), SMALL),
    "16 bits": (bmp(16, [r.astype("<u2").tobytes() for r in FIVE_BITS]), SPREAD),
    "16 bits with masks": (bmp(16, [r.astype("<u2").tobytes() for r in FIVE_BITS], masks=struct.pack("<III", 0x7c00, 0x3e0, 0x1f)), SPREAD),
}


@pytest.mark.parametrize("name", BITMAPS)
def test_bitmaps(run, tmp_path, name):
    data, wanted = BITMAPS[name]
    np.testing.assert_array_equal(decoded(run, tmp_path, data), wanted)


def lines(rows):
    return "\n".join(" ".join(map(str, r)) for r in rows).encode()


GREY = SMALL[..., 0]
BITS = (GREY > 127).astype(np.uint8)
MAPS = {
    "P1": (b"P1 # a comment\n7 5\n" + lines(BITS), (1 - BITS) * 255),
    "P1 without blanks": (b"P1 7 5\n" + b"\n".join("".join(map(str, r)).encode() for r in BITS), (1 - BITS) * 255),
    "P2": (b"P2\n#one\n#two\n7 5 255\n" + lines(GREY), GREY),
    "P3": (b"P3 7 5 255\n" + lines(SMALL.reshape(5, -1)), SMALL),
    "P4": (b"P4 7 5\n" + np.packbits(BITS, axis=1).tobytes(), (1 - BITS) * 255),
    "P5": (b"P5 7 5 255\n" + GREY.tobytes(), GREY),
    "P5 of 16 bits": (b"P5 7 5 65535\n" + (GREY.astype(">u2") * 256 + 255).astype(">u2").tobytes(), GREY),
    "P6": (b"P6 7 5 255\n" + SMALL.tobytes(), SMALL),
}


@pytest.mark.parametrize("name", MAPS)
def test_portable_maps(run, tmp_path, name):
    data, wanted = MAPS[name]
    wanted = wanted if wanted.ndim == 3 else np.repeat(wanted[..., None], 3, 2)
    np.testing.assert_array_equal(decoded(run, tmp_path, data), wanted)


@pytest.mark.parametrize("data", [b"P6 100000 100000 255\n", bmp(24, [b"abc"], width=2**20, height=2**20)])
def test_a_picture_that_claims_much_is_refused(run, tmp_path, data):
    assert "at most 67108864 are read" in decoded(run, tmp_path, data, code=UNSUPPORTED)


@pytest.mark.parametrize("data", [b"", b"BM", b"P6", b"P6 0 0 255 ", b"P6 3 3 0 ", b"GIF89a", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"II*\0"])
def test_what_is_no_picture_is_said(run, tmp_path, data):
    assert "image" in decoded(run, tmp_path, data or b"\0", code=BAD_INPUT)


def damaged(data):
    data = np.asarray(data)
    random = np.random.default_rng(3)
    for length in (3, 20, len(data) // 2, len(data) - 1):
        yield data[:length]
    for _ in range(12):
        copy = data.copy()
        copy[random.integers(0, len(data), 4)] = random.integers(0, 256, 4)
        yield copy
    for at in range(0, min(len(data), 48), 4):
        copy = data.copy()
        copy[at:at + 4] = 255
        yield copy


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_picture_is_no_crash(tenon, tmp_path, name):
    save_model(tmp_path)
    for i, data in enumerate(damaged(file_of(name))):
        np.save(tmp_path / "x.npy", np.ascontiguousarray(data))
        done = subprocess.run([tenon, "run", "model.onnx", "--input", "x=x.npy", "--output", "out.npy"], cwd=tmp_path, capture_output=True,
                              text=True, timeout=60)
        assert done.returncode in (DONE, BAD_INPUT, UNSUPPORTED) and "bug in tenon" not in done.stderr, f"{i}: {done.returncode} {done.stderr}"
