"""OpenAGI's samples in the miniature world: inputs and references of all tasks with data."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from PIL import Image as PillowImage

from evaluator.core import canonical_json
from evaluator.core.values import Image, Value
from evaluator.miniature.degradations import Pixels, degrade
from evaluator.miniature.grammar.captions import RECOVERABLE, caption, main_caption, mask_word
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.german import Bilingual
from evaluator.miniature.grammar.labels import label, object_names
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.rendering import render
from evaluator.miniature.scenes import Scene, draw_scene
from evaluator.miniature.seeds import PICTURES_VERSION, WORLD_VERSION, Split, generator, split_secret

Stream = Callable[[str], np.random.Generator]
"""The random stream of a sample for a purpose."""


@dataclass(frozen=True, slots=True)
class TextInput:
    """A text before masking."""

    text: str
    recoverable: tuple[str, ...]
    """Words that may be masked, since the rest of the text determines them."""


@dataclass(frozen=True, slots=True)
class TextSample:
    """The text inputs of a sample by name, and its reference."""

    reference: Bilingual
    texts: Mapping[str, TextInput] = field(default_factory=dict)


def _summarization(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    document = draw_document(stream("document"))
    words = tuple(event.thing.noun.english for event in document.events)
    return TextSample(document.summary, {"text": TextInput(document.text.english, words)})


def _translation(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    event = draw_document(stream("document")).events[0]
    return TextSample(event.notice, {"text": TextInput(event.notice.english, event.recoverable)})


def _sentiment(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    review = draw_review(stream("review"))
    # Only the adjective determines the sentiment, and it follows from noun and adverb together.
    return TextSample(review.sentiment, {"text": TextInput(review.text.english, (review.judgement.english,))})


def _question_answering(scene: Scene, stream: Stream) -> TextSample:  # noqa: ARG001
    document = draw_document(stream("document"))
    query = draw_document_question(document=document, rng=stream("query"))
    texts = {
        "document": TextInput(document.text.english, query.document_recoverable),
        "query": TextInput(query.question.text, query.question.recoverable),
    }
    return TextSample(query.question.answer, texts)


def _visual_question(scene: Scene, stream: Stream) -> TextSample:
    question = draw_question(scene=scene, rng=stream("visual-query"))
    return TextSample(question.answer, {"query": TextInput(question.text, question.recoverable)})


TEXT_SAMPLES: Mapping[str, Callable[[Scene, Stream], TextSample]] = {
    "image_classification": lambda scene, stream: TextSample(label(scene)),  # noqa: ARG005
    "image_captioning": lambda scene, stream: TextSample(main_caption(scene)),  # noqa: ARG005
    "object_detection": lambda scene, stream: TextSample(object_names(scene)),  # noqa: ARG005
    "vqa": _visual_question,
    "text_to_image": lambda scene, stream: TextSample(  # noqa: ARG005
        caption(scene), {"text": TextInput(caption(scene).english, RECOVERABLE)}
    ),
    "summarization": _summarization,
    "translation": _translation,
    "sentiment": _sentiment,
    "qa": _question_answering,
}
"""By domain task; restoration has no texts."""


SAMPLES_VERSION = "3"
"""Increment if inputs or references change although the world does not."""

_CACHED = 256
"""Number of cached scenes and pictures."""
_CACHED_DEGRADED = 1024
"""Number of cached degraded pictures, of which there are up to 16 per picture."""


class SampleTask(Protocol):
    """The attributes of a task that samples depend on."""

    @property
    def degradations(self) -> Collection[str]:
        """Values of `Degradation`, in any order."""
        ...

    @property
    def base(self) -> str:
        """The domain task, for example `restoration`."""
        ...

    @property
    def language(self) -> str | None:
        """Language of the answer: `en`, `de` or None."""
        ...

    @property
    def resources(self) -> Collection[str]:
        """Names of the inputs: `image`, `text`, `document`, `query`."""
        ...

    @property
    def clozed(self) -> Collection[str]:
        """Names of the inputs with a masked word."""
        ...


@lru_cache(maxsize=_CACHED)
def _scene(*, split: Split, index: int, hidden_seed: str | None) -> Scene:
    return draw_scene(split=split, index=index, hidden_seed=hidden_seed)


@lru_cache(maxsize=_CACHED)
def _pixels(*, split: Split, index: int, hidden_seed: str | None) -> Pixels:
    """The clean picture, read-only because it is shared."""
    pixels = render(_scene(split=split, index=index, hidden_seed=hidden_seed))
    pixels.setflags(write=False)
    return pixels


def clean_image(*, split: Split, index: int, hidden_seed: str | None = None) -> Image:
    """The picture of a scene, 64x64 RGB."""
    return PillowImage.fromarray(_pixels(split=split, index=index, hidden_seed=hidden_seed))


def degraded_image(*, split: Split, index: int, degradations: Collection[str], hidden_seed: str | None = None) -> Image:
    """The degraded picture, the same for all tasks with these degradations. Shared: do not modify."""
    return _degraded(split=split, index=index, degradations=frozenset(degradations), hidden_seed=hidden_seed)


@lru_cache(maxsize=_CACHED_DEGRADED)
def _degraded(*, split: Split, index: int, degradations: frozenset[str], hidden_seed: str | None) -> Image:
    pixels = _pixels(split=split, index=index, hidden_seed=hidden_seed)
    return PillowImage.fromarray(
        degrade(
            pixels,
            degradations=degradations,
            rng=lambda kind: generator(split=split, index=index, purpose=kind.value, hidden_seed=hidden_seed),
        )
    )


@lru_cache(maxsize=_CACHED_DEGRADED)
def _text_sample(*, split: Split, index: int, base: str, hidden_seed: str | None) -> TextSample:
    scene = _scene(split=split, index=index, hidden_seed=hidden_seed)
    return TEXT_SAMPLES[base](
        scene, lambda purpose: generator(split=split, index=index, purpose=purpose, hidden_seed=hidden_seed)
    )


class LilliputSamples:
    """The data of a split. Sample `index` is the same scene for every task, so that tasks share the work of experts."""

    def __init__(self, split: Split | str, hidden_seed: str | None = None) -> None:
        """Raises ValueError for the hidden split without its secret, or another split with one."""
        self.split = Split(split)
        self._hidden_seed = hidden_seed
        split_secret(split=self.split, hidden_seed=hidden_seed)
        self.digest: str = canonical_json.digest(
            {
                "world": WORLD_VERSION,
                "pictures": PICTURES_VERSION,
                "samples": SAMPLES_VERSION,
                "split": self.split.value,
            }
        )
        """SHA-256 of the versions and the split; independent of the hidden seed."""

    def missing(self, *, task: SampleTask) -> str | None:
        """Why a task has no data; None if it has."""
        if task.base == "restoration" or task.base in TEXT_SAMPLES:
            return None
        return f'the miniature world has no data for "{task.base}"'

    def inputs(self, *, task: SampleTask, index: int) -> Mapping[str, Value]:
        """The named inputs of a sample.

        Raises:
            LookupError: the task has no data.
        """
        self._require(task=task)
        inputs: dict[str, Value] = {}
        for name in task.resources:
            if name == "image":
                inputs[name] = self.image(degradations=task.degradations, index=index)
            else:
                inputs[name] = self.text(base=task.base, name=name, is_clozed=name in task.clozed, index=index)
        return inputs

    def reference(self, *, task: SampleTask, index: int) -> Value:
        """The reference of a sample: the clean image, or a text in the language of the task.

        Raises:
            LookupError: the task has no data.
        """
        self._require(task=task)
        return self.answer(base=task.base, language=task.language, index=index)

    def answer(self, *, base: str, language: str | None, index: int) -> Value:
        """The reference of a sample for a domain task; `base` is `restoration` or in `TEXT_SAMPLES`."""
        if base == "restoration":
            return clean_image(split=self.split, index=index, hidden_seed=self._hidden_seed)
        # A task whose answer is a picture has no language: the picture is compared with the English text.
        return self._sample(base=base, index=index).reference.in_language(language or "en")

    def image(self, *, degradations: Collection[str], index: int) -> Image:
        """The input picture of tasks with these degradations. Shared: do not modify."""
        return degraded_image(split=self.split, index=index, degradations=degradations, hidden_seed=self._hidden_seed)

    def scene(self, *, index: int) -> Scene:
        """The scene of sample `index`."""
        return _scene(split=self.split, index=index, hidden_seed=self._hidden_seed)

    def _sample(self, *, base: str, index: int) -> TextSample:
        return _text_sample(split=self.split, index=index, base=base, hidden_seed=self._hidden_seed)

    def text(self, *, base: str, name: str, is_clozed: bool, index: int) -> str:
        """A text input. The mask depends on the text only, so that tasks share it."""
        source = self._sample(base=base, index=index).texts[name]
        if not is_clozed:
            return source.text
        purpose = f"mask {base} {name}"
        stream = generator(split=self.split, index=index, purpose=purpose, hidden_seed=self._hidden_seed)
        return mask_word(text=source.text, recoverable=source.recoverable, rng=stream)

    def _require(self, *, task: SampleTask) -> None:
        reason = self.missing(task=task)
        if reason is not None:
            raise LookupError(reason)
