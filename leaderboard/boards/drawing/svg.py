"""A picture as an SVG file of its own: attributes in the place of a style sheet, and absolute links."""

import re
from collections.abc import Callable
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from leaderboard.boards.drawing.picture import SMALL, TEXT, Area, Cells, Item, Line, Link, Mark, Picture, Text, number

PAPER, INK, SOFT, FAINT, RULE, STRONG = "#ffffff", "#16201c", "#46524d", "#5f6a65", "#d9dcd4", "#8a938d"
ACCENT, SUNKEN = "#0b5f54", "#f0f1ec"
SERIES = ("#0b5f54", "#a8480f", "#2a5b94", "#8a2f74", "#5b6110")
_SHADES = 10


class Style(NamedTuple):
    """Colours as `#rrggbb`, empty where nothing is drawn; lengths in units of the picture. A text's stroke is behind
    its letters."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    dash: float = 0.0
    size: float = SMALL


def _mixed(share: float) -> str:
    """A shade between white and the accent."""
    parts = (int(ACCENT[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in parts)


STYLES = {
    "grid": Style(stroke=RULE),
    "axis": Style(stroke=STRONG),
    "edge": Style(stroke=SOFT),
    "tick": Style(fill=FAINT),
    "label": Style(fill=SOFT, size=TEXT),
    "name": Style(fill=SOFT, stroke=PAPER, width=3.0),
    "baseline": Style(stroke=SOFT, width=1.5, dash=5.0),
    "front": Style(stroke=ACCENT, width=2.0),
    "whisker": Style(stroke=STRONG, width=1.5),
    "leader": Style(stroke=STRONG),
    "crowd": Style(stroke=STRONG),
    "dot": Style(fill=STRONG, stroke=PAPER),
    "dot best": Style(fill=ACCENT, stroke=PAPER),
    "missing": Style(stroke=SUNKEN),
    "series": Style(),
    **{f"heat-{level}": Style(stroke=_mixed(level / _SHADES)) for level in range(_SHADES + 1)},
    **{f"whisker-{number}": Style(stroke=color, width=1.5) for number, color in enumerate(SERIES, start=1)},
    **{f"series-{number}": Style(fill=color, stroke=color) for number, color in enumerate(SERIES, start=1)},
}
"""By role. Areas that can be clicked are not drawn."""


def style_of(role: str) -> Style:
    """The style of a role."""
    return STYLES.get(role, Style())


_SHAPES = {
    1: '<circle r="5"{}/>', 2: '<path d="M-5-5h10v10h-10z"{}/>', 3: '<path d="M0-6 6 5h-12z"{}/>',
    4: '<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"{}/>', 5: '<path d="M-5-5 5 5M5-5-5 5" stroke-width="2.5"{}/>',
}  # fmt: skip
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg_file(picture: Picture, *, absolute: Callable[[str], str]) -> str:
    """The picture as the text of a file.

    Args:
        picture: what is drawn.
        absolute: makes the address of a link absolute.
    """
    size = f'width="{number(picture.width)}" height="{number(picture.height)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{picture.box}" {size} font-family="sans-serif">',
        f"<title>{_text(picture.title)}</title><desc>{_text(picture.description)}</desc>",
        f'<rect {size} fill="{PAPER}"/>',
        *(_item(item, absolute=absolute) for item in picture.items),
        "</svg>",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _item(item: Item, *, absolute: Callable[[str], str]) -> str:
    if not isinstance(item, Link):
        return _shape(item)
    shapes = "".join(map(_shape, item.items))
    if not shapes:
        return ""
    inner = f"<title>{_text(item.words)}</title>{shapes}"
    return f"<a href={quoteattr(absolute(item.address))}>{inner}</a>" if item.address else f"<g>{inner}</g>"


def _shape(item: Line | Cells | Mark | Text | Area) -> str:
    style = style_of(item.role)
    if isinstance(item, Line):
        return f'<path d="{item.path}" fill="none"{_stroke(style)}/>'
    if isinstance(item, Cells):
        width = number(item.height)
        cap = "" if all(run[2] for run in item.runs) else ' stroke-linecap="round"'
        return f'<path d="{item.path.replace("h0", "h0.01")}" stroke="{style.stroke}" stroke-width="{width}"{cap}/>'
    if isinstance(item, Mark):
        fill = f' fill="{style.fill}"' if item.shape != 5 else ' fill="none"'
        return f'<g transform="{item.place}">{_SHAPES[item.shape].format(f"{fill}{_stroke(style)}")}</g>'
    if isinstance(item, Text):
        font = f'font-size="{number(style.size)}" text-anchor="{item.anchor}" fill="{style.fill}"'
        halo = f' paint-order="stroke"{_stroke(style)}' if style.stroke else ""
        return f'<text x="{number(item.x)}" y="{number(item.y)}" {font}{halo}>{_text(item.text)}</text>'
    return ""


def _stroke(style: Style) -> str:
    if not style.stroke:
        return ""
    dash = f' stroke-dasharray="{number(style.dash)}"' if style.dash else ""
    width = f' stroke-width="{number(style.width)}"' if style.width != 1 else ""
    return f' stroke="{style.stroke}"{width}{dash}'


def _text(text: str) -> str:
    """Escaped, without what XML cannot hold."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
