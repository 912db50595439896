"""Training of the two Vision Transformers: the image classifier and the encoder of the ViT score."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image as PillowImage
from torch import Tensor, nn
from transformers import ViTForImageClassification, ViTModel

from evaluator.miniature.degradations import BLUR_SIGMA, NOISE_SIGMA, low_resolution, to_pixels
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.vocabulary import CLASS_LABELS, Background, Colour, Shape
from evaluator.studies.experts.data.bank import Bank, Pixels, normalised
from evaluator.studies.experts.scene_encoder import older_names, read_weights, trained_encoder, vision_config
from evaluator.training.export import export_transformers

_COLOURS, _SHAPES, _BACKGROUNDS = len(Colour), len(Shape), len(Background)
_COSTS = (0.35, 0.35, 0.35, 0.35)
"""By how much grayscale, blur, noise and low resolution at full strength lower the similarity."""
_DIFFERENT = 0.2
"""Highest cosine between different scenes that costs nothing."""


@dataclass(frozen=True, slots=True)
class ClassificationObjective:
    """Cross-entropy of the label on clean images, and of its colour and its shape, which speeds up learning."""

    bank: Bank
    batch: int = 64

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        logits: Tensor = model(pixel_values=normalised(np.asarray(self.bank.pixels[indices]))).logits
        joint = logits.log_softmax(dim=-1).reshape(-1, _COLOURS, _SHAPES)
        attributes = torch.from_numpy(self.bank.attributes[indices])
        colour = F.nll_loss(joint.logsumexp(dim=2), attributes[:, 0])
        shape = F.nll_loss(joint.logsumexp(dim=1), attributes[:, 1])
        return F.nll_loss(joint.flatten(1), torch.from_numpy(self.bank.labels[indices])) + colour + shape


class SimilarityModel(nn.Module):
    """The scorer's encoder with its training heads, which are not exported."""

    def __init__(self, encoder: ViTModel) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        self.encoder = encoder
        self.colour = nn.Linear(width, _COLOURS)
        self.shape = nn.Linear(width, _SHAPES)
        self.background = nn.Linear(width, _BACKGROUNDS)
        self.presence = nn.Linear(width, _SHAPES * (_COLOURS + 1))
        self.severity = nn.Linear(width, 4)

    def forward(self, values: Tensor) -> Tensor:
        """The CLS token of the last hidden state, (batch, width)."""
        hidden: Tensor = self.encoder(pixel_values=values).last_hidden_state
        return hidden[:, 0]


def spoilt(*, clean: Pixels, rng: np.random.Generator) -> tuple[Pixels, Tensor]:
    """Degraded images and the severity of each of the four degradations in [0, 1], shape (batch, 4).

    Half of the severities are 0. Partial severities represent partly restored images.
    """
    levels = rng.random((len(clean), 4)) * (rng.random((len(clean), 4)) < 0.5)
    levels = np.where(rng.random((len(clean), 4)) < 0.3, np.ceil(levels), levels).astype(np.float32)
    images = np.stack([_spoil(image=image, levels=row, rng=rng) for image, row in zip(clean, levels, strict=True)])
    return images, torch.from_numpy(levels)


def _spoil(*, image: Pixels, levels: np.ndarray, rng: np.random.Generator) -> Pixels:
    gray, blurred, noisy, coarse = (float(level) for level in levels)
    values = image.astype(np.float32)
    if gray:
        luma = values @ np.asarray((0.299, 0.587, 0.114), dtype=np.float32)
        values = (1 - gray) * values + gray * luma[..., None]
    if blurred:
        values = _gaussian(values=values, sigma=blurred * BLUR_SIGMA)
    if noisy:
        values = values + rng.standard_normal(values.shape, dtype=np.float32) * np.float32(255 * NOISE_SIGMA * noisy)
    pixels = to_pixels(values)
    if coarse:
        small = PillowImage.fromarray(low_resolution(pixels))
        large = np.asarray(small.resize((SIZE, SIZE), PillowImage.Resampling.BILINEAR), dtype=np.float32)
        pixels = to_pixels((1 - coarse) * pixels.astype(np.float32) + coarse * large)
    return pixels


