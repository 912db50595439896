"""What the evaluation page shows, ready for its template."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import FilteredRelation, Q, QuerySet

from evaluator.metrics.aggregate import SIZES
from evaluator.metrics.planning import LOWER_IS_BETTER
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.breakdowns import ScoreBreakdown, score_breakdowns
from leaderboard.evaluations.indicators import Breakdown, breakdown, counted_values
from leaderboard.evaluations.models import Evaluation, EvaluationState, Shard
from leaderboard.evaluations.task_filters import PENDING, YES_NO, FailureGroup, Selection, TaskRow, failures, select

TASKS_PER_PAGE = 50
LEVELS = ("easy", "medium", "hard")
SEVERAL_DOMAINS = "several_domains"
"""Stands for the many groups that name their domains one by one, such as `image_QA,count_object`."""
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
    higher_is_better: bool
    is_size: bool
    """It tells how large plans are, without a best and a worst."""
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
    breakdowns: tuple[Breakdown, ...]
    """Of suites that judge plans: the indicators by level and by group."""
    lower_is_better: frozenset[str]
    score_breakdowns: tuple[ScoreBreakdown, ...]
    """Of suites that execute plans: the mean score by kind of task."""


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
        headings=_headings(sort=parameters.get("sort", ""), judges_plans=evaluation.suite.judges_plans),
        provenance=flatten(evaluation.provenance or {}),
        has_results=progress.done > 0,
        breakdowns=_breakdowns(rows) if evaluation.suite.judges_plans else (),
        lower_is_better=LOWER_IS_BETTER,
        score_breakdowns=() if evaluation.suite.judges_plans else score_breakdowns(rows),
    )


def _breakdowns(rows: Sequence[TaskRow]) -> tuple[Breakdown, ...]:
    by_level = breakdown(
        facet="level", label="Level", tasks=[(row.level, row.indicators) for row in rows], order=LEVELS
    )
    by_group = breakdown(
        facet="group",
        label="Group",
        tasks=[(row.group, row.indicators) for row in rows],
        order=sorted({row.group for row in rows}),
    )
    by_split = breakdown(
        facet="active",
        label="Active split",
        tasks=[("" if row.active is None else YES_NO[row.active], row.indicators) for row in rows],
        order=(YES_NO[True], YES_NO[False]),
    )
    found = [part for part in (by_level, by_group) if part.rows]
    return (*found, by_split) if len(by_split.rows) > 1 else tuple(found)


def task_rows(evaluation: Evaluation) -> list[TaskRow]:
    """Every task of the suite, or of a verification's sample, with its result in this evaluation, if there is one."""
    tasks = (
        tasks_of(evaluation)
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
            "result__indicators",
            "result__seconds",
            "result__plan_summary",
        )
    )
    return [_task_row(*values) for values in tasks]


def tasks_of(evaluation: Evaluation) -> QuerySet[Task]:
    """The tasks that an evaluation is about: a verification runs a sample of the suite's."""
    tasks = Task.objects.filter(suite=evaluation.suite_id)
    if evaluation.verifies_id is None:
        return tasks
    shards = Shard.objects.filter(evaluation=evaluation).values_list("task_keys", flat=True)
    return tasks.filter(key__in=[key for keys in shards for key in keys])


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
    indicators: Mapping[str, float] | None,
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
        language=str(attributes.get("language") or ""),
        steps=str(attributes.get("gold_steps") or ""),
        outcome=outcome or PENDING,
        reason=reason or "",
        reason_text=reason_text or "",
        score=score,
        seconds=seconds,
        plan_summary=plan_summary or "",
        group=_group(str(attributes.get("group") or "")),
        level=str(attributes.get("level") or ""),
        flags=tuple(attributes.get("flags") or ()),
        active=attributes.get("active"),
        indicators=counted_values(outcome=outcome or "", indicators=indicators or {}) if "group" in attributes else {},
    )


def _group(name: str) -> str:
    return SEVERAL_DOMAINS if "," in name else name


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
            higher_is_better=bool(metric.get("higher_is_better", True)),
            is_size=metric["key"] in SIZES,
            value=value(metric["key"]),
        )
        for metric in suite.metrics
    )


def _headings(*, sort: str, judges_plans: bool) -> tuple[Heading, ...]:
    key, descending = sort.removeprefix("-"), sort.startswith("-")
    measured = ("marks", "Indicators") if judges_plans else ("score", "Score")
    labels = (("task", "Task"), ("outcome", "Outcome"), measured, ("seconds", "Time"))
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
