"""The coverage table as a page."""

import collections
from pathlib import Path

HEAD = """# ONNX coverage

Written by `./dev onnx`. Cases are ONNX's own backend tests (`onnx.backend.test`): models of a node or a few with inputs and the
outputs expected of them, compared by the tolerances that the test gives (most: rtol 1e-3, atol 1e-7); outputs in float16 and bfloat16 may differ by two
units in the last place, because the expected ones are rounded after every step. `tenon check` runs each in a process of its own. Inputs that decide sizes or axes (a shape, the axes of a reduction) are given as values of the case, and the
graph holds for these alone ([converter.md](converter.md#onnx-models)). Of "types only" random numbers decide an output, and of that type and
sizes were compared ([random.md](random.md)).
"""
VERDICTS = ("equal", "types only", "refused", "wrong", "crash")


def row(name: str, counts: collections.Counter) -> str:
    return f"| {name} | " + " | ".join(str(counts[v] or "") for v in VERDICTS) + " |"


def write_table(path: Path, records: list[dict]) -> None:
    head = ["| operator | " + " | ".join(VERDICTS) + " |", "| --- |" + " --: |" * len(VERDICTS)]
    lines = [HEAD.rstrip(), "\n## Kinds of tests\n", head[0].replace("operator", "kind"), head[1]]
    by_kind = collections.defaultdict(collections.Counter)
    by_operator = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(collections.Counter)
    for r in records:
        by_kind[r["kind"]][r["verdict"]] += 1
        if r["kind"] == "node":
            by_operator[r["operator"]][r["verdict"]] += 1
        if r["verdict"] == "refused":
            reasons[r["operator"]][r["reason"].removeprefix("the model uses something that Tenon does not support: ")] += 1
    lines += [row(kind, counts) for kind, counts in sorted(by_kind.items())]
    lines += ["\n## Operators of the node tests\n", *head]
    lines += [row(f"`{name}`", counts) for name, counts in sorted(by_operator.items())]
    lines += ["\n## What is refused, and how often\n"] if reasons else []
    for name, texts in sorted(reasons.items()):
        lines.append(f"- `{name}`: " + "; ".join(f"{text} ({n})" for text, n in sorted(texts.items())))
    path.write_text("\n".join(lines) + "\n")
