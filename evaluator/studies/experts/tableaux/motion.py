"""Training of Video Classification: VideoMAE, with auxiliary labels for each patch of a clip.

One label for eight frames says little about where to look. Every patch of two frames therefore also learns whether it
shows the mover, what the mover looks like, which motion it is part of, and how it changes between frames.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import VideoMAEConfig, VideoMAEForVideoClassification

from evaluator.execution.experts.clips import CHANNELS, video_values
from evaluator.miniature.rendering import thing_mask
from evaluator.miniature.scenes import SIZE, SceneObject
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.clips import FRAMES, TIMES, Motion, moved
from evaluator.miniature.vocabulary import Background, Colour, Shape
from evaluator.studies.experts.data.bank import rows_of
from evaluator.studies.experts.tableaux.data import CLIPS, clip_at, clips_at
from evaluator.training.export import export_transformers

NAME = "video-classification"
PATCH, TUBELET = 8, 2
_TUBELETS, _SIDE = FRAMES // TUBELET, SIZE // PATCH
PATCHES = _TUBELETS * _SIDE**2
_COVERED = 0.15
"""Share of a patch that the mover must cover in one of its frames for the patch to show it."""
_MOTIONS, _COLOURS, _SHAPES, _BACKGROUNDS = list(Motion), list(Colour), list(Shape), list(Background)
_NUMBERS = 3 * FRAMES + 1
"""Of a track: x, y and size in each frame, and the change of the angle."""


def video_config(*, channels: int = CHANNELS, **names: Any) -> VideoMAEConfig:
    """Sizes of the encoder of clips."""
    return VideoMAEConfig(
        image_size=SIZE,
        patch_size=PATCH,
        num_channels=channels,
        num_frames=FRAMES,
        tubelet_size=TUBELET,
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=256,
        use_mean_pooling=True,
        **names,
    )


@dataclass(frozen=True, slots=True)
class ClipLabels:
    """The labels of the clips of a batch."""

    motion: Tensor
    """Index of the motion, shape (batch,)."""
    looks: Tensor
    """Indices of the mover's colour and shape and of the background, shape (batch, 3)."""
    shown: Tensor
    """Whether a patch shows the mover, shape (batch, patches)."""
    track: Tensor
    """x, y and size of the mover in each frame, and its rotation, scaled to about 1; shape (batch, 25)."""


def clip_labels(*, split: Split, indices: npt.NDArray[np.int64]) -> ClipLabels:
    """The labels of the clips with these indices."""
    patches, track, looks = (rows_of(row, split=split, count=CLIPS).take(indices) for row in (_patches, _track, _looks))
    return ClipLabels(
        motion=torch.from_numpy(looks[:, 0]),
        looks=torch.from_numpy(looks[:, 1:]),
        shown=torch.from_numpy(patches.reshape(len(indices), PATCHES)),
        track=torch.from_numpy(track),
    )


def _movers(*, split: Split, index: int) -> list[SceneObject]:
    """The mover in each frame of a clip."""
    clip = clip_at(split=split, index=index)
    return [moved(mover=clip.mover, motion=clip.motion, time=time) for time in TIMES]


def _patches(*, split: Split, index: int) -> npt.NDArray[np.bool_]:
    masks = np.stack([thing_mask(mover) for mover in _movers(split=split, index=index)])
    parts = masks.reshape(_TUBELETS, TUBELET, _SIDE, PATCH, _SIDE, PATCH)
    return np.asarray(parts.mean(axis=(3, 5)).max(axis=1) >= _COVERED)


def _track(*, split: Split, index: int) -> npt.NDArray[np.float32]:
    states = _movers(split=split, index=index)
    middle = (SIZE - 1) / 2
    places = [[(at.x - middle) / 16, (at.y - middle) / 16, 2 * np.log(at.radius / 8)] for at in states]
    return np.asarray([*np.ravel(places), states[-1].angle - states[0].angle], dtype=np.float32)


