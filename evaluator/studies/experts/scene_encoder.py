"""The Vision Transformer that every expert of clean pictures is initialised from. It is not shipped itself.

A label or a caption per picture says little about where to look. The encoder therefore first learns from a label for
each patch; the experts start from its weights and learn their own task in minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
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
from evaluator.studies.experts.data.bank import Bank, normalised, rows_of
from evaluator.training.export import export_transformers

NAME = "scene-encoder"
PATCH = 8
_COLOURS, _SHAPES, _BACKGROUNDS = list(Colour), list(Shape), len(Background)
_COVERED = 0.2
"""Share of a patch that an object's box must cover for the patch to get its label."""


def vision_config(**names: Any) -> ViTConfig:
    """Sizes of the encoder and of every model initialised from it."""
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
    """Predicts for every patch the colour and the shape of its object, or none."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.colour = nn.Linear(width, len(_COLOURS) + 1)
        self.shape = nn.Linear(width, len(_SHAPES) + 1)

    def loss(self, *, patches: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of the patches' states, (batch, patches, width), with labels (batch, patches, 2)."""
        colour = F.cross_entropy(self.colour(patches).flatten(0, 1), labels[..., 0].flatten())
        return colour + F.cross_entropy(self.shape(patches).flatten(0, 1), labels[..., 1].flatten())


class SceneModel(nn.Module):
    """The encoder with its training heads, which are not exported."""

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


def patch_labels(*, split: Split, index: int) -> np.ndarray:
    """For each patch, row by row, 0 or 1 + colour and 0 or 1 + shape of the object that covers most of it."""
    starts = np.arange(0, SIZE, PATCH, dtype=np.float32)
    most = np.full((len(starts), len(starts)), _COVERED, dtype=np.float32)
    labels = np.zeros((len(starts), len(starts), 2), dtype=np.int8)
    # Objects do not overlap, but their boxes may: the smaller ones come last and take precedence.
    for thing in draw_scene(split=split, index=index).things:
        left, top, right, bottom = outline_box(thing)
        across = np.clip(np.minimum(right, starts + PATCH) - np.maximum(left, starts), 0, None)
        down = np.clip(np.minimum(bottom, starts + PATCH) - np.maximum(top, starts), 0, None)
        covered = np.outer(down, across) / PATCH**2
        here = covered >= most
        most[here] = covered[here]
        labels[here] = 1 + _COLOURS.index(thing.colour), 1 + _SHAPES.index(thing.shape)
    return labels.reshape(-1, 2)


def batch_of_patch_labels(*, bank: Bank, indices: np.ndarray) -> Tensor:
    """The labels of some scenes of a bank, shape (batch, patches, 2)."""
    rows = rows_of(patch_labels, split=bank.split, count=len(bank))
    return torch.from_numpy(rows.take(indices).astype(np.int64))


@dataclass(frozen=True, slots=True)
class SceneObjective:
    """Labels of patches; from the CLS token the background, the main shape and the colour of every shape present."""

    bank: Bank
    batch: int = 48

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, SceneModel)
        indices = np.sort(rng.integers(len(self.bank), size=self.batch))
        values = normalised(np.asarray(self.bank.pixels[indices]))
        hidden: Tensor = model.encoder(pixel_values=values).last_hidden_state
        labels = batch_of_patch_labels(bank=self.bank, indices=indices)
        patches = model.patches.loss(patches=hidden[:, 1:], labels=labels)
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
    return read_weights(path)


def read_weights(path: Path, *, prefix: str = "") -> dict[str, Tensor]:
    """The weights of a safetensors file whose names start with `prefix`, without the prefix and in float32."""
    return {
        name.removeprefix(prefix): value.float() for name, value in load_file(path).items() if name.startswith(prefix)
    }


_OLDER_NAMES = (
    ("layers.", "encoder.layer."),
    ("attention.q_proj", "attention.attention.query"),
    ("attention.k_proj", "attention.attention.key"),
    ("attention.v_proj", "attention.attention.value"),
    ("attention.o_proj", "attention.output.dense"),
)
_OLDER_MLP = (("mlp.fc1", "intermediate.dense"), ("mlp.fc2", "output.dense"))
"""Names of parts of a ViT in `transformers`, and in models that follow its older implementation."""


def older_names(state: Mapping[str, Tensor], *, mlp: bool) -> dict[str, Tensor]:
    """Weights of a ViT under the names of its older implementation, those of the MLPs only if `mlp`."""
    renamed = {}
    for name, value in state.items():
        for new, old in _OLDER_NAMES + (_OLDER_MLP if mlp else ()):
            name = name.replace(new, old)
        renamed[name] = value
    return renamed


def export(model: nn.Module, folder: Path) -> None:
    """Write the encoder."""
    assert isinstance(model, SceneModel)
    export_transformers(model.encoder, folder)
