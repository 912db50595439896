"""Rank, citation, badge, preview picture and downloads of an evaluation."""

import hashlib
from typing import NamedTuple
from urllib.parse import urlencode, urljoin
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.html import escape
from django.views.decorators.http import require_safe

from evaluator.scoring.metrics.undecided import ranged, undecided_words
from leaderboard.boards import citing
from leaderboard.boards.citing import Citation, CitedSnapshot
from leaderboard.boards.contents import content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.selecting import PER_PAGE
from leaderboard.boards.services import latest_snapshot
from leaderboard.boards.web.previews import Line, Preview, line_of, picture_response
from leaderboard.evaluations.models import Evaluation, EvaluationState, conditions_of_board
from leaderboard.evaluations.results.figures import figure, interval_words
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import OF_EVALUATION, RELATED, check_tasks, is_public, public_now, visible_runs
from leaderboard.evaluations.web.sharing.exports import ZIP, exports_zip
from leaderboard.evaluations.web.sharing.files import CONTENT_TYPE, archive, name_of, result_file, results_of
from leaderboard.platform.api.throttling import seconds_to_wait
from leaderboard.platform.http.downloads import streamed


class Place(NamedTuple):
    """The place of an evaluation on the latest snapshot of its board."""

    rank: int | None
    """None without a value of the ranking metric."""
    rank_low: int | None
    rank_high: int | None
    planners: int
    snapshot: Snapshot
    board: str
    """Path of the snapshot's page."""
    address: str
    """Path of its row."""

    @property
    def is_open(self) -> bool:
        """Whether paired tests do not determine a single rank."""
        return self.rank_low is not None and self.rank_low != self.rank_high


def place_on_board(evaluation: Evaluation) -> Place | None:
    """The evaluation's place on the latest snapshot, in at most two queries; None if it has none."""
    snapshot = snapshot_of(evaluation)
    return None if snapshot is None else place_in(snapshot=snapshot, evaluation=evaluation)


def snapshot_of(evaluation: Evaluation) -> Snapshot | None:
    """The latest snapshot of an evaluation's board, whether or not it contains the evaluation."""
    return latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))


def place_in(*, snapshot: Snapshot, evaluation: Evaluation) -> Place | None:
    """The evaluation's place in a snapshot; None if it is not public or has no row, for example because the planner has
    a later run."""
    if evaluation.state != EvaluationState.COMPLETED or evaluation.hidden_at or not is_public(evaluation.submission):
        return None
    content = content_of(snapshot)
    rows = content.rows
    own = str(evaluation.pk)
    number = next((number for number, row in enumerate(rows) if row["evaluation"] == own), None)
    if number is None:
        return None
    row = rows[number]
    page = number // PER_PAGE + 1
    query = f"?{urlencode({'page': page})}" if page > 1 else ""
    board = reverse("boards:snapshot", kwargs={"suite": evaluation.suite.slug, "number": snapshot.number})
    address = f"{board}{query}#row-{own}"
    return Place(row["rank"], row["rank_low"], row["rank_high"], content.ranked, snapshot, board, address)


def citation(*, evaluation: Evaluation, place: Place | None, address: str) -> Citation:
    """The citation of an ended evaluation.

    Args:
        evaluation: with its submission, planner, owner, team and suite.
        place: on its board, if any.
        address: absolute URL of its page.
    """
    submission, suite = evaluation.submission, evaluation.suite
    planner, snapshot = submission.planner, None
    words = [score_words(evaluation)]
    if place is not None:
        row = place.snapshot
        snapshot = CitedSnapshot(row.number, row.digest, urljoin(address, place.board), row.created)
        words.append(
            citing.rank_words(rank=place.rank, low=place.rank_low, high=place.rank_high, planners=place.planners)
        )
    return Citation(
        key=f"planarena-{suite.slug}-{str(evaluation.pk)[:8]}",
        title=f"{planner.name} on {suite.title}, evaluated by {citing.SITE}",
        author=submission.team.name if submission.team else planner.owner.username,
        finished=evaluation.finished or evaluation.created,
        address=address,
        result=", ".join(filter(None, words)),
        conditions=f"Suite {suite.slug} {suite.version}, profile {evaluation.profile}, split {evaluation.split}",
        snapshot=snapshot,
        doi=citing.doi_of(suite.slug),
    )


def score_words(evaluation: Evaluation) -> str:
    """The score that boards rank by, such as `Overall 0.712 (95 % interval 0.680 to 0.744)`."""
    column = evaluation.suite.ranking_column
    value = ranged(metrics=(evaluation.summary or {}).get("metrics") or {}, column=column)
    if not value:
        return f"no value for {column.label}"
    notes = ", ".join(words for words in (undecided_words(value), interval_words(value)) if words)
    return f"{column.label} {figure(value)}" + (f" ({notes})" if notes else "")


def short_score(evaluation: Evaluation) -> str:
    """The same without its interval; the state of an evaluation without a summary."""
    if not evaluation.summary:
        return evaluation.get_state_display().lower()
    column = evaluation.suite.ranking_column
    value = ranged(metrics=evaluation.summary.get("metrics") or {}, column=column)
    return f"{column.label} {figure(value)}" if value else f"no value for {column.label}"


