"""Colorization after Zhang et al., "Real-Time User-Guided Image Colorization" (SIGGRAPH 2017).

The network predicts CIE a and b from L. Parameter names follow the released implementation (`siggraph17`), of which
this is the automatic mode: there are no user hints, and the hint channels are zero. Its classification head
(`model_class`), which does not affect the colours, is omitted.
"""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluator.execution.experts.imaging import pad_to_multiple

_L_CENTRE, _L_SCALE, _AB_SCALE = 50.0, 100.0, 110.0
_WHITE = (0.95047, 1.0, 1.08883)
"""CIE XYZ of D65."""
_RGB_TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


@dataclass(frozen=True, slots=True)
class ColorizerConfig:
    """Widths of the network; the defaults are the paper's (34 million parameters)."""

    widths: tuple[int, int, int, int] = (64, 128, 256, 512)
    """Channels at full, half, quarter and eighth resolution."""


def _convolutions(*sizes: int, dilation: int = 1) -> nn.Sequential:
    """Convolutions with ReLU between successive sizes, then batch norm."""
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(sizes):
        layers += [nn.Conv2d(before, after, 3, padding=dilation, dilation=dilation), nn.ReLU()]
    return nn.Sequential(*layers, nn.BatchNorm2d(sizes[-1]))


class Colorizer(nn.Module):
    """L in [0, 100] of shape (batch, 1, height, width) in, ab in [-110, 110] of (batch, 2, height, width) out.

    Height and width must be multiples of 8; `colorize` pads.
    """

    def __init__(self, config: ColorizerConfig) -> None:
        super().__init__()
        full, half, quarter, eighth = config.widths
        self.model1 = _convolutions(4, full, full)
        self.model2 = _convolutions(full, half, half)
        self.model3 = _convolutions(half, quarter, quarter, quarter)
        self.model4 = _convolutions(quarter, eighth, eighth, eighth)
        self.model5 = _convolutions(eighth, eighth, eighth, eighth, dilation=2)
        self.model6 = _convolutions(eighth, eighth, eighth, eighth, dilation=2)
        self.model7 = _convolutions(eighth, eighth, eighth, eighth)
        self.model8up = nn.Sequential(nn.ConvTranspose2d(eighth, quarter, 4, stride=2, padding=1))
        self.model3short8 = nn.Sequential(nn.Conv2d(quarter, quarter, 3, padding=1))
        self.model8 = nn.Sequential(nn.ReLU(), *_convolutions(quarter, quarter, quarter))
        self.model9up = nn.Sequential(nn.ConvTranspose2d(quarter, half, 4, stride=2, padding=1))
        self.model2short9 = nn.Sequential(nn.Conv2d(half, half, 3, padding=1))
        self.model9 = nn.Sequential(nn.ReLU(), *_convolutions(half, half))
        # As released, the last stage has the width of the one before.
        self.model10up = nn.Sequential(nn.ConvTranspose2d(half, half, 4, stride=2, padding=1))
        self.model1short10 = nn.Sequential(nn.Conv2d(full, half, 3, padding=1))
        self.model10 = nn.Sequential(nn.ReLU(), nn.Conv2d(half, half, 3, padding=1), nn.LeakyReLU(0.2))
        self.model_out = nn.Sequential(nn.Conv2d(half, 2, 1), nn.Tanh())

    def forward(self, lightness: Tensor) -> Tensor:
        scaled = ((lightness - _L_CENTRE) / _L_SCALE).to(next(self.parameters()).dtype)
        hints = scaled.new_zeros((scaled.shape[0], 3, *scaled.shape[2:]))
        first = self.model1(torch.cat([scaled, hints], dim=1))
        second = self.model2(first[:, :, ::2, ::2])
        third = self.model3(second[:, :, ::2, ::2])
        deep = self.model7(self.model6(self.model5(self.model4(third[:, :, ::2, ::2]))))
        x = self.model8(self.model8up(deep) + self.model3short8(third))
        x = self.model9(self.model9up(x) + self.model2short9(second))
        x = self.model10(self.model10up(x) + self.model1short10(first))
        return self.model_out(x).to(lightness.dtype) * _AB_SCALE  # type: ignore[no-any-return]


def rgb_to_lab(rgb: Tensor) -> Tensor:
    """sRGB in [0, 1] to CIE Lab (D65), both of shape (batch, 3, height, width)."""
    linear = torch.where(rgb > 0.04045, ((rgb.clamp(min=0) + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    white = rgb.new_tensor(_WHITE)[:, None, None]
    xyz = torch.einsum("ij,bjhw->bihw", rgb.new_tensor(_RGB_TO_XYZ), linear) / white
    f = torch.where(xyz > 0.008856, xyz.clamp(min=1e-8) ** (1 / 3), 7.787 * xyz + 16 / 116)
    return torch.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], dim=1)


def lab_to_rgb(lab: Tensor) -> Tensor:
    """The inverse of `rgb_to_lab`; colours outside sRGB are clipped to [0, 1]."""
    fy = (lab[:, 0] + 16) / 116
    f = torch.stack([fy + lab[:, 1] / 500, fy, fy - lab[:, 2] / 200], dim=1).clamp(min=0)
    xyz = torch.where(f > 0.2068966, f**3, (f - 16 / 116) / 7.787) * lab.new_tensor(_WHITE)[:, None, None]
    back = torch.linalg.inv(torch.tensor(_RGB_TO_XYZ, dtype=torch.float64)).to(lab)
    linear = torch.einsum("ij,bjhw->bihw", back, xyz).clamp(0, 1)
    return torch.where(linear > 0.0031308, 1.055 * linear.clamp(min=1e-8) ** (1 / 2.4) - 0.055, linear * 12.92)


def colorize(model: Colorizer, image: Tensor) -> Tensor:
    """An image in [0, 1] of shape (batch, 3, height, width), any size, with predicted colours and its own lightness."""
    height, width = image.shape[-2:]
    lightness = rgb_to_lab(pad_to_multiple(image, multiple=8))[:, :1]
    lab = torch.cat([lightness, model(lightness)], dim=1)
    return lab_to_rgb(lab)[..., :height, :width]


def colorize_resized(model: Colorizer, image: Tensor, *, resized: Tensor) -> Tensor:
    """`colorize` with colours predicted at another size and resized bilinearly, as in the released code.

    Args:
        model: the network.
        image: in [0, 1], of shape (batch, 3, height, width); its lightness is kept.
        resized: the same image at the network's size, whose sides are multiples of 8.
    """
    colours = model(rgb_to_lab(resized)[:, :1])
    enlarged = functional.interpolate(colours, size=image.shape[-2:], mode="bilinear")
    return lab_to_rgb(torch.cat([rgb_to_lab(image)[:, :1], enlarged], dim=1))


def stretched(image: Tensor) -> Tensor:
    """Each image of a batch scaled so that its values over all channels range from 0 to 1; a uniform one is black."""
    low, high = image.amin(dim=(1, 2, 3), keepdim=True), image.amax(dim=(1, 2, 3), keepdim=True)
    return torch.where(high > low, (image - low) / (high - low).clamp(min=1e-12), torch.zeros_like(image))
