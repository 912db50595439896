"""What the parsers share: loading JSON with its position in errors, and words for kinds of values."""

import json
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from evaluator.core.plans.model import PlanSyntaxError

MAX_STEPS = 100
MAX_ANSWERS = 1000
"""A site keeps no record of a plan with more."""


def load_json(text: str) -> object:
    """The value of a JSON text.

    Raises:
        PlanSyntaxError: it is not JSON; `where` is the position in the text.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise PlanSyntaxError(f"not valid JSON: {error.msg}", where=Places(text)[error.pos]) from None
    except RecursionError:
        raise PlanSyntaxError("JSON nested too deeply") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise PlanSyntaxError(f"not valid JSON: {error}") from None


class Places:
    """Positions of a text in words, each in logarithmic time."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _breaks(self) -> list[int]:
        return [index for index, character in enumerate(self._text) if character == "\n"]

    def __getitem__(self, index: int) -> str:
        """`character 17`, or `line 2, column 5` where the text has several lines. The index counts from 0."""
        if not self._breaks:
            return f"character {index + 1}"
        line = bisect_left(self._breaks, index)
        return f"line {line + 1}, column {index - (self._breaks[line - 1] if line else -1)}"


def kind_of(value: object) -> str:
    """A value's kind, as an error names it."""
    if value is None:
        return "missing or null"
    if isinstance(value, str):
        return "an empty text" if not value else "a text"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "a list" if isinstance(value, list | tuple) else "an object"


def short(text: str) -> str:
    """A text as it stands in a message: quoted, and cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def spelling(name: str) -> str:
    """What all spellings of a tool's name have in common: `Image_Captioning`, `image-captioning`."""
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


def a_list(value: object, where: str) -> list[object]:
    """A value that must be a list."""
    if not isinstance(value, list):
        raise PlanSyntaxError(f"must be a list, not {kind_of(value)}", where=where)
    return value


def a_text(value: object, where: str) -> str:
    """A value that must be a text, and not an empty one."""
    if not isinstance(value, str) or not value:
        raise PlanSyntaxError(f"must be a non-empty text, not {kind_of(value)}", where=where)
    return value


def integer(*, value: object, where: str, tolerated: list[str]) -> int:
    """A whole number of at most nine digits, or the text of one, which is recorded."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return value
    if isinstance(value, str) and 0 < len(value) < 10 and value.isascii() and value.removeprefix("-").isdigit():
        tolerated.append(f"{where}: read a text as a number")
        return int(value)
    raise PlanSyntaxError(f"must be a whole number, not {kind_of(value)}", where=where)


def refuse_too_many(*, steps: Sequence[object], where: str = "") -> None:
    """Refuse a plan with more steps than a plan may have."""
    if len(steps) > MAX_STEPS:
        raise PlanSyntaxError(f"{len(steps)} steps; a plan has at most {MAX_STEPS}", where=where)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value: dict[str, object] = {}
    for key, item in pairs:
        if key in value:
            raise PlanSyntaxError(f"the key {short(key)} stands twice in one object")
        value[key] = item
    return value
