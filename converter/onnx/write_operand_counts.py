#!/usr/bin/env python3
"""Writes operand_counts.txt anew: which operands ONNX's operators and those of com.microsoft take, by operator set, as onnx and ONNX Runtime list them.

A line is "Name since operands": r for each that is required, o for each that is optional, * when any number may follow. A version that
takes what the one before it takes has no line.
"""

from pathlib import Path

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime

OUT = Path(__file__).with_name("operand_counts.txt")
ANY = 2**31 - 1


def operands(schema) -> str:
    of_kind = {"Single": "r", "Optional": "o", "Variadic": ""}
    text = "".join(of_kind[str(i.option).split(".")[-1]] for i in schema.inputs)
    return text if schema.max_input != ANY else text.ljust(schema.min_input, "r") + "*"


def counts() -> str:
    listed = onnx.defs.get_all_schemas_with_history()
    listed += [s for s in onnxruntime.get_all_operator_schema() if s.domain == "com.microsoft"]
    by_name = {}
    for s in listed:
        by_name.setdefault(f"{s.domain}.{s.name}" if s.domain else s.name, {})[s.since_version] = operands(s)
    lines = []
    for name, versions in sorted(by_name.items()):
        last = None
        for version, text in sorted(versions.items()):
            if text != last:
                lines.append(f"{name} {version} {text}\n")
            last = text
    return "".join(lines)


if __name__ == "__main__":
    OUT.write_text(counts())
    print(f"{OUT}: {OUT.read_text().count(chr(10))} lines of onnx {onnx.__version__}")
