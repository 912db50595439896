"""The samples of `toolworld`: files that meet the demands of a request, and its right results."""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

import numpy as np
from PIL import Image as PillowImage

from evaluator.controlllm.toolbench.world import materials
from evaluator.controlllm.toolbench.world.given import Given, Material
from evaluator.controlllm.toolbench.world.task import WorldTask
from evaluator.controlllm.toolbench.world.wanted import Want, Wanted
from evaluator.core import canonical_json
from evaluator.core.suites.base import Task
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Clip, Value
from evaluator.miniature import annotations
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, split_secret
from evaluator.miniature.signs import paint_sign
from evaluator.miniature.tableaux.clips import frames_of

SPLITS = ("public", "validation", "hidden")
DATA_VERSION = "2"
"""Raise it whenever files or references change while requests and world do not."""
_KEPT = 512


def world_samples(*, profile: str, split: str, hidden_seed: str | None) -> "WorldSamples":
    """The data under a profile.

    Args:
        profile: only `lilliput` has data.
        split: `public`, `validation`, or `hidden`.
        hidden_seed: the secret of the hidden split, None on the others.

    Raises:
        LookupError: the profile has no data.
        ValueError: the split is unknown, or is hidden and the seed is missing.
    """
    if split not in SPLITS:
        raise ValueError(f"there is no split {split!r}; there are: {', '.join(SPLITS)}")
    if profile != "lilliput":
        raise LookupError(f"requests about the miniature world have no data under profile {profile}, only lilliput")
    return WorldSamples(split=Split(split), hidden_seed=hidden_seed)


class WorldSamples:
    """Files and reference results of each request. No two requests share a file."""

    def __init__(self, *, split: Split, hidden_seed: str | None) -> None:
        """Raises ValueError if the hidden split is asked for without its secret, or another one with it."""
        split_secret(split=split, hidden_seed=hidden_seed)
        self._split = split
        self._hidden_seed = hidden_seed
        self.digest = canonical_json.digest(
            {"world": WORLD_VERSION, "pictures": PICTURES_VERSION, "data": DATA_VERSION, "split": split.value}
        )
        """SHA-256 of what the samples are made of; says nothing about the hidden seed."""

    def missing(self, *, task: Task) -> str | None:  # noqa: ARG002 - the world has data for every request
        """See `SampleSource`."""
        return None

    def inputs(self, *, task: Task, index: int) -> Mapping[str, Value]:
        """See `SampleSource`."""
        own = cast(WorldTask, task)
        source = self._source(task=own, index=index)
        return {given.name: _value(given=given, task=own, source=source) for given in own.given}

    def reference(self, *, task: Task, index: int) -> Value:
        """See `SampleSource`: of the task's first answer."""
        own = cast(WorldTask, task)
        return _reference(wanted=own.wanted[0], task=own, source=self._source(task=own, index=index))

    def inputs_key(self, *, task: Task) -> str:
        """See `SharingSource`: no two requests share files."""
        return task.key

    def reference_key(self, *, task: Task) -> str:
        """See `SharingSource`: each result of a request has a reference of its own."""
        return f"{task.key} {cast(WorldTask, task).wanted[0]}"

    def _source(self, *, task: WorldTask, index: int) -> materials.Source:
        return materials.Source(split=self._split, hidden_seed=self._hidden_seed, key=task.key, sample=index)


@lru_cache(maxsize=_KEPT)
def _picture(given: Given, source: materials.Source) -> materials.Picture:
    return materials.picture(given=given, source=source)


def _value(*, given: Given, task: WorldTask, source: materials.Source) -> Value:
    # Needs scipy, which sites do not have: they ask for the digest only.
    from evaluator.controlllm.toolbench.world import references

    if given.material is Material.CLIP:
        return Clip(frames_of(materials.clip(given=given, source=source)))
    if given.material is Material.SIGN:
        return PillowImage.fromarray(paint_sign(materials.sign(given=given, source=source)))
    if given.masked:
        picture = _picture(task.file(given.masked), source)
        return references.masks_of(picture=picture, demand=given.demands[0])
    picture = _picture(given, source)
    if given.type is ResourceType.IMAGE:
        return PillowImage.fromarray(picture.painting.pixels)
    rng = np.random.default_rng([source.sample, len(given.name)])
    return PillowImage.fromarray(references.map_of(kind=str(given.type), picture=picture, rng=rng))


def _reference(*, wanted: Wanted, task: WorldTask, source: materials.Source) -> Value:
    from evaluator.controlllm.toolbench.world import references

    if wanted.kind is Want.DRAWING:
        assert wanted.sketch is not None
        return wanted.sketch.text
    if wanted.said is not None:
        return references.of_text(wanted=wanted, said=wanted.said)
    given = task.file(wanted.file)
    if given.material is Material.SIGN:
        words = materials.sign(given=given, source=source).words
        return references.of_text(wanted=wanted, said=annotations.of_words(words))
    if given.material is Material.CLIP:
        return references.of_clip(wanted=wanted, clip=materials.clip(given=given, source=source))
    return references.of_picture(wanted=wanted, picture=_picture(given, source))
