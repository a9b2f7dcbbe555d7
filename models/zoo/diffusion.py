"""diffusers: the networks of a latent diffusion pipeline."""

import torch

from models.zoo import Tensors
from models.zoo.torchvision_without_extension import import_torchvision


def unet():
    import_torchvision()
    from diffusers import UNet2DModel

    model = UNet2DModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1,
                        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    return Tensors(model, return_dict=False).eval(), (torch.randn(1, 3, 16, 16), torch.tensor([10]))


def conditioned_unet():
    import_torchvision()
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32,
                                 attention_head_dim=8, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
                                 up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"))
    return Tensors(model, return_dict=False).eval(), (torch.randn(1, 4, 16, 16), torch.tensor([10]),
                                                      torch.randn(1, 7, 32))


def vae_part(part: str, channels: int):
    def make():
        import_torchvision()
        from diffusers import AutoencoderKL

        model = AutoencoderKL(block_out_channels=(32, 64), layers_per_block=1,
                              down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
        return getattr(model, part).eval(), (torch.randn(1, channels, 16, 16),)

    return make


ARCHITECTURES = {
    "unet2d": unet,
    "unet2d_condition": conditioned_unet,
    "vae_encoder": vae_part("encoder", 3),
    "vae_decoder": vae_part("decoder", 4),
}
