"""Task values in the ranking column of a board, stored as one compact row per evaluation.

Results of completed evaluations never change, and many snapshots share an evaluation: 2,500 tasks take 10 kB instead of
the megabytes of their results. A row is written when its evaluation is published, and deleted with it.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
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
"""Evaluations whose rows one publication writes. After a change of the column, a board catches up over several."""
_TYPE = np.dtype("<f4")
_SUITES_KEPT = 8


class TaskFact(NamedTuple):
    """The columns of a task that a matrix uses."""

    pk: int
    key: str
    metric: str
    text: str


_facts: SharedCache[tuple[int, str], tuple[TaskFact, ...]] = SharedCache(maxsize=_SUITES_KEPT)


def task_facts(suite: Suite) -> tuple[TaskFact, ...]:
    """The tasks of a suite in their order; read from the database once per process."""
    return facts_of_suites([suite])[suite.pk]


def facts_of_suites(suites: Iterable[Suite]) -> dict[int, tuple[TaskFact, ...]]:
    """The tasks of suites by the suite's primary key, in their order; one query for suites that are not cached."""
    keys = {suite.pk: (suite.pk, suite.digest) for suite in suites}
    facts = {pk: cached for pk, key in keys.items() if (cached := _facts.get(key)) is not None}
    if missing := keys.keys() - facts.keys():
        found: dict[int, list[TaskFact]] = {pk: [] for pk in missing}
        rows = Task.objects.filter(suite__in=missing).order_by("position")
        for suite, *row in rows.values_list("suite_id", *TaskFact._fields):
            found[suite].append(TaskFact(*row))
        for pk, read in found.items():
            facts[pk] = tuple(read)
            _facts.put(keys[pk], facts[pk])
    return facts


def keep_values(*, suite: Suite, evaluations: Sequence[UUID]) -> int:
    """Write the missing rows of completed evaluations of a suite, at most `MOST_AT_ONCE` per call. Returns how many
    were written."""
    digest = canonical_json.digest(_column(suite).to_json())
    present = set(TaskValues.objects.filter(pk__in=evaluations, column=digest).values_list("pk", flat=True))
    missing = [pk for pk in evaluations if pk not in present][:MOST_AT_ONCE]
    computed = _computed(suite=suite, evaluations=missing)
    rows = [
        TaskValues(evaluation_id=pk, column=digest, packed=zlib.compress(values.astype(_TYPE).tobytes()))
        for pk, values in computed.items()
    ]
    TaskValues.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["evaluation"], update_fields=["column", "packed"]
    )
    return len(computed)


def values_of(*, suite: Suite, evaluations: Sequence[UUID]) -> dict[UUID, Values]:
    """The value of each task in each evaluation, computed from its results if no row is stored. Writes nothing.

    Returns:
        By evaluation, (tasks,) in the suite's order: the mean over the task's samples; NaN if it does not count.
    """
    digest = canonical_json.digest(_column(suite).to_json())
    rows = TaskValues.objects.filter(pk__in=evaluations, column=digest).values_list("pk", "packed")
    stored = {pk: np.frombuffer(zlib.decompress(packed), dtype=_TYPE) for pk, packed in rows}
    missing = [pk for pk in evaluations if pk not in stored]
    return {**stored, **_computed(suite=suite, evaluations=missing)}


def _column(suite: Suite) -> Column:
    # In a weighted mean of metrics, a task's weight would distort its value.
    return replace(suite.ranking_column, weights={})


def _computed(*, suite: Suite, evaluations: Sequence[UUID]) -> dict[UUID, Values]:
    """Computed from the results, in one query."""
    if not evaluations:
        return {}
    column, tasks = _column(suite), task_facts(suite)
    results = packed_values(
        evaluations=evaluations,
        tasks={task.pk: (task.key, task.metric) for task in tasks},
        indicator=column.key if column.indicator else "",
    )
    return {pk: _counted(column=column, results=results[pk], tasks=tasks) for pk in evaluations}


def _counted(*, column: Column, results: Mapping[int, TaskScore], tasks: Sequence[TaskFact]) -> Values:
    ordered = [task.pk for task in tasks if task.pk in results]
    counts = counted(column=column, results=[results[pk] for pk in ordered])
    by_task = dict(zip(ordered, counts, strict=True))
    return np.array([by_task.get(task.pk) for task in tasks], dtype=_TYPE)
