#!/usr/bin/env python3
"""Draws predicted against measured runs: python models/cost/chart.py PAIRS -o docs/images/prediction.svg

PAIRS is what train.py --pairs writes: lines of a model, its instruction set and threads, measured and predicted ms.
"""

import argparse
import math
from pathlib import Path

SIDE, EDGE = 460, 50
COLOURS = {"avx512": "#1f77b4", "avx2": "#d95f02", "baseline": "#4d9221"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    o = parser.parse_args()
    rows = [line.split() for line in o.pairs.read_text().splitlines()]
    times = [float(t) for row in rows for t in row[2:]]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def place(ms: float) -> float:
        return EDGE + (math.log10(ms) - low) / (high - low) * (SIDE - EDGE - 10)

    def point(measured: float, predicted: float) -> str:
        return f"{place(measured):.1f},{SIDE - place(predicted):.1f}"

    def line(factor: float, style: str) -> str:
        ends = (10**low * max(1, 1 / factor), 10**high / max(1, factor))
        return f'<polyline points="{" ".join(point(x, x * factor) for x in ends)}" fill="none" stroke="#888" {style}/>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE}" height="{SIDE}" font-family="sans-serif" font-size="12">',
             f'<rect width="{SIDE}" height="{SIDE}" fill="white"/>', line(1, ""), line(1.2, 'stroke-dasharray="3"'), line(1 / 1.2, 'stroke-dasharray="3"')]
    for power in range(low, high + 1):
        at, label = place(10**power), f"{10.0**power:g}"
        parts += [f'<path d="M{at:.1f},{SIDE - EDGE} v-{SIDE - EDGE - 10} M{EDGE},{SIDE - at:.1f} h{SIDE - EDGE - 10}" stroke="#ddd"/>',
                  f'<text x="{at:.1f}" y="{SIDE - EDGE + 16}" text-anchor="middle">{label}</text>',
                  f'<text x="{EDGE - 6}" y="{SIDE - at + 4:.1f}" text-anchor="end">{label}</text>']
    for _, tag, measured, predicted in rows:
        x, y = point(float(measured), float(predicted)).split(",")
        isa, threads = tag.split("@")
        parts.append(f'<circle cx="{x}" cy="{y}" r="2.6" fill="{COLOURS[isa] if threads == "1" else "white"}" stroke="{COLOURS[isa]}"/>')
    for i, (isa, colour) in enumerate(COLOURS.items()):
        parts.append(f'<circle cx="{EDGE + 14}" cy="{24 + 16 * i}" r="4" fill="{colour}"/><text x="{EDGE + 24}" y="{28 + 16 * i}">{isa}</text>')
    parts += [f'<text x="{EDGE + 10}" y="76">filled: one thread, open: two; dashed: 20% off</text>',
              f'<text x="{SIDE / 2}" y="{SIDE - 12}" text-anchor="middle">measured, ms</text>',
              f'<text transform="translate(14,{SIDE / 2}) rotate(-90)" text-anchor="middle">predicted by a model that has not seen it, ms</text>', "</svg>"]
    o.out.write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
