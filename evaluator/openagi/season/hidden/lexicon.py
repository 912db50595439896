"""The lexicon of hidden requests, and the part of it that a season uses."""

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil
from typing import Any

from evaluator.openagi.season.requests import Language

SHARE = 0.6
"""The part of each list of phrases that a season draws."""
LEAST = 4
"""Lists with at most so many entries are used whole."""
_TABLES = {Language.ENGLISH: "english.toml", Language.GERMAN: "german.toml"}


@cache
def whole_lexicon(language: Language) -> Mapping[str, Any]:
    """The table of a language, which describes its slots."""
    return tomllib.loads(files(__package__).joinpath(_TABLES[language]).read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def season_lexicon(*, language: Language, seed: str) -> Mapping[str, Any]:
    """The part of a language's lexicon that the season with this seed uses."""
    return {name: _drawn(value, place=f"{seed} {language} {name}") for name, value in whole_lexicon(language).items()}


def drawn_part(items: Sequence[Any], *, place: str) -> list[Any]:
    """A random `SHARE` of a list, at least `LEAST` items, in their order.

    Args:
        items: the whole list.
        place: the random stream; names the season and the list.
    """
    rng = random.Random(f"openagi-season lexicon {place}")  # noqa: S311 - the seed is what is secret
    count = min(len(items), max(LEAST, ceil(SHARE * len(items))))
    return [items[number] for number in sorted(rng.sample(range(len(items)), count))]


def _drawn(value: Any, *, place: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _drawn(inner, place=f"{place}.{name}") for name, inner in value.items()}
    return drawn_part(value, place=place) if isinstance(value, list) else value
