#!/usr/bin/env python3
"""Trains the cost model on records and writes it as a flat table: python models/cost/train.py RECORDS... -o runtime/cost/model.json

Needs lightgbm and numpy. A file of records is one model (collect.py names it NAME@ISA@THREADS.jsonl). Errors are those of
models that were left out of training, alone or with their family (--folds parts); they, and the intervals, are written
into the table. Models of the synthetic sweep (sweep*) are in training only: nothing is said of them.
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

TREES, LEAVES, LEARNING_RATE, FOLDS = 100, 40, 0.15, 5
COVERED = 30  # records of a kernel from which its trees count
ADDITIVE = 12  # and its additive form
TERMS = ("step_ms", "flop_ms", "near_ms", "far_ms", "element_ms", "planned_ms")  # of the additive form
QUANTILE = 0.45
TIME_POWER, WEIGHTED_MS, SPREAD_WEIGHT = 0.3, (1e-3, 10), 10  # of a record's weight
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
            name = re.sub(r"-\w+$", "", file.stem.split("@")[0])  # of any size and precision one model
            for line in lines:
                if line["kind"] == "run":
                    self.runs.append({"name": name, "family": family_of(name), "ms": line["median_ms"], "tag": file.stem.split("@", 1)[1]})
                    self.seen = {}
                    continue
                key, run = line["key"], len(self.runs) - 1
                # A sweep is measured once: of several threads the fastest run is the one that nobody disturbed.
                ms = line["min_ms" if name.startswith("sweep") and line["features"]["threads"] > 1 else "median_ms"]
                if key in self.seen:
                    self.seen[key]["samples"].append(ms)
                    self.seen[key]["spreads"].append(line["spread_ms"])
                    continue
                self.seen[key] = {"run": run, "kernel": line["candidate"]["family"], "features": line["features"], "samples": [ms], "spreads": [line["spread_ms"]]}
                self.rows.append(self.seen[key])
        self.names = list(self.rows[0]["features"])
        self.x = np.array([[row["features"][n] for n in self.names] for row in self.rows])
        self.ms = np.maximum([float(np.median(row["samples"])) for row in self.rows], 2e-5)
        self.spread = np.array([float(np.median(row["spreads"])) for row in self.rows])
        self.count = np.array([len(row["samples"]) for row in self.rows])
        self.run = np.array([row["run"] for row in self.rows])
        self.kernel = np.array([row["kernel"] for row in self.rows])
        self.model = np.array([self.runs[r]["name"] for r in self.run])
        self.family = np.array([self.runs[r]["family"] for r in self.run])
        self.tag = np.array([self.runs[r]["tag"] for r in self.run])
        self.is_sweep = np.char.startswith(self.model, "sweep")

    def column(self, name):
        return self.x[:, self.names.index(name)]


def weights(d: Data, rows) -> np.ndarray:
    """Steps that models spend their time in weigh more, those whose runs differed less."""
    return np.sqrt(d.count[rows]) * np.clip(d.ms[rows], *WEIGHTED_MS) ** TIME_POWER / (1 + SPREAD_WEIGHT * d.spread[rows] / d.ms[rows])


def terms(d: Data, rows) -> np.ndarray:
    return np.stack([d.column(n)[rows] for n in TERMS], axis=1)


def non_negative(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least squares with coefficients >= 0, by coordinate descent."""
    x, g, b = np.zeros(a.shape[1]), a.T @ a, a.T @ y
    for _ in range(60):
        for i in range(len(x)):
            if g[i, i] > 0:
                x[i] = max(0.0, x[i] + (b[i] - g[i] @ x) / g[i, i])
    return x


def relative_fit(a: np.ndarray, ms: np.ndarray) -> np.ndarray:
    """Towards the smallest sum of relative errors."""
    w = 1 / ms
    for _ in range(8):
        c = non_negative(a * w[:, None], ms * w)
        w = 1 / np.sqrt(ms * np.maximum(np.abs(a @ c - ms), 0.02 * ms))
    return c


