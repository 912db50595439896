"""Badges and downloads of an evaluation."""

import hashlib
from typing import NamedTuple
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from leaderboard.boards.models import Snapshot
from leaderboard.boards.web.previews import Line, Preview, line_of, picture_response
from leaderboard.evaluations.gold import RELATED, check_tasks
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import OF_EVALUATION, is_public, public_now, visible_runs
from leaderboard.evaluations.web.sharing.files import CONTENT_TYPE, archive, name_of, result_file, results_of
from leaderboard.evaluations.web.sharing.placing import (
    LABEL,
    Badge,
    Citation,
    Place,
    badge_of,
    citation,
    place_in,
    place_on_board,
    rank_words,
    short_score,
    snapshot_of,
)
from leaderboard.platform.api.throttling import seconds_to_wait
from leaderboard.platform.http.streaming import streamed


def evaluation_preview(*, evaluation: Evaluation, place: Place | None) -> Preview:
    """Planner, suite, score with its interval, rank and tasks."""
    planner, suite = evaluation.submission.planner, evaluation.suite
    column = suite.ranking_column
    lines = []
    if evaluation.summary:
        lines.append(line_of(row=evaluation.summary, suite=suite, label=column.label))
        outcomes = evaluation.summary.get("outcomes") or {}
        lines.append(Line("Tasks scored", f"{outcomes.get('scored', 0)} of {evaluation.tasks_total}"))
    else:
        lines.append(Line("State", evaluation.get_state_display()))
    if place:
        lines.append(Line("Rank", rank_words(place).removeprefix("rank ")))
    finished = f"{evaluation.finished:%Y-%m-%d} \N{MIDDLE DOT} " if evaluation.finished else ""
    footer = f"{finished}{evaluation.profile} \N{MIDDLE DOT} split {evaluation.split}"
    subtitle = f"by {planner.owner.username} on {suite.title}"
    return Preview(planner.name, subtitle, tuple(lines), footer)


_BADGE_SECONDS = 300
_ENDED = FINAL | {EvaluationState.ON_HOLD}
_RELATED = (*RELATED, "submission__planner__owner", "submission__team")


class Sharing(NamedTuple):
    """What the page of an evaluation says of its rank and offers to take along."""

    snapshot: Snapshot | None
    """The newest of its board; None if there is none, or while the evaluation runs."""
    place: Place | None
    address: str
    """Absolute, of the page."""
    citation: Citation | None
    """None before it has ended."""
    badge: str
    """Absolute address of the badge; empty unless it was submitted and everybody sees it."""
    badge_width: int
    """In pixels."""
    is_final: bool

    summary: str
    """Score and rank in words."""

    @property
    def markdown(self) -> str:
        """The badge for a README."""
        return f"[![PlanArena]({self.badge})]({self.address})"


def sharing_of(*, request: HttpRequest, evaluation: Evaluation) -> Sharing:
    """For the page of an evaluation that the reader sees."""
    snapshot = snapshot_of(evaluation) if evaluation.state in _ENDED else None
    address = _address(request, evaluation)
    place = place_in(snapshot=snapshot, evaluation=evaluation) if snapshot else None
    badge = reverse("sharing:badge", args=[evaluation.pk])
    has_badge = evaluation.is_submitted and is_public(evaluation.submission)
    return Sharing(
        snapshot=snapshot,
        place=place,
        address=address,
        citation=citation(evaluation=evaluation, place=place, address=address) if evaluation.summary else None,
        badge=request.build_absolute_uri(badge) if has_badge else "",
        badge_width=_badge(evaluation=evaluation, place=place).width,
        is_final=evaluation.state in FINAL,
        summary=_summary(evaluation=evaluation, place=place),
    )


@require_safe
def badge(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """Score and rank as SVG, of public evaluations only. Browsers that show a badge are not signed in, so that not even
    owners get one of a private evaluation."""
    evaluation = _public(evaluation_id)
    text = _badge(evaluation=evaluation, place=place_on_board(evaluation)).svg
    etag = f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'
    response = HttpResponse(text, content_type="image/svg+xml; charset=utf-8")
    if request.headers.get("If-None-Match") == etag:
        response = HttpResponseNotModified()
    response["ETag"] = etag
    response["Cache-Control"] = f"public, max-age={_BADGE_SECONDS}"
    return response


@require_safe
def picture(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """What links to a public evaluation are shown with; as with badges, others have none."""
    evaluation = _public(evaluation_id)
    preview = evaluation_preview(evaluation=evaluation, place=place_on_board(evaluation))
    return picture_response(request=request, preview=preview, seconds=_BADGE_SECONDS)


@require_safe
def results_file(request: HttpRequest, evaluation_id: UUID, ending: str) -> HttpResponseBase:
    """The results as this reader may have them, a row for each task, with what they were measured under."""
    evaluation = _ended(request=request, evaluation_id=evaluation_id)
    check_tasks(reader=request.user, of=evaluation)
    address = _address(request, evaluation)
    results = results_of(evaluation=evaluation, reader=request.user, address=address)
    return result_file(request=request, results=results, ending=ending)


@require_safe
def archive_file(request: HttpRequest, evaluation_id: UUID) -> HttpResponseBase:
    """The whole evaluation as one archive. Rate limit: 429 with Retry-After."""
    evaluation = _ended(request=request, evaluation_id=evaluation_id)
    check_tasks(reader=request.user, of=evaluation)
    if wait := seconds_to_wait(request, scope="archives"):
        refused = render(request, "429.html", status=429)
        refused.headers["Retry-After"] = str(wait)
        return refused
    parts = archive(evaluation=evaluation, reader=request.user, address=_address(request, evaluation))
    name = f"{name_of(evaluation)}.tar"
    return streamed(request=request, parts=parts, content_type=CONTENT_TYPE, filename=name)


def _badge(*, evaluation: Evaluation, place: Place | None) -> Badge:
    message = _summary(evaluation=evaluation, place=place)
    return badge_of(label=f"{LABEL} {evaluation.suite.slug}", message=message)


def _summary(*, evaluation: Evaluation, place: Place | None) -> str:
    return ", ".join([short_score(evaluation), *([rank_words(place)] if place else [])])


def _public(evaluation_id: UUID) -> Evaluation:
    """An evaluation that everybody sees.

    Raises:
        Http404: there is none.
    """
    public = Evaluation.objects.filter(public_now(prefix=OF_EVALUATION))
    return get_object_or_404(public.select_related(*_RELATED), pk=evaluation_id)


def _ended(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    """An evaluation that the reader sees and whose results change no more.

    Raises:
        Http404: there is none.
    """
    found = get_object_or_404(visible_runs(request.user).select_related(*_RELATED), pk=evaluation_id)
    if found.state not in FINAL:
        raise Http404("The evaluation has not ended.")
    return found


def _address(request: HttpRequest, evaluation: Evaluation) -> str:
    return request.build_absolute_uri(reverse("evaluations:detail", args=[evaluation.pk]))
