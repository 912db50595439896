"""From a request to its words."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.openagi.season.english import English
from evaluator.openagi.season.german import German
from evaluator.openagi.season.speaker import Pattern, Speaker
from evaluator.openagi.season.wishes import Language, Wish

SPEAKERS: Mapping[Language, type[Speaker]] = {Language.ENGLISH: English, Language.GERMAN: German}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """A request in words, and the pattern that it has."""

    text: str
    pattern: Pattern


def worded(*, wish: Wish, rng: random.Random) -> Worded:
    """The request in one of the forms that suit it."""
    speaker = SPEAKERS[wish.stratum.spoken](wish=wish, rng=rng)
    pattern = rng.choice([pattern for pattern in speaker.patterns if speaker.suits(pattern)])
    return Worded(text=speaker.request(pattern), pattern=pattern)
