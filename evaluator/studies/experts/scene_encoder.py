"""The Vision Transformer with which every expert that looks at clean pictures begins. It is not shipped itself.

A label or a caption says little per step about where a model should look. So the encoder first learns from a label for
each of its patches what lies there; the experts then start from it and learn their own task in minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import ViTConfig, ViTModel

from evaluator.miniature.rendering import outline_box
from evaluator.miniature.scenes import SIZE, draw_scene
from evaluator.miniature.seeds import Split
from evaluator.miniature.vocabulary import Background, Colour, Shape
from evaluator.studies.experts.data.bank import Bank, Rows, normalised
from evaluator.training.export import export_transformers

NAME = "scene-encoder"
PATCH = 8
_COLOURS, _SHAPES, _BACKGROUNDS = list(Colour), list(Shape), len(Background)
_COVERED = 0.2
"""Share of a patch that an object's box must cover for the patch to be said to show it."""


def vision_config(**names: Any) -> ViTConfig:
    """Sizes of the encoder and of everything that begins with it."""
    return ViTConfig(
        hidden_size=96,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=256,
        image_size=SIZE,
        patch_size=PATCH,
        **names,
    )


class PatchHeads(nn.Module):
    """Says of every patch which colour and which shape lies there, or none."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.colour = nn.Linear(width, len(_COLOURS) + 1)
        self.shape = nn.Linear(width, len(_SHAPES) + 1)

    def loss(self, *, patches: Tensor, wanted: Tensor) -> Tensor:
        """Cross-entropy of the patches' states, (batch, patches, width), with labels (batch, patches, 2)."""
        colour = F.cross_entropy(self.colour(patches).flatten(0, 1), wanted[..., 0].flatten())
        return colour + F.cross_entropy(self.shape(patches).flatten(0, 1), wanted[..., 1].flatten())


class SceneModel(nn.Module):
    """The encoder with the heads it is trained with; only the encoder is used later."""

    def __init__(self, encoder: ViTModel) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        self.encoder = encoder
        self.patches = PatchHeads(width)
        self.background = nn.Linear(width, _BACKGROUNDS)
        self.main_shape = nn.Linear(width, len(_SHAPES))
        self.presence = nn.Linear(width, len(_SHAPES) * (len(_COLOURS) + 1))


def build() -> nn.Module:
    """The model before training."""
    return SceneModel(ViTModel(vision_config(), add_pooling_layer=False))


def patch_labels(*, split: Split, index: int) -> Tensor:
    """For each patch, row by row, 0 or 1 + colour and 0 or 1 + shape of the object that covers most of it."""
    starts = np.arange(0, SIZE, PATCH, dtype=np.float32)
    most = np.full((len(starts), len(starts)), _COVERED, dtype=np.float32)
    labels = np.zeros((len(starts), len(starts), 2), dtype=np.int64)
    # Objects do not overlap, but their boxes may: the smaller ones come last and win.
    for thing in draw_scene(split=split, index=index).things:
        left, top, right, bottom = outline_box(thing)
        across = np.clip(np.minimum(right, starts + PATCH) - np.maximum(left, starts), 0, None)
        down = np.clip(np.minimum(bottom, starts + PATCH) - np.maximum(top, starts), 0, None)
        covered = np.outer(down, across) / PATCH**2
        here = covered >= most
        most[here] = covered[here]
        labels[here] = 1 + _COLOURS.index(thing.colour), 1 + _SHAPES.index(thing.shape)
    return torch.from_numpy(labels.reshape(-1, 2))


def batch_of_patch_labels(*, bank: Bank, indices: np.ndarray) -> Tensor:
    """The labels of some scenes of a bank, shape (batch, patches, 2)."""
    return torch.from_numpy(_label_rows(split=bank.split, count=len(bank)).take(indices).astype(np.int64))


@cache
def _label_rows(*, split: Split, count: int) -> Rows:
    return Rows(
        count=count,
        compute=lambda new: np.stack([patch_labels(split=split, index=int(i)).numpy().astype(np.int8) for i in new]),
    )


@dataclass(frozen=True, slots=True)
class SceneObjective:
    """Labels of patches, and from the CLS token background, main shape and the colour of every shape that is there."""

    bank: Bank
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, SceneModel)
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        values = normalised(np.asarray(self.bank.pixels[indices]))
        hidden: Tensor = model.encoder(pixel_values=values).last_hidden_state
        wanted = batch_of_patch_labels(bank=self.bank, indices=indices)
        patches = model.patches.loss(patches=hidden[:, 1:], wanted=wanted)
        attributes = torch.from_numpy(self.bank.attributes[indices])
        presence = model.presence(hidden[:, 0]).reshape(-1, len(_COLOURS) + 1)
        return (
            3 * patches
            + F.cross_entropy(model.background(hidden[:, 0]), attributes[:, 2])
            + F.cross_entropy(model.main_shape(hidden[:, 0]), attributes[:, 1])
            + F.cross_entropy(presence, attributes[:, 3:].reshape(-1))
        )


def trained_encoder(folders: Mapping[str, Path]) -> dict[str, Tensor]:
    """The weights of the trained encoder.

    Raises:
        FileNotFoundError: it has not been trained in this work folder.
    """
    return trained(NAME, folders=folders)


def trained(name: str, *, folders: Mapping[str, Path]) -> dict[str, Tensor]:
    """The weights of a model that is not shipped, in float32.

    Raises:
        FileNotFoundError: it has not been trained in this work folder.
    """
    path = folders["work"] / name / "model.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"there is no {path}; train it first: `planarena lilliput train {name}`")
    return {key: value.float() for key, value in load_file(path).items()}


def export(model: nn.Module, folder: Path) -> None:
    """Write the encoder."""
    assert isinstance(model, SceneModel)
    export_transformers(model.encoder, folder)
