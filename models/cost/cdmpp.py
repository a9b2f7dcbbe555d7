#!/usr/bin/env python3
"""A comparison: the cost model in CDMPP's form, on the same records and folds as train.py.

    python models/cost/cdmpp.py RECORDS... [--folds 5] [--tested 1] [--epochs 12]

A step is a compact tree: a leaf for its loop nest, for its memory, for each kind of arithmetic in its body, for its
kernel; each leaf has a vector of numbers and its place in the tree as a sinusoidal encoding. A transformer encodes the
leaves, their mean and the device's numbers go through a decoder, and times are Box-Cox transformed. It needs PyTorch.
Beside it stands what train.py makes of the same folds.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from train import FOLDS, CostModel, Data, errors

LEAVES = {
    "nest": ("batch", "rows", "columns", "depth", "taps", "stride", "dilation", "groups"),
    "reduction": ("reduced", "reduced_inner", "folds"),
    "work": ("flops", "bytes", "intensity", "scratch_bytes", "inner_steps", "estimate_ms"),
    "read": ("in_bytes", "weight_bytes", "operands", "in_run", "in_stride", "broadcast", "gathers"),
    "write": ("out_bytes", "elements", "rank", "element_bytes", "results", "out_run", "out_stride", "turned", "channels_last"),
    "body": ("operators", "cheap", "divisions", "exponentials", "transcendental", "tests", "casts"),
    "caches": ("distance", "model_bytes", "live_bytes"),
}
DEVICE = ("threads", "lanes", "gflops", "gbs", "l2_gbs", "l3_gbs", "step_ms", "flop_ms", "near_ms", "far_ms", "roofline_ms")
WIDTH, HEADS, LAYERS = 48, 4, 2


class Encoder(nn.Module):
    def __init__(self, kernels: int):
        super().__init__()
        self.leaves = nn.ModuleList(nn.Linear(len(names), WIDTH) for names in LEAVES.values())
        self.kernel = nn.Embedding(kernels, WIDTH)
        place = torch.arange(len(LEAVES) + 1)[:, None] * torch.exp(-math.log(1e4) * torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("places", torch.stack([place.sin(), place.cos()], -1).flatten(1))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.0, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.decoder = nn.Sequential(nn.Linear(WIDTH + len(DEVICE), 128), nn.GELU(), nn.Linear(128, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, leaves, kernel, device):
        tokens = torch.stack([*(embed(x) for embed, x in zip(self.leaves, leaves)), self.kernel(kernel)], 1)
        return self.decoder(torch.cat([self.encoder(tokens + self.places).mean(1), device], -1))[:, 0]


def box_cox(y: np.ndarray) -> float:
    """The exponent that makes the times most like a normal distribution."""
    log = np.log(y)

    def likelihood(power):
        z = (y**power - 1) / power if power else log
        return -len(y) / 2 * np.log(z.var()) + (power - 1) * log.sum()

    return float(max(np.arange(-0.5, 0.51, 0.05).round(2), key=likelihood))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--tested", type=int, default=1, help="folds, of these")
    o = parser.parse_args()
    torch.manual_seed(0)
    d = Data(o.records)
    rows, predicted, trees = np.flatnonzero(~d.is_sweep), np.zeros(len(d.ms)), np.zeros(len(d.ms))
    scaled = lambda names: (lambda x: (x - x.mean(0)) / (x.std(0) + 1e-6))(np.log(np.stack([d.column(n) for n in names], 1) + 1e-6))  # noqa: E731
    leaves = [torch.tensor(scaled(names), dtype=torch.float32) for names in LEAVES.values()]
    device = torch.tensor(scaled(DEVICE), dtype=torch.float32)
    kernels = {k: i for i, k in enumerate(sorted(set(d.kernel)))}
    kernel = torch.tensor([kernels[k] for k in d.kernel])
    groups = np.random.default_rng(0).permutation(sorted(set(d.model[rows])))
    for fold in range(o.tested):
        is_test = np.isin(d.model, groups[fold :: o.folds])
        train, test = np.flatnonzero(~is_test), np.flatnonzero(is_test)
        power = box_cox(d.ms[train])
        z = (d.ms**power - 1) / power if power else np.log(d.ms)
        mean, deviation = z[train].mean(), z[train].std()
        target, ms = torch.tensor((z - mean) / deviation, dtype=torch.float32), torch.tensor(d.ms, dtype=torch.float32)

        def times(out, power=power, mean=mean, deviation=deviation):
            z = out * deviation + mean
            return (z * power + 1).clamp_min(1e-6) ** (1 / power) if power else z.exp()

        net, begin, size = Encoder(len(kernels)), time.monotonic(), 512
        optimiser = torch.optim.AdamW(net.parameters(), 2e-3)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, o.epochs * (len(train) // size + 1))
        for _ in range(o.epochs):
            for part in torch.tensor(np.random.default_rng(fold).permutation(train)).split(size):
                out = net([x[part] for x in leaves], kernel[part], device[part])
                relative = ((times(out) - ms[part]).abs() / ms[part]).clamp_max(10).mean()
                loss = nn.functional.mse_loss(out, target[part]) + 0.1 * relative  # both, as CDMPP has it
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        with torch.no_grad():
            predicted[test] = times(net([x[test] for x in leaves], kernel[test], device[test])).numpy()
        trees[test] = CostModel(d, train)(d, test)
        print("fold", fold, f"power {power:.2f}, {time.monotonic() - begin:.0f} s", flush=True)
    rows = rows[predicted[rows] > 0]
    print("cdmpp", errors(d, rows, predicted[rows]))
    print("trees", errors(d, rows, trees[rows]))


if __name__ == "__main__":
    main()
