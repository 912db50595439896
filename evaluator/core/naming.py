"""Names: whether one matches a condition such as `red star` or `stars`, and which known names are most similar."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_ARTICLES = frozenset({"a", "an", "the", "all", "every", "any", "one", "some"})
_ANYTHING = frozenset({"thing", "object", "item"})
_WORDS = re.compile(r"[a-z0-9]+")
_SHORTEST = 4
"""Letters of the shortest word that may be a plural."""
_LONGEST_NAME = 100
"""Characters that are compared: the time is quadratic in the length."""


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case and singular, without articles.

    Singular is what is left without a final `s`, or `es` after x, s, ch and sh: `crosses` is `cross`.
    """
    return tuple(_singular(word) for word in _WORDS.findall(name.casefold()) if word not in _ARTICLES)


def is_named(name: str, *, condition: str) -> bool:
    """Whether a condition describes a thing called `name`: all words of the condition are words of its name.

    The words thing, object and item match anything: `blue things` describes a blue star too. A condition without words
    describes nothing.
    """
    required, own = words_of(condition), words_of(name)
    return bool(required) and all(word in own or word in _ANYTHING for word in required)


def _singular(word: str) -> str:
    if len(word) < _SHORTEST or not word.endswith("s") or word.endswith("ss"):
        return word
    return word[:-2] if word.endswith(("xes", "sses", "ches", "shes")) else word[:-1]


def similar_names(name: str, known: Iterable[str], *, most: int = 1, least: float = 0.6) -> list[str]:
    """The known names that are most similar to a mistyped one, the best first.

    Args:
        name: its first 100 characters are compared.
        most: largest number of names to return.
        least: smallest similarity, in [0, 1] (`difflib.SequenceMatcher.ratio`).
    """
    return get_close_matches(name[:_LONGEST_NAME], list(known), n=most, cutoff=least)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint ` Did you mean 'visibility'?` with a leading blank; empty without a similar name."""
    near = similar_names(name, known)
    return f" Did you mean {near[0]!r}?" if near else ""
