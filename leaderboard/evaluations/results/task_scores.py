"""The results of tasks in the form in which they are summed up and compared."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import (
    Aggregate,
    Count,
    F,
    FloatField,
    Func,
    IntegerField,
    JSONField,
    OuterRef,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    Value,
)
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KeyTransform

from evaluator.core.records import Outcome
from evaluator.scoring.metrics.aggregate import TaskScore
from leaderboard.evaluations.causes import RAN, ordered
from leaderboard.evaluations.models import Evaluation, TaskResult

_OUTCOMES = {str(outcome): outcome for outcome in Outcome}


def task_score(result: TaskResult) -> TaskScore:
    """What a board needs of a row; its task is read with it."""
    return TaskScore(
        task=result.task.key,
        metric=result.task.metric,
        outcome=Outcome(result.outcome),
        score=result.score,
        indicators=result.indicators,
        samples=tuple(result.sample_scores),
        sample_indicators=result.sample_indicators,
    )


def packed_scores(
    *, evaluations: Sequence[UUID], tasks: Mapping[int, tuple[str, str]]
) -> dict[UUID, dict[int, TaskScore]]:
    """The results of each evaluation by the task's primary key, in one query. It gives all results of an evaluation as
    one JSON text: reading thousands of small ones takes five times as long.

    Args:
        evaluations: of one suite.
        tasks: key and metric of each of its tasks, by primary key.
    """
    return {
        evaluation: {row[0]: _score(row, tasks=tasks) for row in rows}
        for evaluation, rows in _each(evaluations, columns=list(map(F, _COLUMNS)))
    }


def packed_scores_and_causes(
    *, evaluations: Sequence[UUID], tasks: Mapping[int, tuple[str, str]]
) -> dict[UUID, tuple[dict[int, TaskScore], dict[int, tuple[str, ...] | None]]]:
    """The same with the causes of each task that ran, in one query too: None where they are not found yet."""
    return {
        evaluation: (
            {row[0]: _score(row, tasks=tasks) for row in rows},
            {row[0]: None if row[-1] is None else ordered(row[-1]) for row in rows if row[1] in RAN},
        )
        for evaluation, rows in _each(evaluations, columns=[*map(F, _COLUMNS), cause_codes()])
    }


_COLUMNS = "task_id", "outcome", "score", "indicators", "sample_scores", "sample_indicators"


def _each(evaluations: Sequence[UUID], *, columns: Sequence[Combinable]) -> Iterator[tuple[UUID, list[list[Any]]]]:
    """These columns of the results of each evaluation, also of those without any."""
    packed = dict(_packed(_results(evaluations), columns=columns))
    for evaluation in evaluations:
        yield evaluation, packed.get(evaluation, [])


def _score(row: Sequence[Any], *, tasks: Mapping[int, tuple[str, str]]) -> TaskScore:
    """A row that begins with `_COLUMNS`."""
    task, outcome, score, indicators, samples, sample_indicators = row[: len(_COLUMNS)]
    return TaskScore(
        task=tasks[task][0],
        metric=tasks[task][1],
        outcome=_OUTCOMES[outcome],
        score=score,
        indicators=indicators,
        samples=tuple(samples),
        sample_indicators=sample_indicators,
    )


def packed_values(
    *, evaluations: Sequence[UUID], tasks: Mapping[int, tuple[str, str]], indicator: str
) -> dict[UUID, dict[int, TaskScore]]:
    """The same without samples and with at most one indicator, a third of the time and memory.

    Args:
        evaluations: of one suite.
        tasks: key and metric of each of its tasks, by primary key.
        indicator: its key; empty: none.
    """
    value = KeyTransform(indicator, "indicators") if indicator else Value(None, output_field=FloatField())
    results: dict[UUID, dict[int, TaskScore]] = {pk: {} for pk in evaluations}
    for evaluation, rows in _packed(_results(evaluations), columns=[F("task_id"), F("outcome"), F("score"), value]):
        results[evaluation] = {
            task: TaskScore(*tasks[task], _OUTCOMES[outcome], score, {} if found is None else {indicator: found})
            for task, outcome, score, found in rows
        }
    return results


def _results(evaluations: Sequence[UUID]) -> QuerySet[TaskResult]:
    return TaskResult.objects.filter(evaluation__in=evaluations)


def _packed(rows: QuerySet[TaskResult], *, columns: Sequence[Combinable]) -> Iterator[tuple[UUID, list[list[Any]]]]:
    """These columns of each evaluation's results."""
    row = Func(*columns, function="json_build_array", output_field=TextField())
    packed = Aggregate(
        row, function="json_agg", template="%(function)s(%(expressions)s)::text", output_field=TextField()
    )
    for evaluation, text in rows.values_list("evaluation_id").annotate(packed=packed).order_by():
        yield evaluation, json.loads(text)


def cause_codes() -> Func:
    """The causes of a row as a JSON list; null where they are not found yet."""
    return Func(
        F("causes"),
        Value("$[*].cause"),
        function="jsonb_path_query_array",
        template="%(function)s(%(expressions)s::jsonpath)",
        output_field=JSONField(),
    )


def causes_version(evaluations: Sequence[UUID]) -> tuple[int, int | None]:
    """Changes when causes of evaluations do, which may be long after their end: their number, and a sum of hashes."""
    found = TaskResult.objects.filter(evaluation__in=evaluations).aggregate(count=_CAUSES, sum=_HASHES)
    return found["count"], found["sum"]


def with_results_version(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """The same with `results_version` of each, in the query that reads them: what `causes_version` says, and what
    changes with every result. None without results."""
    own = TaskResult.objects.filter(evaluation=OuterRef("pk")).order_by().values("evaluation")
    parts = _CAUSES, _HASHES, Count("pk"), _CHANGES
    packed = Func(*parts, function="jsonb_build_array", output_field=JSONField())
    return evaluations.annotate(results_version=Subquery(own.annotate(version=packed).values("version")))


_CAUSES = Count("causes")
_HASHES = Sum(Func(F("causes"), function="jsonb_hash", output_field=IntegerField()))
_CHANGES = Sum(
    Func(
        *map(F, ("updated", "outcome", "score")),
        template="hash_record(ROW(%(expressions)s))",
        output_field=IntegerField(),
    )
)
