"""Aggregates the results of tasks into the row of an evaluation, or of several runs of one planner."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

import numpy as np
from numpy.typing import NDArray

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.base import ABSTENTION, Column, IntervalMethod, Suite
from evaluator.scoring.metrics.crossed import Matrix, fixed_tasks, sampled_tasks, with_runs_of
from evaluator.scoring.metrics.runs import RepeatedScores, differ
from evaluator.scoring.metrics.statistics import Interval, mean_of_tasks

OVERALL = "overall"
"""The unweighted mean over tasks, as in OpenAGI's released code; the paper (arXiv:2304.04370, section 6.4) has a
weighted average, but no weights."""


@dataclass(frozen=True, slots=True)
class TaskScore:
    """The part of a task's result that boards need."""

    task: str
    metric: str
    outcome: Outcome
    score: float | None
    indicators: Mapping[str, float] = field(default_factory=dict)
    """Other values of the result, by name."""
    samples: tuple[float, ...] = ()
    """The score of each sample, in order; empty if the plan was judged or not executed."""
    sample_indicators: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """The values of indicators that depend on the sample, in the order of the samples."""
    further: "tuple[TaskScore, ...]" = ()
    """The same task in further runs of the planner; empty if it was asked once."""

    @classmethod
    def of(cls, record: ResultRecord) -> "TaskScore":
        """The task score of a record."""
        return cls(
            task=record.task,
            metric=record.metric,
            outcome=record.outcome,
            score=record.score,
            indicators=record.indicators,
            samples=scores_of_samples(record),
            sample_indicators=indicators_of_samples(record),
        )


def summarise(
    *, suite: Suite, results: Iterable[TaskScore], samples: int = 1, is_deterministic: bool = False
) -> dict[str, JsonValue]:
    """Means with 95 % intervals for each column of the suite, and the number of each outcome.

    A column selects a value of the tasks, and defines the value of a `planner_fault`, which in an optional column has
    only a value that was measured. `not_run`, `infra_fault` and
    `cancelled` have no value and are omitted, so an evaluation with an `infra_fault` must not be ranked.

    Args:
        suite: the suite with the columns.
        results: results of its tasks, in any order, with the further runs of those that were asked again.
        samples: number of samples of an executed task.
        is_deterministic: whether the planner answers equal requests alike.

    Returns:
        `{"metrics": {key: {"mean", "low", "high", "tasks"}}, "outcomes": {outcome: count}}`. A metric without scored
        tasks, and a weighted mean of it, are absent. `low` and `high` are None for too few independent tasks or scenes
        (`crossed.are_enough`), and for equal unbounded values. If tasks are undecided, `mean` is the lower end, and
        `low` to `high` covers all ways to settle them (`interval_of`).
    """
    return summarise_columns(columns=suite.metrics, results=results, samples=samples, is_deterministic=is_deterministic)


def summarise_columns(
    *, columns: Iterable[Column], results: Iterable[TaskScore], samples: int = 1, is_deterministic: bool = False
) -> dict[str, JsonValue]:
    """`summarise` without the suite."""
    scores = list(results)
    metrics: dict[str, JsonValue] = {}
    for column in columns:
        mean = interval_of(column=column, results=scores, samples=samples, is_deterministic=is_deterministic)
        if mean is not None:
            metrics[column.key] = {"mean": mean.mean, "low": mean.low, "high": mean.high, "tasks": mean.count}
    outcomes = Counter(str(result.outcome) for result in scores)
    return {"metrics": metrics, "outcomes": {outcome: outcomes[outcome] for outcome in sorted(outcomes)}}


def counted(*, column: Column, results: Sequence[TaskScore], upper: bool = False) -> list[float | None]:
    """The value of each result in a column, in the order of the results; None if it does not count.

    Most columns count a missing plan as the worst value, so that omitting tasks has no advantage. In a weighted mean of
    metrics, values are multiplied by their weight over the mean weight of a task, so that their mean is the weighted
    mean.

    Args:
        column: the column.
        results: results of tasks.
        upper: whether undecided tasks count as the better value instead of 0.
    """
    factors = _factors(column=column, results=results)
    values = [_value(column=column, result=result, upper=upper) for result in results]
    if factors is None:
        return [None] * len(results)
    return [
        None if value is None else value * factors.get(result.metric, 1.0)
        for value, result in zip(values, results, strict=True)
    ]


