"""Runs ONNX's node cases at older operator sets: versions.py [PATTERN] [--each N] [--verbose].

Every version of every operator that a case's node fits, as its schema says, is run by Tenon and by ONNX Runtime (by ONNX's
reference where that has no kernel). Prints what differs, and the versions that no case fits. The exit code is 1 when a number differs
or Tenon crashes. Example: versions.py Softmax --verbose
"""

import argparse
import collections
import fnmatch
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator

ROOT = Path(__file__).resolve().parents[2]
# Their numbers are random, or they name nothing that is computed.
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Dropout"}


def versions():
    """(domain, name) -> schemas by version, without deprecated ones."""
    out = collections.defaultdict(dict)
    for s in onnx.defs.get_all_schemas_with_history():
        if not s.deprecated:
            out[s.domain, s.name][s.since_version] = s
    return out


def restated(model, schema):
    """The model at the first operator set that has the schema; None when the checker says that it does not fit."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.opset_import[:]
    copy.opset_import.append(onnx.helper.make_opsetid(schema.domain, schema.since_version))
    copy.ir_version = min(copy.ir_version, 10)
    try:
        onnx.checker.check_model(copy, full_check=True)
    except Exception:
        return None
    return copy


def plain_inputs(test):
    """Arrays by name; None when one is a sequence or absent."""
    if not test.data_sets:
        return None
    inputs = test.data_sets[0][0]
    arrays = [numpy_helper.to_array(i) if isinstance(i, TensorProto) else i for i in inputs]
    if any(isinstance(a, (list, type(None))) for a in arrays):
        return None
    return {v.name: np.asarray(a) for v, a in zip(test.model.graph.input, arrays)}


def expected(model, feeds):
    """The outputs by name, and who says so; None when nobody runs it."""
    names = [v.name for v in model.graph.output]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        return dict(zip(names, session.run(None, feeds))), "ONNX Runtime"
    except Exception:
        pass
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return dict(zip(names, ReferenceEvaluator(model).run(None, feeds))), "the reference"
    except Exception:
        return None, ""


def verdict_of(tenon, model, feeds, folder):
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    command = [tenon, "run", folder / "model.onnx", "--output", folder / "out.npz"]
    for i, (name, array) in enumerate(feeds.items()):
        np.save(folder / f"{i}.npy", array)
        command += ["--input", f"{name}={folder / f'{i}.npy'}"]
    (folder / "out.npz").unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    said = " ".join((done.stderr or done.stdout).split())[:200]
    if done.returncode:
        return ("refused" if done.returncode in (2, 3) and "bug in tenon" not in said else "crash"), said
    wanted, judge = expected(model, feeds)
    if wanted is None:
        return "unjudged", ""
    given = np.load(folder / "out.npz")
    for name, peer in wanted.items():
        if isinstance(peer, list):  # of a sequence
            continue
        peer = np.asarray(peer)
        value = given[name]
        if peer.dtype.kind in "OUS":
            fine = value.astype(str).tolist() == peer.astype(str).tolist()
        else:
            wide = np.complex128 if peer.dtype.kind == "c" else np.float64
            fine = value.shape == peer.shape and np.allclose(value.astype(wide), peer.astype(wide), rtol=2e-3, atol=1e-5, equal_nan=True)
        if not fine:
            return "wrong", f"{name} is not what {judge} gives"
    return "equal", ""


def measure(tenon, pattern="*", each=1):
    """Verdicts by operator and version; those that no case fits are "no case"."""
    cases = collections.defaultdict(list)
    for test in load_model_tests(kind="node"):
        nodes = test.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type not in RANDOM:
            cases["" if nodes[0].domain == "ai.onnx" else nodes[0].domain, nodes[0].op_type].append(test)
    records = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for (domain, name), schemas in sorted(versions().items()):
            if not fnmatch.fnmatch(name, pattern):
                continue
            for version, schema in sorted(schemas.items()):
                fitting = 0
                for test in cases[domain, name]:
                    if fitting == each:
                        break
                    feeds, model = plain_inputs(test), None
                    if feeds is not None:
                        model = restated(test.model, schema)
                    if model is None or any(a.dtype.name not in np.sctypeDict for a in feeds.values()):
                        continue
                    fitting += 1
                    verdict, reason = verdict_of(tenon, model, feeds, folder)
                    records.append({"operator": f"{domain}.{name}".strip("."), "version": version, "case": test.name, "verdict": verdict, "reason": reason})
                if not fitting:
                    records.append({"operator": f"{domain}.{name}".strip("."), "version": version, "case": "", "verdict": "no case", "reason": ""})
    return records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pattern", nargs="?", default="*", help="operators, as in 'Reduce*' (default: all)")
    parser.add_argument("--each", type=int, default=1, help="cases of every version (default: 1)")
    parser.add_argument("--verbose", action="store_true", help="print every version that is not equal")
    options = parser.parse_args()
    tenon = Path(os.environ.get("TENON", ROOT / "build/release/tenon"))
    records = measure(tenon, options.pattern, options.each)
    for r in records:
        if r["verdict"] in ("wrong", "crash") or options.verbose and r["verdict"] != "equal":
            print(f"{r['verdict']}: {r['operator']}-{r['version']} {r['case']}: {r['reason']}")
    for verdict, count in collections.Counter(r["verdict"] for r in records).most_common():
        print(f"{count} {verdict}")
    return 1 if any(r["verdict"] in ("wrong", "crash") for r in records) else 0


if __name__ == "__main__":
    sys.exit(main())
