"""Canonical JSON: the one form that is hashed."""

import hashlib
import json

from typing_extensions import TypeAliasType

JsonValue = TypeAliasType("JsonValue", "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None")


def dumps(value: object) -> str:
    """Canonical JSON: sorted keys, no white space, UTF-8, no NaN.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: object) -> str:
    """Lower-case hexadecimal SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(dumps(value).encode("utf-8")).hexdigest()
