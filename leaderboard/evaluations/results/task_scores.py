"""The results of tasks in the form used for aggregation and comparison."""

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
    """The scores of a row that was read with its task."""
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
    """The results of each evaluation by the task's primary key, in one query. It returns the results of an evaluation
    as a single JSON text, because thousands of small values take five times as long.

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
    """The same with the causes of each task that ran, also in one query: None if they are not known yet."""
    return {
        evaluation: (scores, {task: None if codes is None else ordered(codes) for task, codes in causes.items()})
        for evaluation, (scores, causes) in packed_scores_and_codes(evaluations=evaluations, tasks=tasks).items()
    }


def packed_scores_and_codes(
    *, evaluations: Sequence[UUID], tasks: Mapping[int, tuple[str, str]]
) -> dict[UUID, tuple[dict[int, TaskScore], dict[int, list[str] | None]]]:
    """The same with the codes of the causes as they are stored: the main cause first, perhaps of another release."""
    return {
        evaluation: (
            {row[0]: _score(row, tasks=tasks) for row in rows},
            {row[0]: row[-1] for row in rows if row[1] in RAN},
        )
        for evaluation, rows in _each(evaluations, columns=[*map(F, _COLUMNS), cause_codes()])
    }


_COLUMNS = "task_id", "outcome", "score", "indicators", "sample_scores", "sample_indicators"


def _each(evaluations: Sequence[UUID], *, columns: Sequence[Combinable]) -> Iterator[tuple[UUID, list[list[Any]]]]:
    """These columns of the results of each evaluation, including evaluations without results."""
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
    """The same without samples and with at most one indicator, in a third of the time and memory.

    Args:
        evaluations: of one suite.
        tasks: key and metric of each of its tasks, by primary key.
        indicator: key of the indicator, if any.
    """
    value = KeyTransform(indicator, "indicators") if indicator else Value(None, output_field=FloatField())
    results: dict[UUID, dict[int, TaskScore]] = {pk: {} for pk in evaluations}
    for evaluation, rows in _packed(_results(evaluations), columns=[F("task_id"), F("outcome"), F("score"), value]):
        results[evaluation] = {
            task: TaskScore(*tasks[task], _OUTCOMES[outcome], score, {} if number is None else {indicator: number})
            for task, outcome, score, number in rows
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
    """The causes of a row as a JSON list; null if they are not known yet."""
    return Func(
        F("causes"),
        Value("$[*].cause"),
        function="jsonb_path_query_array",
        template="%(function)s(%(expressions)s::jsonpath)",
        output_field=JSONField(),
    )


def causes_version(evaluations: Sequence[UUID]) -> tuple[int, int | None]:
    """Number and sum of hashes of the causes of evaluations, which may change long after their end."""
    version = TaskResult.objects.filter(evaluation__in=evaluations).aggregate(count=_CAUSES, sum=_HASHES)
    return version["count"], version["sum"]


def with_results_version(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Annotate evaluations with `results_version`, which changes with every result and with `causes_version`. None
    without results."""
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
