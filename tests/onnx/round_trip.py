"""Reads ONNX's own backend tests, writes them as ONNX again and runs that: round_trip.py [PATTERN] [--kind node] [--verbose].

What Tenon writes must pass onnx.checker and give the expected outputs in ONNX Runtime, or in ONNX's reference where ONNX
Runtime has no kernel. The exit code is 1 when something is wrong. Example: round_trip.py 'test_resize*' --verbose
"""

import argparse
import collections
import ctypes
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from backend_cases import KINDS, Case, write_cases

ROOT = Path(__file__).resolve().parents[2]
UNREAD, REFUSED = "not read", "refused"
GOOD = ("equal", "equal in the reference", REFUSED, UNREAD)
# A softmax of 1000 equal logits of 1e10: a last bit of theirs, which ONNX Runtime's optimised kernels differ in, is 1024.
AS_WRITTEN = ("test_squeezenet",)
NO_KERNEL = ("NOT_IMPLEMENTED", "is not a registered function/op", "Could not find an implementation")


def files(case: Case, kind: str) -> dict[str, Path]:
    """The data by the names that the model has, or else gives in this order."""
    found = sorted(case.folder.glob(f"test_data_set_0/{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    graph = onnx.load(case.folder / "model.onnx").graph
    weights = {t.name for t in graph.initializer}
    names = [v.name for v in getattr(graph, kind) if v.name not in weights]
    return {onnx.load_tensor(f).name or names[i]: f for i, f in enumerate(found)}


def tensors(case: Case, kind: str) -> dict[str, np.ndarray]:
    return {name: numpy_helper.to_array(onnx.load_tensor(f)) for name, f in files(case, kind).items()}


def array(value) -> np.ndarray:
    """NumPy has no bfloat16 of its own."""
    if value.element_type() != onnx.TensorProto.BFLOAT16:
        return value.numpy()
    bits = (ctypes.c_uint16 * math.prod(value.shape())).from_address(value.data_ptr())
    return np.array(bits, np.uint16).view(ml_dtypes.bfloat16).reshape(value.shape())


def given(session, inputs: dict[str, np.ndarray]) -> dict:
    """The inputs as the written model declares them; types of few bits are held in wider ones."""
    out = {}
    for i in session.get_inputs():
        value = inputs[i.name]
        if i.type == "tensor(bfloat16)":
            bits = np.ascontiguousarray(value).view(np.uint16)
            out[i.name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
        else:
            name = i.type.removeprefix("tensor(").removesuffix(")")
            dtype = np.dtype({"float": "float32", "double": "float64", "float16": "float16"}.get(name, name))
            out[i.name] = value.astype(dtype)
    return out


def run_written(path: Path, inputs: dict[str, np.ndarray], optimised: bool) -> tuple[list, str]:
    """The outputs, and which of the two gave them."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return [array(o) for o in session.run_with_ort_values(None, {
            k: v if isinstance(v, onnxruntime.OrtValue) else onnxruntime.OrtValue.ortvalue_from_numpy(v)
            for k, v in given(session, inputs).items()})], "equal"
    except Exception as e:
        if not any(words in str(e) for words in NO_KERNEL):
            raise
    reference = ReferenceEvaluator(str(path))
    types = {i.name: onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in onnx.load(path).graph.input}
    return reference.run(None, {k: inputs[k].astype(t) for k, t in types.items()}), "equal in the reference"


def difference(got: list, expected: dict[str, np.ndarray], rtol: float, atol: float) -> str:
    if len(got) != len(expected):
        return f"{len(got)} outputs, not {len(expected)}"
    for value, (name, wanted) in zip(got, expected.items()):
        if wanted.dtype.kind in "OUS":
            return f"{name} is text"
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        try:
            np.testing.assert_allclose(np.asarray(value).astype(wide), wanted.astype(wide), rtol=rtol, atol=atol)
        except AssertionError as e:
            return f"{name}: " + " ".join(str(e).split())[:200]
    return ""


def verdict_of(tenon: Path, case: Case) -> tuple[str, str]:
    written = case.folder / "written.onnx"
    options = [o for name, f in files(case, "input").items() for o in ("--input", f"{name}={f}")]
    command = [tenon, "convert", case.folder / "model.onnx", "-o", written, "--no-verify", *options]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = (done.stdout + done.stderr).strip()
    if done.returncode:
        is_ours = "ONNX cannot hold the model" in said
        return (REFUSED if is_ours else UNREAD) if done.returncode in (2, 3) else "crash", said
    limits = dict(line.split(" = ") for line in (case.folder / "case.toml").read_text().splitlines())
    try:
        onnx.checker.check_model(written, full_check=True)
    except Exception as e:
        return "invalid", str(e)[:300]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, verdict = run_written(written, tensors(case, "input"), case.name not in AS_WRITTEN)
    except Exception as e:
        return "does not run", str(e)[:300]
    wrong = difference(got, tensors(case, "output"), float(limits["rtol"]), float(limits["atol"]))
    return ("wrong", wrong) if wrong else (verdict, "")


def measure(tenon: Path, pattern: str = "*", kinds=KINDS, jobs: int = 1) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(jobs) as pool:
        cases = write_cases(Path(folder), kinds, pattern)
        verdicts = pool.map(verdict_of, [tenon] * len(cases), cases, chunksize=8)
        return [{"case": c.name, "kind": c.kind, "operator": c.operator, "verdict": v, "reason": r}
                for c, (v, r) in zip(cases, verdicts)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="*", help="cases, as in 'test_resize*' (default: all)")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all kinds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="write every verdict here")
    parser.add_argument("--verbose", action="store_true", help="print the cases that are refused, too")
    options = parser.parse_args()
    tenon = Path(os.environ.get("TENON", ROOT / "build/release/tenon"))
    records = measure(tenon, options.pattern, options.kind or KINDS, options.jobs)
    for r in records:
        if r["verdict"] not in GOOD or options.verbose and r["verdict"] == REFUSED:
            print(f"{r['verdict']}: {r['case']}: {r['reason']}")
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    for verdict, count in collections.Counter(r["verdict"] for r in records).most_common():
        print(f"{count} {verdict}")
    return 1 if any(r["verdict"] not in GOOD for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
