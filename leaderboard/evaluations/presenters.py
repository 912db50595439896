"""What the evaluation page shows, ready for its template."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import FilteredRelation, Q

from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.task_filters import PENDING, FailureGroup, Selection, TaskRow, failures, select

TASKS_PER_PAGE = 50
OUTCOME_ORDER = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled", PENDING)
MOVING = frozenset(
    {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.RUNNING, EvaluationState.AGGREGATING}
)


class Heading(NamedTuple):
    """One sortable heading of the task table."""

    key: str
    label: str
    sorted: str
    link: str


class MetricCard(NamedTuple):
    """One metric of the suite with this evaluation's value, if it has one."""

    label: str
    description: str
    is_primary: bool
    value: Mapping[str, Any] | None


class Progress(NamedTuple):
    """How far the tasks are."""

    done: int
    total: int
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order in which they are always shown."""
    is_moving: bool


class EvaluationPage(NamedTuple):
    """Everything on the page besides the evaluation itself."""

    progress: Progress
    metrics: tuple[MetricCard, ...]
    failures: list[FailureGroup]
    selection: Selection
    page: Page
    headings: tuple[Heading, ...]
    provenance: list[tuple[str, str]]
    has_results: bool


def evaluation_page(*, evaluation: Evaluation, parameters: Mapping[str, str]) -> EvaluationPage:
    """Gather the page: one query for all tasks, everything else in memory."""
    rows = task_rows(evaluation)
    selection = select(rows=rows, parameters=parameters)
    progress = _progress(rows=rows, state=evaluation.state)
    return EvaluationPage(
        progress=progress,
        metrics=_metric_cards(suite=evaluation.suite, summary=evaluation.summary or {}),
        failures=failures(rows),
        selection=selection,
        page=Paginator(selection.rows, TASKS_PER_PAGE).get_page(parameters.get("page")),
        headings=_headings(parameters.get("sort", "")),
        provenance=flatten(evaluation.provenance or {}),
        has_results=progress.done > 0,
    )


def task_rows(evaluation: Evaluation) -> list[TaskRow]:
    """Every task of the suite with its result in this evaluation, if there is one yet."""
    tasks = (
        Task.objects.filter(suite=evaluation.suite_id)
        .annotate(result=FilteredRelation("results", condition=Q(results__evaluation=evaluation.pk)))
        .order_by("position")
        .values_list(
            "key",
            "position",
            "text",
            "structure",
            "metric",
            "attributes",
            "result__outcome",
            "result__reason",
            "result__reason_text",
            "result__score",
            "result__seconds",
            "result__plan_summary",
        )
    )
    return [_task_row(*values) for values in tasks]


def _task_row(
    key: str,
    position: int,
    text: str,
    structure: str,
    metric: str,
    attributes: Mapping[str, Any],
    outcome: str | None,
    reason: str | None,
    reason_text: str | None,
    score: float | None,
    seconds: float | None,
    plan_summary: str | None,
) -> TaskRow:
    return TaskRow(
        key=key,
        position=position,
        text=text,
        structure=structure,
        metric=metric,
        base=str(attributes.get("base") or ""),
        degradations=tuple(attributes.get("degradations") or ()),
        outcome=outcome or PENDING,
        reason=reason or "",
        reason_text=reason_text or "",
        score=score,
        seconds=seconds,
        plan_summary=plan_summary or "",
    )


def _progress(*, rows: Sequence[TaskRow], state: str) -> Progress:
    counted = Counter(row.outcome for row in rows)
    return Progress(
        done=len(rows) - counted[PENDING],
        total=len(rows),
        counts=tuple((outcome, counted[outcome]) for outcome in OUTCOME_ORDER),
        is_moving=state in MOVING,
    )


def _metric_cards(*, suite: Suite, summary: Mapping[str, Any]) -> tuple[MetricCard, ...]:
    measured = summary.get("metrics") or {}

    def value(key: str) -> Mapping[str, Any] | None:
        found = measured.get(key)
        return found if found and found.get("mean") is not None else None

    return tuple(
        MetricCard(
            label=metric["label"],
            description=metric["description"],
            is_primary=bool(metric.get("primary")),
            value=value(metric["key"]),
        )
        for metric in suite.metrics
    )


def _headings(sort: str) -> tuple[Heading, ...]:
    key, descending = sort.removeprefix("-"), sort.startswith("-")
    labels = (("task", "Task"), ("outcome", "Outcome"), ("score", "Score"), ("seconds", "Time"))
    return tuple(
        Heading(
            key=name,
            label=label,
            sorted=("descending" if descending else "ascending") if name == key else "",
            link=name if (name == key and descending) or (name != key and name in {"task", "outcome"}) else f"-{name}",
        )
        for name, label in labels
    )


def flatten(value: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested provenance as (name, value) pairs, in its own order."""
    pairs: list[tuple[str, str]] = []
    for key, item in value.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(item, Mapping):
            pairs += flatten(item, prefix=f"{name} / ")
        else:
            pairs.append((name, item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)))
    return pairs
