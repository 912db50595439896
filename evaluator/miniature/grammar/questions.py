"""Visual questions about a scene, in English, with short answers in both languages."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evaluator.miniature.grammar.captions import DIRECTIONS
from evaluator.miniature.grammar.german import Bilingual, with_article
from evaluator.miniature.grammar.labels import BACKGROUNDS, COLOURS, NUMBERS, SHAPES, thing_name
from evaluator.miniature.scenes import Scene, direction_between
from evaluator.miniature.vocabulary import Direction, Shape

YES, NO = Bilingual("yes", "ja"), Bilingual("no", "nein")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its unique answer."""

    text: str
    """In English."""
    answer: Bilingual
    recoverable: tuple[str, ...]
    """Words that can be inferred from the rest of the question, and so may be masked."""


def draw_question(*, scene: Scene, rng: np.random.Generator) -> Question:
    """A random question about a scene, of a kind that applies to it."""
    possible = [question for kind in _KINDS if (question := kind(scene, rng)) is not None]
    return possible[rng.integers(len(possible))]


def _colour(scene: Scene, rng: np.random.Generator) -> Question:
    thing = scene.things[rng.integers(len(scene.things))]
    colour = COLOURS[thing.colour]
    answer = Bilingual(colour.english, colour.german)
    return Question(text=f"What colour is the {thing.shape}?", answer=answer, recoverable=("colour",))


def _shape(scene: Scene, rng: np.random.Generator) -> Question | None:
    counts = Counter(thing.colour for thing in scene.things)
    single = [thing for thing in scene.things if counts[thing.colour] == 1]
    if not single:
        return None
    thing = single[rng.integers(len(single))]
    shape = SHAPES[thing.shape]
    answer = Bilingual(shape.english, shape.german)
    return Question(text=f"What shape is the {thing.colour} thing?", answer=answer, recoverable=("shape", "thing"))


def _relation(scene: Scene, rng: np.random.Generator) -> Question | None:
    """A direction in which exactly one thing lies."""
    unique = []
    for other in scene.things:
        directions = {t: direction_between(subject=t, other=other) for t in scene.things if t is not other}
        counts = Counter(directions.values())
        unique += [(t, direction, other) for t, direction in directions.items() if counts[direction] == 1]
    if not unique:
        return None
    thing, direction, other = unique[rng.integers(len(unique))]
    return Question(
        text=f"What is {DIRECTIONS[direction].english} the {other.shape}?",
        answer=thing_name(thing),
        recoverable=_of_direction(direction) or ("What",),
    )


def _of_direction(direction: Direction) -> tuple[str, ...]:
    return ("of",) if direction in {Direction.LEFT_OF, Direction.RIGHT_OF} else ()


def _count(scene: Scene, rng: np.random.Generator) -> Question:  # noqa: ARG001
    return Question(
        text="How many things are there?", answer=NUMBERS[len(scene.things)], recoverable=("many", "things", "How")
    )


def _existence(scene: Scene, rng: np.random.Generator) -> Question:
    present = [thing.shape for thing in scene.things]
    absent = [shape for shape in Shape if shape not in present]
    exists = bool(rng.random() < 0.5)
    shape = present[rng.integers(len(present))] if exists else absent[rng.integers(len(absent))]
    return Question(text=f"Is there {with_article(shape)}?", answer=YES if exists else NO, recoverable=("there",))


def _background(scene: Scene, rng: np.random.Generator) -> Question:  # noqa: ARG001
    colour = BACKGROUNDS[scene.background]
    answer = Bilingual(colour.english, colour.german)
    return Question(text="What colour is the background?", answer=answer, recoverable=("colour", "What"))


def _place(scene: Scene, rng: np.random.Generator) -> Question | None:
    if len(scene.things) == 1:
        return None
    other = scene.things[1 + rng.integers(len(scene.things) - 1)]
    true = direction_between(subject=other, other=scene.main)
    direction = true if rng.random() < 0.5 else list(Direction)[rng.integers(len(Direction))]
    text = f"Is the {other.shape} {DIRECTIONS[direction].english} the {scene.main.shape}?"
    return Question(text=text, answer=YES if direction is true else NO, recoverable=_of_direction(direction) or ("Is",))


_KINDS: tuple[Callable[[Scene, np.random.Generator], Question | None], ...] = (
    _colour,
    _shape,
    _relation,
    _count,
    _existence,
    _background,
    _place,
)
