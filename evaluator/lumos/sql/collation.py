"""MySQL's collation `utf8mb4_general_ci`, that of the dump: case, accents and spaces at the end do not count."""

import unicodedata
from functools import lru_cache

NAME = "GENERAL_CI"
"""The collation's name in the SQLite databases."""
_LONGEST_REMEMBERED = 200


def compare(left: str, right: str) -> int:
    """-1, 0 or 1: the order of two texts."""
    first, second = key(left), key(right)
    return (first > second) - (first < second)


def key(text: str) -> str:
    """A text whose order by code points is that of the collation."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _key(text)


def _key(text: str) -> str:
    text = text.rstrip(" ")
    if text.isascii():
        return text.upper()
    return "".join(map(_weight, text))


_remembered = lru_cache(maxsize=20_000)(_key)


@lru_cache(maxsize=5_000)
def _weight(character: str) -> str:
    """The upper-case base letter of a character. One character weighs one: unlike in Unicode's own order, ß is S."""
    if ord(character) > 0xFFFF:
        return "\N{REPLACEMENT CHARACTER}"
    base = unicodedata.normalize("NFD", character)[0]
    upper = base.upper()
    return "S" if base == "ß" else upper if len(upper) == 1 else base
