"""Experts that make clips: other experts draw a picture, find a thing in it and fill its place; rules move it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from PIL import Image as PillowImage

from evaluator.core.expert import ExpertError, ExpertSpec
from evaluator.core.naming import words_of
from evaluator.core.values import Boxes, Clip, Image, Mask, Masks, Value
from evaluator.execution.experts.imaging import image_of
from evaluator.execution.experts.implementations import implementation_of
from evaluator.execution.experts.inputs import value_of
from evaluator.miniature.tableaux.clips import FRAMES, Motion
from evaluator.miniature.tableaux.moving import motion_in, moved_frames, picture_for, things_in
from evaluator.miniature.vocabulary import Shape

_LONGEST = 256
"""Pixels of the longer side of a clip; larger pictures are scaled down."""
_ROUND = {Shape.CIRCLE, Shape.RING}
"""Things whose spinning nobody sees."""
_SPINS = {Motion.SPINNING_CLOCKWISE, Motion.SPINNING_ANTICLOCKWISE}


class AnimatingExpert:
    """Base of the experts: moves a thing of each picture. The profile's `uses` names the tools in `needed`, in order.

    A picture in which no thing is found stands still.
    """

    needed: tuple[str, ...] = ("object_detection", "image_segmentation_by_mask", "image_inpainting")

    def __init__(self, *, spec: ExpertSpec, device: str) -> None:
        if tuple(used.tool for used in spec.uses) != self.needed:
            raise ExpertError(f"{spec.id} needs uses = {list(self.needed)} in the profile, in this order")
        # Typed loosely: experts and sampling experts are called differently.
        self._tools: dict[str, Any] = {
            used.tool: implementation_of(used.implementation).factory()(spec=used, device=device) for used in spec.uses
        }

    def animated(self, pictures: Sequence[Image], *, asked: Sequence[tuple[str, Motion | None, int]]) -> list[Clip]:
        """A clip for each picture.

        Args:
            pictures: of one size.
            asked: for each, the name of the thing to move (empty: the largest one), its motion (None: one that the
                seed chooses), and a seed.
        """
        found = [value_of(row, name="object", kind=Boxes) for row in self._run("object_detection", pictures)]
        rough = [
            _named_box(boxes, name=name, size=picture.size)
            for boxes, picture, (name, _, _) in zip(found, pictures, asked, strict=True)
        ]
        refined = self._run("image_segmentation_by_mask", pictures, prompt_mask=rough)
        exact = [value_of(row, name="mask", kind=Masks) for row in refined]
        # The box where no pixel of the exact mask is left.
        masks = [one if one.items else box for one, box in zip(exact, rough, strict=True)]
        filled = self._run("image_inpainting", pictures, mask=masks)
        clips = []
        for picture, mask, row, (_, motion, seed) in zip(pictures, masks, filled, asked, strict=True):
            pixels = np.asarray(picture, dtype=np.uint8)
            if not mask.items:
                clips.append(Clip(np.repeat(pixels[None], FRAMES, axis=0)))
                continue
            clips.append(
                Clip(
                    moved_frames(
                        picture=pixels, background=np.asarray(image_of(row), dtype=np.uint8), mask=mask.union(),
                        motion=motion or motion_of(seed, name=mask.items[0].label),
                    )
                )
            )  # fmt: skip
        return clips

    def _run(self, tool: str, pictures: Sequence[Image], **more: Sequence[Value]) -> list[Mapping[str, Value]]:
        items = [
            {"image": picture, **{name: values[row] for name, values in more.items()}}
            for row, picture in enumerate(pictures)
        ]
        return cast(list[Mapping[str, Value]], self._tools[tool].run(items))


class ImageToVideo(AnimatingExpert):
    """From a picture to a clip in which its largest thing moves; the seed of the item chooses how.

    Larger pictures are scaled down to 256 pixels.
    """

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """See `SamplingExpert.run_seeded`."""
        pictures = [_small(image_of(item)) for item in batch]
        return [{"video": clip} for clip in self.animated(pictures, asked=[("", None, seed) for seed in seeds])]


class TextToVideo(AnimatingExpert):
    """From an English text to a clip: `text_to_image` draws what the text names, and the first thing moves as it says.

    The seed of the item is that of the drawing, and chooses the motion if the text names none.
    """

    needed = ("text_to_image", *AnimatingExpert.needed)

    def run_seeded(self, *, batch: Sequence[Mapping[str, Value]], seeds: Sequence[int]) -> list[Mapping[str, Value]]:
        """See `SamplingExpert.run_seeded`."""
        texts = [value_of(item, name="prompt", kind=str) for item in batch]
        drawn = self._tools["text_to_image"].run_seeded(
            batch=[{"text": picture_for(text)} for text in texts], seeds=seeds
        )
        asked = [
            (next(iter(things_in(text)), ""), motion_in(text), seed) for text, seed in zip(texts, seeds, strict=True)
        ]
        clips = self.animated([image_of(row) for row in drawn], asked=asked)
        return [{"video": clip} for clip in clips]


def _small(image: Image) -> Image:
    picture = image.convert("RGB")
    picture.thumbnail((_LONGEST, _LONGEST), PillowImage.Resampling.BICUBIC)
    return picture


def _named_box(boxes: Boxes, *, name: str, size: tuple[int, int]) -> Masks:
    """The box to move as a rough mask: one of the most words of the name, then the largest; none without boxes."""
    wanted = set(words_of(name))
    best = max(
        boxes.items,
        key=lambda box: (
            len(wanted & set(words_of(box.label))),
            (box.right - box.left) * (box.bottom - box.top),
        ),
        default=None,
    )
    if best is None:
        return Masks(size, ())
    pixels = np.zeros(size[::-1], dtype=np.bool_)
    left, top, right, bottom = best.corners
    pixels[int(top) : int(np.ceil(bottom)), int(left) : int(np.ceil(right))] = True
    return Masks(size, (Mask(best.label, pixels, best.score),) if pixels.any() else ())


def motion_of(seed: int, *, name: str) -> Motion:
    """The motion that a seed chooses for a thing of this name, one that can be seen."""
    motions = [motion for motion in Motion if not (motion in _SPINS and set(words_of(name)) & {*_ROUND})]
    return motions[seed % len(motions)]
