"""timm and torchvision: plain, depthwise, attention, mixers, segmentation, video, optical flow."""

import torch

from models.zoo import Architecture, Tensors
from models.zoo.torchvision_without_extension import import_torchvision


def from_timm(name: str, size: int = 64, **options) -> Architecture:
    def make():
        import_torchvision()
        import timm

        return timm.create_model(name, pretrained=False, num_classes=10, **options).eval(), (torch.randn(2, 3, size, size),)

    return make


def from_torchvision(name: str, *shapes: tuple[int, ...], **options) -> Architecture:
    def make():
        models = import_torchvision().models
        for part in name.split(".")[:-1]:
            models = getattr(models, part)
        model = getattr(models, name.split(".")[-1])(weights=None, **options).eval()
        return Tensors(model).eval(), tuple(torch.randn(shape) for shape in shapes)

    return make


IMAGE = (2, 3, 64, 64)
ARCHITECTURES = {name: from_timm(name) for name in (
    "resnet18", "resnet26d", "resnext26ts", "seresnext26d_32x4d", "ecaresnet26t", "densenet121",
    "efficientnet_b0", "mobilenetv3_small_050", "mobilenetv2_050", "mnasnet_small", "regnetx_002", "regnety_002",
    "ghostnet_050", "hardcorenas_a", "repvgg_a0", "res2net50_14w_8s", "skresnet18", "dla34", "vovnet39a", "cspresnet50",
    "convnext_atto", "convnextv2_atto", "nfnet_l0", "edgenext_xx_small", "mobileone_s0", "fastvit_t8", "poolformer_s12",
    "inception_next_tiny", "lcnet_050", "tinynet_e", "hgnetv2_b0",
)}
ARCHITECTURES |= {
    "vit_tiny": from_timm("vit_tiny_patch16_224", img_size=64),
    "deit3_small": from_timm("deit3_small_patch16_224", img_size=64),
    "mixer_s16": from_timm("mixer_s16_224", img_size=64),
    "gmlp_ti16": from_timm("gmlp_ti16_224", img_size=64),
    "resmlp_12": from_timm("resmlp_12_224", img_size=64),
    "xcit_nano": from_timm("xcit_nano_12_p16_224"),
    "coat_lite_tiny": from_timm("coat_lite_tiny", img_size=64),
    "pit_ti": from_timm("pit_ti_224", 224),
    "levit_128s": from_timm("levit_128s", 224),
    "mvitv2_tiny": from_timm("mvitv2_tiny", img_size=64),
    "swinv2_cr_tiny": from_timm("swinv2_cr_tiny_224", img_size=64, window_size=2),
    "alexnet": from_torchvision("alexnet", IMAGE, num_classes=10),
    "vgg11_bn": from_torchvision("vgg11_bn", IMAGE, num_classes=10),
    "squeezenet": from_torchvision("squeezenet1_1", IMAGE, num_classes=10),
    "googlenet": from_torchvision("googlenet", (2, 3, 96, 96), num_classes=10, init_weights=False, aux_logits=False),
    "inception_v3": from_torchvision("inception_v3", (1, 3, 128, 128), num_classes=10, init_weights=False,
                                     aux_logits=False),
    "shufflenet": from_torchvision("shufflenet_v2_x0_5", IMAGE, num_classes=10),
    "maxvit": from_torchvision("maxvit_t", (1, 3, 224, 224), num_classes=10),
    "fcn": from_torchvision("segmentation.fcn_resnet50", (1, 3, 64, 64), weights_backbone=None, num_classes=5),
    "deeplab": from_torchvision("segmentation.deeplabv3_mobilenet_v3_large", (1, 3, 64, 64), weights_backbone=None,
                                num_classes=5),
    "lraspp": from_torchvision("segmentation.lraspp_mobilenet_v3_large", (1, 3, 64, 64), weights_backbone=None,
                               num_classes=5),
    "r3d_18": from_torchvision("video.r3d_18", (1, 3, 8, 32, 32), num_classes=5),
    "r2plus1d_18": from_torchvision("video.r2plus1d_18", (1, 3, 8, 32, 32), num_classes=5),
    "raft_small": from_torchvision("optical_flow.raft_small", (1, 3, 128, 128), (1, 3, 128, 128)),
}
