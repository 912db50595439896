"""Roles: everyday names that things and motions of the miniature world play, so that requests about cats can be drawn.

Each of the 64 class labels plays one name and each of the 16 motions one action. Any other name is played too, by the
label or motion that its digest chooses, so that it shares the part with a name of the table. The cast is one for all
pictures: what a picture shows can be named without knowing its request.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from evaluator.core.naming import words_of
from evaluator.miniature.tableaux.clips import Motion
from evaluator.miniature.vocabulary import CLASS_LABELS, Background, Colour, Shape

CAST_VERSION = "1"
"""Increment it whenever a name is played by another label or motion, or a text is put into the world otherwise."""
LONGEST_TEXT = 4000
"""Characters of a text that are searched for names."""
_DATA: Mapping[str, Any] = tomllib.loads((Path(__file__).parent / "roles.toml").read_text(encoding="utf-8"))
_SHAPES, _COLOURS = tuple(Shape), tuple(Colour)
_MOTIONS = tuple(Motion)
_OF_LABEL: Mapping[str, str] = dict(zip(CLASS_LABELS, _DATA["things"], strict=True))
_OF_MOTION: Mapping[str, str] = dict(zip(map(str, _MOTIONS), _DATA["motions"], strict=True))
_THING = rf"(?:{'|'.join(_COLOURS)}) (?:{'|'.join(_SHAPES)})"
_NAMED = re.compile(rf"\b(?:{_THING}|{'|'.join(sorted(map(str, _MOTIONS), reverse=True))})\b")
_Words = tuple[str, ...]
T = TypeVar("T")


def _by_words(names: Sequence[str], values: Sequence[T]) -> dict[_Words, T]:
    return {words_of(name): value for name, value in zip(names, values, strict=True)}


_LABELS: Mapping[_Words, str] = {
    **_by_words(_DATA["things"], CLASS_LABELS),
    **_by_words(CLASS_LABELS, CLASS_LABELS),
}
_ACTORS: Mapping[_Words, Motion] = {
    **_by_words(_DATA["motions"], _MOTIONS),
    **_by_words(_MOTIONS, _MOTIONS),
}
_KNOWN: frozenset[_Words] = frozenset({*_LABELS, *map(words_of, _DATA["understudies"])})
_MOST_WORDS = max(map(len, _KNOWN))


def role_of(name: str) -> str:
    """The everyday name that a class label or motion plays: `dog` for `orange circle`; other names stay."""
    return _OF_LABEL.get(name) or _OF_MOTION.get(name) or name


def in_roles(text: str) -> str:
    """A text with the everyday names of the labels and motions in it."""
    return _NAMED.sub(lambda match: role_of(match[0]), text)


@cache
def label_of(name: str) -> str:
    """The class label that plays a name: `orange circle` for `dogs`. Equal for names of equal words."""
    words = words_of(name)
    found = names_in(name)
    return _LABELS.get(words) or (label_of(found[0]) if found and words_of(found[0]) != words else _drawn(words))


def _drawn(words: _Words) -> str:
    return CLASS_LABELS[_number(words) % len(CLASS_LABELS)]


def motion_of(action: str) -> Motion:
    """The motion that plays an action. Equal for actions of equal words."""
    words = words_of(action)
    return _ACTORS.get(words) or _MOTIONS[_number(words) % len(_MOTIONS)]


def shown_name(condition: str) -> str:
    """The name under which a selection shows what a condition names: that of the table, else its own words."""
    words = words_of(condition)
    if words in _ACTORS:
        return role_of(str(_ACTORS[words]))
    label = _LABELS.get(words)
    if label is None and (found := names_in(condition)):
        label = _LABELS.get(words_of(found[0]))
        words = words_of(found[0])
    return role_of(label) if label is not None else " ".join(words)


def parts_of(label: str) -> tuple[Colour, Shape]:
    """Colour and shape of a class label."""
    colour, shape = label.split()
    return Colour(colour), Shape(shape)


def names_in(text: str) -> tuple[str, ...]:
    """The names of the table in a text, longest first at each place, each once, in the order of the text."""
    words = words_of(text[:LONGEST_TEXT])
    found: dict[str, None] = {}
    place = 0
    while place < len(words):
        longest = next(
            (size for size in range(_MOST_WORDS, 0, -1) if words[place : place + size] in _KNOWN),
            0,
        )
        if longest:
            found[" ".join(words[place : place + longest])] = None
        place += longest or 1
    return tuple(found)


def in_world(text: str) -> str:
    """A description in the world's words: its first two names, or a thing that its words choose, on a background.

    Texts that are captions of the world stay as they are.
    """
    names = names_in(text)
    words = words_of(text[:LONGEST_TEXT])
    if not words or _is_caption(text):
        return text
    labels = list(dict.fromkeys(map(label_of, names)))[:2] or [_drawn(words)]
    ground = next((ground for ground in Background if _grounds()[ground] & set(words)), Background.STONE)
    second = f" to the left of {_with_article(labels[1])}" if len(labels) > 1 else ""
    return f"{_with_article(labels[0]).capitalize()} is{second} on {_with_article(_GROUNDS[ground])} background."


def question_in_world(text: str) -> str:
    """A question with the shapes of the things that it names: `What color is the circle?` for that of a dog."""
    bounded = text[:LONGEST_TEXT]
    for name in names_in(bounded):
        if name not in _LABEL_NAMES:
            pattern = r"\b" + r"\s+".join(f"{re.escape(word)}(?:e?s)?" for word in name.split()) + r"\b"
            bounded = re.sub(pattern, str(parts_of(label_of(name))[1]), bounded, flags=re.IGNORECASE)
    return re.sub(r"\bcolor\b", "colour", bounded)


_LABEL_NAMES = frozenset(CLASS_LABELS)
_GROUNDS: Mapping[Background, str] = {
    Background.NIGHT: "dark blue", Background.GRASS: "green", Background.STONE: "grey", Background.SKY: "light blue",
    Background.SAND: "sandy",
}  # fmt: skip


def _is_caption(text: str) -> bool:
    return any(f"{ground} background" in text for ground in _GROUNDS.values()) and _NAMED.search(text) is not None


@cache
def _grounds() -> Mapping[Background, frozenset[str]]:
    return {
        ground: frozenset(word for name in _DATA["backgrounds"][str(ground)] for word in words_of(name))
        for ground in Background
    }


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _number(words: _Words) -> int:
    return int.from_bytes(hashlib.sha256(" ".join(words).encode()).digest()[:8], "big")
