#!/usr/bin/env python3
"""Compiles the kernels of models with the vendors' compilers, which need no GPU: NVRTC (PyPI: nvidia-cuda-nvrtc) and clang++-19 for AMD.

  python tests/softgpu/vendors_compilers.py build/models/tiny/*/model.pt

Each model runs on the soft GPU, whose compiler keeps the sources it is given. The exit code is 1 when one does not compile, 2 when there
is no compiler.
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NVIDIA = ["sm_80", "sm_90a", "sm_100a"]
AMD = ["gfx90a", "gfx942", "gfx1100"]


def sources(tenon: Path, models: list[Path]) -> list[str]:
    """The text of every kernel that the models' plans start, each once."""
    found: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "LD_LIBRARY_PATH": str(tenon.parent / "softgpu"),
            "XDG_CACHE_HOME": folder,
            "SOFTGPU_CACHE": "",
            "SOFTGPU_KEEP": "1",
            "TMPDIR": folder,
        }
        for model in models:
            command = [tenon, "run", model, "--device", "cuda", "--fallback", "cpu"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | environment)
        for file in Path(folder).glob("softgpu-compile-*/kernels.cpp"):
            text = file.read_text().split('#line 1 "tenon_kernels"\n')[1].split('#line 1 "softgpu_table"')[0]
            found[text] = None
    return list(found)


class Nvrtc:
    def __init__(self):
        folder = next(Path(p) / "nvidia" for p in sys.path if (Path(p) / "nvidia").is_dir())
        for builtins in folder.glob("*/lib/libnvrtc-builtins.so.1*"):
            ctypes.CDLL(str(builtins))
        self.library = ctypes.CDLL(str(next(folder.glob("*/lib/libnvrtc.so.1*"))))

    def error(self, source: str, architecture: str) -> str:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels", 0, None, None)
        options = (ctypes.c_char_p * 2)(b"--std=c++17", f"--gpu-architecture={architecture}".encode())
        status = self.library.nvrtcCompileProgram(program, 2, options)
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return log.value.decode() if status else ""


class Clang:
    """To LLVM's bitcode: what hipRTC declares beyond the language stands in hip_declarations.h."""

    def __init__(self):
        self.program = shutil.which("clang++-19")
        if not self.program:
            raise StopIteration

    def error(self, source: str, architecture: str) -> str:
        header = Path(__file__).with_name("hip_declarations.h")
        command = [self.program, "-x", "hip", f"--offload-arch={architecture}", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc"]
        command += ["-nogpulib", "-std=c++17", "-O3", "-c", "-emit-llvm", "-include", header, "-o", os.devnull, "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        return done.stderr if done.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/tenon")
    arguments = parser.parse_args()
    compilers = []
    for make, architectures in (Nvrtc, NVIDIA), (Clang, AMD):
        try:
            compilers.append((make(), architectures))
        except StopIteration:
            print(f"without {make.__name__}: it is not there", file=sys.stderr)
    if not compilers:
        return 2
    kernels, failed = sources(arguments.tenon, arguments.models), 0
    for compiler, architectures in compilers:
        for architecture in architectures:
            errors = [e for e in (compiler.error(k, architecture) for k in kernels) if e]
            failed += len(errors)
            print(f"{architecture:8} {len(kernels) - len(errors)} of {len(kernels)} kernels compile")
            print("".join(errors[:1]), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
