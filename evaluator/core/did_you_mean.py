"""Hints for names that do not exist: the known name that is most similar."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_NAME = 100
"""Characters that are compared: similarity takes time in the square of the length."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint ` Did you mean 'visibility'?`, with its leading blank; empty without a similar name."""
    near = get_close_matches(name[:_LONGEST_NAME], list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
