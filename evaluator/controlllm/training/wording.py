"""Words and sentence patterns of the corpus (`corpus.toml`).

In a pattern `(a|b)` is a choice, `[a]` is optional, and `{slot}` is filled in.
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
    """Patterns with expanded macros."""
    return tuple(_MACRO.sub(lambda macro: TABLE["macros"][macro[1]], row) for row in rows)


def expand(pattern: str, *, rng: np.random.Generator, fill: Callable[[str], str]) -> str:
    """A random sentence of a pattern.

    Args:
        pattern: the pattern, possibly with nested brackets.
        rng: makes the choices.
        fill: returns the text of a slot, which is not expanded again.
    """
    sentence = _choose(_tree(pattern), rng)
    return re.sub(r" +", " ", _SLOT.sub(lambda slot: fill(slot[1]), sentence)).strip()


@cache
def _tree(pattern: str) -> tuple[object, ...]:
    """The parsed pattern: alternatives, each a sequence of texts and further alternatives."""
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
    return tuple(map(tuple, alternatives)), place


def _choose(alternatives: tuple[object, ...], rng: np.random.Generator) -> str:
    parts = alternatives[int(rng.integers(len(alternatives)))]
    assert isinstance(parts, tuple)
    return "".join(part if isinstance(part, str) else _choose(part, rng) for part in parts)


def pick(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    """A random item, all equally likely."""
    return items[int(rng.integers(len(items)))]


def invented(rng: np.random.Generator) -> str:
    """A random invented word."""
    return "".join(pick(rng, WORDS["syllables"]) for _ in range(int(rng.integers(2, 4))))


def plural(noun: str) -> str:
    """The plural of a noun phrase."""
    irregular = {"person": "people", "mouse": "mice", "knife": "knives", "sheep": "sheep", "skis": "skis",
                 "scissors": "scissors", "leaf": "leaves", "broccoli": "broccoli", "stairs": "stairs",
                 "binoculars": "binoculars", "goldfish": "goldfish", "trout": "trout", "jellyfish": "jellyfish",
                 "starfish": "starfish", "corn": "corn"}  # fmt: skip
    modifiers, _, last = noun.rpartition(" ")
    if last in irregular:
        inflected = irregular[last]
    elif last.endswith("y") and last[-2:-1] not in set("aeiou"):
        inflected = f"{last[:-1]}ies"
    else:
        inflected = f"{last}es" if last.endswith(("s", "x", "ch", "sh", "z")) else f"{last}s"
    return f"{modifiers} {inflected}" if modifiers else inflected


def with_article(noun: str) -> str:
    """A noun with its indefinite article."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
