"""The picture of a board for links to it."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.views.decorators.http import require_safe

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import BoardContent, content_of
from leaderboard.boards.web.preview_drawing import MOST_ROWS, Line, Preview, preview_png
from leaderboard.boards.web.views import find_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.results.figures import figure, interval_ends
from leaderboard.platform.lru_cache import SharedCache

_DAY = 24 * 3600
_pictures: SharedCache[Preview, bytes] = SharedCache(maxsize=200)
"""Each has about 30 kB and takes some 50 ms."""


@require_safe
def board_picture(request: HttpRequest, suite: str, number: int) -> HttpResponse:
    """The first rows of a snapshot."""
    snapshot = find_snapshot(suite=suite, number=number)
    footer = f"Snapshot {snapshot.number}, {snapshot.created:%Y-%m-%d} · {snapshot.profile} · split {snapshot.split}"
    preview = board_preview(suite=snapshot.suite, content=content_of(snapshot), footer=footer)
    # Titles of suites may change.
    return picture_response(request=request, preview=preview, seconds=_DAY)


def board_preview(*, suite: Suite, content: BoardContent, footer: str) -> Preview:
    """What the picture of a board says."""
    lines = [line_of(row=row, suite=suite, label=_label(row)) for row in content.rows[:MOST_ROWS]]
    count = len(content.rows)
    subtitle = f"{count} planner{'' if count == 1 else 's'}, ranked by {suite.ranking_column.label}"
    return Preview(suite.title, subtitle, tuple(lines), footer)


def line_of(*, row: Mapping[str, Any], suite: Suite, label: str) -> Line:
    """A row with the metric that the board ranks by.

    Args:
        row: with `metrics`, as boards or summaries have them.
        suite: of the row.
        label: what the line says on its left.
    """
    column = suite.ranking_column
    value = ranged(metrics=row.get("metrics") or {}, column=column)
    if not value or value.get("mean") is None:
        return Line(label, "—")
    is_share = column.low == 0.0 and column.high == 1.0
    return Line(label, figure(value), value["mean"] if is_share else None, interval_ends(value) if is_share else None)


def picture_response(*, request: HttpRequest, preview: Preview, seconds: int) -> HttpResponse:
    """A picture that anybody may keep for so many seconds, drawn once while it says the same."""
    data = _pictures.get_or_make(preview, lambda: preview_png(preview))
    response = HttpResponse(data, content_type="image/png")
    response["ETag"] = etag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponseNotModified()
        response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={seconds}"
    return response


def _label(row: Mapping[str, Any]) -> str:
    rank = "" if row["rank"] is None else f"{row['rank']}.  "
    return f"{rank}{row['planner']}"
