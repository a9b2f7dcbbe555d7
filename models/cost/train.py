#!/usr/bin/env python3
"""Trains the cost model on records and writes it as a flat table: python models/cost/train.py RECORDS... -o runtime/cost/model.json

Needs lightgbm and numpy. A file of records is one model (collect.py names it NAME@ISA@THREADS.jsonl). Errors are those of
models whose whole family was left out of training (--folds parts); they, and the intervals, are written into the table.
"""

import argparse
import collections
import hashlib
import json
import re
import sys
from pathlib import Path

import lightgbm
import numpy as np

TREES, LEAVES, FOLDS = 150, 15, 6
COVERED = 30  # records of a kernel from which its trees count
ADDITIVE = 12  # and its additive form
COVERAGE = 0.9
FAMILIES = [
    ("residual", r"resnet|resnext|res2net|skresnet|dla|vovnet|cspres|densenet|nfnet|r3d|r2plus|hgnet|repvgg|vgg|alexnet|inception_v3|googlenet"),
    ("mobile", r"mobile|efficient|mnas|regnet|ghost|hardcore|lcnet|tinynet|squeeze|shuffle"),
    ("modern convolution", r"convnext|edgenext|fastvit|poolformer|inception_next"),
    ("vision transformer", r"vit|deit|beit|dinov|clip|siglip|mixer|gmlp|resmlp|xcit|coat|pit|levit|mvit|swin|maxvit|dpt|detr"),
    ("segmentation", r"fcn|deeplab|lraspp|unet|raft|segformer|mask"),
    ("encoder", r"bert|electra|mpnet|minilm|deberta|funnel|canine|longformer|bigbird|fnet|nystrom|squeezebert|perceiver|xlm|xlnet"),
    ("decoder", r"gpt|llama|mistral|mixtral|qwen|phi|gemma|opt|bloom|falcon|neox|olmo|mamba|rwkv|cohere|stablelm|granite|deepseek"),
    ("encoder-decoder", r"t5|bart|pegasus|marian|m2m|whisper|speech"),
    ("audio", r"wav2vec|hubert|wavlm|audio|silero|encodec|sew"),
]


def family_of(name: str) -> str:
    return next((family for family, pattern in FAMILIES if re.search(pattern, name)), name)


class Data:
    """Equal steps of a run are one row, of their median time."""

    def __init__(self, files: list[Path]):
        self.rows, self.runs = [], []
        for file in sorted(files):
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            name = re.sub(r"-\d+$", "", file.stem.split("@")[0])  # of any size one model
            for line in lines:
                if line["kind"] == "run":
                    self.runs.append({"name": name, "family": family_of(name), "ms": line["median_ms"], "tag": file.stem.split("@", 1)[1]})
                    self.seen = {}
                    continue
                key, run = line["key"], len(self.runs) - 1
                if key in self.seen:
                    self.seen[key]["samples"].append(line["median_ms"])
                    continue
                self.seen[key] = {"run": run, "kernel": line["candidate"]["family"], "features": line["features"], "samples": [line["median_ms"]]}
                self.rows.append(self.seen[key])
        self.names = list(self.rows[0]["features"])
        self.x = np.array([[row["features"][n] for n in self.names] for row in self.rows])
        self.ms = np.maximum([float(np.median(row["samples"])) for row in self.rows], 2e-5)
        self.count = np.array([len(row["samples"]) for row in self.rows])
        self.run = np.array([row["run"] for row in self.rows])
        self.kernel = np.array([row["kernel"] for row in self.rows])
        self.family = np.array([self.runs[r]["family"] for r in self.run])

    def column(self, name):
        return self.x[:, self.names.index(name)]


def terms(d: Data, rows) -> np.ndarray:
    """Of the additive form: a step, its arithmetic, operands, constants and elements (ms each at the roofline)."""
    columns = [d.column(n)[rows] for n in ("step_ms", "flop_ms", "near_ms", "far_ms")]
    return np.stack([*columns, d.column("elements")[rows] / d.column("gflops")[rows] * 1e-6], axis=1)


