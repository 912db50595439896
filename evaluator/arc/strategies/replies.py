"""The paper's chain of thought as JSON: prose on what changes, then a program.

A reply is a JSON object, alone or in a fenced block. If there are several, the last one with a program counts, in case
a reply repeats the prompt's example first. A fenced block of Python is a program too.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evaluator.core.plans.model import PlanSyntaxError
from evaluator.replies.envelope import blocks_of, trimmed, without_reasoning

PROSE = (
    "reflection", "pixel_changes", "object_changes", "helper_functions", "overall_pattern", "program_instructions",
)  # fmt: skip
"""Fields of a reply, in the order of the prompt."""
PROGRAM = "python_program"
ENTRY = "transform_grid"
MOST_CHARACTERS = 64 * 1024
_MOST_PROSE = 2000
_MOST_OBJECTS = 50


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed reply."""

    program: str
    prose: Mapping[str, str]
    """The fields of `PROSE` that are present."""


class ReplyError(ValueError):
    """A reply without a program. The message is a clause."""


def read_reply(text: str) -> Reply:
    """Parse a model's reply.

    Raises:
        ReplyError: it contains no program.
    """
    if len(text) > MOST_CHARACTERS:
        raise ReplyError(f"it has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    try:
        text, _ = without_reasoning(trimmed(text)[0])
    except PlanSyntaxError as error:
        raise ReplyError(error.message) from None
    objects = [value for value in _objects(text) if isinstance(value.get(PROGRAM), str)]
    if objects:
        prose = {name: value for name in PROSE if (value := objects[-1].get(name))}
        texts = {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in prose.items()
        }
        return Reply(_program(objects[-1][PROGRAM]), {name: value[:_MOST_PROSE] for name, value in texts.items()})
    written = [block.content for block in blocks_of(text)[0] if f"def {ENTRY}" in block.content]
    if written:
        return Reply(_program(written[-1]), {})
    raise ReplyError(f"it holds neither a JSON object with {PROGRAM!r} nor a fenced program with `def {ENTRY}`")


def _program(value: object) -> str:
    """The program's text, without a fence inside the JSON."""
    text = str(value)
    blocks, _ = blocks_of(text)
    program = (blocks[0].content if blocks else text).strip("\n")
    if f"def {ENTRY}" not in program:
        raise ReplyError(f"its program defines no function {ENTRY}")
    return program.expandtabs(4)


def _objects(text: str) -> Iterator[Mapping[str, object]]:
    """The JSON objects in a text, in order. Allows raw line breaks in strings, which models write."""
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
