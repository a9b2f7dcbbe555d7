#!/usr/bin/env python3
"""Compiles kernels with the vendors' compilers, and compares what they take with compiled_kernels.txt.

  build/release/write_gpu_kernels build/gpu_kernels
  python tests/softgpu/compile_gate.py build/gpu_kernels [--update]

Each file NAME.gpu of the folder is a kernel. The exit code is 1 when one does not compile or takes something else, 2 when there is no
compiler.
"""

import argparse
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vendors_compilers import Clang, CompileError, Missing, Nvrtc, Resources

GOLDEN = Path(__file__).with_name("compiled_kernels.txt")
HEAD = """\
# What the vendors' compilers make of the kernels of tests/kernels/gpu_cases.h, written by compile_gate.py --update:
# target, registers of a thread, bytes of its stack, of spills, of shared memory, matrix instructions, kernel.
"""
Key = tuple[str, str]  # kernel and target


def sources(folder: Path) -> dict[str, str]:
    return {f.stem: f.read_text() for f in sorted(folder.glob("*.gpu"))}


def is_for(target: str, text: str) -> bool:
    """A header may name the only targets that it is for: // Compiled for: sm_90a"""
    named = re.findall(r"^// Compiled for: (.+)$", text, re.MULTILINE)
    return all(target in names.split() for names in named)


def compile_all(compiler, kernels: dict[str, str], targets=(), by_turns=False) -> tuple[dict[Key, Resources], list[str]]:
    """What each kernel takes on each target that it is for (default: all), or by turns on one of them, and what does not compile. Equal
    texts are compiled once."""
    targets = targets or compiler.targets
    texts = {text: name for name, text in kernels.items()}
    jobs = []
    for turn, text in enumerate(texts):
        wanted = [target for target in targets if is_for(target, text)]
        jobs += [(text, target) for i, target in enumerate(wanted) if not by_turns or i == turn % len(wanted)]

    def attempt(job):
        try:
            return compiler.compile(*job)
        except CompileError as error:
            return error

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = dict(zip(jobs, pool.map(attempt, jobs)))
    made = {(name, target): done[text, target] for name, text in kernels.items() for target in targets if (text, target) in done}
    errors = [f"{name} for {target}: {e}" for (name, target), e in made.items() if isinstance(e, CompileError)]
    return {key: r for key, r in made.items() if isinstance(r, Resources)}, errors


def line(key: Key, r: Resources) -> str:
    return f"{key[1]:8}{r.registers:4}{r.stack:6}{r.spilled:5}{r.shared:7} {r.matrix:16} {key[0]}"


def read_golden() -> tuple[list[str], dict[Key, Resources]]:
    """The versions of the compilers, and what they made."""
    versions, golden = [], {}
    for text in GOLDEN.read_text().splitlines() if GOLDEN.exists() else []:
        if text.startswith("# compiler: "):
            versions.append(text.removeprefix("# compiler: "))
        elif not text.startswith("#"):
            target, *numbers, matrix, name = text.split(None, 6)
            golden[name, target] = Resources(*map(int, numbers), matrix)
    return versions, golden


def write_golden(versions: list[str], golden: dict[Key, Resources]) -> None:
    lines = [f"# compiler: {v}" for v in sorted(versions)] + [line(key, golden[key]) for key in sorted(golden)]
    GOLDEN.write_text(HEAD + "\n".join(lines) + "\n")


def is_alike(now: Resources, then: Resources) -> bool:
    """Another patch release of a compiler may take a few registers more or less, and lay out a stack otherwise."""
    exact = now.spilled == then.spilled and now.shared == then.shared and now.matrix == then.matrix
    return exact and bool(now.stack) == bool(then.stack) and abs(now.registers - then.registers) <= max(4, then.registers // 10)


def differences(compiler, made: dict[Key, Resources], kernels, only_made=False) -> list[str]:
    """Against the golden table, where it is of this version: of all kernels that there are, or of those that were made alone."""
    versions, golden = read_golden()
    if compiler.version not in versions:
        print(f"compiled_kernels.txt knows {' and '.join(versions)}: nothing is compared with {compiler.version}", file=sys.stderr)
        return []
    golden = {key: r for key, r in golden.items() if key[1] in compiler.targets and not (only_made and key[0] in kernels and key not in made)}
    found = []
    for key in sorted(made | golden):
        if key not in made or key not in golden or not is_alike(made[key], golden[key]):
            found += [f"{sign} {line(key, table[key])}" for sign, table in (("-", golden), ("+", made)) if key in table]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--update", action="store_true", help="write what the kernels take now to compiled_kernels.txt")
    arguments = parser.parse_args()
    kernels, compilers, failed = sources(arguments.folder), [], False
    if not kernels:
        parser.error(f"{arguments.folder} has no *.gpu")
    for make in Nvrtc, Clang:
        try:
            compilers.append(make())
        except Missing as missing:
            print(missing, file=sys.stderr)
    for compiler in compilers:
        made, errors = compile_all(compiler, kernels)
        if arguments.update and not errors:
            versions, golden = read_golden()
            kept = {key: r for key, r in golden.items() if key[1] not in compiler.targets}
            family = compiler.version.split()[0]
            write_golden([v for v in versions if not v.startswith(family)] + [compiler.version], kept | made)
        changed = differences(compiler, made, kernels)
        for target in compiler.targets:
            wanted = sum(is_for(target, text) for text in kernels.values())
            print(f"{target:8} {sum(key[1] == target for key in made)} of {wanted} kernels compile")
        print(*errors[:3], *changed, sep="\n", end="\n" if errors or changed else "")
        failed = failed or bool(errors or changed)
    return 1 if failed else 0 if compilers else 2


if __name__ == "__main__":
    sys.exit(main())
