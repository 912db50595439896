"""What the parsers share: loading JSON with its position in errors, and words for kinds of values."""

import json
from collections.abc import Sequence

from evaluator.plans.model import PlanSyntaxError

MAX_STEPS = 100


def load_json(text: str) -> object:
    """The value of a JSON text.

    Raises:
        PlanSyntaxError: it is not JSON; `where` is the position in the text.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise PlanSyntaxError(f"not valid JSON: {error.msg}", where=place(text=text, index=error.pos)) from None
    except RecursionError:
        raise PlanSyntaxError("JSON nested too deeply") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise PlanSyntaxError(f"not valid JSON: {error}") from None


def place(*, text: str, index: int) -> str:
    """A position in words: `character 17`, or `line 2, column 5` where the text has several lines."""
    if "\n" not in text:
        return f"character {index + 1}"
    before = text.count("\n", 0, index)
    return f"line {before + 1}, column {index - text.rfind(chr(10), 0, index)}"


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
