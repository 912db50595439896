"""The dump's collation, MySQL's `utf8mb4_general_ci`: ignores case, accents and trailing spaces."""

import unicodedata
from functools import lru_cache

NAME = "GENERAL_CI"
"""The collation's name in the SQLite databases."""
_LONGEST_CACHED = 200


def compare(left: str, right: str) -> int:
    """-1, 0 or 1, as the first text sorts before, with or after the second."""
    first, second = key(left), key(right)
    return (first > second) - (first < second)


def key(text: str) -> str:
    """A sort key: its order by code points is the collation's."""
    return _cached(text) if len(text) <= _LONGEST_CACHED else _key(text)


def _key(text: str) -> str:
    text = text.rstrip(" ")
    if text.isascii():
        return text.upper()
    return "".join(map(_weight, text))


_cached = lru_cache(maxsize=20_000)(_key)


@lru_cache(maxsize=5_000)
def _weight(character: str) -> str:
    """The upper-case base letter of a character. Always a single letter: unlike in Unicode's collation, ß is S."""
    if ord(character) > 0xFFFF:
        return "\N{REPLACEMENT CHARACTER}"
    base = unicodedata.normalize("NFD", character)[0]
    upper = base.upper()
    return "S" if base == "ß" else upper if len(upper) == 1 else base
