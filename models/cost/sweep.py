"""A synthetic sweep: models of random blocks, of sizes that models use, so that each kernel of the CPU has records.

A block is a few operators in an order that models have them in. A model is a dozen blocks that do not depend on each
other; its number is the seed: the same number is the same model.
"""

import torch
from torch import nn

from models.cost import image_blocks, loop_blocks, matrix_blocks, neighbour_blocks, quantised_blocks, token_blocks, volume_blocks  # noqa: F401: in BLOCKS
from models.cost.draw import BLOCKS, Draw

OFTEN = {"convolution": 3, "depthwise": 2, "linear": 3, "attention": 2, "loop": 2, "copy": 2, "other convolution": 2}
FLOATS = 320  # models of all kinds but those that follow
APART = {"neighbours": 380, "bytes": 440, "deep 3x3": 460, "volumes": 510, "few results": 530, "matrices": 540}  # the models before these numbers have blocks of this kind alone
MODELS = max(APART.values())


class Blocks(nn.Module):
    def __init__(self, parts, counts):
        super().__init__()
        self.parts, self.counts = nn.ModuleList(parts), counts

    def forward(self, *inputs):
        outputs, at = [], 0
        for part, count in zip(self.parts, self.counts):
            outputs.append(part(*inputs[at : at + count]))
            at += count
        return tuple(outputs)


def kinds_of(number: int) -> list[str]:
    if number < FLOATS:
        return sorted({kind for kind, _ in BLOCKS} - APART.keys())
    return [min((end, kind) for kind, end in APART.items() if number < end)[1]]


def make(number: int, blocks: int = 12):
    """The model of this number, and its inputs. Kinds are drawn evenly, convolutions and products more often."""
    r = Draw(number)
    torch.manual_seed(number)
    kinds, parts, counts, inputs = kinds_of(number), [], [], []
    for _ in range(blocks):
        kind = r.choices(kinds, [OFTEN.get(kind, 1) for kind in kinds])[0]
        module, given = r.choice([maker for k, maker in BLOCKS if k == kind])(r)
        parts.append(module)
        counts.append(len(given))
        inputs += given
    return Blocks(parts, counts).eval(), tuple(inputs)
