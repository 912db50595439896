"""Restormer: an encoder-decoder of transposed-attention blocks for image restoration (Zamir et al., CVPR 2022).

Parameter names follow the released implementation, so that its checkpoints load into the paper's configuration.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from evaluator.execution.experts.imaging import pad_to_multiple


@dataclass(frozen=True, slots=True)
class RestormerConfig:
    """Sizes of the network; the defaults are the paper's (26 million parameters)."""

    dim: int = 48
    num_blocks: tuple[int, int, int, int] = (4, 6, 6, 8)
    num_refinement_blocks: int = 4
    heads: tuple[int, int, int, int] = (1, 2, 4, 8)
    ffn_expansion_factor: float = 2.66
    bias: bool = False
    norm_bias: bool = True
    """`WithBias` (deblurring) or `BiasFree` (the paper's Gaussian denoising) layer norm."""


class _LayerNorm(nn.Module):
    """Normalizes the channels of every pixel. The bias-free form does not centre."""

    def __init__(self, *, dim: int, centred: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim)) if centred else None

    def forward(self, x: Tensor) -> Tensor:
        if self.bias is None:
            variance = x.var(dim=1, keepdim=True, unbiased=False)
            return x * torch.rsqrt(variance + 1e-5) * self.weight[:, None, None]
        last = F.layer_norm(x.permute(0, 2, 3, 1), self.weight.shape, self.weight, self.bias, 1e-5)
        return last.permute(0, 3, 1, 2)


class _Norm(nn.Module):
    """Wraps the layer norm under its released name `body`."""

    def __init__(self, *, dim: int, centred: bool) -> None:
        super().__init__()
        self.body = _LayerNorm(dim=dim, centred=centred)

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)  # type: ignore[no-any-return]


