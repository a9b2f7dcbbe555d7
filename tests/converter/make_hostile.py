"""Writes damaged and hostile TorchScript files: make_hostile.py FOLDER."""

import io
import struct
import sys
import zipfile
from pathlib import Path
from typing import Tuple

import torch
from torch import Tensor, nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.linear(x))


class RunsOnLoad(nn.Module):
    """Its __setstate__ would loop for ever while LibTorch loads it."""

    def __init__(self):
        super().__init__()
        self.w = torch.ones(3)

    @torch.jit.export
    def __getstate__(self):
        return self.w, self.training

    @torch.jit.export
    def __setstate__(self, state: Tuple[Tensor, bool]):
        self.w = state[0]
        self.training = state[1]
        while True:
            self.w = self.w + 1

    def forward(self, x):
        return x + self.w


def saved(module: nn.Module) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module.eval()), buffer)
    return buffer.getvalue()


class Archive:
    """The entries of a good file, for writing it again with one of them changed."""

    def __init__(self, content: bytes, folder: Path):
        archive = zipfile.ZipFile(io.BytesIO(content))
        self.entries = {info.filename: archive.read(info) for info in archive.infolist()}
        self.folder = folder

    def write(self, name: str, suffix: str = "", change=None, compression=zipfile.ZIP_STORED, rename=None, twice=False):
        """`rename` gives the target another name; `twice` keeps it under its own as well."""
        with zipfile.ZipFile(self.folder / name, "w") as out:
            for entry, data in self.entries.items():
                is_target = bool(suffix) and entry.endswith(suffix)
                if not is_target or twice:
                    out.writestr(entry, data)
                if is_target:
                    out.writestr(rename(entry) if rename else entry, change(data) if change else data, compress_type=compression)


def nested(opening: str):
    return lambda code: code.replace(b"return ", b"return " + opening.encode() * 100_000)


def write_code_that_runs_on_load(folder: Path):
    """The same __setstate__ in every spelling that LibTorch's lexer and archive reader may take for it."""
    archive = Archive((folder / "setstate.pt").read_bytes(), folder)
    code = next(e for e in archive.entries if e.endswith(".py") and b"__setstate__" in archive.entries[e])
    for name, between in {"newline": b" \\\n", "form_feed": b"\f", "vertical_tab": b"\v", "return": b"\r", "tab": b"\t",
                          "comment": b" \\\n# type: no\n"}.items():  # fmt: skip
        archive.write(f"setstate_{name}.pt", code, lambda c: c.replace(b"def __setstate__", b"def" + between + b"__setstate__"))
    archive.write("setstate_upper_py.pt", code, rename=lambda e: e[:-3] + ".PY")
    archive.write("setstate_upper_folder.pt", code, rename=lambda e: e.replace("/code/", "/CODE/"))
    harmless = archive.entries[code].replace(b"__setstate__", b"__set_state_")
    archive.write("setstate_behind_its_twin.pt", code, rename=lambda e: e[:-3] + ".Py", change=lambda c: harmless, twice=True)