def counted_by_sample(*, column: Column, results: Sequence[TaskScore], samples: int) -> list[tuple[float, ...] | None]:
    """The values of each result in a column, one for each sample; None if it does not count.

    A result without values by sample has the same value on every sample. A plan that was executed on another number of
    samples has that number of values.
    """
    factors = _factors(column=column, results=results) or {}
    rows: list[tuple[float, ...] | None] = []
    for value, result in zip(counted(column=column, results=results), results, strict=True):
        own = result.sample_indicators.get(column.key) if column.indicator else result.samples
        factor = factors.get(result.metric, 1.0)
        if value is None:
            rows.append(None)
        elif own is None or result.outcome is not Outcome.SCORED or result.metric == ABSTENTION:
            rows.append((value,) * samples)
        else:
            rows.append(tuple(score * factor for score in own) if factor != 1.0 else tuple(own))
    return rows


def _factors(*, column: Column, results: Sequence[TaskScore]) -> dict[str, float] | None:
    """By metric, the factor of a value in a weighted mean; None if a metric has no task that counts."""
    if not column.weights:
        return {}
    counts = Counter(result.metric for result in results if _value(column=column, result=result) is not None)
    if any(not counts[metric] for metric in column.weights):
        return None
    return {metric: weight * counts.total() / counts[metric] for metric, weight in column.weights.items()}


def _value(*, column: Column, result: TaskScore, upper: bool = False) -> float | None:
    is_of_column = (
        (not column.metric or column.metric == result.metric)
        and (not column.weights or result.metric in column.weights)
        and (not column.tasks or result.task in column.tasks)
    )
    if not is_of_column:
        return None
    if column.is_optional:
        ended = result.outcome in (Outcome.SCORED, Outcome.PLANNER_FAULT)
        return result.indicators.get(column.key) if ended else None
    if result.outcome is Outcome.PLANNER_FAULT:
        return column.fault
    if result.outcome is not Outcome.SCORED:
        return None
    value = result.indicators.get(column.key) if column.indicator else result.score
    if value is None:
        return None
    return float(value) + (result.indicators.get(column.undecided, 0.0) if upper and column.undecided else 0.0)


def interval_of(
    *, column: Column, results: Sequence[TaskScore], samples: int, is_deterministic: bool = False
) -> Interval | None:
    """Mean and interval of a column; None if no task counts.

    On a fixed list the interval contains the runs of the planner if tasks were asked again; of requests that are a
    sample it contains them in any case (`runs.py`).

    Undecided tasks are no sampling error, which more tasks would reduce. If there are any, the low end is that of the
    interval in which they count 0, and the high end that of the interval in which they count as the better value.
    However they are settled, the true mean is beyond either end in at most 2.5 % of samples (Horowitz and Manski,
    Journal of the American Statistical Association 95(449), 2000).

    Args:
        column: the column.
        results: results of tasks.
        samples: number of samples of an executed task.
        is_deterministic: whether the planner answers equal requests alike.
    """
    values = [value for value in counted(column=column, results=results) if value is not None]
    if not values:
        return None
    table, upper = table_of(column=column, results=results, samples=samples), None
    if table is None:
        return Interval(mean=fsum(values) / len(values), low=None, high=None, count=len(values))
    if has_undecided(column=column, results=results):
        upper = table_of(column=column, results=results, samples=samples, upper=True)
    counts = np.asarray(~np.isnan(table).any(axis=1))
    return interval_of_table(
        column=column,
        table=table[counts],
        strata=[result.metric for result, known in zip(results, counts.tolist(), strict=True) if known],
        repeated=repeated_scores(column=column, results=results, is_deterministic=is_deterministic),
        upper=None if upper is None else upper[counts],
    )


