"""Training of Video Classification: VideoMAE, helped by what is known of each patch of a clip.

One label for eight frames says little about where to look. So every patch of two frames also learns whether it shows
the mover, what the mover looks like, which motion it takes part in, and how it changes from one frame to the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
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
from evaluator.miniature.scenes import SIZE
from evaluator.miniature.seeds import Split
from evaluator.miniature.tableaux.clips import FRAMES, ClipRecord, Motion, moved
from evaluator.miniature.vocabulary import Background, Colour, Shape
from evaluator.studies.experts.data.bank import Rows
from evaluator.studies.experts.tableaux.data import CLIPS, clips_at
from evaluator.training.export import export_transformers

NAME = "video-classification"
PATCH, TUBELET = 8, 2
_TUBELETS, _SIDE = FRAMES // TUBELET, SIZE // PATCH
PATCHES = _TUBELETS * _SIDE**2
_COVERED = 0.15
"""Share of a patch that the mover must cover in one of its frames for the patch to be said to show it."""
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
    """What is known of the clips of a batch."""

    motion: Tensor
    """Index of the motion, shape (batch,)."""
    looks: Tensor
    """Indices of the mover's colour and shape and of the background, shape (batch, 3)."""
    shown: Tensor
    """Whether a patch shows the mover, shape (batch, patches)."""
    track: Tensor
    """x, y and size of the mover in each frame and how it turns, all about 1 in size, shape (batch, 25)."""


def clip_labels(*, split: Split, indices: npt.NDArray[np.int64]) -> ClipLabels:
    """The labels of the clips with these indices."""
    shown, track = _patch_rows(split=split).take(indices), _track_rows(split=split).take(indices)
    looks = _look_rows(split=split).take(indices)
    return ClipLabels(
        motion=torch.from_numpy(looks[:, 0]),
        looks=torch.from_numpy(looks[:, 1:]),
        shown=torch.from_numpy(shown.reshape(len(indices), PATCHES)),
        track=torch.from_numpy(track),
    )


def _record(*, split: Split, index: int) -> ClipRecord:
    return clips_at(split=split, indices=np.asarray([index])).clips[0]


@cache
def _patch_rows(*, split: Split) -> Rows:
    return Rows(
        count=CLIPS, compute=lambda new: np.stack([_shown(_record(split=split, index=int(index))) for index in new])
    )


@cache
def _track_rows(*, split: Split) -> Rows:
    return Rows(
        count=CLIPS, compute=lambda new: np.stack([_track(_record(split=split, index=int(index))) for index in new])
    )


@cache
def _look_rows(*, split: Split) -> Rows:
    return Rows(
        count=CLIPS, compute=lambda new: np.stack([_looks(_record(split=split, index=int(index))) for index in new])
    )


def _shown(clip: ClipRecord) -> npt.NDArray[np.bool_]:
    masks = np.stack([thing_mask(moved(mover=clip.mover, motion=clip.motion, time=time)) for time in _times()])
    parts = masks.reshape(_TUBELETS, TUBELET, _SIDE, PATCH, _SIDE, PATCH)
    return np.asarray(parts.mean(axis=(3, 5)).max(axis=1) >= _COVERED)


def _track(clip: ClipRecord) -> npt.NDArray[np.float32]:
    states = [moved(mover=clip.mover, motion=clip.motion, time=time) for time in _times()]
    middle = (SIZE - 1) / 2
    places = [[(at.x - middle) / 16, (at.y - middle) / 16, 2 * np.log(at.radius / 8)] for at in states]
    return np.asarray([*np.ravel(places), states[-1].angle - states[0].angle], dtype=np.float32)


def _looks(clip: ClipRecord) -> npt.NDArray[np.int64]:
    mover = clip.mover
    return np.asarray(
        [
            _MOTIONS.index(clip.motion),
            _COLOURS.index(mover.colour),
            _SHAPES.index(mover.shape),
            _BACKGROUNDS.index(clip.background),
        ]
    )


def _times() -> list[float]:
    return [2 * frame / (FRAMES - 1) - 1 for frame in range(FRAMES)]


class ClipHeads(nn.Module):
    """Says of every patch of a clip whether it shows the mover, and of one that does what it looks like and does."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shown = nn.Linear(width, 1)
        self.motion = nn.Linear(width, len(_MOTIONS))
        self.colour = nn.Linear(width, len(_COLOURS))
        self.shape = nn.Linear(width, len(_SHAPES))
        self.background = nn.Linear(width, len(_BACKGROUNDS))
        self.track = nn.Linear(width, _NUMBERS)

    def loss(self, *, patches: Tensor, wanted: ClipLabels, shapes: float = 0.5) -> Tensor:
        """A scalar from the patches' states, (batch, patches, width); `shapes` is the weight of the mover's shape."""
        shown = wanted.shown
        here = patches[shown]
        clip = torch.arange(len(shown))[:, None].expand(shown.shape)[shown]
        return (
            F.binary_cross_entropy_with_logits(self.shown(patches)[..., 0], shown.float())
            + F.cross_entropy(self.motion(here), wanted.motion[clip])
            + 0.5 * F.cross_entropy(self.colour(here), wanted.looks[clip, 0])
            + shapes * F.cross_entropy(self.shape(here), wanted.looks[clip, 1])
            + 0.3 * F.cross_entropy(self.background(patches.mean(dim=1)), wanted.looks[:, 2])
            + 4 * F.smooth_l1_loss(self.track(here), wanted.track[clip])
        )


class MotionModel(nn.Module):
    """The classifier with the heads it is trained with; only the classifier is kept."""

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
    """Start from the patches of the image classifier: each filter sees the mean of two frames.

    Another one's change between them is added, so that what moves can be told from the first step.
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
    """Cross-entropy of the motion, of a clip and of its patches, and what else the patches show."""

    batch: int = 16

    def loss(self, *, model: nn.Module, rng: np.random.Generator) -> Tensor:
        assert isinstance(model, MotionModel)
        indices = np.sort(rng.integers(CLIPS, size=self.batch))
        frames = clips_at(split=Split.TRAIN, indices=indices).frames
        wanted = clip_labels(split=Split.TRAIN, indices=indices)
        patches = model.classifier.videomae(pixel_values=video_values(frames)).last_hidden_state
        pooled = model.classifier.fc_norm(patches.mean(dim=1))
        motion = F.cross_entropy(model.classifier.classifier(pooled), wanted.motion)
        return motion + model.heads.loss(patches=patches, wanted=wanted)


def export(model: nn.Module, folder: Path) -> None:
    """Write the classifier."""
    assert isinstance(model, MotionModel)
    export_transformers(model.classifier, folder)
