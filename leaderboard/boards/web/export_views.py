"""Snapshots as files, and feeds of published evaluations."""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.http import require_safe

from leaderboard.boards.citing import Citation, as_bibtex, as_cff, as_csl
from leaderboard.boards.contents import content_of
from leaderboard.boards.exports import Exported, as_csv, as_json, as_parquet, board_as_bibtex, citation_of_row
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot, newest_evaluations
from leaderboard.boards.web.views import find_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.figures import interval_words
from leaderboard.platform.http.caching import tagged_page
from leaderboard.platform.http.downloads import PARQUET
from leaderboard.platform.lru_cache import SharedCache

MOST_ENTRIES = 30
BIBTEX = "text/plain; charset=utf-8"
"""Browsers display it, so that it can be copied."""
_FORMATS: Mapping[str, tuple[str, Callable[[Exported], str | bytes]]] = MappingProxyType(
    {
        "csv": ("text/csv; charset=utf-8", as_csv),
        "parquet": (PARQUET, as_parquet),
        "json": ("application/json", as_json),
        "bib": (BIBTEX, board_as_bibtex),
    }
)

_CITATIONS: Mapping[str, tuple[str, Callable[[Citation], str]]] = MappingProxyType(
    {
        "bib": (BIBTEX, as_bibtex),
        "csl.json": ("application/vnd.citationstyles.csl+json", as_csl),
        "cff": ("text/plain; charset=utf-8", as_cff),
    }
)
_SAVED = frozenset({"csv", "parquet"})
"""Formats that browsers save instead of displaying."""

_texts: SharedCache[tuple[int, str, str, str], str | bytes] = SharedCache(maxsize=12)
"""600 planners with twelve metrics take 50 ms and 1 MB as JSON."""


@require_safe
def snapshot_file(request: HttpRequest, suite: str, number: str, extension: str) -> HttpResponse:
    """A snapshot as a file, which never changes."""
    return _file(request=request, snapshot=find_snapshot(suite=suite, number=int(number)), extension=extension)


@require_safe
def newest_file(request: HttpRequest, suite: str, extension: str) -> HttpResponse:
    """The newest snapshot as a file."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    snapshot = latest_snapshot(suite=found)
    if snapshot is None:
        raise Http404("nothing is published on this board yet")
    snapshot.suite = found
    return _file(request=request, snapshot=snapshot, extension=extension)


@require_safe
def row_file(request: HttpRequest, suite: str, number: str, evaluation: str, extension: str) -> HttpResponse:
    """The citation of one row of a snapshot: BibTeX, CSL-JSON or a citation file."""
    snapshot = find_snapshot(suite=suite, number=int(number))
    row = next((row for row in content_of(snapshot).rows if row["evaluation"] == evaluation.lower()), None)
    if row is None:
        raise Http404("the snapshot has no row of this evaluation")
    content_type, write = _CITATIONS[extension]
    text = write(citation_of_row(board=_exported(request=request, snapshot=snapshot), row=row))
    return HttpResponse(text, content_type=content_type)


@require_safe
def feed(request: HttpRequest, suite: str) -> HttpResponse:
    """The newest evaluations of a board."""
    found = get_object_or_404(Suite, slug=suite, current=True)
    return _feed(
        request=request,
        title=f"{found.title} on PlanArena",
        address=reverse("boards:board", args=[suite]),
        evaluations=list(newest_evaluations(suites=[found])[:MOST_ENTRIES]),
    )


@require_safe
def site_feed(request: HttpRequest) -> HttpResponse:
    """The newest evaluations of all boards."""
    suites = list(Suite.objects.filter(current=True))
    return _feed(
        request=request,
        title="PlanArena",
        address=reverse("boards:home"),
        evaluations=list(newest_evaluations(suites=suites)[:MOST_ENTRIES]),
    )


def _file(*, request: HttpRequest, snapshot: Snapshot, extension: str) -> HttpResponse:
    content_type, write = _FORMATS[extension]
    key = (snapshot.pk, snapshot.digest, request.build_absolute_uri("/"), extension)

    def text() -> str | bytes:
        return write(_exported(request=request, snapshot=snapshot))

    def make() -> HttpResponse:
        response = HttpResponse(_texts.get_or_make(key, text), content_type=content_type)
        if extension in _SAVED:
            name = f"planarena-{snapshot.suite.slug}-{snapshot.number}.{extension}"
            response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    parts = [snapshot.pk, snapshot.digest, snapshot.suite.digest]
    return tagged_page(request=request, parts=parts, make=make)


def _exported(*, request: HttpRequest, snapshot: Snapshot) -> Exported:
    address = reverse("boards:snapshot", kwargs={"suite": snapshot.suite.slug, "number": snapshot.number})
    return Exported(
        snapshot=snapshot,
        address=request.build_absolute_uri(address),
        site=request.build_absolute_uri("/").rstrip("/"),
        content=content_of(snapshot),
    )


def _feed(*, request: HttpRequest, title: str, address: str, evaluations: list[Evaluation]) -> HttpResponse:
    def make() -> HttpResponse:
        atom = Atom1Feed(
            title=title,
            link=request.build_absolute_uri(address),
            description=None,
            feed_url=request.build_absolute_uri(request.path),
        )
        for evaluation in evaluations:
            atom.add_item(**_entry(request=request, evaluation=evaluation))
        return HttpResponse(atom.writeString("utf-8"), content_type=Atom1Feed.content_type)

    times = [
        [str(evaluation.pk), str(evaluation.published)]  # type: ignore[attr-defined]  # by `newest_evaluations`
        for evaluation in evaluations
    ]
    return tagged_page(request=request, parts=[title, times], make=make)


def _entry(*, request: HttpRequest, evaluation: Evaluation) -> dict[str, Any]:
    metric = primary_metric(evaluation.suite)
    value = ((evaluation.summary or {}).get("metrics") or {}).get(metric["key"]) or {}
    score = f"{metric['label']} " + ("no value" if value.get("mean") is None else f"{value['mean']:.3f}")
    interval = interval_words(value)
    planner = evaluation.submission.planner
    published: datetime = evaluation.published  # type: ignore[attr-defined]  # annotated by `newest_evaluations`
    return {
        "title": f"{planner.name} on {evaluation.suite.title}: {score}",
        "link": request.build_absolute_uri(reverse("evaluations:detail", args=[evaluation.pk])),
        "description": f"{score}{interval and f', {interval}'}. Submitted by {planner.owner.username}.",
        "author_name": planner.owner.username,
        "unique_id": f"urn:uuid:{evaluation.pk}",
        "pubdate": published,
        "updateddate": published,
    }
