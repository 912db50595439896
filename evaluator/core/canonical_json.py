"""Unambiguous encodings for hashing: canonical JSON and framed texts."""

import hashlib
import json
import math

from typing_extensions import TypeAliasType

JsonValue = TypeAliasType("JsonValue", "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None")
_LARGEST_INTEGER = 2**53 - 1
"""Readers that represent all numbers as doubles round larger ones (RFC 7493, section 2.2)."""


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


def loads(data: bytes, *, any_integer: bool = False) -> JsonValue:
    """The value of a JSON text that all readers interpret alike (I-JSON, RFC 7493).

    Args:
        data: UTF-8 without a byte order mark.
        any_integer: whether integers may have more than 53 bits.

    Raises:
        ValueError: it is not UTF-8 or not JSON, an object has a key twice, a number is NaN, infinite or too large, a
            surrogate is unpaired, or it is nested too deeply. The message is the end of a sentence.
    """
    try:
        value: JsonValue = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=int if any_integer else _exact,
        )
        dumps(value).encode()
    except UnicodeError:
        raise ValueError("is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at character {error.pos})") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    return value


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"has the key {name[:40]!r} twice in one object")
        members[name] = value
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"has the number {name}, which JSON does not have")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"has the number {text[:40]}, which is too large")
    return number


def _exact(text: str) -> int:
    # The length first: converting a million digits takes seconds.
    if len(text) > 17 or abs(number := int(text)) > _LARGEST_INTEGER:
        raise ValueError(f"has the number {text[:40]}, which is too large")
    return number


def framed(*parts: str) -> bytes:
    """The parts in UTF-8, each preceded by its length as four bytes, big-endian.

    An HMAC key must not be a part: HMAC pads keys with zeros, so that appending zeros gives the same key.
    """
    return b"".join(len(content).to_bytes(4, "big") + content for content in (part.encode() for part in parts))


def framed_digest(purpose: str, *parts: str) -> str:
    """SHA-256 of purpose and parts, as 64 hexadecimal digits. Digests for different purposes are never equal."""
    return hashlib.sha256(framed(purpose, *parts)).hexdigest()
