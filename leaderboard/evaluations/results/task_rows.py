"""The tasks of an evaluation with their results. A suite never changes: its tasks are read once per process."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from evaluator.core.suites.base import Column
from evaluator.core.suites.base import Task as LibraryTask
from evaluator.core.suites.facets import Facet
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import EpisodeSummary
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.cause_counts import why
from leaderboard.evaluations.gold import withheld_from
from leaderboard.evaluations.models import Evaluation, Shard, TaskResult
from leaderboard.evaluations.results.failures import cause_key
from leaderboard.evaluations.results.indicators import mark_columns, marks
from leaderboard.evaluations.results.task_filters import TaskRow, grouped, raw_values
from leaderboard.evaluations.submitted import is_submitted
from leaderboard.platform.lru_cache import SharedCache

NOTHING_GIVEN = "words only"
_ARROW = " → "
_CUT = "…"
_SUITES_KEPT = 8


class Result(NamedTuple):
    """The columns of `TaskResult` that a row takes."""

    outcome: str
    reason: str
    reason_text: str
    score: float | None
    sample_scores: Sequence[float]
    indicators: Mapping[str, float]
    episodes: Mapping[str, Any]
    causes: Sequence[Mapping[str, Any]] | None
    seconds: float
    plan_summary: str
    updated: datetime


_facts: SharedCache[tuple[int, str, tuple[str, ...]], tuple[TaskRow, ...]] = SharedCache(maxsize=_SUITES_KEPT)


def task_rows(evaluation: Evaluation) -> list[TaskRow]:
    """Every task of the suite, or those that a verification or a member runs, with its result if there is one."""
    rows = TaskResult.objects.filter(evaluation=evaluation.pk).values_list("task", *Result._fields)
    # Cached for all readers: without what only operators may see.
    withheld = withheld_from(reader=None, evaluation=evaluation)
    results = {task: Result(*values) for task, *values in rows}
    if withheld.plan:
        results = {task: one._replace(plan_summary="", reason_text="", episodes={}) for task, one in results.items()}
    tasks = facts_of(evaluation.suite, shows_gold=not withheld.gold)
    if withheld.plan:
        tasks = tuple(row._replace(plan_is_withheld=True) for row in tasks)
    if not is_submitted(evaluation):
        sampled = sample_of(evaluation.pk)
        tasks = tuple(row for row in tasks if row.key in sampled)
    columns = mark_columns(evaluation.suite.columns)
    return [_row(task=row, result=results.get(row.pk), columns=columns) for row in tasks]


def facts_of(suite: Suite, *, shows_gold: bool = True) -> tuple[TaskRow, ...]:
    """The tasks of a suite in their order, without results; read from the database once per process.

    Args:
        shows_gold: False: without facets that follow from gold plans.
    """
    facets = [facet for facet in suite.facets.filters if shows_gold or not facet.tells_gold]
    key = suite.pk, suite.digest, tuple(facet.name for facet in facets)
    return _facts.get_or_make(key, lambda: _read(suite=suite, facets=facets))


def sample_of(evaluation_id: UUID) -> frozenset[str]:
    """The keys of the tasks that an evaluation's shards hold."""
    shards = Shard.objects.filter(evaluation=evaluation_id).values_list("task_keys", flat=True)
    return frozenset(key for keys in shards for key in keys)


def tasks_of(evaluation: Evaluation) -> QuerySet[Task]:
    """The tasks that an evaluation is about: a verification runs a sample of the suite's, and so may a member."""
    tasks = Task.objects.filter(suite=evaluation.suite_id)
    return tasks if is_submitted(evaluation) else tasks.filter(key__in=sample_of(evaluation.pk))


def tools_of(plan_summary: str) -> tuple[str, ...]:
    """The tools of a plan's summary, each once, without one that was cut off at its end."""
    names = [name for name in plan_summary.split(_ARROW) if name and not name.endswith(_CUT)]
    return tuple(dict.fromkeys(names))


def modality_of(task: LibraryTask) -> str:
    """What a request gives and, where that is one thing, what it expects: `image, text → text`."""
    given = ", ".join(sorted({str(kind) for kind in task.resources.values()})) or NOTHING_GIVEN
    return given if task.expects is None else f"{given}{_ARROW}{task.expects}"


def modalities(*, slug: str, digest: str) -> dict[str, str]:
    """The modality of each task of a suite; empty where this release does not know the suite, or knows it otherwise."""
    try:
        suite = suite_of(slug)
    except LookupError:
        return {}
    return {task.key: modality_of(task) for task in suite.tasks} if suite.digest == digest else {}


def _read(*, suite: Suite, facets: Sequence[Facet]) -> tuple[TaskRow, ...]:
    columns = "pk", "key", "position", "text", "structure", "metric"
    tasks = Task.objects.filter(suite=suite.pk).order_by("position").values_list("attributes", *columns)
    known = modalities(slug=suite.slug, digest=suite.digest)
    found = []
    for attributes, *values in tasks:
        row = TaskRow(**dict(zip(columns, values, strict=True)))
        facts = {**attributes, "structure": row.structure, "modality": known.get(row.key, "")}
        raw = [(facet, raw_values(facet=facet, attributes=facts)) for facet in facets]
        found.append(
            row._replace(
                attributes={facet.name: some for facet, some in raw if some},
                facets={facet.name: grouped(facet=facet, values=some) for facet, some in raw if some},
            )
        )
    return tuple(found)


def _row(*, task: TaskRow, result: Result | None, columns: Sequence[Column]) -> TaskRow:
    if result is None:
        return task
    episodes = EpisodeSummary.model_validate(result.episodes) if result.episodes else None
    labels = {} if episodes is None else {name: tuple(values) for name, values in episodes.labels.items()}
    return task._replace(
        facets={**labels, **task.facets},
        outcome=result.outcome,
        reason=result.reason,
        reason_text=result.reason_text,
        score=result.score,
        samples=tuple(result.sample_scores),
        seconds=result.seconds,
        plan_summary=result.plan_summary,
        tools=tools_of(result.plan_summary),
        ended=result.updated,
        cause=cause_key(outcome=result.outcome, reason=result.reason, text=result.reason_text),
        episodes=episodes,
        why=why(kept=result.causes, outcome=result.outcome),
        marks=marks(columns, outcome=result.outcome, indicators=result.indicators),
    )
