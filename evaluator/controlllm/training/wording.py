"""Wordings of the corpus (`corpus.toml`): its words, and patterns of sentences.

In a pattern `(a|b)` is one of several, `[a]` is there or not, `{slot}` is filled in.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

TABLE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("corpus.toml").read_text(encoding="utf-8"))
WORDS: Mapping[str, Sequence[str]] = {
    name: tuple(item.strip() for item in text.replace("\n", " ").split(",") if item.strip())
    for name, text in TABLE["words"].items()
}
"""Lists of words by name."""
Item = TypeVar("Item")
_SLOT = re.compile(r"\{(\w+)\}")
_MACRO = re.compile(r"<(\w+)>")


def patterns(rows: Sequence[str]) -> tuple[str, ...]:
    """Patterns without macros."""
    return tuple(_MACRO.sub(lambda macro: TABLE["macros"][macro[1]], row) for row in rows)


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


def pick(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    """One of them, all equally likely."""
    return items[int(rng.integers(len(items)))]


def invented(rng: np.random.Generator) -> str:
    """A word that no language has."""
    return "".join(pick(rng, WORDS["syllables"]) for _ in range(int(rng.integers(2, 4))))


def plural(noun: str) -> str:
    """Several of what a noun names."""
    irregular = {"person": "people", "mouse": "mice", "knife": "knives", "sheep": "sheep", "skis": "skis",
                 "scissors": "scissors", "leaf": "leaves", "broccoli": "broccoli", "stairs": "stairs",
                 "binoculars": "binoculars", "goldfish": "goldfish", "trout": "trout", "jellyfish": "jellyfish",
                 "starfish": "starfish", "corn": "corn"}  # fmt: skip
    before, _, last = noun.rpartition(" ")
    if last in irregular:
        several = irregular[last]
    elif last.endswith("y") and last[-2:-1] not in set("aeiou"):
        several = f"{last[:-1]}ies"
    else:
        several = f"{last}es" if last.endswith(("s", "x", "ch", "sh", "z")) else f"{last}s"
    return f"{before} {several}" if before else several


def with_article(noun: str) -> str:
    """A noun behind its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