def _looks(*, split: Split, index: int) -> npt.NDArray[np.int64]:
    clip = clip_at(split=split, index=index)
    return np.asarray(
        [
            _MOTIONS.index(clip.motion),
            _COLOURS.index(clip.mover.colour),
            _SHAPES.index(clip.mover.shape),
            _BACKGROUNDS.index(clip.background),
        ]
    )


class ClipHeads(nn.Module):
    """Predicts for every patch of a clip whether it shows the mover, and if so, its appearance and motion."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shown = nn.Linear(width, 1)
        self.motion = nn.Linear(width, len(_MOTIONS))
        self.colour = nn.Linear(width, len(_COLOURS))
        self.shape = nn.Linear(width, len(_SHAPES))
        self.background = nn.Linear(width, len(_BACKGROUNDS))
        self.track = nn.Linear(width, _NUMBERS)

    def loss(self, *, patches: Tensor, labels: ClipLabels, shapes: float = 0.5) -> Tensor:
        """The loss of the patches' states, (batch, patches, width); `shapes` is the weight of the mover's shape."""
        shown = labels.shown
        here = patches[shown]
        clip = torch.arange(len(shown))[:, None].expand(shown.shape)[shown]
        return (
            F.binary_cross_entropy_with_logits(self.shown(patches)[..., 0], shown.float())
            + F.cross_entropy(self.motion(here), labels.motion[clip])
            + 0.5 * F.cross_entropy(self.colour(here), labels.looks[clip, 0])
            + shapes * F.cross_entropy(self.shape(here), labels.looks[clip, 1])
            + 0.3 * F.cross_entropy(self.background(patches.mean(dim=1)), labels.looks[:, 2])
            + 4 * F.smooth_l1_loss(self.track(here), labels.track[clip])
        )


class MotionModel(nn.Module):
    """The classifier with its training heads, which are not exported."""

    def __init__(self, classifier: VideoMAEForVideoClassification) -> None:
        super().__init__()
        self.classifier = classifier
        self.heads = ClipHeads(classifier.config.hidden_size)


def build() -> nn.Module:
    """A VideoMAE of three layers over 256 patches of 2x8x8 pixels."""
    names = {index: str(motion) for index, motion in enumerate(_MOTIONS)}
    config = video_config(id2label=names, label2id={name: index for index, name in names.items()})
    return MotionModel(VideoMAEForVideoClassification(config))


@torch.no_grad()
def begin(model: nn.Module, folders: Mapping[str, Path]) -> None:
    """Start from the patch filters of the image classifier, applied to the mean of two frames.

    Each filter also gets the change of another one between the frames, so that motion is visible from the first step.
    """
    assert isinstance(model, MotionModel)
    stored = load_file(folders["weights"] / "classification" / "model.safetensors")
    name = "vit.embeddings.patch_embeddings.projection"
    filters = stored[f"{name}.weight"].float() / 2
    projection = model.classifier.videomae.embeddings.patch_embeddings.projection
    projection.weight.zero_()
    projection.weight[:, :3].copy_(torch.stack([filters + filters.flip(0), filters - filters.flip(0)], dim=2))
    projection.bias.copy_(stored[f"{name}.bias"].float())


@dataclass(frozen=True, slots=True)
class MotionObjective:
    """Cross-entropy of the motion of a clip, and the auxiliary loss of its patches."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, MotionModel)
        indices = np.sort(rng.integers(CLIPS, size=self.batch))
        frames = clips_at(split=Split.TRAIN, indices=indices).frames
        labels = clip_labels(split=Split.TRAIN, indices=indices)
        patches = model.classifier.videomae(pixel_values=video_values(frames)).last_hidden_state
        pooled = model.classifier.fc_norm(patches.mean(dim=1))
        motion = F.cross_entropy(model.classifier.classifier(pooled), labels.motion)
        return motion + model.heads.loss(patches=patches, labels=labels)


def export(model: nn.Module, folder: Path) -> None:
    """Write the classifier."""
    assert isinstance(model, MotionModel)
    export_transformers(model.classifier, folder)
