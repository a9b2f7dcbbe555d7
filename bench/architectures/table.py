"""Architectures at the sizes at which people run them, with random weights: name → what makes the model and its inputs."""

import torch

from bench.architectures import generators, plain, volumes, wave_nets
from models.zoo import Architecture, Tensors
from models.zoo.torchvision_without_extension import import_torchvision


def timm(name: str, size: int = 224, **options) -> Architecture:
    def make():
        import_torchvision()
        import timm

        return timm.create_model(name, pretrained=False, **options).eval(), (torch.randn(1, 3, size, size),)

    return make


def torchvision(name: str, *shapes: tuple[int, ...], **options) -> Architecture:
    """`name` may have parts: segmentation.fcn_resnet50."""

    def make():
        models = import_torchvision().models
        *parts, last = name.split(".")
        for part in parts:
            models = getattr(models, part)
        model = getattr(models, last)(weights=None, **options).eval()
        return Tensors(model).eval(), tuple(torch.randn(shape) for shape in shapes or [(1, 3, 224, 224)])

    return make


def segmentation(name: str, size: int) -> Architecture:
    return torchvision(f"segmentation.{name}", (1, 3, size, size), weights_backbone=None)


def pyramid(name: str, size: int, **options) -> Architecture:
    """A backbone with its feature pyramid, as detectors have it."""

    def make():
        utilities = import_torchvision().models.detection.backbone_utils
        make_backbone = utilities.mobilenet_backbone if "mobilenet" in name else utilities.resnet_fpn_backbone
        model = make_backbone(backbone_name=name, weights=None, **options).eval()
        return Tensors(model).eval(), (torch.randn(1, 3, size, size),)

    return make


def words(model: str, config: str, length: int, **sizes) -> Architecture:
    return transformer(model, config, "input_ids", lambda: torch.randint(5, 99, (1, length)), **sizes)


def waves(model: str, config: str, samples: int, **sizes) -> Architecture:
    return transformer(model, config, "input_values", lambda: torch.randn(1, samples), **sizes)


def pixels(model: str, config: str, size: int, **sizes) -> Architecture:
    return transformer(model, config, "pixel_values", lambda: torch.randn(1, 3, size, size), **sizes)


def transformer(model: str, config: str, name: str, sample, cached: bool = False, **sizes) -> Architecture:
    def make():
        import_torchvision()
        import transformers

        made = getattr(transformers, model)(getattr(transformers, config)(**sizes)).eval()
        constants = {"return_dict": False} | ({"use_cache": False} if cached else {})
        return Tensors(made, (name,), **constants).eval(), (sample(),)

    return make


SMALL_LLAMA = dict(vocab_size=8000, hidden_size=512, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4,
                   intermediate_size=1376)  # fmt: skip
WHISPER = dict(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)