def repeated_scores(*, column: Column, results: Sequence[TaskScore], is_deterministic: bool = False) -> RepeatedScores:
    """The values of a column in all runs of the tasks that were asked again (`TaskScore.further`).

    Args:
        column: the column.
        results: results of the first run of all tasks.
        is_deterministic: whether the planner answers equal requests alike.
    """
    factors = _factors(column=column, results=results)
    by_task = {}
    for result in results if factors is not None else ():
        values = [_value(column=column, result=run) for run in (result, *result.further)]
        known = tuple(value for value in values if value is not None)
        if values[0] is not None and len(known) > 1:
            factor = (factors or {}).get(result.metric, 1.0)
            by_task[result.task] = tuple(value * factor for value in known)
    return RepeatedScores(by_task, is_deterministic=is_deterministic, bounds=column.bounds)


def has_undecided(*, column: Column, results: Iterable[TaskScore]) -> bool:
    """Whether the judge is undecided on any of these results."""
    return bool(column.undecided) and any(
        result.outcome is Outcome.SCORED and result.indicators.get(column.undecided, 0.0) > 0 for result in results
    )


def indicators_of_samples(record: ResultRecord) -> dict[str, list[float]]:
    """The values of the indicators that all samples of a record have, by name, in the order of the samples."""
    samples = sorted(record.samples, key=lambda sample: sample.index)
    names = dict.fromkeys(name for sample in samples for name in sample.indicators)
    return {
        name: [sample.indicators[name] for sample in samples]
        for name in names
        if all(name in sample.indicators for sample in samples)
    }


def table_of(*, column: Column, results: Sequence[TaskScore], samples: int, upper: bool = False) -> Matrix | None:
    """The values of results in a column, for comparing rows of a board.

    Args:
        column: the column, whose interval method shows whether plans are executed on samples.
        results: results of tasks, in any order.
        samples: number of samples of an executed task.
        upper: whether undecided tasks count as the better value instead of 0.

    Returns:
        (results, samples), one sample for judged plans; NaN if a result does not count. None if a plan was executed on
        another number of samples.
    """
    width = samples if column.interval.over_scenes else 1
    table = np.full((len(results), width), np.nan)
    if not column.interval.over_scenes:
        values = counted(column=column, results=results, upper=upper)
        table[:, 0] = [np.nan if value is None else value for value in values]
        return table
    for place, row in enumerate(counted_by_sample(column=column, results=results, samples=samples)):
        if row is not None and len(row) != samples:
            return None
        if row is not None:
            table[place] = row
    return table


def scores_of_samples(record: ResultRecord) -> tuple[float, ...]:
    """The scores of the samples of a record, in order; empty unless all of them have a score."""
    scores = [sample.score for sample in sorted(record.samples, key=lambda sample: sample.index)]
    known = tuple(score for score in scores if score is not None)
    return known if len(known) == len(scores) else ()


def metrics_of_runs(
    *, columns: Iterable[Column], runs: Sequence[Sequence[TaskScore]], samples: int, is_deterministic: bool = False
) -> dict[str, JsonValue]:
    """Means with 95 % intervals over several runs, in the format of `summarise`.

    The value of a task on a sample is averaged over the runs; mean and interval are those of the averages, with the
    variance by the runs. Shares of judged plans become graded values.

    Args:
        columns: columns of the suite.
        runs: the results of each run; tasks that do not count in every run are omitted.
        samples: number of samples of an executed task.
        is_deterministic: whether the planner answers equal requests alike.
    """
    metrics: dict[str, JsonValue] = {}
    for column in columns:
        mean = _interval_of_runs(column=column, runs=runs, samples=samples, is_deterministic=is_deterministic)
        if mean is not None:
            metrics[column.key] = {"mean": mean.mean, "low": mean.low, "high": mean.high, "tasks": mean.count}
    return metrics


def mean_table(
    *, column: Column, runs: Sequence[Mapping[str, TaskScore]], samples: int, upper: bool = False
) -> dict[str, Matrix]:
    """The values of each task on each sample, averaged over the runs, for tasks that count in all runs.

    Empty if a plan was executed on another number of samples. `upper`: whether undecided tasks count as the better
    value instead of 0.
    """
    tables = []
    for run in runs:
        table = table_of(column=column, results=list(run.values()), samples=samples, upper=upper)
        if table is None:
            return {}
        tables.append(dict(zip(run, table, strict=True)))
    common = [task for task in tables[0] if all(task in table for table in tables[1:])]
    means = {task: np.mean([table[task] for table in tables], axis=0) for task in common}
    return {task: mean for task, mean in means.items() if not np.isnan(mean).any()}


