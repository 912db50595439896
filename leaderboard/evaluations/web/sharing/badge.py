"""Badges for a README, as SVG. Pure."""

from typing import NamedTuple

from django.utils.html import escape

LABEL = "PlanArena"
_HEIGHT = 20
_SIDE = 7
"""Space beside a text."""
_CHARACTER = 6.6
"""Mean width of a character at 11 px; `textLength` makes the text exactly as wide as its place."""
_NARROW = frozenset("ijltfr.,:;'|!() ")
_LONGEST = 80
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" aria-label="{title}">'
    "<title>{title}</title>"
    '<clipPath id="r"><rect width="{width}" height="{height}" rx="3"/></clipPath>'
    '<g clip-path="url(#r)"><rect width="{left}" height="{height}" fill="#2d3633"/>'
    '<rect x="{left}" width="{right}" height="{height}" fill="#0b5f54"/></g>'
    '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="{label_x}" y="14" textLength="{label_width}">{label}</text>'
    '<text x="{message_x}" y="14" textLength="{message_width}">{message}</text></g></svg>\n'
)


class Badge(NamedTuple):
    """A picture of one line."""

    svg: str
    width: int
    """In pixels; it is 20 high."""


def badge_of(*, message: str, label: str = LABEL) -> Badge:
    """A badge with a label on the left and a message on the right; texts are cut at 80 characters and escaped."""
    label, message = _cut(label), _cut(message)
    label_width, message_width = _width(label), _width(message)
    left, right = label_width + 2 * _SIDE, message_width + 2 * _SIDE
    svg = _SVG.format(
        width=left + right,
        height=_HEIGHT,
        left=left,
        right=right,
        label=escape(label),
        message=escape(message),
        label_x=_SIDE,
        message_x=left + _SIDE,
        label_width=label_width,
        message_width=message_width,
        title=escape(f"{label}: {message}"),
    )
    return Badge(svg, left + right)


def _cut(text: str) -> str:
    # XML has no control characters.
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _width(text: str) -> int:
    return round(sum(3.9 if character in _NARROW else _CHARACTER for character in text)) or 1