class _FeedForward(nn.Module):
    """Gated-Dconv feed-forward network (GDFN), equation 3 of the paper."""

    def __init__(self, *, dim: int, expansion: float, bias: bool) -> None:
        super().__init__()
        hidden = int(dim * expansion)
        self.project_in = nn.Conv2d(dim, hidden * 2, 1, bias=bias)
        self.dwconv = nn.Conv2d(hidden * 2, hidden * 2, 3, padding=1, groups=hidden * 2, bias=bias)
        self.project_out = nn.Conv2d(hidden, dim, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        gate, value = self.dwconv(self.project_in(x)).chunk(2, dim=1)
        return self.project_out(F.gelu(gate) * value)  # type: ignore[no-any-return]


class _Attention(nn.Module):
    """Multi-Dconv head transposed attention (MDTA), equation 2: attention between channels, not pixels."""

    def __init__(self, *, dim: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.qkv = nn.Conv2d(dim, dim * 3, 1, bias=bias)
        self.qkv_dwconv = nn.Conv2d(dim * 3, dim * 3, 3, padding=1, groups=dim * 3, bias=bias)
        self.project_out = nn.Conv2d(dim, dim, 1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        query, key, value = (
            part.reshape(batch, self.heads, channels // self.heads, height * width)
            for part in self.qkv_dwconv(self.qkv(x)).chunk(3, dim=1)
        )
        similarity = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)
        mixed = (similarity * self.temperature).softmax(dim=-1) @ value
        return self.project_out(mixed.reshape(batch, channels, height, width))  # type: ignore[no-any-return]


class _Block(nn.Module):
    def __init__(self, *, dim: int, heads: int, config: RestormerConfig) -> None:
        super().__init__()
        self.norm1 = _Norm(dim=dim, centred=config.norm_bias)
        self.attn = _Attention(dim=dim, heads=heads, bias=config.bias)
        self.norm2 = _Norm(dim=dim, centred=config.norm_bias)
        self.ffn = _FeedForward(dim=dim, expansion=config.ffn_expansion_factor, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.ffn(self.norm2(x))  # type: ignore[no-any-return]


class _PatchEmbed(nn.Module):
    """The first convolution, under its released name."""

    def __init__(self, *, dim: int, bias: bool) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, dim, 3, padding=1, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x)  # type: ignore[no-any-return]


class _Rescale(nn.Module):
    """Half the size with twice the channels, or the reverse, by pixel (un)shuffling."""

    def __init__(self, *, dim: int, down: bool) -> None:
        super().__init__()
        convolution = nn.Conv2d(dim, dim // 2 if down else dim * 2, 3, padding=1, bias=False)
        self.body = nn.Sequential(convolution, nn.PixelUnshuffle(2) if down else nn.PixelShuffle(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x)  # type: ignore[no-any-return]


class Restormer(nn.Module):
    """Image in, restored image out: (batch, 3, height, width) in [0, 1], any height and width.

    Sizes that are no multiple of 8 are padded by reflection and cropped afterwards.
    """

    def __init__(self, config: RestormerConfig) -> None:
        super().__init__()
        dim, bias = config.dim, config.bias

        def stage(*, width: int, blocks: int, heads: int) -> nn.Sequential:
            return nn.Sequential(*(_Block(dim=width, heads=heads, config=config) for _ in range(blocks)))

        counts, heads = config.num_blocks, config.heads
        self.patch_embed = _PatchEmbed(dim=dim, bias=False)
        self.encoder_level1 = stage(width=dim, blocks=counts[0], heads=heads[0])
        self.down1_2 = _Rescale(dim=dim, down=True)
        self.encoder_level2 = stage(width=dim * 2, blocks=counts[1], heads=heads[1])
        self.down2_3 = _Rescale(dim=dim * 2, down=True)
        self.encoder_level3 = stage(width=dim * 4, blocks=counts[2], heads=heads[2])
        self.down3_4 = _Rescale(dim=dim * 4, down=True)
        self.latent = stage(width=dim * 8, blocks=counts[3], heads=heads[3])
        self.up4_3 = _Rescale(dim=dim * 8, down=False)
        self.reduce_chan_level3 = nn.Conv2d(dim * 8, dim * 4, 1, bias=bias)
        self.decoder_level3 = stage(width=dim * 4, blocks=counts[2], heads=heads[2])
        self.up3_2 = _Rescale(dim=dim * 4, down=False)
        self.reduce_chan_level2 = nn.Conv2d(dim * 4, dim * 2, 1, bias=bias)
        self.decoder_level2 = stage(width=dim * 2, blocks=counts[1], heads=heads[1])
        self.up2_1 = _Rescale(dim=dim * 2, down=False)
        # No reduction at the first level: the last stages have the width 2 * dim.
        self.decoder_level1 = stage(width=dim * 2, blocks=counts[0], heads=heads[0])
        self.refinement = stage(width=dim * 2, blocks=config.num_refinement_blocks, heads=heads[0])
        self.output = nn.Conv2d(dim * 2, 3, 3, padding=1, bias=bias)

    def forward(self, image: Tensor) -> Tensor:
        height, width = image.shape[-2:]
        padded = pad_to_multiple(image, multiple=8)
        first = self.encoder_level1(self.patch_embed(padded.to(self.output.weight.dtype)))
        second = self.encoder_level2(self.down1_2(first))
        third = self.encoder_level3(self.down2_3(second))
        latent = self.latent(self.down3_4(third))
        x = self.reduce_chan_level3(torch.cat([self.up4_3(latent), third], dim=1))
        x = self.decoder_level3(x)
        x = self.reduce_chan_level2(torch.cat([self.up3_2(x), second], dim=1))
        x = self.decoder_level2(x)
        x = self.decoder_level1(torch.cat([self.up2_1(x), first], dim=1))
        # Only the residual has the precision of the weights, so that adding it keeps the image's 8 bits.
        return (padded + self.output(self.refinement(x)).to(padded.dtype))[..., :height, :width]  # type: ignore[no-any-return]
