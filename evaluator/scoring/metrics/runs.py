"""The mean over several runs of one planner, and its interval. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.metrics.aggregate import TaskScore, has_undecided, table_of
from evaluator.scoring.metrics.crossed import Matrix, fixed_tasks, sampled_tasks
from evaluator.scoring.metrics.statistics import Interval, cluster_bootstrap


def metrics_of_runs(
    *, columns: Iterable[Column], runs: Sequence[Sequence[TaskScore]], samples: int
) -> dict[str, JsonValue]:
    """Means with 95 % intervals over several runs, as `aggregate.summarise` gives those of one.

    What a task counts on a sample is averaged over the runs first; mean and interval are those of the averages. They
    say how the planner does on average over tasks and scenes, with the randomness of so many runs, whose spread the
    row tells beside them. Shares of judged plans are graded values then, with a bootstrap over tasks.

    Args:
        columns: of the suite.
        runs: the results of each run; tasks that do not count in every run are left out.
        samples: of each executed task.
    """
    found: dict[str, JsonValue] = {}
    for column in columns:
        made = _interval(column=column, runs=runs, samples=samples)
        if made is not None:
            found[column.key] = {"mean": made.mean, "low": made.low, "high": made.high, "tasks": made.count}
    return found


def mean_table(
    *, column: Column, runs: Sequence[Mapping[str, TaskScore]], samples: int, upper: bool = False
) -> dict[str, Matrix]:
    """What each task counts on each sample, averaged over the runs, by task; only tasks that count in all of them.

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


def _interval(*, column: Column, runs: Sequence[Sequence[TaskScore]], samples: int) -> Interval | None:
    by_task = [{result.task: result for result in run} for run in runs]
    means = mean_table(column=column, runs=by_task, samples=samples)
    if not means:
        return None
    table = np.stack(list(means.values()))
    if column.interval is IntervalMethod.FIXED_TASKS:
        return fixed_tasks(table, bounds=column.bounds).interval
    if column.interval is IntervalMethod.SAMPLED_TASKS:
        strata = [by_task[0][task].metric for task in means]
        return sampled_tasks(table, strata=strata, bounds=column.bounds).interval
    found = cluster_bootstrap(table[:, 0].tolist(), bounds=column.bounds)
    if not any(has_undecided(column=column, results=run) for run in runs):
        return found
    highest = mean_table(column=column, runs=by_task, samples=samples, upper=True)
    return replace(found, high=cluster_bootstrap([float(row[0]) for row in highest.values()]).high)
