"""One float32, one int64 and one complex64 sample of every operator in PyTorch's database: equal to PyTorch or refused, never wrong. The whole
is ./dev opinfo."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "opinfo"))


def test_no_operator_gives_a_wrong_result(tenon):
    import torch
    from opinfo import measure_all  # takes seconds: PyTorch's database

    records = measure_all(tenon, "pt", "*", limit=1, jobs=2, dtypes=(torch.float32, torch.int64, torch.complex64))
    amiss = [r for r in records if r["verdict"] in ("wrong", "crash")]
    assert not amiss, "\n".join(f"{r['verdict']} {r['operator']} {r['dtype']} ({r['arguments']}): {r['reason']}" for r in amiss)
    verdicts = [r["verdict"] for r in records if r["family"] == "main"]
    assert verdicts.count("refused") < 0.05 * len(verdicts)


def test_operators_of_exported_programs_alone(tenon):
    """PyTorch's own operators outside of ATen, and sizes that only assertions read: in archives of torch.export."""
    import torch
    from opinfo import measure_all

    for pattern in ("nn.functional.linear_cross_entropy.*", "tensor_split"):
        records = measure_all(tenon, "pt2", pattern, limit=2, jobs=1, dtypes=(torch.float32,))
        assert records and {r["verdict"] for r in records} == {"equal"}, records
