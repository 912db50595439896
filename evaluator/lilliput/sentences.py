"""The bilingual grammar: what can be said about a scene in English and in German.

So far it serves as the reading matter of the tiny BERT behind the BERT score.
"""

from collections.abc import Callable, Sequence

import numpy as np

from evaluator.lilliput.scenes import Scene, Thing, direction_between
from evaluator.lilliput.vocabulary import GERMAN, Background, Colour, Direction, Shape

_MASCULINE = frozenset({Shape.CIRCLE, Shape.STAR, Shape.RING})
"""German shapes that take `der`; the others take `das`."""
_UNINFLECTED = frozenset({Colour.PINK})
_GERMAN_PLACES: dict[Background, str] = {
    Background.NIGHT: "vor der Nacht",
    Background.GRASS: "auf dem Gras",
    Background.STONE: "auf dem Stein",
    Background.SKY: "vor dem Himmel",
    Background.SAND: "auf dem Sand",
}
_ENGLISH_PLACES: dict[Background, str] = {
    Background.NIGHT: "in the night",
    Background.GRASS: "on the grass",
    Background.STONE: "on the stone",
    Background.SKY: "in the sky",
    Background.SAND: "on the sand",
}
_DATIVE_DIRECTIONS: dict[Direction, str] = {direction: GERMAN[direction] for direction in Direction}
NUMBERS: tuple[str, ...] = ("zero", "one", "two", "three", "four", "five")
GERMAN_NUMBERS: tuple[str, ...] = ("null", "eins", "zwei", "drei", "vier", "fünf")


def english_article(name: str) -> str:
    """`a` or `an` before a name."""
    return "an" if name[0] in "aeiou" else "a"


def english_caption(scene: Scene) -> str:
    """One sentence on the main object, where it is, and its first companion."""
    main = scene.main
    sentence = f"{english_article(main.name)} {main.name} {_ENGLISH_PLACES[scene.background]}"
    if len(scene.things) == 1:
        return sentence
    other = scene.things[1]
    direction = direction_between(subject=other, other=main)
    return f"{sentence} with {english_article(other.name)} {other.name} {direction} it"


def german_noun_phrase(thing: Thing, *, dative: bool = False) -> str:
    """With the indefinite article, for example `ein roter Stern` or `einem roten Stern`."""
    colour, noun = GERMAN[thing.colour], GERMAN[thing.shape]
    masculine = thing.shape in _MASCULINE
    ending = "en" if dative else ("er" if masculine else "es")
    stem = colour if thing.colour in _UNINFLECTED else (colour.removesuffix("e") + ending)
    return f"{'einem' if dative else 'ein'} {stem} {noun}"


def german_caption(scene: Scene) -> str:
    """The German of `english_caption`."""
    main = scene.main
    sentence = f"{german_noun_phrase(main)} {_GERMAN_PLACES[scene.background]}"
    if len(scene.things) == 1:
        return sentence
    other = scene.things[1]
    direction = _DATIVE_DIRECTIONS[direction_between(subject=other, other=main)]
    return f"{sentence} mit {german_noun_phrase(other, dative=True)} {direction} ihm"


def _relation(scene: Scene) -> str:
    subject, other = scene.things[-1], scene.main
    return f"the {subject.name} is {direction_between(subject=subject, other=other)} the {other.name}"


def _question(scene: Scene) -> str:
    return f"what colour is the {scene.things[-1].shape} ? {scene.things[-1].colour}"


def _count(scene: Scene) -> str:
    number = len(scene.things)
    return f"there {'is' if number == 1 else 'are'} {NUMBERS[number]} thing{'' if number == 1 else 's'}"


def _german_count(scene: Scene) -> str:
    return f"es gibt {GERMAN_NUMBERS[len(scene.things)]} dinge" if len(scene.things) > 1 else "es gibt ein ding"


_SAYINGS: tuple[Callable[[Scene], str], ...] = (
    lambda scene: scene.label,
    lambda scene: scene.label,
    english_caption,
    english_caption,
    german_caption,
    lambda scene: ", ".join(thing.name for thing in scene.things),
    lambda scene: ", ".join(german_noun_phrase(thing) for thing in scene.things),
    lambda scene: german_noun_phrase(scene.main),
    lambda scene: f"{GERMAN[scene.things[-1].colour]} {GERMAN[scene.things[-1].shape]}",
    lambda scene: f"the {scene.main.name} is {scene.main.texture}",
    lambda scene: f"a picture of {english_article(scene.label)} {scene.label}",
    _relation,
    _question,
    _count,
    _german_count,
)


def say_something(*, scene: Scene, rng: np.random.Generator) -> str:
    """One of the things that can be said about a scene."""
    return _SAYINGS[rng.integers(len(_SAYINGS))](scene)


def word_pieces(texts: Sequence[str]) -> tuple[str, ...]:
    """A WordPiece vocabulary: BERT's special tokens, the words of the texts, and letters to spell all others."""
    words = sorted({word for text in texts for word in text.lower().replace(",", " ").replace("?", " ").split()})
    letters = [*"abcdefghijklmnopqrstuvwxyzäöüß0123456789"]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *",.?!:;'-\"()", *letters, *(f"##{letter}" for letter in letters), *words]
    return tuple(dict.fromkeys(pieces))
