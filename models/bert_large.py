"""BERT-large (24 layers, 1024 wide, 16 heads): a batch of padded sentences."""

from models.bert import Bert, Config, padded_batch
from models.common import Example, randomise

TINY = Config(vocabulary=64, hidden=16, layers=2, heads=2, intermediate=32, positions=32)
LARGE = Config(vocabulary=30522, hidden=1024, layers=24, heads=16, intermediate=4096)


def make(tiny: bool) -> Example:
    config = TINY if tiny else LARGE
    model = Bert(config)
    randomise(model)
    inputs = padded_batch([12, 7] if tiny else [128, 90], config.vocabulary)
    return Example(model, inputs, {name: {0: "B", 1: "S"} for name in inputs})