def write_all(folder: Path):
    torch.manual_seed(0)
    good = saved(Small())
    for percent in (10, 50, 90, 99):
        (folder / f"cut_{percent}.pt").write_bytes(good[: len(good) * percent // 100])
    (folder / "zip_header_only.pt").write_bytes(b"PK\x03\x04" + b"\x5a" * 5000)
    (folder / "setstate.pt").write_bytes(saved(RunsOnLoad()))
    write_code_that_runs_on_load(folder)

    archive = Archive(good, folder)
    archive.write("rezipped.pt")  # harmless: must still load
    pickle = "/data.pkl"
    code = next(e for e in archive.entries if e.endswith(".py") and b"class Small" in archive.entries[e])
    archive.write("deep_parens.pt", code, nested("("))
    archive.write("deep_upper_py.pt", code, nested("("), rename=lambda e: e[:-3] + ".PY")
    archive.write("deep_calls.pt", code, nested("torch.relu("))
    archive.write("deep_lists.pt", code, nested("["))
    archive.write("deep_minus.pt", code, nested("-"))
    archive.write("deep_indent.pt", code, lambda c: c + b"\n" + b" " * 20_000 + b"pass\n")
    # Nothing nests here, but LibTorch recurses over the terms and overflows its stack.
    archive.write("long_sum.pt", code, lambda c: c.replace(b"return ", b"return x" + b"+x" * 1_000_000 + b" #"))
    archive.write("bad_syntax.pt", code, lambda c: c + b"\n  def f(:")
    archive.write("bad_utf8.pt", code, lambda c: c.replace(b"return", b"\xff\xfe return"))
    archive.write("no_such_op.pt", code, lambda c: c.replace(b"torch.relu", b"torch.relo"))
    archive.write("recursion.pt", code, lambda c: c.replace(b"return ", b"return (self).forward(x, ) #"))
    archive.write("code_bomb.pt", code, lambda c: c + b"#" + b"a" * (64 << 20), zipfile.ZIP_DEFLATED)

    archive.write("pickle_deep_tuples.pt", pickle, lambda p: b"\x80\x02K\x01" + b"\x85" * 200_000 + b".")
    archive.write("pickle_marks.pt", pickle, lambda p: b"\x80\x02" + b"(" * 300_000 + b".")
    archive.write("pickle_os_system.pt", pickle, lambda p: b"\x80\x02cos\nsystem\nX\x0b\x00\x00\x00touch PWNED\x85R.")
    archive.write("pickle_long_string.pt", pickle, lambda p: b"\x80\x02X\xff\xff\xff\x7f.")
    archive.write("pickle_empty.pt", pickle, lambda p: b"")
    archive.write("pickle_int.pt", pickle, lambda p: b"\x80\x02K\x01.")
    # 600 kB of a file: what the pickle makes is kept beside it, or on the stack.
    for name, opcode in {"memo": b"\x94", "stack": b"N", "marks": b"("}.items():
        archive.write(f"pickle_many_{name}.pt", pickle, lambda p: b"\x80\x04N" + opcode * 15_000_000, zipfile.ZIP_DEFLATED)
    archive.write("pickle_large_key.pt", pickle, lambda p: b"\x80\x02Nr\xff\xff\xff\x0f.")
    archive.write("pickle_bomb.pt", pickle, lambda p: p + b"\0" * (64 << 20), zipfile.ZIP_DEFLATED)
    # A tensor of 2^28 x 4 elements over 64 bytes, and a negative size.
    sizes = b"K\x04K\x04t"
    assert sizes in archive.entries[next(e for e in archive.entries if e.endswith(pickle))]
    archive.write("tensor_too_large.pt", pickle, lambda p: p.replace(sizes, b"J\x00\x00\x00\x10K\x04t", 1))
    archive.write("tensor_negative.pt", pickle, lambda p: p.replace(sizes, b"J\xff\xff\xff\xffK\x04t", 1))

    archive.write("short_storage.pt", "/data/0", lambda d: d[:4])
    archive.write("empty_storage.pt", "/data/0", lambda d: b"")
    archive.write("compressed_storage.pt", "/data/0", lambda d: d, zipfile.ZIP_DEFLATED)
    archive.write("big_endian.pt", "/byteorder", lambda d: b"big")
    archive.write("future_version.pt", "/version", lambda d: b"9999\n")
    archive.write("no_version.pt", "/version", lambda d: b"")

    # A storage record of 32 bytes whose tensor claims 2 GB.
    claim = struct.pack("<i", 0x20000000)
    assert b"K\x10tQ" in archive.entries[next(e for e in archive.entries if e.endswith(pickle))]
    archive.write("lying_storage.pt", pickle, lambda p: p.replace(b"K\x10tQ", b"J" + claim + b"tQ", 1))

    # Two entries that share the same bytes, and one name twice.
    overlap = bytearray((folder / "rezipped.pt").read_bytes())
    first, second = overlap.find(b"PK\x01\x02"), overlap.find(b"PK\x01\x02", overlap.find(b"PK\x01\x02") + 4)
    overlap[second + 42 : second + 46] = overlap[first + 42 : first + 46]
    (folder / "overlapping.pt").write_bytes(overlap)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_all(target)