def non_negative(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least squares with coefficients >= 0, by coordinate descent."""
    x, g, b = np.zeros(a.shape[1]), a.T @ a, a.T @ y
    for _ in range(60):
        for i in range(len(x)):
            if g[i, i] > 0:
                x[i] = max(0.0, x[i] + (b[i] - g[i] @ x) / g[i, i])
    return x


class CostModel:
    def __init__(self, d: Data, rows: np.ndarray):
        log_ratio = np.log(d.ms / d.column("roofline_ms"))
        self.prior = float(np.median(log_ratio[rows]))
        self.kernels = {}
        for kernel in sorted(set(d.kernel[rows])):
            of = rows[d.kernel[rows] == kernel]
            self.kernels[kernel] = {"count": int(len(of)), "factor": float(np.median(log_ratio[of]))}
            if len(of) >= ADDITIVE:
                w, a, ms = 1 / d.ms[of], terms(d, of), d.ms[of]
                for _ in range(8):  # towards the smallest sum of relative errors
                    c = non_negative(a * w[:, None], ms * w)
                    w = 1 / np.sqrt(ms * np.maximum(np.abs(a @ c - ms), 0.02 * ms))
                self.kernels[kernel]["additive"] = [float(v) for v in c]
        options = dict(objective="l1", learning_rate=0.08, num_leaves=LEAVES, min_data_in_leaf=8, verbosity=-1, num_threads=1, force_col_wise=True, seed=1,
                       feature_fraction=0.7, bagging_fraction=0.8, bagging_freq=1, max_bin=127, deterministic=True)
        data = lightgbm.Dataset(self.inputs(d, rows), log_ratio[rows] - self.factors(d, rows), weight=np.sqrt(d.count[rows]))
        self.trees = lightgbm.train(options, data, TREES)

    def factors(self, d, rows):
        return np.array([self.kernels.get(k, {"factor": self.prior})["factor"] for k in d.kernel[rows]])

    def inputs(self, d, rows):
        return np.column_stack([d.x[rows], self.factors(d, rows)])

    def boosted(self, d, rows):
        return d.column("roofline_ms")[rows] * np.exp(self.factors(d, rows) + self.trees.predict(self.inputs(d, rows)))

    def additive(self, d, rows):
        a = terms(d, rows)
        c = np.array([self.kernels.get(k, {}).get("additive", [np.nan] * 5) for k in d.kernel[rows]])
        known = (a * c).sum(axis=1)
        prior = d.column("roofline_ms")[rows] * np.exp(self.factors(d, rows))
        return np.where(np.isnan(known) | (known <= 0), prior, known)

    def __call__(self, d, rows):
        many = np.array([self.kernels.get(k, {"count": 0})["count"] >= COVERED for k in d.kernel[rows]])
        return np.where(many, self.boosted(d, rows), self.additive(d, rows))

    def covered(self, d, rows):
        return np.array([self.kernels.get(k, {"count": 0})["count"] >= ADDITIVE for k in d.kernel[rows]])

    def table(self, names) -> dict:
        """Nodes of all trees in one list each; a child below 0 is the leaf -child - 1."""
        nodes = {"feature": [], "threshold": [], "left": [], "right": []}
        roots, leaves = [], []

        def add(node) -> int:
            if "leaf_value" in node:
                leaves.append(float(f"{node['leaf_value']:.5g}"))
                return -len(leaves)
            at = len(nodes["feature"])
            nodes["feature"].append(node["split_feature"])
            nodes["threshold"].append(float(f"{node['threshold']:.9g}"))
            nodes["left"].append(0)
            nodes["right"].append(0)
            nodes["left"][at] = add(node["left_child"])
            nodes["right"][at] = add(node["right_child"])
            return at

        for tree in self.trees.dump_model()["tree_info"]:
            roots.append(add(tree["tree_structure"]))
        return {"inputs": [*names, "kernel_factor"], "roots": roots, **nodes, "leaf": leaves}


def evaluate(table: dict, x: np.ndarray) -> np.ndarray:
    """As runtime/cost/model.cpp does."""
    out = np.zeros(len(x))
    for i, row in enumerate(x):
        for node in table["roots"]:
            while node >= 0:
                node = table["left" if row[table["feature"][node]] <= table["threshold"][node] else "right"][node]
            out[i] += table["leaf"][-node - 1]
    return out


def totals(d: Data, rows, predicted):
    """(predicted, sum of measured steps) of each run of which rows are part."""
    sums = collections.defaultdict(lambda: [0.0, 0.0])
    for r, p, ms, count in zip(d.run[rows], predicted, d.ms[rows], d.count[rows]):
        sums[r][0] += p * count
        sums[r][1] += ms * count
    return {r: (p, d.runs[r]["ms"], ms) for r, (p, ms) in sums.items()}


def errors(d: Data, rows, predicted) -> dict:
    ape = np.abs(predicted / d.ms[rows] - 1) * 100
    w, large = d.count[rows] * d.ms[rows], d.ms[rows] >= 0.1
    whole = [(abs(p / ms - 1) * 100, ms) for p, ms, _ in totals(d, rows, predicted).values()]
    large_runs = [e for e, ms in whole if ms >= 1]
    rank = lambda v: np.argsort(np.argsort(v))  # noqa: E731
    out = {
        "step_weighted": np.average(ape, weights=w), "step_median": np.median(ape), "step_mape": ape.mean(),
        "step_large_mape": ape[large].mean() if large.any() else None, "step_large_median": np.median(ape[large]) if large.any() else None,
        "rank": np.corrcoef(rank(predicted), rank(d.ms[rows]))[0, 1],
        "model_mape": np.mean([e for e, _ in whole]), "model_large_mape": np.mean(large_runs) if large_runs else None,
        "model_large_median": np.median(large_runs) if large_runs else None,
        "model_large_p90": np.quantile(large_runs, 0.9) if large_runs else None}
    return {k: None if v is None else round(float(v), 3) for k, v in out.items()}


def conformal(residuals) -> float:
    """A factor: a share COVERAGE of new times lies within x/ it of the prediction, if they are like these."""
    r = np.sort(np.abs(residuals))
    k = int(np.ceil((len(r) + 1) * COVERAGE)) - 1
    return round(float(np.exp(r[min(k, len(r) - 1)])), 3)


def held_out(d: Data, by: np.ndarray, folds: int):
    """Predictions of each form for every row, by models that have seen nothing of its group."""
    groups = np.random.default_rng(0).permutation(sorted(set(by)))
    forms = {"roofline": d.column("roofline_ms").copy(), "factor": np.zeros(len(d.ms)), "additive": np.zeros(len(d.ms)), "trees": np.zeros(len(d.ms)), "shipped": np.zeros(len(d.ms))}
    covered = np.zeros(len(d.ms), bool)
    for fold in range(min(folds, len(groups))):
        test = np.isin(by, groups[fold::folds])
        train, test = np.flatnonzero(~test), np.flatnonzero(test)
        model = CostModel(d, train)
        forms["factor"][test] = d.column("roofline_ms")[test] * np.exp(model.factors(d, test))
        forms["additive"][test] = model.additive(d, test)
        forms["trees"][test] = model.boosted(d, test)
        forms["shipped"][test] = model(d, test)
        covered[test] = model.covered(d, test)
    return forms, covered


def interval_coverage(d: Data, residuals, per_run) -> dict:
    """Of intervals calibrated on half of the families: what share of the other half they hold. Mean of 20 halvings."""
    rng, steps, runs = np.random.default_rng(1), [], []
    families = sorted(set(d.family))
    run_family = np.array([d.runs[r]["family"] for r in per_run])
    run_residual = np.array([np.log(ms / p) for p, ms, _ in per_run.values()])
    for _ in range(20):
        half = rng.permutation(families)[: len(families) // 2]
        for residual, family, out in ((residuals, d.family, steps), (run_residual, run_family, runs)):
            own = np.isin(family, half)
            if own.any() and not own.all():
                out.append(np.mean(np.abs(residual[~own]) <= np.log(conformal(residual[own]))))
    return {"steps": round(float(np.mean(steps)), 3), "models": round(float(np.mean(runs)), 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--folds", type=int, default=FOLDS)
    o = parser.parse_args()
    d = Data(o.records)
    model_of_row = np.array([d.runs[r]["name"] for r in d.run])
    report = {}
    for split, by in (("model", model_of_row), ("family", d.family)):
        forms, covered = held_out(d, by, o.folds)
        rows = np.arange(len(d.ms))
        report[split] = {form: errors(d, rows, p) for form, p in forms.items()}
        for form, e in report[split].items():
            print(split, f"{form:9}", e)
    shipped = forms["shipped"]
    residual = np.log(d.ms / shipped)
    per_run = totals(d, rows, shipped)
    large = {r: v for r, v in per_run.items() if v[1] >= 1}
    intervals = {
        "coverage": COVERAGE, "step": conformal(residual), "not_covered": conformal(residual[~covered]) if (~covered).sum() >= 10 else 10.0,
        "kernel": {str(k): conformal(residual[d.kernel == k]) for k in sorted(set(d.kernel)) if (d.kernel == k).sum() >= COVERED},
        "model": conformal([np.log(ms / p) for p, ms, _ in per_run.values()]),
        "model_from_1_ms": conformal([np.log(ms / p) for p, ms, _ in large.values()]) if len(large) >= 10 else None}
    intervals["held"] = interval_coverage(d, residual, per_run)
    print(intervals)
    by_tag = collections.defaultdict(list)
    for r, (p, ms, _) in per_run.items():
        by_tag[d.runs[r]["tag"]].append((abs(p / ms - 1) * 100, ms))
    for tag, es in by_tag.items():
        print(tag, len(es), "models; MAPE from 1 ms", round(np.mean([e for e, ms in es if ms >= 1] or [np.nan]), 2))
    if o.out:
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(o.records))).hexdigest()
        model = CostModel(d, np.arange(len(d.ms)))
        table, some = model.table(d.names), np.arange(0, len(d.ms), max(1, len(d.ms) // 500))
        apart = np.abs(evaluate(table, model.inputs(d, some)) - model.trees.predict(model.inputs(d, some)))
        assert np.quantile(apart, 0.99) < 0.01, apart.max()  # a rounded threshold may send a row the other way
        training = {"digest": digest, "models": len({r["name"] for r in d.runs}), "families": len(set(d.family)), "runs": len(d.runs),
                    "steps": int(d.count.sum()), "records": len(d.ms)}
        out = {"schema": "tenon.cost/1", "device": "cpu", "training": training, "errors": report, "intervals": intervals,
               "covered_from": ADDITIVE, "trees_from": COVERED, "prior": model.prior,
               "kernels": {str(k): {n: (round(v, 5) if isinstance(v, float) else [float(f"{x:.5g}") for x in v] if isinstance(v, list) else v)
                                    for n, v in e.items()} for k, e in model.kernels.items()},
               "trees": table}
        o.out.write_text(json.dumps(out, separators=(",", ":")) + "\n")
        print(training, o.out.stat().st_size, "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
