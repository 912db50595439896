"""A picture as a PNG, drawn from the same shapes as its SVG: no library that a site has reads SVG."""

import io
from functools import cache
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from leaderboard.boards.drawing.picture import Cells, Line, Mark, Picture, Text, flat
from leaderboard.boards.drawing.svg import PAPER, Style, style_of

SCALE = 2
"""Pixels of a unit of the picture."""
_FINER = 2
"""Shapes are drawn so many times larger and then reduced, since Pillow draws hard edges."""
_MOST_PIXELS = 12_000_000
"""Above this, pictures are drawn at their own size, so that memory stays bounded."""
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_SHAPES = {
    2: ((-5, -5), (5, -5), (5, 5), (-5, 5)),
    3: ((0, -6), (6, 5), (-6, 5)),
    4: ((0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0)),
}
"""Corners by the shape of a mark."""


def png_file(picture: Picture) -> bytes:
    """The picture as the bytes of a file."""
    pixels = picture.width * picture.height * SCALE**2
    finer = _FINER if pixels * _FINER**2 <= _MOST_PIXELS else 1
    scale = SCALE * finer
    image = Image.new("RGB", (round(picture.width * scale), round(picture.height * scale)), PAPER)
    drawing = _Drawing(ImageDraw.Draw(image), scale)
    for item in flat(picture.items):
        drawing.draw(item)
    file = io.BytesIO()
    (image.reduce(finer) if finer > 1 else image).save(file, "PNG", optimize=True)
    return file.getvalue()


class _Drawing:
    def __init__(self, canvas: ImageDraw.ImageDraw, scale: int) -> None:
        self._canvas = canvas
        self._scale = scale

    def draw(self, item: object) -> None:
        if isinstance(item, Line):
            self._line(item, style=style_of(item.role))
        elif isinstance(item, Cells):
            self._cells(item, color=style_of(item.role).stroke)
        elif isinstance(item, Mark):
            self._mark(item, style=style_of(item.role))
        elif isinstance(item, Text):
            self._text(item, style=style_of(item.role))

    def _text(self, text: Text, *, style: Style) -> None:
        self._canvas.text(
            (text.x * self._scale, text.y * self._scale),
            text.text,
            fill=style.fill,
            font=_font(round(style.size * self._scale)),
            anchor=_ANCHORS[text.anchor],
            stroke_width=round(style.width / 2 * self._scale) if style.stroke else 0,
            stroke_fill=style.stroke or None,
        )

    def _line(self, line: Line, *, style: Style) -> None:
        width = max(1, round(style.width * self._scale))
        points = [(x * self._scale, y * self._scale) for x, y in line.points]
        for start, end in pairwise(points):
            for one, other in _dashes(start, end, length=style.dash * self._scale):
                self._canvas.line((*one, *other), fill=style.stroke, width=width)

    def _cells(self, cells: Cells, *, color: str) -> None:
        half = cells.height / 2 * self._scale
        for x, y, width in cells.runs:
            left, middle, right = x * self._scale, y * self._scale, (x + width) * self._scale
            if width:
                self._canvas.rectangle((left, middle - half, right - 1, middle + half - 1), fill=color)
            else:
                self._canvas.ellipse((left - half, middle - half, left + half, middle + half), fill=color)

    def _mark(self, mark: Mark, *, style: Style) -> None:
        x, y, width = mark.x * self._scale, mark.y * self._scale, max(1, round(self._scale * style.width))
        if mark.shape == 1:
            half = 5 * self._scale
            box = (x - half, y - half, x + half, y + half)
            self._canvas.ellipse(box, fill=style.fill, outline=style.stroke, width=width)
        elif mark.shape in _SHAPES:
            points = [(x + dx * self._scale, y + dy * self._scale) for dx, dy in _SHAPES[mark.shape]]
            self._canvas.polygon(points, fill=style.fill)
        else:
            half = 5 * self._scale
            for sign in (1, -1):
                ends = (x - half, y - sign * half, x + half, y + sign * half)
                self._canvas.line(ends, fill=style.stroke, width=round(2.5 * self._scale))


def _dashes(
    start: tuple[float, float], end: tuple[float, float], *, length: float
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Every second part of a line; the whole line without a length."""
    whole = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
    if not length or whole <= length:
        return [(start, end)]

    def at(place: float) -> tuple[float, float]:
        share = min(1.0, place / whole)
        return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share

    return [(at(2 * number * length), at((2 * number + 1) * length)) for number in range(int(whole / length / 2) + 1)]


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that Pillow brings with it."""
    return ImageFont.load_default(size)
