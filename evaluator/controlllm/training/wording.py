"""Patterns of sentences: `(a|b)` is one of several, `[a]` is there or not, `{slot}` is filled in."""

import re
from collections.abc import Callable
from functools import cache

import numpy as np

_SLOT = re.compile(r"\{(\w+)\}")


def expand(pattern: str, *, rng: np.random.Generator, fill: Callable[[str], str]) -> str:
    """A sentence of a pattern.

    Args:
        pattern: brackets may be nested.
        rng: chooses among what is possible.
        fill: gives the text of a slot by its name, which is not expanded again.
    """
    chosen = _choose(_tree(pattern), rng)
    return re.sub(r" +", " ", _SLOT.sub(lambda found: fill(found[1]), chosen)).strip()


@cache
def _tree(pattern: str) -> tuple[object, ...]:
    """The pattern as alternatives of sequences of texts and further alternatives."""
    node, rest = _alternatives(pattern, 0, "")
    if rest != len(pattern):
        raise ValueError(f"there is a bracket too many at {rest} in {pattern!r}")
    return node


def _alternatives(pattern: str, place: int, closing: str) -> tuple[tuple[object, ...], int]:
    alternatives: list[list[object]] = [[]]
    while place < len(pattern):
        character = pattern[place]
        if character and character == closing:
            break
        if character in "([":
            inner, place = _alternatives(pattern, place + 1, ")" if character == "(" else "]")
            alternatives[-1].append((*inner, ()) if character == "[" else inner)
            if place >= len(pattern):
                raise ValueError(f"a bracket is open in {pattern!r}")
        elif character in ")]":
            break
        elif character == "|":
            alternatives.append([])
        else:
            own = alternatives[-1]
            if own and isinstance(own[-1], str):
                own[-1] += character
            else:
                own.append(character)
        place += 1
    return tuple(tuple(one) for one in alternatives), place


def _choose(alternatives: tuple[object, ...], rng: np.random.Generator) -> str:
    chosen = alternatives[int(rng.integers(len(alternatives)))]
    assert isinstance(chosen, tuple)
    return "".join(part if isinstance(part, str) else _choose(part, rng) for part in chosen)
