"""JSON objects with grids of letters as text that people read: names, indentation, and a grid's rows as lines."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_INDENT = "  "
_CLOSING = {"{": "}", "[": "]"}


def readable(text: str) -> str | None:
    """A JSON object as readable lines; None where the text is none, or has no grid of letters.

    A text that was cut counts up to its last whole value.
    """
    if not text.startswith('{"'):
        return None
    try:
        value = json.loads(text if text.endswith("}") else _closed(text))
    except (ValueError, RecursionError):
        return None
    return "\n".join(_lines(value, depth=0)) if _has_grid(value) else None


def _closed(text: str) -> str:
    """The beginning of a JSON text up to its last comma outside a text, with all open brackets closed."""
    is_open: list[str] = []
    in_text = is_escaped = False
    end, closing = 0, ""
    for place, letter in enumerate(text):
        if in_text:
            in_text = is_escaped or letter != '"'
            is_escaped = letter == "\\" and not is_escaped
        elif letter == '"':
            in_text = True
        elif letter in _CLOSING:
            is_open.append(_CLOSING[letter])
        elif letter in _CLOSING.values() and is_open:
            is_open.pop()
        elif letter == ",":
            end, closing = place, "".join(reversed(is_open))
    return text[:end] + closing


def _has_grid(value: Any) -> bool:
    if _is_grid(value):
        return True
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(map(_has_grid, inner))


def _is_grid(value: Any) -> bool:
    return bool(value) and isinstance(value, list) and all(map(_is_row, value))


def _is_row(value: Any) -> bool:
    return bool(value) and isinstance(value, list) and all(isinstance(cell, str) and len(cell) == 1 for cell in value)


def _lines(value: Any, *, depth: int) -> Iterable[str]:
    named = value.items() if isinstance(value, Mapping) else enumerate(value, start=1)
    for name, one in named:
        label = f"{_INDENT * depth}{str(name).replace('_', ' ')}:"
        if _is_grid(one):
            yield label
            yield from (_INDENT * (depth + 1) + " ".join(row) for row in one)
        elif _is_short(one):
            yield f"{label} {json.dumps(one, ensure_ascii=False)}"
        else:
            yield label
            yield from _lines(one, depth=depth + 1)


def _is_short(value: Any) -> bool:
    """Whether a value takes one line: a scalar, a list of scalars, or of pairs of them."""
    if isinstance(value, Mapping) or not isinstance(value, Sequence) or isinstance(value, str):
        return not isinstance(value, Mapping) or not value
    return all(
        not isinstance(one, Mapping) and (not isinstance(one, list) or (len(one) == 2 and all(map(_is_scalar, one))))
        for one in value
    )


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping | list)