ARCHITECTURES: dict[str, Architecture] = {
    # images, plain and depthwise convolutions
    "alexnet": torchvision("alexnet"),
    "vgg11": torchvision("vgg11"),
    "squeezenet1_1": torchvision("squeezenet1_1"),
    "inception_v3": torchvision("inception_v3", (1, 3, 299, 299), init_weights=False, aux_logits=False),
    "resnet18": torchvision("resnet18"),
    "resnext50": torchvision("resnext50_32x4d"),
    "densenet121": torchvision("densenet121"),
    "regnet_y_400mf": torchvision("regnet_y_400mf"),
    "shufflenet_v2": torchvision("shufflenet_v2_x1_0"),
    "mnasnet1_0": torchvision("mnasnet1_0"),
    "mobilenet_v2": torchvision("mobilenet_v2"),
    "mobilenet_v3_small": torchvision("mobilenet_v3_small"),
    "mobilenet_v3_large": torchvision("mobilenet_v3_large"),
    "mobilenet_v4_small": timm("mobilenetv4_conv_small"),
    "efficientnet_b0": torchvision("efficientnet_b0"),
    "efficientnet_lite0": timm("tf_efficientnet_lite0"),
    "efficientnet_v2_s": torchvision("efficientnet_v2_s"),
    "ghostnet": timm("ghostnet_100"),
    "rexnet": timm("rexnet_100"),
    "repvgg_a0": timm("repvgg_a0"),
    "mobileone_s0": timm("mobileone_s0"),
    "hrnet_w18": timm("hrnet_w18_small"),
    "dla34": timm("dla34"),
    "res2net50": timm("res2net50_14w_8s"),
    "skresnet18": timm("skresnet18"),
    "hgnetv2_b0": timm("hgnetv2_b0"),
    "convnext_tiny": torchvision("convnext_tiny"),
    "convnextv2_atto": timm("convnextv2_atto"),
    "inception_next": timm("inception_next_atto"),
    "nfnet_l0": timm("nfnet_l0"),
    # images, attention and mixers
    "deit_tiny": timm("deit_tiny_patch16_224"),
    "beit_base": timm("beit_base_patch16_224"),
    "cait_xxs24": timm("cait_xxs24_224"),
    "xcit_tiny": timm("xcit_tiny_12_p16_224"),
    "mixer_s32": timm("mixer_s32_224"),
    "poolformer_s12": timm("poolformer_s12"),
    "swin_t": torchvision("swin_t"),
    "maxvit_t": torchvision("maxvit_t"),
    "coatnet_nano": timm("coatnet_nano_rw_224"),
    "edgenext_small": timm("edgenext_x_small", 256),
    "fastvit_t8": timm("fastvit_t8", 256),
    "mobilevit_s": timm("mobilevit_s", 256),
    "levit_128s": timm("levit_128s"),
    "efficientformer_l1": timm("efficientformer_l1"),
    "pvt_v2_b0": timm("pvt_v2_b0"),
    # pixels in, pixels out
    "deeplab_mobilenet": segmentation("deeplabv3_mobilenet_v3_large", 256),
    "deeplab_resnet50": segmentation("deeplabv3_resnet50", 192),
    "lraspp": segmentation("lraspp_mobilenet_v3_large", 256),
    "fcn_resnet50": segmentation("fcn_resnet50", 192),
    "segformer_b0": pixels("SegformerForSemanticSegmentation", "SegformerConfig", 256),
    "resnet18_pyramid": pyramid("resnet18", 256),
    "mobilenet_pyramid": pyramid("mobilenet_v3_large", 320, fpn=True),
    "super_resolution": plain.super_resolution,
    "detector_head": plain.detector,
    "style": generators.style,
    "image_generator": generators.image_generator,
    "denoiser": generators.denoiser,
    "small_super_resolution": generators.small_super_resolution,
    "image_decoder": generators.image_decoder,
    "restorer": generators.restorer,
    "digits": plain.digits,
    # video and flow
    "r3d_18": torchvision("video.r3d_18", (1, 3, 8, 64, 64)),
    "mc3_18": torchvision("video.mc3_18", (1, 3, 8, 64, 64)),
    "r2plus1d_18": torchvision("video.r2plus1d_18", (1, 3, 8, 64, 64)),
    "s3d": torchvision("video.s3d", (1, 3, 16, 224, 224)),
    "unet_3d": volumes.unet_3d,
    "volumes": volumes.volumes,
    "thin_video": volumes.thin_video,
    "plain_video": volumes.plain_video,
    "raft_small": torchvision("optical_flow.raft_small", (1, 3, 128, 128), (1, 3, 128, 128)),
    # text
    "distilbert": words("DistilBertModel", "DistilBertConfig", 64),
    "albert": words("AlbertModel", "AlbertConfig", 64, hidden_size=768, num_attention_heads=12, intermediate_size=3072),
    "electra_small": words("ElectraModel", "ElectraConfig", 128),
    "gpt2": words("GPT2Model", "GPT2Config", 64, cached=True),
    "t5_encoder": words("T5EncoderModel", "T5Config", 64),
    "llama_small": words("LlamaModel", "LlamaConfig", 64, cached=True, **SMALL_LLAMA),
    # sound, sequences, sets
    "whisper_encoder": transformer("WhisperForAudioClassification", "WhisperConfig", "input_features",
                                   lambda: torch.randn(1, 80, 3000), **WHISPER),
    "wav2vec2": waves("Wav2Vec2Model", "Wav2Vec2Config", 16000, num_hidden_layers=4),
    "vocoder": wave_nets.vocoder,
    "wave_encoder": wave_nets.wave_encoder,
    "separation": plain.separation,
    "text_reader": plain.text_reader,
    "gru_tagger": plain.gru_tagger,
    "dilated_tcn": plain.dilated_tcn,
    "pointnet": plain.pointnet,
    "selective_scan": plain.selective_scan,
}