def rank_words(place: Place) -> str:
    """The rank in words, such as `rank 3 of 33`."""
    return f"rank {place.rank} of {place.planners}" if place.rank is not None else f"unranked among {place.planners}"


LABEL = "PlanArena"
_HEIGHT = 20
_SIDE = 7
"""Padding of a text."""
_CHARACTER = 6.6
"""Mean width of a character at 11 px; `textLength` scales the text to the estimated width."""
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
    """A badge as SVG."""

    svg: str
    width: int
    """In pixels; the height is 20."""


def badge_of(*, message: str, label: str = LABEL) -> Badge:
    """A badge with a label on the left and a message on the right; texts are truncated to 80 characters and escaped."""
    label, message = _shortened(label), _shortened(message)
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


def _shortened(text: str) -> str:
    # XML does not allow control characters.
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _width(text: str) -> int:
    return round(sum(3.9 if character in _NARROW else _CHARACTER for character in text)) or 1


def evaluation_preview(*, evaluation: Evaluation, place: Place | None) -> Preview:
    """The preview picture: planner, suite, score with its interval, rank and tasks."""
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
    """Rank, citation and badge on the page of an evaluation."""

    snapshot: Snapshot | None
    """The latest of its board; None if there is none, or while the evaluation runs."""
    place: Place | None
    address: str
    """Absolute URL of the page."""
    citation: Citation | None
    """None until it has ended."""
    badge: str
    """Absolute URL of the badge; empty unless it was submitted and is public."""
    badge_width: int
    """In pixels."""
    is_final: bool

    summary: str
    """Score and rank in words."""

    @property
    def markdown(self) -> str:
        """The badge as Markdown."""
        return f"[![PlanArena]({self.badge})]({self.address})"


def sharing_of(*, request: HttpRequest, evaluation: Evaluation) -> Sharing:
    """Rank, citation and badge of an evaluation that the reader sees."""
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
    """Score and rank as SVG, for public evaluations only: other sites that embed a badge send no session."""
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
    """The preview picture of links to a public evaluation."""
    evaluation = _public(evaluation_id)
    preview = evaluation_preview(evaluation=evaluation, place=place_on_board(evaluation))
    return picture_response(request=request, preview=preview, seconds=_BADGE_SECONDS)


@require_safe
def results_file(request: HttpRequest, evaluation_id: UUID, ending: str) -> HttpResponseBase:
    """The results for this reader, a row for each task, with the conditions of the evaluation."""
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
    if refused := _too_often(request):
        return refused
    parts = archive(evaluation=evaluation, reader=request.user, address=_address(request, evaluation))
    name = f"{name_of(evaluation)}.tar"
    return streamed(request=request, parts=parts, content_type=CONTENT_TYPE, filename=name)


@require_safe
def exports_file(request: HttpRequest, evaluation_id: UUID) -> HttpResponseBase:
    """A completed evaluation in the formats of other platforms. Rate limit of archives: 429 with Retry-After."""
    evaluation = _ended(request=request, evaluation_id=evaluation_id)
    if evaluation.state != EvaluationState.COMPLETED:
        raise Http404("The evaluation has not completed.")
    check_tasks(reader=request.user, of=evaluation)
    if refused := _too_often(request):
        return refused
    parts = exports_zip(evaluation=evaluation, reader=request.user, address=_address(request, evaluation))
    return streamed(request=request, parts=parts, content_type=ZIP, filename=f"{name_of(evaluation)}-formats.zip")


def _too_often(request: HttpRequest) -> HttpResponse | None:
    """The answer to a reader above the rate limit of archives; None below it."""
    wait = seconds_to_wait(request, scope="archives")
    if not wait:
        return None
    refused = render(request, "429.html", status=429)
    refused.headers["Retry-After"] = str(wait)
    return refused


def _badge(*, evaluation: Evaluation, place: Place | None) -> Badge:
    message = _summary(evaluation=evaluation, place=place)
    return badge_of(label=f"{LABEL} {evaluation.suite.slug}", message=message)


def _summary(*, evaluation: Evaluation, place: Place | None) -> str:
    return ", ".join([short_score(evaluation), *([rank_words(place)] if place else [])])


def _public(evaluation_id: UUID) -> Evaluation:
    """A public evaluation.

    Raises:
        Http404: there is none.
    """
    public = Evaluation.objects.filter(public_now(prefix=OF_EVALUATION))
    return get_object_or_404(public.select_related(*_RELATED), pk=evaluation_id)


def _ended(*, request: HttpRequest, evaluation_id: UUID) -> Evaluation:
    """An ended evaluation that the reader sees.

    Raises:
        Http404: there is none.
    """
    evaluation = get_object_or_404(visible_runs(request.user).select_related(*_RELATED), pk=evaluation_id)
    if evaluation.state not in FINAL:
        raise Http404("The evaluation has not ended.")
    return evaluation


def _address(request: HttpRequest, evaluation: Evaluation) -> str:
    return request.build_absolute_uri(reverse("evaluations:detail", args=[evaluation.pk]))
