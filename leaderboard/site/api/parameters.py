"""Parameters of queries. What a parameter cannot be is 400, and names the parameter."""

from collections.abc import Sequence

from rest_framework.exceptions import ValidationError


def whole_number(*, name: str, text: str) -> int:
    """The number, at least 0.

    Raises:
        ValidationError: it is none.
    """
    if not text.isascii() or not text.isdecimal():
        raise ValidationError({name: [f"{text!r} is no whole number."]})
    return int(text)


def one_of(known: Sequence[str], *, name: str, value: str) -> str:
    """The value, if it is known.

    Raises:
        ValidationError: it is not.
    """
    if value not in known:
        raise ValidationError({name: [f"{value!r} is none of: {', '.join(known)}."]})
    return value
