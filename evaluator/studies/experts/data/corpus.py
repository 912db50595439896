"""Training texts of the language models: drawn from the bilingual grammar, from the training split only."""

from collections.abc import Callable

import numpy as np

from evaluator.miniature.grammar.captions import RECOVERABLE, caption, main_caption
from evaluator.miniature.grammar.documents import draw_document, draw_document_question
from evaluator.miniature.grammar.german import Bilingual, joined
from evaluator.miniature.grammar.labels import label, label_of
from evaluator.miniature.grammar.questions import draw_question
from evaluator.miniature.grammar.reviews import SENTIMENTS, draw_review
from evaluator.miniature.lilliput_samples import TextInput
from evaluator.miniature.scenes import Scene, draw_scene
from evaluator.miniature.seeds import Split, generator
from evaluator.miniature.vocabulary import Colour, Shape

SCENES = 20_000
"""Scenes of the training split that texts are drawn from; more scenes give no other texts."""
_LONGEST_LIST = 4


def stream(*, index: int, purpose: str) -> np.random.Generator:
    """The random stream of a training text."""
    return generator(split=Split.TRAIN, index=index, purpose=purpose)


def random_scene(rng: np.random.Generator) -> Scene:
    """A random training scene."""
    return draw_scene(split=Split.TRAIN, index=int(rng.integers(SCENES)))


def _sentence(rng: np.random.Generator) -> Bilingual:
    source = draw_document(rng) if rng.random() < 0.5 else draw_review(rng)
    return source.sentences[rng.integers(len(source.sentences))]


def _list(rng: np.random.Generator) -> Bilingual:
    """Objects as if in a picture, but in any colours: there are more such lists than scenes."""
    shapes = rng.permutation(list(Shape))[: rng.integers(1, _LONGEST_LIST + 1)]
    colours = rng.choice(list(Colour), size=len(shapes))
    names = (label_of(colour=Colour(c), shape=Shape(s)) for c, s in zip(colours, shapes, strict=True))
    return joined(names, separator=", ")


# Lists of four are hardest: only the order says which colour belongs to which noun.
_PAIRS: tuple[tuple[float, Callable[[np.random.Generator], Bilingual]], ...] = (
    (0.06, lambda rng: label(random_scene(rng))),
    (0.34, _list),
    (0.10, lambda rng: main_caption(random_scene(rng))),
    (0.16, lambda rng: caption(random_scene(rng))),
    (0.06, lambda rng: draw_question(scene=random_scene(rng), rng=rng).answer),
    (0.08, lambda rng: draw_document_question(document=draw_document(rng), rng=rng).question.answer),
    (0.12, lambda rng: draw_document(rng).summary),
    (0.02, lambda rng: SENTIMENTS[bool(rng.random() < 0.5)]),
    (0.08, _sentence),
    (0.10, lambda rng: draw_document(rng).events[0].notice),
)


def draw_pair(rng: np.random.Generator) -> Bilingual:
    """A text to translate, mixed as in the plans of tasks."""
    weights = np.asarray([weight for weight, _ in _PAIRS])
    return _PAIRS[rng.choice(len(_PAIRS), p=weights / weights.sum())][1](rng)


def draw_english(rng: np.random.Generator) -> str:
    """A whole English text as in tasks: a story, a review, a notice, a question or a caption."""
    kind = rng.random()
    document = draw_document(rng)
    if kind < 0.4:
        return document.text.english
    if kind < 0.6:
        return draw_review(rng).text.english
    if kind < 0.7:
        return document.events[0].notice.english
    if kind < 0.9:
        return draw_document_question(document=document, rng=rng).question.text
    scene = random_scene(rng)
    return caption(scene).english if kind < 0.93 else draw_question(scene=scene, rng=rng).text


def draw_maskable(rng: np.random.Generator) -> TextInput:
    """A text with all words that can be inferred from the rest."""
    kind = rng.random()
    document = draw_document(rng)
    if kind < 0.5:
        words = tuple(word for event in document.events for word in event.recoverable)
        return TextInput(document.text.english, words)
    if kind < 0.7:
        review = draw_review(rng)
        return TextInput(review.text.english, (review.judgement.english, *review.place.thing.recoverable))
    if kind < 0.75:
        return TextInput(document.events[0].notice.english, document.events[0].recoverable)
    if kind < 0.9:
        question = draw_document_question(document=document, rng=rng).question
    elif kind < 0.97:
        question = draw_question(scene=random_scene(rng), rng=rng)
    else:
        return TextInput(caption(random_scene(rng)).english, RECOVERABLE)
    return TextInput(question.text, question.recoverable)


def draw_anything(rng: np.random.Generator) -> Bilingual:
    """One or more sentences in both languages; no questions, which are English only."""
    kind = rng.random()
    if kind < 0.1:
        return joined([draw_document(rng).text])
    return draw_review(rng).text if kind < 0.2 else draw_pair(rng)
