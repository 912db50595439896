"""The part of an unfolded row that needs the database: causes of lost points, and the versions of its planner."""

from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import content_of
from leaderboard.boards.eligible import published
from leaderboard.boards.ranking import margins_in_words
from leaderboard.boards.services import latest_snapshot, ranked_evaluations
from leaderboard.catalog.library import judges_otherwise
from leaderboard.causes.counting import BoardCauses, CauseCell, causes_of_rows
from leaderboard.evaluations.models import Evaluation, conditions_of_board
from leaderboard.platform.http.caching import tagged_page

MOST_CAUSES = 3
MOST_VERSIONS = 5


class Version(NamedTuple):
    """A published run of the planner on the board."""

    evaluation: Evaluation
    value: dict[str, Any] | None
    """Of the primary metric."""
    is_shown: bool
    """Whether it is the row's own."""


class CauseShare(NamedTuple):
    """A cause with its name."""

    label: str
    cell: CauseCell


@require_safe
def row(request: HttpRequest, suite: str, evaluation: UUID) -> HttpResponse:
    """Causes and versions of a published evaluation, as a part of the board's page."""
    related = "suite", "submission__planner__owner"
    found = get_object_or_404(published().select_related(*related), pk=evaluation, suite__slug=suite)
    planner = found.submission.planner
    facts = {"rank": None, "planner": planner.name, "owner": planner.owner.username, "evaluation": str(found.pk)}
    causes = causes_of_rows([facts])
    runs = ranked_evaluations(suite=found.suite, conditions=conditions_of_board(found))
    newest = runs.filter(submission__planner=planner).select_related("submission").order_by("-finished", "pk")
    versions = [_version(run, shown=found) for run in newest[: MOST_VERSIONS + 1]]
    margins = _margins(found)
    context = {
        "evaluation": found,
        "margins": margins,
        "line": causes.lines[0],
        "causes": _most(causes),
        "versions": versions[:MOST_VERSIONS],
        "has_more": len(versions) > MOST_VERSIONS,
    }
    parts = [str(found.pk), margins, *causes.lines[0], [[str(one.evaluation.pk), one.value] for one in versions]]
    return tagged_page(request=request, parts=parts, make=lambda: render(request, "boards/row.html", context))


def _margins(evaluation: Evaluation) -> list[str]:
    snapshot = latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))
    rows = () if snapshot is None else content_of(snapshot).rows
    return margins_in_words(
        rows=rows,
        evaluation=str(evaluation.pk),
        column=evaluation.suite.ranking_column,
        has_present_judge=not judges_otherwise(
            suite=evaluation.suite, profile=evaluation.profile, rules=evaluation.profile_digest
        ),
    )


def _most(causes: BoardCauses) -> list[CauseShare]:
    """The causes of most tasks."""
    cells = zip(causes.columns, causes.lines[0].cells, strict=True)
    shares = [CauseShare(column.label, cell) for column, cell in cells if cell.tasks]
    return sorted(shares, key=lambda share: -share.cell.tasks)[:MOST_CAUSES]


def _version(run: Evaluation, *, shown: Evaluation) -> Version:
    metrics = (run.summary or {}).get("metrics") or {}
    value = ranged(metrics=metrics, column=shown.suite.ranking_column)
    return Version(evaluation=run, value=value, is_shown=run.pk == shown.pk)
