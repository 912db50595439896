"""Pictures as files: SVG with attributes instead of a style sheet and with absolute links, and PNG, drawn from the same
shapes, since the site's libraries do not render SVG."""

import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from math import dist
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from PIL import Image, ImageDraw, ImageFont

from leaderboard.boards.drawing.picture import (
    SMALL,
    TEXT,
    Area,
    Cells,
    Item,
    Line,
    Link,
    Mark,
    Picture,
    Text,
    flat,
    number,
)

PAPER, SOFT, FAINT, RULE, STRONG = "#ffffff", "#46524d", "#5f6a65", "#d9dcd4", "#8a938d"
ACCENT, SUNKEN = "#0b5f54", "#f0f1ec"
SERIES = ("#0b5f54", "#a8480f", "#2a5b94", "#8a2f74", "#5b6110")
SCALE = 2
"""Pixels of a PNG per unit of the picture."""
_OVERSAMPLING = 2
"""Factor by which shapes are drawn larger and then reduced, since Pillow does not anti-alias."""
_MOST_PIXELS = 12_000_000
"""Larger pictures are not oversampled, to bound memory."""
_SHADES = 10
_RADIUS = 5
_CORNERS = {
    2: ((-5, -5), (5, -5), (5, 5), (-5, 5)),
    3: ((0, -6), (6, 5), (-6, 5)),
    4: ((0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0)),
}
"""Polygons of square, triangle and diamond."""
_CROSS = 2.5
"""Line width of the cross."""
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Style(NamedTuple):
    """Colours as `#rrggbb`, or empty for none; lengths in units of the picture. The stroke of a text is painted behind
    its letters."""

    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    dash: float = 0.0
    size: float = SMALL


def _mixed(share: float) -> str:
    """A shade between white (0) and the accent (1)."""
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
"""By role: the site's light colours on white. Clickable areas are not drawn."""
_NO_STYLE = Style()


def svg_file(picture: Picture, *, absolute: Callable[[str], str]) -> str:
    """The picture as an SVG document. `absolute` makes the URL of a link absolute."""
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
    style = STYLES.get(item.role, _NO_STYLE)
    stroke = ""
    if style.stroke:
        width = f' stroke-width="{number(style.width)}"' if style.width != 1 else ""
        dash = f' stroke-dasharray="{number(style.dash)}"' if style.dash else ""
        stroke = f' stroke="{style.stroke}"{width}{dash}'
    match item:
        case Line():
            return f'<path d="{item.path}" fill="none"{stroke}/>'
        case Cells():
            cap = "" if all(run[2] for run in item.runs) else ' stroke-linecap="round"'
            path, width = item.path.replace("h0", "h0.01"), number(item.height)
            return f'<path d="{path}" stroke="{style.stroke}" stroke-width="{width}"{cap}/>'
        case Mark(shape=1):
            return f'<circle cx="{number(item.x)}" cy="{number(item.y)}" r="{_RADIUS}" fill="{style.fill}"{stroke}/>'
        case Mark():
            if corners := _CORNERS.get(item.shape):
                points = " ".join(f"{x},{y}" for x, y in corners)
                mark = f'<polygon points="{points}" fill="{style.fill}"{stroke}/>'
            else:
                mark = f'<path d="M-5-5 5 5M5-5-5 5" stroke="{style.stroke}" stroke-width="{_CROSS}"/>'
            return f'<g transform="{item.place}">{mark}</g>'
        case Text():
            font = f'font-size="{number(style.size)}" text-anchor="{item.anchor}" fill="{style.fill}"'
            halo = f' paint-order="stroke"{stroke}' if stroke else ""
            return f'<text x="{number(item.x)}" y="{number(item.y)}" {font}{halo}>{_text(item.text)}</text>'
    return ""


def _text(text: str) -> str:
    """Escaped, with characters that XML does not allow replaced."""
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def png_file(picture: Picture) -> bytes:
    """The picture as a PNG file."""
    pixels = picture.width * picture.height * SCALE**2
    factor = _OVERSAMPLING if pixels * _OVERSAMPLING**2 <= _MOST_PIXELS else 1
    scale = SCALE * factor
    image = Image.new("RGB", (round(picture.width * scale), round(picture.height * scale)), PAPER)
    canvas = ImageDraw.Draw(image)
    for item in flat(picture.items):
        _draw(item, canvas=canvas, scale=scale)
    file = io.BytesIO()
    (image.reduce(factor) if factor > 1 else image).save(file, "PNG", optimize=True)
    return file.getvalue()


def _draw(item: Line | Cells | Mark | Text | Area, *, canvas: ImageDraw.ImageDraw, scale: int) -> None:
    style = STYLES.get(item.role, _NO_STYLE)
    width = max(1, round(style.width * scale))
    match item:
        case Line():
            for start, end in pairwise((x * scale, y * scale) for x, y in item.points):
                for dash in _dashes(start, end, length=style.dash * scale):
                    canvas.line(dash, fill=style.stroke, width=width)
        case Cells():
            half = item.height / 2 * scale
            for x, y, length in item.runs:
                left, middle, right = x * scale, y * scale, (x + length) * scale
                if length:
                    canvas.rectangle((left, middle - half, right - 1, middle + half - 1), fill=style.stroke)
                else:
                    canvas.ellipse((left - half, middle - half, left + half, middle + half), fill=style.stroke)
        case Mark():
            x, y, half = item.x * scale, item.y * scale, _RADIUS * scale
            if item.shape == 1:
                box = (x - half, y - half, x + half, y + half)
                canvas.ellipse(box, fill=style.fill, outline=style.stroke, width=width)
            elif corners := _CORNERS.get(item.shape):
                canvas.polygon([(x + dx * scale, y + dy * scale) for dx, dy in corners], fill=style.fill)
            else:
                for sign in (1, -1):
                    ends = (x - half, y - sign * half, x + half, y + sign * half)
                    canvas.line(ends, fill=style.stroke, width=round(_CROSS * scale))
        case Text():
            canvas.text(
                (item.x * scale, item.y * scale),
                item.text,
                fill=style.fill,
                font=_font(round(style.size * scale)),
                anchor=_ANCHORS[item.anchor],
                stroke_width=round(style.width / 2 * scale) if style.stroke else 0,
                stroke_fill=style.stroke or None,
            )


def _dashes(
    start: tuple[float, float], end: tuple[float, float], *, length: float
) -> Iterator[tuple[float, float, float, float]]:
    """The dashes of a line; the whole line if `length` is 0."""
    (x, y), whole = start, dist(start, end)
    if not length or whole <= length:
        yield *start, *end
        return
    dx, dy = (end[0] - x) / whole, (end[1] - y) / whole
    for part in range(int(whole / length / 2) + 1):
        first, last = 2 * part * length, min(whole, (2 * part + 1) * length)
        yield x + first * dx, y + first * dy, x + last * dx, y + last * dy


_font = cache(ImageFont.load_default)
