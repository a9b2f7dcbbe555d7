"""The vendors' compilers, which need no GPU: NVRTC (PyPI: nvidia-cuda-nvrtc), and clang for AMD (Debian: clang-19, rocm-device-libs)."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Resources:
    """What a kernel takes: registers of a thread (NVIDIA: all, AMD: vector registers), bytes of its stack and of what was spilled to
    it, static shared memory of a block; the matrix instructions there are, "-" for none. Of a text with several kernels each number
    is that of the kernel which takes most."""

    registers: int
    stack: int
    spilled: int
    shared: int
    matrix: str


class CompileError(Exception):
    pass


class Missing(Exception):
    """A compiler that this machine lacks."""


class Nvrtc:
    targets = ("sm_80", "sm_90a", "sm_100a")
    matrix = re.compile(r"\b(mma\.sync|wgmma\.mma_async|tcgen05\.mma)\b")

    def __init__(self):
        found = [f for p in sys.path for f in Path(p).glob("nvidia/*/lib/libnvrtc.so.1*")]
        if not found:
            raise Missing("NVRTC is not there: pip install nvidia-cuda-nvrtc")
        for builtins in found[0].parent.glob("libnvrtc-builtins.so.1*"):
            ctypes.CDLL(str(builtins))
        self.library = ctypes.CDLL(str(found[0]))
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"nvrtc {major.value}.{minor.value}"

    def text(self, program, what: str) -> str:
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode()

    def compile(self, source: str, target: str) -> Resources:
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels", 0, None, None)
        options = [b"--std=c++17", f"--gpu-architecture={target}".encode(), b"--ptxas-options=-v", b"-w"]
        status = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log, ptx = self.text(program, "ProgramLog"), self.text(program, "PTX") if status == 0 else ""
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        if status or "wgmma.mma_async instructions are serialized" in log:  # a warning; the kernel would be slow
            raise CompileError(log)

        def number(pattern: str) -> int:
            return max(map(int, re.findall(pattern, log)), default=0)

        return Resources(number(r"Used (\d+) registers"), number(r"(\d+) bytes stack frame"), number(r"(\d+) bytes spill stores"),
                         number(r"(\d+) bytes smem"), names(self.matrix, ptx))  # fmt: skip


class Clang:
    """What hipRTC declares beyond the language stands in hip_declarations.h."""

    targets = ("gfx90a", "gfx942", "gfx1100")
    matrix = re.compile(r"\b(v_s?mfma|v_wmma)_")

    def __init__(self):
        self.program = shutil.which("clang++-19")
        if not self.program:
            raise Missing("clang++-19 is not there (Debian: clang-19)")
        folders = [*map(Path, filter(None, [os.environ.get("HIP_DEVICE_LIB_PATH")])), *Path("/usr/lib").glob("*/amdgcn/bitcode")]
        self.libraries = next((f for f in folders if (f / "ocml.bc").exists()), None)
        if not self.libraries:
            raise Missing("AMD's device libraries are not there (Debian: rocm-device-libs)")
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout
        self.version = "clang " + re.search(r"version (\d+\.\d+)", said)[1]

    def bitcode(self, target: str) -> list[str]:
        """The device's library. Its versions that are older than a target know that target's predecessor."""
        wave64 = "on" if target.startswith("gfx9") else "off"
        older = {"gfx942": "940", "gfx1100": "1036"}
        version = target.removeprefix("gfx")
        if not (self.libraries / f"oclc_isa_version_{version}.bc").exists():
            version = older[target]
        switches = ["finite_only_off", "unsafe_math_off", "daz_opt_off", "correctly_rounded_sqrt_on", f"wavefrontsize64_{wave64}",
                    f"isa_version_{version}", "abi_version_500"]  # fmt: skip
        names = ["ocml", "ockl", *(f"oclc_{s}" for s in switches)]
        return [word for n in names for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(self.libraries / f"{n}.bc"))]

    def compile(self, source: str, target: str) -> Resources:
        header = Path(__file__).with_name("hip_declarations.h")
        command = [self.program, "-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "--no-gpu-bundle-output", "-nogpuinc",
                   "-nogpulib", "-std=c++17", "-O3", "-ffp-contract=fast", "-w", "-S", "-include", header, *self.bitcode(target),
                   "-o", "-", "-"]  # fmt: skip
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        if done.returncode:
            raise CompileError(done.stderr)

        def numbers(field: str) -> list[int]:
            return [int(n) for n in re.findall(rf"^ +\.{field}: +(\d+)$", done.stdout, re.MULTILINE)]

        spills = zip(numbers("vgpr_spill_count"), numbers("sgpr_spill_count"))
        return Resources(max(numbers("vgpr_count")), max(numbers("private_segment_fixed_size")), 4 * max(map(sum, spills)),
                         max(numbers("group_segment_fixed_size")), names(self.matrix, done.stdout))  # fmt: skip


def names(instructions: re.Pattern, assembly: str) -> str:
    return ",".join(sorted(set(instructions.findall(assembly)))) or "-"
