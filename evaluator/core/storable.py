"""Which data from planners can be stored: databases and UTF-8 accept neither NUL nor unpaired surrogates."""

import json
import math
from collections.abc import Mapping

from evaluator.core.canonical_json import JsonValue

MAX_DEPTH = 32
MAX_NOTES_BYTES = 64 * 1024
_CUT = "... (cut)"
_TOO_DEEP = "(left out: nested too deeply)"
_KEY_LENGTH = 200


def unkeepable(value: object) -> str | None:
    """Why a JSON value cannot be stored, as the predicate of a sentence about it, or None if it can."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if any(isinstance(item, float) and math.isnan(item) for item in level):
            return "holds NaN, which is not JSON"
        if any(isinstance(item, float) and not math.isfinite(item) for item in level):
            return "holds a number that is too large to be kept"
        texts = [item for item in level if isinstance(item, str)]
        texts += [key for item in level if isinstance(item, dict) for key in item]
        if any(keepable_text(text) != text for text in texts):
            return "holds a NUL character or half of a surrogate pair, which is not text"
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return None
    return f"is nested more than {MAX_DEPTH} levels deep"


def keepable_text(text: str) -> str:
    """The text with replacement characters in place of NUL and unpaired surrogates."""
    if "\x00" not in text and text.isascii():
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def kept_notes(notes: Mapping[str, JsonValue], *, limit: int = MAX_NOTES_BYTES) -> dict[str, JsonValue]:
    """Notes as JSON of at most `limit` bytes (512 or more).

    Small notes take precedence. A text that does not fit is cut, anything else is omitted; `left_out` counts these.
    """
    plain = {keepable_text(str(name))[:_KEY_LENGTH]: _plain(value, depth=0) for name, value in notes.items()}
    fitting: dict[str, JsonValue] = {}
    left = limit - 64
    for key in sorted(plain, key=lambda name: _size(plain[name])):
        room = left - _size(key) - 4
        value = _cut(plain[key], room=room)
        if value is None and plain[key] is not None:
            continue
        fitting[key] = value
        left = room - _size(value)
    kept = {key: fitting[key] for key in plain if key in fitting}
    missing = len(plain) - len(kept)
    return kept if missing == 0 else {**kept, "left_out": f"{missing} notes: too large to be kept"}


def _cut(value: JsonValue, *, room: int) -> JsonValue:
    """The value if it fits, else the beginning of a text, else None."""
    if _size(value) <= room:
        return value
    if not isinstance(value, str) or room < 10 * len(_CUT):
        return None
    length = min(len(value), room)
    while _size(value[:length] + _CUT) > room:
        length = length * 19 // 20
    return value[:length] + _CUT


def _plain(value: object, *, depth: int) -> JsonValue:
    """The value as storable JSON; anything that is not JSON as its Python `str`."""
    if depth >= MAX_DEPTH - 2:
        return _TOO_DEEP
    if isinstance(value, str):
        return keepable_text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {keepable_text(str(key)): _plain(inner, depth=depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, depth=depth + 1) for inner in value]
    return keepable_text(str(value))


def _size(value: JsonValue) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8"))