def score_tables(
    *, column: Column, runs: Sequence[Sequence[Sequence[TaskScore]]], samples: int, upper: bool = False
) -> tuple[NDArray[np.float32], list[str]]:
    """The values of several rows in one table, and the metric of each task.

    Args:
        column: the column.
        runs: for each row the results of each run that it shows: usually one.
        samples: number of samples of an executed task.
        upper: whether undecided tasks count as the better value instead of 0.

    Returns:
        (rows, tasks, samples), one sample for judged plans; NaN where a row has no value.
    """
    by_task = [[{result.task: result for result in run} for run in parts] for parts in runs]
    metrics = {task: result.metric for parts in by_task for run in parts for task, result in run.items()}
    places = {task: place for place, task in enumerate(metrics)}
    width = samples if column.interval.over_scenes else 1
    # Single precision, as the site keeps scores: they are rounded before they are compared.
    scores = np.full((len(runs), len(places), width), np.nan, dtype=np.float32)
    for row, parts in enumerate(by_task):
        for task, values in mean_table(column=column, runs=parts, samples=samples, upper=upper).items():
            scores[row, places[task]] = values
    return scores, list(metrics.values())


def repeated_in_runs(
    *, column: Column, runs: Sequence[Sequence[TaskScore]], is_deterministic: bool = False
) -> RepeatedScores:
    """The values of a column in whole runs, of which a row shows the mean. A planner whose runs score differently is
    not deterministic, whatever the further runs of each show."""
    values = [counted(column=column, results=run) for run in runs]
    by_task: dict[str, list[float]] = {}
    for run, own in zip(runs, values, strict=True):
        for result, value in zip(run, own, strict=True):
            if value is not None:
                by_task.setdefault(result.task, []).append(value)
    known = {task: tuple(own) for task, own in by_task.items() if len(own) > 1 and len(own) == len(runs)}
    are_equal = is_deterministic and not any(map(differ, known.values()))
    return RepeatedScores(known, is_deterministic=are_equal, shown=len(runs), bounds=column.bounds)


def _interval_of_runs(
    *, column: Column, runs: Sequence[Sequence[TaskScore]], samples: int, is_deterministic: bool
) -> Interval | None:
    by_task = [{result.task: result for result in run} for run in runs]
    means = mean_table(column=column, runs=by_task, samples=samples)
    if not means:
        return None
    table, upper = np.stack(list(means.values())), None
    if any(has_undecided(column=column, results=run) for run in runs):
        highest = mean_table(column=column, runs=by_task, samples=samples, upper=True)
        upper = np.stack(list(highest.values()))
    repeated = repeated_in_runs(column=column, runs=runs, is_deterministic=is_deterministic)
    strata = [by_task[0][task].metric for task in means]
    return interval_of_table(column=column, table=table, strata=strata, upper=upper, repeated=repeated)


def interval_of_table(
    *,
    column: Column,
    table: Matrix,
    strata: Sequence[str],
    repeated: RepeatedScores,
    upper: Matrix | None = None,
) -> Interval:
    """Mean and interval of the values of tasks, which may be means over runs.

    Args:
        column: the column.
        table: (tasks, samples), one sample for judged plans, without NaN; undecided tasks count 0.
        strata: the metric of each task.
        repeated: what is known about the runs.
        upper: the same with undecided tasks counted as the better value; None if every task is decided.
    """
    if column.interval is IntervalMethod.FIXED_TASKS:
        return with_runs_of(fixed_tasks(table, bounds=column.bounds), scores=table, repeated=repeated).interval
    if column.interval is IntervalMethod.SAMPLED_TASKS:
        return sampled_tasks(table, strata=strata, bounds=column.bounds).interval
    lower = mean_of_tasks(table[:, 0].tolist(), bounds=column.bounds)
    if upper is None:
        return lower
    return replace(lower, high=mean_of_tasks(upper[:, 0].tolist(), bounds=column.bounds).high)
