"""The coverage table as a page."""

import collections
from pathlib import Path

from verdict import Kind

HEAD = """# Operator coverage

Written by `./dev opinfo`. Cases are sample inputs of PyTorch's own operator database (`op_db`), up to 8 for float32 and 4 for
each of int64, bool, float16, bfloat16, float64 and complex64 where the operator has them. Every case is traced, converted and run by `tenon`, and
compared with eager PyTorch by the tolerances of `torch.testing.assert_close`; integers, bools, NaN, dtypes and shapes are to be
equal, and so is the sign of a zero of pointwise operators. Floats beyond the tolerance count as equal when their largest error against the
result in float64 (for float64 itself: of NumPy or SciPy) is at most twice PyTorch's own, or four units in the last place of a 16-bit
float. Where PyTorch leaves open which of equal values comes first (sort, topk), the values are compared, not their places; of singular
vectors and eigenvectors, what they multiply to. Errors of complex
results are distances in the plane. What PyTorch itself cannot export
is not counted. Random operators and those that take sparse tensors are left out.
"""
KINDS = (Kind.EQUAL, Kind.REFUSED, Kind.WRONG, Kind.CRASH, Kind.NOT_EXPORTABLE)


def row(name: str, counts: collections.Counter) -> str:
    counted = sum(counts[k.value] for k in KINDS[:-1])
    share = f"{100 * counts[Kind.EQUAL.value] / counted:.1f} %" if counted else ""
    return f"| {name} | " + " | ".join(str(counts[k.value] or "") for k in KINDS) + f" | {share} |"


def section(title: str, records: list[dict]) -> list[str]:
    by_operator = collections.defaultdict(collections.Counter)
    total = collections.Counter()
    reasons = collections.defaultdict(set)
    for r in records:
        by_operator[r["operator"]][r["verdict"]] += 1
        total[r["verdict"]] += 1
        if r["verdict"] == Kind.REFUSED:
            reasons[r["operator"]].add(r["reason"].splitlines()[0].removeprefix("error: "))
    lines = [f"\n## {title}\n", "| operator | equal | refused | wrong | crash | not exportable | of those counted |",
             "| --- | --: | --: | --: | --: | --: | --: |", row(f"**all {len(by_operator)}**", total)]  # fmt: skip
    lines += [row(f"`{name}`", counts) for name, counts in sorted(by_operator.items())]
    lines += [f"\n### What is refused: {title}\n"]
    lines += [f"- `{name}`: {'; '.join(sorted(texts))}" for name, texts in sorted(reasons.items())]
    return lines


def write_table(path: Path, records: list[dict]) -> None:
    lines = [HEAD.rstrip()]
    lines += section("Operators", [r for r in records if r["family"] == "main"])
    lines += section("Linear algebra and Fourier transforms", [r for r in records if r["family"] == "linalg"])
    lines += section("Complex numbers", [r for r in records if r["family"] == "complex"])
    path.write_text("\n".join(lines) + "\n")
