"""The page of a board's plots, and files of all pictures of a board."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.boards import groups
from leaderboard.boards.anchors import baseline_of
from leaderboard.boards.contents import AllVersion, all_content, all_version, content_of
from leaderboard.boards.drawing.files import png_file, svg_file
from leaderboard.boards.drawing.picture import Picture
from leaderboard.boards.matrix import matrix_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot
from leaderboard.boards.web.heat_views import arranged_of, read_arrangement
from leaderboard.boards.web.plots import COSTS, Plot, against_cost, over_time
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.platform.http.caching import tagged_page
from leaderboard.platform.lru_cache import SharedCache

LOGARITHMIC = "log"
_files: SharedCache[tuple[int, Picture], bytes] = SharedCache(maxsize=32)
"""PNG files by snapshot and picture, since drawing a large heat map takes a second and is open to anyone."""


@require_safe
def plots(request: HttpRequest, suite: str) -> HttpResponse:
    """Score over time, score against cost, and the best planners by groups of tasks."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    version = None if snapshot is None else all_version(suite=found, snapshot=snapshot)
    is_log = request.GET.get("axis") == LOGARITHMIC

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "snapshot": snapshot, "here": "plots", "is_log": is_log}
        if snapshot is not None and version is not None:
            drawn = [
                _plot(key, suite=found, snapshot=snapshot, version=version, is_log=is_log) for key in ("time", *COSTS)
            ]
            context |= {
                "metric": primary_metric(found),
                "plots": [plot for plot in drawn if plot is not None],
                "cost_is_unknown": not any(drawn[1:]),
                "groups": groups.best_by_group(suite=found, snapshot=snapshot, content=content_of(snapshot)),
            }
        return render(request, "boards/plots.html", context)

    return tagged_page(request=request, parts=_parts(suite=found, snapshot=snapshot, version=version), make=make)


@require_safe
def picture_file(request: HttpRequest, suite: str, picture: str, drawn_as: str) -> HttpResponse:
    """A picture of the current board as SVG or PNG: `tasks`, `time`, a key of `COSTS`, or `group-` and a facet."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    if snapshot is None:
        raise Http404("nothing was published on this board yet")
    version = all_version(suite=found, snapshot=snapshot)

    def make() -> HttpResponse:
        drawn = _picture(request=request, suite=found, snapshot=snapshot, version=version, name=picture)
        if drawn is None:
            raise Http404("this board has no such picture")
        if drawn_as == "png":
            data = _files.get_or_make((snapshot.pk, drawn), lambda: png_file(drawn))
            response = HttpResponse(data, content_type="image/png")
        else:
            text = svg_file(drawn, absolute=request.build_absolute_uri)
            response = HttpResponse(text, content_type="image/svg+xml")
        response["Content-Disposition"] = f'attachment; filename="{found.slug}-{drawn.key}.{drawn_as}"'
        return response

    parts = _parts(suite=found, snapshot=snapshot, version=version)
    return tagged_page(request=request, parts=parts, make=make)


def _parts(*, suite: Suite, snapshot: Snapshot | None, version: AllVersion | None) -> list[object]:
    parts: list[object] = [suite.digest, suite.title, suite.description]
    if snapshot is not None and version is not None:
        parts += [snapshot.pk, snapshot.digest, *version.parts]
    return parts


def _plot(key: str, *, suite: Suite, snapshot: Snapshot, version: AllVersion, is_log: bool) -> Plot | None:
    metric, best = primary_metric(suite), content_of(snapshot)
    baseline = baseline_of(rows=best.rows, metric=metric["key"])
    if key in COSTS:
        return against_cost(rows=best.rows, metric=metric, cost=key, baseline=baseline, is_log=is_log)
    every = all_content(suite=suite, snapshot=snapshot, version=version)
    return over_time(rows=every.rows, metric=metric, baseline=baseline)


def _picture(
    *, request: HttpRequest, suite: Suite, snapshot: Snapshot, version: AllVersion, name: str
) -> Picture | None:
    if name == "tasks":
        arrangement = read_arrangement(request)
        matrix = matrix_of(suite=suite, snapshot=snapshot, rows=content_of(snapshot).rows, page=arrangement.page)
        return arranged_of(matrix=matrix, suite=suite, snapshot=snapshot, arrangement=arrangement).picture
    if name == "time" or name in COSTS:
        is_log = request.GET.get("axis") == LOGARITHMIC
        plot = _plot(name, suite=suite, snapshot=snapshot, version=version, is_log=is_log)
        return None if plot is None else plot.picture
    found = groups.best_by_group(suite=suite, snapshot=snapshot, content=content_of(snapshot))
    return next((plot.picture for plot in found.plots if plot.picture.key == name), None)
