"""What each task counts in the column that a board ranks by, kept as one small row for each evaluation.

Results of completed evaluations never change, and many snapshots share an evaluation: 2,500 tasks take 10 kB instead of
the megabytes of their results. A row is written when its evaluation is published, and goes with the evaluation.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from evaluator.core import canonical_json
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.aggregate import TaskScore, counted
from leaderboard.boards.models import TaskValues
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.results.task_scores import packed_values
from leaderboard.platform.lru_cache import SharedCache

Values = NDArray[np.float32]
MOST_AT_ONCE = 100
"""Evaluations whose rows one publication writes. After a change of the column, a board is caught up with in several."""
_TYPE = np.dtype("<f4")
_SUITES_KEPT = 8


class TaskFact(NamedTuple):
    """What a matrix shows and counts of a task."""

    pk: int
    key: str
    metric: str
    text: str


_facts: SharedCache[tuple[int, str], tuple[TaskFact, ...]] = SharedCache(maxsize=_SUITES_KEPT)


def task_facts(suite: Suite) -> tuple[TaskFact, ...]:
    """The tasks of a suite in their order; read from the database once per process."""

    def read() -> tuple[TaskFact, ...]:
        rows = Task.objects.filter(suite=suite.pk).order_by("position").values_list(*TaskFact._fields)
        return tuple(TaskFact(*row) for row in rows)

    return _facts.get_or_make((suite.pk, suite.digest), read)


def keep_values(*, suite: Suite, evaluations: Sequence[UUID]) -> int:
    """Write the rows that completed evaluations of a suite lack, and return how many. Some are left for the next call
    if there are more than `MOST_AT_ONCE`."""
    digest = _digest(_column(suite))
    there = set(TaskValues.objects.filter(pk__in=evaluations, column=digest).values_list("pk", flat=True))
    missing = [pk for pk in evaluations if pk not in there][:MOST_AT_ONCE]
    made = _computed(suite=suite, evaluations=missing)
    rows = [
        TaskValues(evaluation_id=pk, column=digest, packed=zlib.compress(values.astype(_TYPE).tobytes()))
        for pk, values in made.items()
    ]
    TaskValues.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["evaluation"], update_fields=["column", "packed"]
    )
    return len(made)


def values_of(*, suite: Suite, evaluations: Sequence[UUID]) -> dict[UUID, Values]:
    """What each task counts in each evaluation; from its results where no row is kept. Nothing is written.

    Returns:
        (tasks,) in the suite's order by evaluation: the mean over the task's samples; NaN where it does not count.
    """
    rows = TaskValues.objects.filter(pk__in=evaluations, column=_digest(_column(suite))).values_list("pk", "packed")
    found = {pk: np.frombuffer(zlib.decompress(packed), dtype=_TYPE) for pk, packed in rows}
    missing = [pk for pk in evaluations if pk not in found]
    return {**found, **_computed(suite=suite, evaluations=missing)}


def _column(suite: Suite) -> Column:
    # In a weighted mean of metrics tasks count more or less than their score.
    return replace(suite.ranking_column, weights={})


def _digest(column: Column) -> str:
    """Changes when an upgrade defines the column otherwise."""
    return canonical_json.digest(column.to_json())


def _computed(*, suite: Suite, evaluations: Sequence[UUID]) -> dict[UUID, Values]:
    """From the results, in one query."""
    if not evaluations:
        return {}
    column, tasks = _column(suite), task_facts(suite)
    found = packed_values(
        evaluations=evaluations,
        tasks={task.pk: (task.key, task.metric) for task in tasks},
        indicator=column.key if column.indicator else "",
    )
    return {pk: _counted(column=column, results=found[pk], tasks=tasks) for pk in evaluations}


def _counted(*, column: Column, results: Mapping[int, TaskScore], tasks: Sequence[TaskFact]) -> Values:
    ordered = [task.pk for task in tasks if task.pk in results]
    counts = counted(column=column, results=[results[pk] for pk in ordered])
    by_task = dict(zip(ordered, counts, strict=True))
    return np.array([by_task.get(task.pk) for task in tasks], dtype=_TYPE)
