"""OpenAGI's samples in the miniature world: the inputs and the reference of every task that has data."""

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np
from PIL import Image as PillowImage

from evaluator import canonical_json
from evaluator.lilliput import grammar
from evaluator.lilliput.degradations import degrade
from evaluator.lilliput.rendering import render
from evaluator.lilliput.scenes import Scene, draw_scene
from evaluator.lilliput.seeds import WORLD_VERSION, Split, generator, split_secret
from evaluator.values import Image, Value

SAMPLES_VERSION = "2"
"""Raised by hand whenever inputs or references change although the world does not."""


class SampleTask(Protocol):
    """What the samples need to know of a task."""

    @property
    def degradations(self) -> Collection[str]:
        """Values of `Degradation`, in any order."""
        ...

    @property
    def base(self) -> str:
        """The domain task, for example `restoration`."""
        ...

    @property
    def clozed(self) -> Collection[str]:
        """Names of the inputs in which a word is masked."""
        ...

    @property
    def language(self) -> str | None:
        """Of the answer: `en`, `de` or None."""
        ...


def clean_image(*, split: Split, index: int, hidden_seed: str | None = None) -> Image:
    """The picture of a scene, 64x64 RGB."""
    return PillowImage.fromarray(render(draw_scene(split=split, index=index, hidden_seed=hidden_seed)))


def degraded_image(*, split: Split, index: int, degradations: Collection[str], hidden_seed: str | None = None) -> Image:
    """The same picture degraded; equal for all tasks that name the same degradations."""
    pixels = render(draw_scene(split=split, index=index, hidden_seed=hidden_seed))
    spoilt = degrade(
        pixels,
        degradations=degradations,
        rng=lambda kind: generator(split=split, index=index, purpose=kind.value, hidden_seed=hidden_seed),
    )
    return PillowImage.fromarray(spoilt)


class LilliputSamples:
    """The data of one split. Sample `index` is the same scene for every task, so experts' work can be shared."""

    def __init__(self, split: Split | str, hidden_seed: str | None = None) -> None:
        """Raises ValueError if the hidden split is asked for without its secret, or another one with it."""
        self.split = Split(split)
        self._hidden_seed = hidden_seed
        split_secret(split=self.split, hidden_seed=hidden_seed)
        self.digest: str = canonical_json.digest(
            {"world": WORLD_VERSION, "samples": SAMPLES_VERSION, "split": self.split.value}
        )
        """SHA-256 of what the samples are made of; says nothing about the hidden seed."""

    def missing(self, *, task: SampleTask) -> str | None:
        """Why there is no data for a task, or None if there is."""
        if task.base in _BASES:
            return None
        return f'the miniature world has no data for "{task.base}" yet'

    def inputs(self, *, task: SampleTask, index: int) -> Mapping[str, Value]:
        """The named inputs of a sample.

        Raises:
            LookupError: there is no data for the task.
        """
        self._require(task=task)
        image = degraded_image(
            split=self.split, index=index, degradations=task.degradations, hidden_seed=self._hidden_seed
        )
        if task.base != "vqa":
            return {"image": image}
        question = self._question(index=index)
        query = question.text
        if "query" in task.clozed:
            rng = self._generator(index=index, purpose="masked query")
            query = grammar.mask_word(text=query, recoverable=question.recoverable, rng=rng)
        return {"image": image, "query": query}

    def reference(self, *, task: SampleTask, index: int) -> Value:
        """The right answer of a sample: the clean image, or a text in the language of the task.

        Raises:
            LookupError: there is no data for the task.
        """
        self._require(task=task)
        if task.base == "restoration":
            return clean_image(split=self.split, index=index, hidden_seed=self._hidden_seed)
        if task.base == "vqa":
            return self._question(index=index).answer.in_language(task.language)
        return _SAYINGS[task.base](self.scene(index=index)).in_language(task.language)

    def scene(self, *, index: int) -> Scene:
        """What sample `index` shows."""
        return draw_scene(split=self.split, index=index, hidden_seed=self._hidden_seed)

    def _question(self, *, index: int) -> grammar.Question:
        """The same for all tasks, masked or not."""
        rng = self._generator(index=index, purpose="visual question")
        return grammar.draw_question(scene=self.scene(index=index), rng=rng)

    def _generator(self, *, index: int, purpose: str) -> np.random.Generator:
        return generator(split=self.split, index=index, purpose=purpose, hidden_seed=self._hidden_seed)

    def _require(self, *, task: SampleTask) -> None:
        reason = self.missing(task=task)
        if reason is not None:
            raise LookupError(reason)


_SAYINGS: Mapping[str, Callable[[Scene], grammar.Bilingual]] = MappingProxyType(
    {
        "image_classification": grammar.label,
        "object_detection": grammar.object_names,
        "image_captioning": grammar.caption,
    }
)
"""What is to be said about a scene."""

_BASES = frozenset({"restoration", "vqa", *_SAYINGS})