class CostModel:
    """Trees over the logarithm of time / first guess: the kernel's additive form, or where it has few records its usual
    multiple of the roofline."""

    def __init__(self, d: Data, rows: np.ndarray, trees: int = TREES, leaves: int = LEAVES):
        log_ratio = np.log(d.ms / d.column("roofline_ms"))
        self.prior = float(np.median(log_ratio[rows]))
        self.kernels = {}
        for kernel in sorted(set(d.kernel[rows])):
            of = rows[d.kernel[rows] == kernel]
            self.kernels[kernel] = {"count": int(len(of)), "factor": float(np.median(log_ratio[of]))}
            if len(of) >= ADDITIVE:
                self.kernels[kernel]["additive"] = [float(v) for v in relative_fit(terms(d, of), d.ms[of])]
        # Errors are shares of the measured time: too long a guess costs more than one that is as many times too short.
        options = dict(objective="quantile", alpha=QUANTILE, learning_rate=LEARNING_RATE, num_leaves=leaves, min_data_in_leaf=8, verbosity=-1, num_threads=1, force_col_wise=True, seed=1,
                       feature_fraction=0.7, bagging_fraction=0.8, bagging_freq=1, max_bin=127, deterministic=True)
        guess = np.log(self.additive(d, rows))
        data = lightgbm.Dataset(self.inputs(d, rows), np.log(d.ms[rows]) - guess, weight=weights(d, rows))
        self.trees = lightgbm.train(options, data, trees)

    def factor(self, d, rows):
        factors = np.array([self.kernels.get(k, {"factor": self.prior})["factor"] for k in d.kernel[rows]])
        return d.column("roofline_ms")[rows] * np.exp(factors)

    def additive(self, d, rows):
        """The first guess."""
        c = np.array([self.kernels.get(k, {}).get("additive", [0] * len(TERMS)) for k in d.kernel[rows]])
        known = (terms(d, rows) * c).sum(axis=1)
        return np.where(known > 0, known, self.factor(d, rows))

    def inputs(self, d, rows):
        return np.column_stack([d.x[rows], np.log(self.additive(d, rows) / d.column("roofline_ms")[rows])])

    def boosted(self, d, rows):
        return self.additive(d, rows) * np.exp(self.trees.predict(self.inputs(d, rows)))

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
            nodes["threshold"].append(float(f"{node['threshold']:.6g}"))
            nodes["left"].append(0)
            nodes["right"].append(0)
            nodes["left"][at] = add(node["left_child"])
            nodes["right"][at] = add(node["right_child"])
            return at

        for tree in self.trees.dump_model()["tree_info"]:
            roots.append(add(tree["tree_structure"]))
        return {"inputs": [*names, "first_guess"], "roots": roots, **nodes, "leaf": leaves}


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


SHAPES = ("batch", "rows", "columns", "depth", "taps", "stride", "groups", "elements", "lanes", "threads")


def by_shapes(d: Data, train, test) -> np.ndarray:
    """In the manner of nn-Meter: for each kernel a random forest over its shapes."""
    out = np.full(len(test), np.nan)
    x = np.log1p(np.stack([d.column(n) for n in SHAPES], axis=1))
    options = dict(boosting="rf", num_leaves=63, min_data_in_leaf=3, verbosity=-1, num_threads=1, seed=1, feature_fraction=0.8, bagging_fraction=0.7, bagging_freq=1)
    for kernel in set(d.kernel[test]):
        own, wanted = train[d.kernel[train] == kernel], d.kernel[test] == kernel
        if len(own) >= COVERED:
            forest = lightgbm.train(options, lightgbm.Dataset(x[own], np.log(d.ms[own])), 40)
            out[wanted] = np.exp(forest.predict(x[test[wanted]]))
    return out


def held_out(d: Data, by: np.ndarray, folds: int):
    """Predictions of each form for every row, by models that have seen nothing of its group; the sweep is no group."""
    groups = np.random.default_rng(0).permutation(sorted(set(by[~d.is_sweep])))
    forms = {form: d.column("roofline_ms").copy() for form in ("roofline", "factor", "by shapes", "additive", "trees", "shipped")}
    covered = np.zeros(len(d.ms), bool)
    for fold in range(min(folds, len(groups))):
        test = np.isin(by, groups[fold::folds])
        train, test = np.flatnonzero(~test), np.flatnonzero(test)
        model = CostModel(d, train)
        forms["factor"][test] = model.factor(d, test)
        forms["additive"][test] = model.additive(d, test)
        shapes = by_shapes(d, train, test)
        forms["by shapes"][test] = np.where(np.isnan(shapes), forms["factor"][test], shapes)
        forms["trees"][test] = model.boosted(d, test)
        forms["shipped"][test] = model(d, test)
        covered[test] = model.covered(d, test)
    return forms, covered


ENOUGH = 20  # records of a kernel weigh as much as all of the device: runtime/cost/calibration.cpp


def calibrated(d: Data, predicted, known, rows) -> np.ndarray:
    """As Calibration does: what records of `known` rows make of the predictions of `rows`, of each number of threads."""
    log_ratio, weight, out = np.log(d.ms / predicted), np.sqrt(d.ms), predicted[rows].copy()

    def median(of):
        of = of[np.argsort(log_ratio[of])]
        sums = np.cumsum(weight[of])
        return log_ratio[of[np.searchsorted(sums, sums[-1] / 2)]]

    threads = d.column("threads")
    for count in set(threads[rows]):
        own, wanted = known[threads[known] == count], threads[rows] == count
        usual, factors = median(own), {}
        for kernel in set(d.kernel[own]):
            of = own[d.kernel[own] == kernel]
            factors[kernel] = (len(of) * median(of) + ENOUGH * usual) / (len(of) + ENOUGH)
        out[wanted] *= np.exp([factors.get(k, usual) for k in d.kernel[rows[wanted]]])
    return out


