"""The rows of stored evaluations: tasks, read once per process because suites never change, and their results."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from evaluator.core.suites import facets as declared
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, Shard, TaskResult
from leaderboard.evaluations.results.figures import mark_columns
from leaderboard.evaluations.results.task_rows import Result, TaskRow, modalities, with_facts, with_result
from leaderboard.evaluations.visibility import withheld_from
from leaderboard.platform.lru_cache import SharedCache

_CACHED_SUITES = 8
_facts: SharedCache[tuple[int, str, tuple[str, ...]], tuple[TaskRow, ...]] = SharedCache(maxsize=_CACHED_SUITES)


def task_rows(evaluation: Evaluation) -> list[TaskRow]:
    """All tasks of the suite, or those of a verification or a member, with their results, if any."""
    rows = TaskResult.objects.filter(evaluation=evaluation.pk).values_list("task", *Result._fields)
    # Cached for all readers, so without parts that only operators may see.
    withheld = withheld_from(reader=None, evaluation=evaluation)
    results = {task: Result(*values) for task, *values in rows}
    if withheld.plan:
        empty: dict[str, Any] = {"plan_summary": "", "reason_text": "", "episodes": {}}
        results = {task: result._replace(**empty) for task, result in results.items()}
    tasks = facts_of(evaluation.suite, shows_gold=not withheld.gold)
    if withheld.plan:
        tasks = tuple(row._replace(plan_is_withheld=True) for row in tasks)
    if not evaluation.is_submitted:
        sampled = sample_of(evaluation.pk)
        tasks = tuple(row for row in tasks if row.key in sampled)
    columns = mark_columns(evaluation.suite.columns)
    ranking = evaluation.suite.ranking_column
    return [
        with_result(row, result=results.get(row.pk), columns=columns, ranking=ranking, withheld=withheld)
        for row in tasks
    ]


def facts_of(suite: Suite, *, shows_gold: bool = True) -> tuple[TaskRow, ...]:
    """The tasks of a suite in order, without results; read from the database once per process.

    Args:
        shows_gold: whether to include facets that follow from gold plans.
    """
    facets = [facet for facet in suite.facets.filters if shows_gold or not facet.tells_gold]
    key = suite.pk, suite.digest, tuple(facet.name for facet in facets)
    return _facts.get_or_make(key, lambda: _read(suite=suite, facets=facets))


def sample_of(evaluation_id: UUID) -> frozenset[str]:
    """The keys of the tasks in an evaluation's shards."""
    shards = Shard.objects.filter(evaluation=evaluation_id).values_list("task_keys", flat=True)
    return frozenset(key for keys in shards for key in keys)


def tasks_of(evaluation: Evaluation) -> QuerySet[Task]:
    """The tasks of an evaluation: all of the suite, or the sample of a verification or a member."""
    tasks = Task.objects.filter(suite=evaluation.suite_id)
    return tasks if evaluation.is_submitted else tasks.filter(key__in=sample_of(evaluation.pk))


def _read(*, suite: Suite, facets: Sequence[declared.Facet]) -> tuple[TaskRow, ...]:
    columns = "pk", "key", "position", "text", "structure", "metric"
    tasks = Task.objects.filter(suite=suite.pk).order_by("position").values_list("attributes", *columns)
    known = modalities(slug=suite.slug, digest=suite.digest)
    rows = []
    for attributes, *values in tasks:
        row = TaskRow(**dict(zip(columns, values, strict=True)))
        rows.append(with_facts(row, attributes=attributes, modality=known.get(row.key, ""), facets=facets))
    return tuple(rows)
