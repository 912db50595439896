"""Contamination: the share of the texts of a split that the shipped experts have read verbatim in training.

Splits draw from different random streams, so that they share no scene. The grammar is small, however: different streams
draw equal texts. The training texts of an expert are drawn here exactly as in its training.
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
    """How many texts of one kind in a split occur in the training data of an expert."""

    texts: str
    """The kind, and the expert."""
    seen: int
    count: int
    distinct: int
    """Different texts of this kind in the training data."""

    @property
    def share(self) -> float:
        """`seen` divided by `count`, in [0, 1]."""
        return self.seen / self.count


@dataclass(frozen=True, slots=True)
class _Sample:
    """The sources of the texts of a sample."""

    scene: Scene
    stream: Callable[[str], np.random.Generator]
    """The sample's random stream for a purpose."""


@dataclass(frozen=True, slots=True)
class _Kind:
    trained: Callable[[], Iterator[str]]
    text: Callable[[_Sample], str]


def contamination(
    *, split: Split, count: int, hidden_seed: str | None = None, only: Collection[str] = ()
) -> list[Share]:
    """The shares for each kind of text of the first `count` samples of a split.

    Args:
        split: the split.
        count: how many samples.
        hidden_seed: the secret of the hidden split.
        only: keys of `KINDS`; by default all. Those of scenes take half a minute.

    Raises:
        ValueError: the hidden split without its secret, or another split with one.
    """

    def sample(index: int) -> _Sample:
        return _Sample(
            scene=draw_scene(split=split, index=index, hidden_seed=hidden_seed),
            stream=lambda purpose: generator(split=split, index=index, purpose=purpose, hidden_seed=hidden_seed),
        )

    samples = [sample(index) for index in range(count)]
    shares = []
    for name in only or KINDS:
        trained = frozenset(KINDS[name].trained())
        seen = sum(KINDS[name].text(item) in trained for item in samples)
        shares.append(Share(texts=name, seen=seen, count=count, distinct=len(trained)))
    return shares


@cache
def _scene_texts() -> Mapping[str, frozenset[str]]:
    """The texts of all training scenes. One question per scene; training draws another each time it sees a scene."""
    texts: dict[str, set[str]] = {"label": set(), "main caption": set(), "caption": set(), "question": set()}
    for index in range(TRAINING_SCENES):
        scene = draw_scene(split=Split.TRAIN, index=index)
        texts["label"].add(scene.label)
        texts["main caption"].add(main_caption(scene).english)
        texts["caption"].add(caption(scene).english)
        texts["question"].add(draw_question(scene=scene, rng=stream(index=index, purpose="visual-query")).text)
    return {name: frozenset(values) for name, values in texts.items()}


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
"""Kinds of texts, each with the expert whose training data is searched."""
