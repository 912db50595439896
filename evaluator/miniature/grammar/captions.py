"""Captions of scenes: the main object, its direction from another object, and the background; masking of words."""

import re
from collections.abc import Sequence

import numpy as np

from evaluator.miniature.grammar.german import Bilingual, Case, capitalised, noun_phrase, with_article
from evaluator.miniature.grammar.labels import BACKGROUND, BACKGROUNDS, listed_things, thing_phrase
from evaluator.miniature.scenes import Scene, direction_between
from evaluator.miniature.vocabulary import Direction

DIRECTIONS: dict[Direction, Bilingual] = {
    Direction.LEFT_OF: Bilingual("to the left of", "links von"),
    Direction.RIGHT_OF: Bilingual("to the right of", "rechts von"),
    Direction.ABOVE: Bilingual("above", "über"),
    Direction.BELOW: Bilingual("below", "unter"),
}
"""Directions as prepositions; the German ones take the dative."""

RECOVERABLE = (BACKGROUND.english, "is")
"""Words of every caption that can be inferred from the rest."""


def background_phrase(scene: Scene) -> Bilingual:
    """The background, for example `on a green background` and `auf grünem Hintergrund`."""
    colour = BACKGROUNDS[scene.background]
    german = noun_phrase(noun=BACKGROUND, case=Case.DATIVE, adjective=colour)
    english = f"on {with_article(colour.english)} {BACKGROUND.english}"
    return Bilingual(english, f"auf {german}")


def main_caption(scene: Scene) -> Bilingual:
    """The main object and the background, for example `A red star is on a green background.`

    This is the style of captioning tasks; `caption` is for drawing.
    """
    subject = thing_phrase(scene.main, case=Case.NOMINATIVE)
    background = background_phrase(scene)
    return Bilingual(
        capitalised(f"{subject.english} is {background.english}."),
        capitalised(f"{subject.german} ist {background.german}."),
    )


def caption(scene: Scene) -> Bilingual:
    """One sentence, for example `A red star is to the left of a blue ring on a green background.`"""
    subject = thing_phrase(scene.main, case=Case.NOMINATIVE)
    background = background_phrase(scene)
    english, german = f"{subject.english} is", f"{subject.german} ist"
    if len(scene.things) > 1:
        other = listed_things(scene)[1]
        direction = DIRECTIONS[direction_between(subject=scene.main, other=other)]
        phrase = thing_phrase(other, case=Case.DATIVE)
        english += f" {direction.english} {phrase.english}"
        german += f" {direction.german} {phrase.german}"
    return Bilingual(
        capitalised(f"{english} {background.english}."),
        capitalised(f"{german} {background.german}."),
    )


MASK = "[MASK]"


def mask_word(*, text: str, recoverable: Sequence[str], rng: np.random.Generator) -> str:
    """Mask the first occurrence of one of the recoverable words, as a whole word.

    Raises:
        ValueError: none of them is in the text.
    """
    present = [word for word in recoverable if _pattern(word).search(text)]
    if not present:
        raise ValueError(f"none of the recoverable words {', '.join(recoverable)} is in {text!r}")
    word = present[rng.integers(len(present))]
    return _pattern(word).sub(MASK, text, count=1)


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}\b")
