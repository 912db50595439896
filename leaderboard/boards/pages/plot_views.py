"""The page of a board's plots."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from leaderboard.boards import groups
from leaderboard.boards import plots as drawing
from leaderboard.boards.baselines import baseline_of
from leaderboard.boards.contents import AllVersion, all_content, all_version, content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.pages.page_cache import tagged_page
from leaderboard.boards.plots import against_cost, over_time, with_baseline
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric


@require_safe
def plots(request: HttpRequest, suite: str) -> HttpResponse:
    """Score over time, score against cost, and the best planners by groups of tasks."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    version = None if snapshot is None else all_version(suite=found, snapshot=snapshot)
    shown: list[object] = [found.digest, found.title, found.description]
    if snapshot is not None and version is not None:
        shown += [snapshot.pk, snapshot.digest, *version.parts]

    def make() -> HttpResponse:
        context: dict[str, Any] = {"suite": found, "snapshot": snapshot, "here": "plots"}
        if snapshot is not None and version is not None:
            context |= _drawn(suite=found, snapshot=snapshot, version=version)
        return render(request, "boards/plots.html", context)

    return tagged_page(request=request, parts=shown, make=make)


def _drawn(*, suite: Suite, snapshot: Snapshot, version: AllVersion) -> dict[str, Any]:
    metric = primary_metric(suite)
    best = content_of(snapshot)
    every = all_content(suite=suite, snapshot=snapshot, version=version)
    baseline = baseline_of(rows=best.rows, metric=metric["key"])
    costs = [against_cost(rows=best.rows, metric=metric, cost=cost) for cost in ("cost", "seconds", "tokens")]
    return {
        "metric": metric,
        "plots": [
            with_baseline(plot, baseline=baseline)
            for plot in (over_time(rows=every.rows, metric=metric), *costs)
            if plot is not None
        ],
        "cost_is_unknown": not any(costs),
        "groups": groups.best_by_group(suite=suite, snapshot=snapshot, content=best),
        "frame": {
            "width": drawing.WIDTH,
            "height": drawing.HEIGHT,
            "left": drawing.LEFT,
            "right": drawing.WIDTH - drawing.RIGHT,
            "top": drawing.TOP,
            "bottom": drawing.HEIGHT - drawing.BOTTOM,
            "middle": (drawing.LEFT + drawing.WIDTH - drawing.RIGHT) // 2,
        },
        "group_frame": {
            "width": groups.WIDTH,
            "left": groups.LEFT,
            "right": groups.WIDTH - groups.RIGHT,
            "top": groups.TOP,
        },
    }
