"""How much of the data of a split the shipped experts have read in training, word for word.

Splits draw from different random streams, so that no scene of one occurs in another. The grammar is small, however:
equal texts are drawn from different streams. What an expert has read is drawn again here as its training drew it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from evaluator.miniature.grammar.captions import caption, main_caption
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.labels import label, object_names
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.grammar.reviews import draw_review
from evaluator.miniature.scenes import Scene, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.studies.experts.data.corpus import draw_maskable, draw_pair, stream
from evaluator.studies.experts.recipes import RECIPES, TRAINING_SCENES


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a split's texts of one kind occur in what an expert was trained on."""

    texts: str
    """The kind, and the expert whose training is meant."""
    seen: int
    count: int
    distinct: int
    """Different texts of this kind in the training data."""

    @property
    def share(self) -> float:
        """In [0, 1]."""
        return self.seen / self.count


@dataclass(frozen=True, slots=True)
class _Sample:
    """What the texts of a sample are drawn from."""

    scene: Scene
    stream: Callable[[str], np.random.Generator]
    """The sample's random stream for a purpose, as in `world.text_samples`."""


@dataclass(frozen=True, slots=True)
class _Kind:
    trained: Callable[[], Iterator[str]]
    """The texts of the training."""
    text: Callable[[_Sample], str]


def contamination(
    *, split: Split, count: int, hidden_seed: str | None = None, only: Collection[str] = ()
) -> list[Share]:
    """The shares for each kind of text of the first `count` samples of a split.

    Args:
        split: the split.
        count: how many samples.
        hidden_seed: the secret of the hidden split.
        only: kinds of texts, as `KINDS` names them; by default all. Those of scenes take half a minute.

    Raises:
        ValueError: the hidden split was asked for without its secret, or another one with it.
    """
    samples = [_sample(split=split, index=index, hidden_seed=hidden_seed) for index in range(count)]
    shares = []
    for name in only or KINDS:
        trained = frozenset(KINDS[name].trained())
        seen = sum(KINDS[name].text(sample) in trained for sample in samples)
        shares.append(Share(texts=name, seen=seen, count=count, distinct=len(trained)))
    return shares


def _sample(*, split: Split, index: int, hidden_seed: str | None) -> _Sample:
    return _Sample(
        scene=draw_scene(split=split, index=index, hidden_seed=hidden_seed),
        stream=lambda purpose: generator(split=split, index=index, purpose=purpose, hidden_seed=hidden_seed),
    )


@cache
def _scene_texts() -> Mapping[str, frozenset[str]]:
    """Of all training scenes. There is one question for each; training draws another whenever it meets a scene."""
    found: dict[str, set[str]] = {"label": set(), "main caption": set(), "caption": set(), "question": set()}
    for index in range(TRAINING_SCENES):
        scene = draw_scene(split=Split.TRAIN, index=index)
        found["label"].add(scene.label)
        found["main caption"].add(main_caption(scene).english)
        found["caption"].add(caption(scene).english)
        found["question"].add(draw_question(scene=scene, rng=stream(index=index, purpose="visual-query")).text)
    return {name: frozenset(texts) for name, texts in found.items()}


def _of_scenes(name: str) -> Callable[[], Iterator[str]]:
    return lambda: iter(_scene_texts()[name])


def _drawn(*, model: str, purpose: str, text: Callable[[np.random.Generator], str]) -> Callable[[], Iterator[str]]:
    return lambda: (text(stream(index=index, purpose=purpose)) for index in range(RECIPES[model].texts))


def _review(rng: np.random.Generator) -> str:
    return draw_review(rng).text.english


def _story(rng: np.random.Generator) -> str:
    return draw_document(rng).text.english


def _summary(rng: np.random.Generator) -> str:
    return draw_document(rng).summary.english


def _story_and_query(document: np.random.Generator, query: np.random.Generator) -> tuple[str, str]:
    story = draw_document(document)
    return story.text.english, draw_document_question(document=story, rng=query).question.text


_fill = _drawn(purpose="fill", model="fill-mask", text=lambda rng: draw_maskable(rng).text)
_pairs = _drawn(purpose="translation", model="machine-translation", text=lambda rng: draw_pair(rng).english)

KINDS: Mapping[str, _Kind] = {
    "class labels (classifier)": _Kind(_of_scenes("label"), lambda sample: label(sample.scene).english),
    "main captions (captioner)": _Kind(_of_scenes("main caption"), lambda sample: main_caption(sample.scene).english),
    "whole captions (drawing, CLIP score)": _Kind(_of_scenes("caption"), lambda sample: caption(sample.scene).english),
    "questions about images (visual questions)": _Kind(
        _of_scenes("question"),
        lambda sample: draw_question(scene=sample.scene, rng=sample.stream("visual-query")).text,
    ),
    "lists of objects (translator)": _Kind(_pairs, lambda sample: object_names(sample.scene).english),
    "notices (translator)": _Kind(
        _pairs, lambda sample: draw_document(sample.stream("document")).events[0].notice.english
    ),
    "reviews (sentiment)": _Kind(
        _drawn(purpose="sentiment", model="sentiment", text=_review), lambda sample: _review(sample.stream("review"))
    ),
    "reviews (fill mask)": _Kind(_fill, lambda sample: _review(sample.stream("review"))),
    "stories (summarization)": _Kind(
        _drawn(purpose="summary", model="summarization", text=_story), lambda sample: _story(sample.stream("document"))
    ),
    "summaries (summarization)": _Kind(
        _drawn(purpose="summary", model="summarization", text=_summary),
        lambda sample: _summary(sample.stream("document")),
    ),
    "stories (question answering)": _Kind(
        _drawn(purpose="answer", model="question-answering", text=lambda rng: _story_and_query(rng, rng)[0]),
        lambda sample: _story(sample.stream("document")),
    ),
    "queries (question answering)": _Kind(
        _drawn(purpose="answer", model="question-answering", text=lambda rng: _story_and_query(rng, rng)[1]),
        lambda sample: _story_and_query(sample.stream("document"), sample.stream("query"))[1],
    ),
}
"""Kinds of texts, with the expert whose training is meant."""