def other_device(d: Data, is_device: np.ndarray) -> dict:
    """Errors on a device whose records were left out, of models that were left out, too: as they are, and with the records of
    ten such models (mean of ten draws)."""
    predicted, rows = np.ones(len(d.ms)), np.flatnonzero(is_device & ~d.is_sweep)
    names = np.random.default_rng(0).permutation(sorted(set(d.model[rows])))
    for part in np.array_split(names, 2):
        is_part = np.isin(d.model, part)
        model, wanted = CostModel(d, np.flatnonzero(~is_device & ~is_part)), rows[is_part[rows]]
        predicted[wanted] = model(d, wanted)
    out, draws = {"as it is": errors(d, rows, predicted[rows])}, []
    for seed in range(10):
        is_known = np.isin(d.model[rows], np.random.default_rng(seed).permutation(sorted(names))[:10])
        draws.append(errors(d, rows[~is_known], calibrated(d, predicted, rows[is_known], rows[~is_known])))
    out["ten models"] = {k: round(float(np.mean([e[k] for e in draws])), 3) for k in draws[0]}
    return out


def interval_coverage(d: Data, rows, residuals, per_run) -> dict:
    """Of intervals calibrated on half of the models: what share of the other half they hold. Mean of 20 halvings."""
    rng, steps, runs = np.random.default_rng(1), [], []
    run_model = np.array([d.runs[r]["name"] for r in per_run])
    run_residual = np.array([np.log(ms / p) for p, ms, _ in per_run.values()])
    models = sorted(set(run_model))
    for _ in range(20):
        half = rng.permutation(models)[: len(models) // 2]
        for residual, of, out in ((residuals, d.model[rows], steps), (run_residual, run_model, runs)):
            own = np.isin(of, half)
            out.append(np.mean(np.abs(residual[~own]) <= np.log(conformal(residual[own]))))
    return {"steps": round(float(np.mean(steps)), 3), "models": round(float(np.mean(runs)), 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--devices", action="store_true", help="leave one instruction set out, too")
    parser.add_argument("--pairs", type=Path, help="write measured and predicted time of each run: what chart.py draws")
    o = parser.parse_args()
    d = Data(o.records)
    rows = np.flatnonzero(~d.is_sweep)
    report, kept = {}, {}
    for split, by in (("model", d.model), ("family", d.family)):
        forms, covered = held_out(d, by, o.folds)
        kept[split] = forms["shipped"]
        report[split] = {form: errors(d, rows, p[rows]) for form, p in forms.items()}
        for form, e in report[split].items():
            print(split, f"{form:9}", e, flush=True)
    # Intervals are those of models of families that were never seen.
    shipped = kept["family"][rows]
    residual, kernel = np.log(d.ms[rows] / shipped), d.kernel[rows]
    per_run = totals(d, rows, shipped)
    large = {r: v for r, v in per_run.items() if v[1] >= 1}
    some = ~covered[rows]
    intervals = {
        "coverage": COVERAGE, "step": conformal(residual), "not_covered": conformal(residual[some]) if some.sum() >= 10 else 10.0,
        "kernel": {str(k): conformal(residual[kernel == k]) for k in sorted(set(kernel)) if (kernel == k).sum() >= COVERED},
        "model": conformal([np.log(ms / p) for p, ms, _ in per_run.values()]),
        "model_from_1_ms": conformal([np.log(ms / p) for p, ms, _ in large.values()]) if len(large) >= 10 else None}
    intervals["held"] = interval_coverage(d, rows, residual, per_run)
    print(intervals)
    for tag in sorted(set(d.tag)):
        of = rows[d.tag[rows] == tag]
        print(tag, errors(d, of, kept["model"][of]), flush=True)
    for isa in sorted({tag.split("@")[0] for tag in d.tag}) if o.devices else []:
        for name, e in other_device(d, np.char.startswith(d.tag, isa)).items():
            print("without", isa, name, e, flush=True)
    if o.pairs:
        lines = [f"{d.runs[r]['name']} {d.runs[r]['tag']} {ms:.6g} {p:.6g}" for r, (p, ms, _) in totals(d, rows, kept["model"][rows]).items()]
        o.pairs.write_text("\n".join(lines) + "\n")
    if o.out:
        digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(o.records))).hexdigest()
        model = CostModel(d, np.arange(len(d.ms)))
        table, some = model.table(d.names), np.arange(0, len(d.ms), max(1, len(d.ms) // 500))
        apart = np.abs(evaluate(table, model.inputs(d, some)) - model.trees.predict(model.inputs(d, some)))
        assert np.quantile(apart, 0.99) < 0.01, apart.max()  # a rounded threshold may send a row the other way
        training = {"digest": digest, "models": len(set(d.model[rows])), "swept": len(set(d.model[d.is_sweep])), "families": len(set(d.family[rows])), "runs": len(d.runs),
                    "steps": int(d.count.sum()), "records": len(d.ms)}
        out = {"schema": "tenon.cost/2", "device": "cpu", "training": training, "errors": report, "intervals": intervals,
               "covered_from": ADDITIVE, "trees_from": COVERED, "prior": model.prior,
               "kernels": {str(k): {n: (round(v, 5) if isinstance(v, float) else [float(f"{x:.5g}") for x in v] if isinstance(v, list) else v)
                                    for n, v in e.items()} for k, e in model.kernels.items()},
               "trees": table}
        o.out.write_text(json.dumps(out, separators=(",", ":")) + "\n")
        print(training, o.out.stat().st_size, "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
