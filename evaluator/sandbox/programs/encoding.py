"""Results as bounded JSON. Standard library only."""

import json
import math
from typing import Any

from evaluator.sandbox.programs.language import MOST_ITEMS
from evaluator.sandbox.programs.wire import Failure, ProgramError

_MOST_DEPTH = 50


def encoded(value: Any, *, most_bytes: int, tuples: bool = True) -> str:
    """A result as JSON.

    Args:
        value: the result.
        most_bytes: of its text.
        tuples: whether they are allowed, and become lists.

    Raises:
        ProgramError: it is no JSON, or too large.
    """
    budget, lists = [MOST_ITEMS], frozenset({list, tuple} if tuples else {list})
    try:
        text = json.dumps(_plain(value, budget=budget, lists=lists, depth=0), allow_nan=False)
    except ValueError:
        raise ProgramError(Failure.RESULT, "The result contains an integer that is too large.") from None
    if len(text) > most_bytes:
        raise ProgramError(Failure.RESULT, f"The result has more than {most_bytes:,} bytes.")
    return text


def _plain(value: Any, *, budget: list[int], lists: frozenset[type], depth: int) -> Any:
    kind = type(value)
    budget[0] -= 1
    if budget[0] < 0:
        raise ProgramError(Failure.RESULT, f"The result has more than {MOST_ITEMS:,} items.")
    if depth > _MOST_DEPTH:
        raise ProgramError(Failure.RESULT, f"The result is nested deeper than {_MOST_DEPTH} levels.")
    if kind is float and not math.isfinite(value):
        raise ProgramError(Failure.RESULT, "The result contains a number that is not finite.")
    if kind in {str, int, float, bool, type(None)}:
        return value
    if kind in lists:
        return [_plain(item, budget=budget, lists=lists, depth=depth + 1) for item in value]
    if kind is dict:
        if any(type(key) is not str for key in value):
            raise ProgramError(Failure.RESULT, "The result contains a dict whose keys are not texts.")
        return {key: _plain(item, budget=budget, lists=lists, depth=depth + 1) for key, item in value.items()}
    if kind is tuple:
        raise ProgramError(Failure.RESULT, "The result contains a tuple where a list is expected.")
    raise ProgramError(Failure.RESULT, f"The result contains a value of type {kind.__name__[:40]}, which is not JSON.")
