"""Preview images for links to a board."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.views.decorators.http import require_safe
from PIL import Image, ImageDraw, ImageFont

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import BoardContent, content_of
from leaderboard.boards.web.views import find_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results.figures import figure, interval_ends
from leaderboard.platform.lru_cache import SharedCache

WIDTH, HEIGHT = 1200, 630
MOST_ROWS = 5
_MARGIN = 72
_PAPER, _INK, _SOFT, _RULE, _ACCENT, _WASH = "#fafaf7", "#16201c", "#46524d", "#d9dcd4", "#0b5f54", "#e0efea"
_BAR_LEFT, _BAR_RIGHT = 620, 960
_FIRST_ROW, _ROW_HEIGHT = 300, 56
_ELLIPSIS = "…"
_REGULAR, _BOLD = "400", "600"

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


class Line(NamedTuple):
    """A row of a board, or a fact."""

    label: str
    value: str
    share: float | None = None
    """Length of its bar, in [0, 1]; None: no bar."""
    band: tuple[float, float] | None = None
    """Ends of its interval, in [0, 1]."""


class Preview(NamedTuple):
    """The content of a preview image."""

    title: str
    subtitle: str
    lines: tuple[Line, ...]
    """At most `MOST_ROWS` are drawn."""
    footer: str


def preview_png(preview: Preview) -> bytes:
    """The image, with long texts truncated. Deterministic: equal previews give equal bytes."""
    image = Image.new("RGB", (WIDTH, HEIGHT), _PAPER)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, WIDTH, 12), fill=_ACCENT)
    room = WIDTH - 2 * _MARGIN
    _write(draw, (_MARGIN, 56), "PlanArena", size=30, weight=_BOLD, fill=_ACCENT, room=room)
    _write(draw, (_MARGIN, 112), preview.title, size=64, weight=_BOLD, fill=_INK, room=room)
    _write(draw, (_MARGIN, 204), preview.subtitle, size=32, weight=_REGULAR, fill=_SOFT, room=room)
    _draw_lines(draw, preview.lines[:MOST_ROWS])
    _write(draw, (_MARGIN, HEIGHT - 52), preview.footer, size=22, weight=_REGULAR, fill=_SOFT, room=room)
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True)
    return file.getvalue()


def _draw_lines(draw: ImageDraw.ImageDraw, lines: Sequence[Line]) -> None:
    for number, line in enumerate(lines):
        top = _FIRST_ROW + number * _ROW_HEIGHT
        draw.line((_MARGIN, top - 12, WIDTH - _MARGIN, top - 12), fill=_RULE, width=1)
        label_room = (_BAR_LEFT if line.share is not None else _BAR_RIGHT) - _MARGIN - 24
        _write(draw, (_MARGIN, top), line.label, size=28, weight=_REGULAR, fill=_INK, room=label_room)
        if line.share is not None:
            _draw_bar(draw, line=line, top=top)
        room = WIDTH - _MARGIN - _BAR_RIGHT - 24
        text = _fitting(line.value, font=_font(_BOLD, 28), room=room)
        left = WIDTH - _MARGIN - _font(_BOLD, 28).getlength(text)
        _write(draw, (round(left), top), text, size=28, weight=_BOLD, fill=_INK, room=room)


def _draw_bar(draw: ImageDraw.ImageDraw, *, line: Line, top: int) -> None:
    """A line from 0 to 1, with the interval as a band and the value as a tick, as on boards."""
    draw.line((_BAR_LEFT, top + 20, _BAR_RIGHT, top + 20), fill=_RULE, width=2)
    if line.band is not None:
        left, right = (_along(end) for end in line.band)
        draw.rectangle((left, top + 10, max(right, left + 2), top + 30), fill=_WASH, outline=_ACCENT)
    at = _along(line.share or 0.0)
    draw.rectangle((at - 2, top + 4, at + 2, top + 36), fill=_ACCENT)


def _along(share: float) -> int:
    return round(_BAR_LEFT + min(max(share, 0.0), 1.0) * (_BAR_RIGHT - _BAR_LEFT))


def _write(
    draw: ImageDraw.ImageDraw, at: tuple[int, int], text: str, *, size: int, weight: str, fill: str, room: int
) -> None:
    font = _font(weight, size)
    draw.text(at, _fitting(text, font=font, room=room), font=font, fill=fill)


def _fitting(text: str, *, font: Font, room: float) -> str:
    # Line breaks would shift everything below.
    text = " ".join(text.split())
    if font.getlength(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if font.getlength(text[:middle].rstrip() + _ELLIPSIS) <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + _ELLIPSIS


@cache
def _font(weight: str, size: int) -> Font:
    """The site's font, or Pillow's default if the front end is not built."""
    path = finders.find(f"fonts/ibm-plex-sans-latin-{weight}-normal.woff2")
    return ImageFont.truetype(str(path), size) if path else ImageFont.load_default(size)


_DAY = 24 * 3600
_pictures: SharedCache[Preview, bytes] = SharedCache(maxsize=200)
"""Each takes about 30 kB and 50 ms."""


@require_safe
def board_picture(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """The first rows of a snapshot."""
    snapshot = find_snapshot(suite=suite, number=number)
    footer = f"Snapshot {snapshot.number}, {snapshot.created:%Y-%m-%d} · {snapshot.profile} · split {snapshot.split}"
    preview = board_preview(suite=snapshot.suite, content=content_of(snapshot), footer=footer)
    # Titles of suites may change.
    return picture_response(request=request, preview=preview, seconds=_DAY)


def board_preview(*, suite: Suite, content: BoardContent, footer: str) -> Preview:
    """The preview of a board: its first rows."""
    lines = [
        line_of(
            row=row,
            suite=suite,
            label=row["planner"] if row["rank"] is None else f"{row['rank']}.  {row['planner']}",
        )
        for row in content.rows[:MOST_ROWS]
    ]
    count = len(content.rows)
    subtitle = f"{count} planner{'' if count == 1 else 's'}, ranked by {suite.ranking_column.label}"
    return Preview(suite.title, subtitle, tuple(lines), footer)


def line_of(*, row: Mapping[str, Any], suite: Suite, label: str) -> Line:
    """The line of a board's row, or of an evaluation's summary, with its primary metric."""
    column = suite.ranking_column
    value = ranged(metrics=row.get("metrics") or {}, column=column)
    if not value or value.get("mean") is None:
        return Line(label, "—")
    is_share = column.low == 0.0 and column.high == 1.0
    return Line(label, figure(value), value["mean"] if is_share else None, interval_ends(value) if is_share else None)


def picture_response(*, request: HttpRequest, preview: Preview, seconds: int) -> HttpResponse:
    """The image with a public cache lifetime of `seconds`, drawn once per preview."""
    data = _pictures.get_or_make(preview, lambda: preview_png(preview))
    response = HttpResponse(data, content_type="image/png")
    response["ETag"] = etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponseNotModified()
        response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={seconds}"
    return response