def _gaussian(*, values: np.ndarray, sigma: float) -> np.ndarray:
    """Separable Gaussian blur of one image by two matrix products, edges replicated."""
    offsets = np.arange(SIZE, dtype=np.float32)
    kernel = np.exp(-0.5 * ((offsets[:, None] - offsets[None, :]) / max(sigma, 1e-3)) ** 2)
    kernel = (kernel / kernel.sum(axis=1, keepdims=True)).astype(np.float32)
    rows = np.einsum("ij,jkc->ikc", kernel, values, optimize=True)
    return np.asarray(np.einsum("ij,kjc->kic", kernel, rows, optimize=True))


@dataclass(frozen=True, slots=True)
class SimilarityObjective:
    """Make the CLS token encode content and quality.

    Linear heads predict content and severities from the tokens of clean and degraded images. The target of the cosine
    between an image and its degraded version is a product over the four degradations, each of which costs up to
    `_COSTS` in proportion to its severity; between different scenes the cosine should stay below `_DIFFERENT`.
    """

    bank: Bank
    scenes: int = 32

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, SimilarityModel)
        indices = np.sort(rng.integers(len(self.bank), size=self.scenes))
        clean = np.asarray(self.bank.pixels[indices])
        images, levels = spoilt(clean=clean, rng=rng)
        attributes = torch.from_numpy(self.bank.attributes[indices]).repeat(2, 1)
        cls = model(normalised(np.concatenate([clean, images])))
        presence = model.presence(cls).reshape(-1, _COLOURS + 1)
        content = (
            F.cross_entropy(model.colour(cls), attributes[:, 0])
            + F.cross_entropy(model.shape(cls), attributes[:, 1])
            + F.cross_entropy(model.background(cls), attributes[:, 2])
            + F.cross_entropy(presence, attributes[:, 3:].reshape(-1))
        )
        severity = F.smooth_l1_loss(model.severity(cls), torch.cat([torch.zeros_like(levels), levels]), beta=0.1)
        first, second = F.normalize(cls, dim=-1).chunk(2)
        same = F.mse_loss((first * second).sum(dim=-1), (1 - torch.tensor(_COSTS) * levels).prod(dim=-1))
        different = (first * first.roll(1, dims=0)).sum(dim=-1)
        similarity = same + 0.5 * F.relu(different - _DIFFERENT).square().mean()
        return content + 4 * severity + 20 * similarity


def classifier_encoder(folders: Mapping[str, Path], *, mlp: bool) -> dict[str, Tensor]:
    """The classifier's encoder of four layers, width 96, over 8x8 pixels; see `older_names`."""
    path = folders["weights"] / "classification" / "model.safetensors"
    return older_names(read_weights(path, prefix="vit."), mlp=mlp)


def classifier() -> nn.Module:
    """A Vision Transformer with the sizes of the scene encoder."""
    names = dict(enumerate(CLASS_LABELS))
    numbers = {label: index for index, label in names.items()}
    model: nn.Module = ViTForImageClassification(vision_config(id2label=names, label2id=numbers))
    return model


def begin_classifier(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained encoder of clean scenes."""
    model.get_submodule("vit").load_state_dict(trained_encoder(folders))


def similarity() -> nn.Module:
    """The scorer's encoder with its heads."""
    return SimilarityModel(ViTModel(vision_config(), add_pooling_layer=False))


def begin_similarity(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the trained encoder of clean scenes."""
    model.get_submodule("encoder").load_state_dict(trained_encoder(folders))


def export_similarity(model: nn.Module, folder: Path) -> None:
    """Write the encoder."""
    assert isinstance(model, SimilarityModel)
    export_transformers(model.encoder, folder)
