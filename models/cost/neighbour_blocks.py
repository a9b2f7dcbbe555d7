"""Blocks that stand behind a convolution and before one, as in models: there their channels lie last."""

from torch import nn

from models.cost import image_blocks, loop_blocks
from models.cost.draw import Of, block, is_affordable

BETWEEN = [image_blocks.pool, image_blocks.pool, image_blocks.volume_pool, image_blocks.resize, image_blocks.resize, image_blocks.depthwise, loop_blocks.norm,
           loop_blocks.norm, loop_blocks.pointwise, loop_blocks.pairs, loop_blocks.scaled, loop_blocks.reduction, loop_blocks.split, loop_blocks.shuffle,
           loop_blocks.pad, loop_blocks.join]


@block("neighbours")
def between(r):
    make = r.choice(BETWEEN)
    while True:
        module, (x, *others) = max((make(r) for _ in range(2)), key=lambda made: made[1][0].numel())
        if x.dim() in (4, 5) and is_affordable(x, x.shape[1], 1):
            break
    conv = nn.Conv2d if x.dim() == 4 else nn.Conv3d
    out = module(x, *others)
    after = conv(out.shape[1], 16, 1) if out.dim() == x.dim() else nn.Identity()
    return Of(lambda before, module, after, x, *others: after(module(before(x), *others)), conv(x.shape[1], x.shape[1], 1), module, after), (x, *others)
