"""The paper's chain of thought as JSON: prose on what changes, then a program.

A reply is a JSON object, alone or in a fenced block. Where there are several, the last one with a program counts, so
that a reply that repeats the prompt's example is not read as an answer. A fenced block of Python is a program too.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PROSE = (
    "reflection", "pixel_changes", "object_changes", "helper_functions", "overall_pattern", "program_instructions",
)  # fmt: skip
"""In the order in which they are asked for."""
PROGRAM = "python_program"
ENTRY = "transform_grid"
MOST_CHARACTERS = 64 * 1024
_MOST_PROSE = 2000
_FENCED = re.compile(r"```[ \t]*([A-Za-z0-9_]*)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_MOST_OBJECTS = 50


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply says."""

    program: str
    prose: Mapping[str, str]
    """By field, of `PROSE`; only those that are there."""


class ReplyError(ValueError):
    """A reply without a program. The message is part of a sentence."""


def read_reply(text: str) -> Reply:
    """What a model wrote.

    Raises:
        ReplyError: there is no program in it.
    """
    if len(text) > MOST_CHARACTERS:
        raise ReplyError(f"it has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    found = [value for value in _objects(text) if isinstance(value.get(PROGRAM), str)]
    if found:
        return Reply(_program(found[-1][PROGRAM]), _prose(found[-1]))
    blocks = [body for kind, body in _FENCED.findall(text) if kind.lower() in {"", "python", "py"}]
    written = [body for body in blocks if f"def {ENTRY}" in body]
    if written:
        return Reply(_program(written[-1]), {})
    raise ReplyError(f"it holds neither a JSON object with {PROGRAM!r} nor a fenced program with `def {ENTRY}`")


def _program(value: object) -> str:
    """Its text. One in a fenced block inside the JSON is unwrapped."""
    text = str(value)
    inner = _FENCED.search(text)
    found = (inner[2] if inner else text).strip("\n")
    if f"def {ENTRY}" not in found:
        raise ReplyError(f"its program defines no function {ENTRY}")
    return found.expandtabs(4)


def _prose(value: Mapping[str, object]) -> dict[str, str]:
    return {name: _words(value[name])[:_MOST_PROSE] for name in PROSE if value.get(name)}


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects of a text, in order. Line breaks inside of texts are let through, as models write them."""
    decoder, place = json.JSONDecoder(strict=False), 0
    for _ in range(_MOST_OBJECTS):
        place = text.find("{", place)
        if place < 0:
            return
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(value, dict):
            yield value
