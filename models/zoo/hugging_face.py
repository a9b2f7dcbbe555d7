"""Hugging Face Transformers: encoders, decoders, encoder-decoders, experts, state spaces, vision, audio."""

import torch

from models.zoo import Architecture, Tensors
from models.zoo.torchvision_without_extension import import_torchvision

import_torchvision()  # before transformers looks for it

import transformers  # noqa: E402

WIDTH = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
TEXT = WIDTH | dict(vocab_size=99, max_position_embeddings=64)
GROUPED = TEXT | dict(num_key_value_heads=2, pad_token_id=0)
IMAGE = WIDTH | dict(image_size=32, patch_size=8)


def ids(length: int = 12) -> torch.Tensor:
    return torch.randint(5, 99, (2, length))


def mask(length: int = 12) -> torch.Tensor:
    rows = torch.ones(2, length, dtype=torch.int64)
    rows[1, length // 2:] = 0
    return rows


def images(size: int = 32) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


def build(model: str, config: str, names: tuple[str, ...], inputs, constants: dict, **sizes) -> Architecture:
    def make():
        settings = getattr(transformers, config)(**sizes)
        module = getattr(transformers, model)(settings).eval()
        return Tensors(module, names, return_dict=False, **constants).eval(), tuple(make_input() for make_input in inputs)

    return make


def encoder(model: str, config: str, **sizes) -> Architecture:
    return build(model, config, ("input_ids", "attention_mask"), (ids, mask), {}, **(TEXT | sizes))


def decoder(model: str, config: str, **sizes) -> Architecture:
    return build(model, config, ("input_ids",), (ids,), {"use_cache": False}, **sizes)


def both(model: str, config: str, **sizes) -> Architecture:
    return build(model, config, ("input_ids", "attention_mask", "decoder_input_ids"), (ids, mask, ids),
                 {"use_cache": False}, **sizes)


def vision(model: str, config: str, **sizes) -> Architecture:
    return build(model, config, ("pixel_values",), (images,), {}, **sizes)


def audio(model: str, config: str, **sizes) -> Architecture:
    return build(model, config, ("input_values",), (lambda: torch.randn(2, 1600),), {}, **sizes)


MARIAN = dict(vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
              decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64, pad_token_id=0)
WAVES = WIDTH | dict(conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2,
                     num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, vocab_size=32)

ARCHITECTURES = {
    "bert": encoder("BertModel", "BertConfig"),
    "roberta": encoder("RobertaModel", "RobertaConfig", max_position_embeddings=80),
    "xlm_roberta": encoder("XLMRobertaForSequenceClassification", "XLMRobertaConfig", max_position_embeddings=80),
    "distilbert": build("DistilBertModel", "DistilBertConfig", ("input_ids", "attention_mask"), (ids, mask), {},
                        vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64),
    "albert": encoder("AlbertModel", "AlbertConfig", embedding_size=16),
    "electra": encoder("ElectraModel", "ElectraConfig", embedding_size=16),
    "mpnet": encoder("MPNetModel", "MPNetConfig", max_position_embeddings=80),
    "deberta": encoder("DebertaModel", "DebertaConfig", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta_v2": encoder("DebertaV2Model", "DebertaV2Config", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "camembert_tokens": encoder("CamembertForTokenClassification", "CamembertConfig", max_position_embeddings=80),
    "modernbert": encoder("ModernBertModel", "ModernBertConfig", pad_token_id=0),
    "gpt2": decoder("GPT2LMHeadModel", "GPT2Config", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "gpt_neo": decoder("GPTNeoModel", "GPTNeoConfig", vocab_size=99, hidden_size=32, num_layers=2, num_heads=4,
                       intermediate_size=64, max_position_embeddings=64, attention_types=[[["global", "local"], 1]],
                       window_size=8),
    "gpt_neox": decoder("GPTNeoXModel", "GPTNeoXConfig", **TEXT),
    "gptj": decoder("GPTJModel", "GPTJConfig", vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, rotary_dim=4),
    "opt": decoder("OPTModel", "OPTConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                   ffn_dim=64, max_position_embeddings=64, word_embed_proj_dim=32),
    "bloom": decoder("BloomModel", "BloomConfig", vocab_size=99, hidden_size=32, n_layer=2, n_head=4),
    "falcon": decoder("FalconModel", "FalconConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2,
                      num_attention_heads=4),
    "llama": decoder("LlamaForCausalLM", "LlamaConfig", **GROUPED),
    "mistral": decoder("MistralModel", "MistralConfig", **GROUPED, sliding_window=8),
    "qwen2": decoder("Qwen2ForCausalLM", "Qwen2Config", **GROUPED),
    "qwen3": decoder("Qwen3Model", "Qwen3Config", **GROUPED, head_dim=8),
    "phi": decoder("PhiModel", "PhiConfig", **GROUPED),
    "phi3": decoder("Phi3Model", "Phi3Config", **GROUPED),
    "gemma": decoder("GemmaModel", "GemmaConfig", **GROUPED, head_dim=8),
    "gemma2": decoder("Gemma2Model", "Gemma2Config", **GROUPED, head_dim=8),
    "olmo": decoder("OlmoModel", "OlmoConfig", **GROUPED),
    "stablelm": decoder("StableLmModel", "StableLmConfig", **GROUPED),
    "granite": decoder("GraniteModel", "GraniteConfig", **GROUPED),
    "mixtral": decoder("MixtralModel", "MixtralConfig", **GROUPED, num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": decoder("Qwen2MoeModel", "Qwen2MoeConfig", **GROUPED, moe_intermediate_size=16, num_experts=4,
                         num_experts_per_tok=2, shared_expert_intermediate_size=32),
    "mamba": decoder("MambaModel", "MambaConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8),
    "mamba2": decoder("Mamba2Model", "Mamba2Config", vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=8,
                      num_heads=8, head_dim=8, n_groups=1, chunk_size=8),
    "rwkv": decoder("RwkvModel", "RwkvConfig", vocab_size=99, hidden_size=32, num_hidden_layers=2, context_length=64,
                    attention_hidden_size=32),
    "t5": both("T5Model", "T5Config", vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "bart": both("BartModel", "BartConfig", **MARIAN),
    "marian": both("MarianMTModel", "MarianConfig", **MARIAN, decoder_start_token_id=1, eos_token_id=2),
    "pegasus": both("PegasusModel", "PegasusConfig", **MARIAN),
    "vit": vision("ViTModel", "ViTConfig", **IMAGE),
    "deit": vision("DeiTModel", "DeiTConfig", **IMAGE),
    "beit": vision("BeitModel", "BeitConfig", **IMAGE, use_relative_position_bias=True),
    "dinov2": vision("Dinov2Model", "Dinov2Config", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                     image_size=32, patch_size=8),
    "swin": vision("SwinModel", "SwinConfig", image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                   window_size=4),
    "swinv2": vision("Swinv2Model", "Swinv2Config", image_size=32, patch_size=2, embed_dim=16, depths=[2, 2],
                     num_heads=[2, 4], window_size=4),
    "hf_convnext": vision("ConvNextModel", "ConvNextConfig", hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 2, 1]),
    "hf_resnet": vision("ResNetModel", "ResNetConfig", embedding_size=8, hidden_sizes=[8, 16, 32, 64], depths=[1, 1, 1, 1]),
    "segformer": vision("SegformerForSemanticSegmentation", "SegformerConfig", depths=[1, 1, 1, 1],
                        hidden_sizes=[8, 16, 32, 64], decoder_hidden_size=16),
    "mobilevit": build("MobileViTModel", "MobileViTConfig", ("pixel_values",), (lambda: images(64),), {}, image_size=64,
                       hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 64], num_attention_heads=2),
    "clip_text": build("CLIPTextModel", "CLIPTextConfig", ("input_ids", "attention_mask"), (ids, mask), {}, **TEXT),
    "clip_vision": vision("CLIPVisionModel", "CLIPVisionConfig", **IMAGE),
    "siglip_vision": vision("SiglipVisionModel", "SiglipVisionConfig", **IMAGE),
    "wav2vec2": audio("Wav2Vec2Model", "Wav2Vec2Config", **WAVES),
    "hubert": audio("HubertModel", "HubertConfig", **WAVES),
    "whisper": build("WhisperModel", "WhisperConfig", ("input_features", "decoder_input_ids"),
                     (lambda: torch.randn(2, 16, 64), ids), {"use_cache": False}, vocab_size=99, d_model=32,
                     encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                     encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=32,
                     max_target_positions=64, pad_token_id=0),
}
