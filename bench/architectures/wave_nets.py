"""Nets that make waves or read them, by convolutions along time, in plain PyTorch."""

import torch
from torch import nn
from torch.nn import functional


def along_time(channels: int, kernel: int, dilation: int = 1) -> nn.Conv1d:
    return nn.Conv1d(channels, channels, kernel, dilation=dilation, padding=(kernel - 1) // 2 * dilation)


class Residuals(nn.Module):
    """Dilated convolutions, each followed by one that is not, over the input."""

    def __init__(self, channels: int, kernel: int, dilations: tuple[int, ...]):
        super().__init__()
        self.dilated = nn.ModuleList(along_time(channels, kernel, dilation) for dilation in dilations)
        self.plain = nn.ModuleList(along_time(channels, kernel) for _ in dilations)

    def forward(self, x):
        for dilated, plain in zip(self.dilated, self.plain):
            x = x + plain(functional.leaky_relu(dilated(functional.leaky_relu(x, 0.1)), 0.1))
        return x


class Vocoder(nn.Module):
    """A wave from a spectrogram, as HiFi-GAN has it (Kong, Kim, Bae 2020): at each rate the mean of residuals of three kernels."""

    def __init__(self, width: int = 256, bands: int = 80, rates: tuple[int, ...] = (8, 8, 2, 2)):
        super().__init__()
        self.first = nn.Conv1d(bands, width, 7, padding=3)
        widths = [width >> i for i in range(len(rates) + 1)]
        self.up = nn.ModuleList(nn.ConvTranspose1d(a, b, 2 * r, r, r // 2) for a, b, r in zip(widths, widths[1:], rates))
        self.residuals = nn.ModuleList(nn.ModuleList(Residuals(w, k, (1, 3, 5)) for k in (3, 7, 11)) for w in widths[1:])
        self.last = nn.Conv1d(widths[-1], 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, residuals in zip(self.up, self.residuals):
            x = up(functional.leaky_relu(x, 0.1))
            x = sum(residual(x) for residual in residuals) / len(residuals)
        return torch.tanh(self.last(functional.leaky_relu(x)))


def vocoder():
    return Vocoder().eval(), (torch.randn(1, 80, 32),)


def wave_encoder(width: int = 32, rates: tuple[int, ...] = (2, 4, 5, 8)):
    """Few vectors of a wave, as EnCodec has it (Défossez et al. 2022): residuals, then a stride of half the kernel, at each rate."""
    layers: list[nn.Module] = [nn.Conv1d(1, width, 7, padding=3)]
    for rate in rates:
        layers += [Residuals(width, 3, (1, 3)), nn.ELU(), nn.Conv1d(width, 2 * width, 2 * rate, rate, rate // 2)]
        width *= 2
    return nn.Sequential(*layers, nn.ELU(), nn.Conv1d(width, 128, 7, padding=3)).eval(), (torch.randn(1, 1, 16000),)
