"""How uncertain a row of a board is, by what its score depends on.

A row estimates what this planner, asked again, scores on other requests of this kind and on other scenes, by this
judge. Each of these has a margin of its own: the distance to the farther end of a 95 % interval, or, for the judge,
what its open verdicts may add. The site publishes them with each row, `planarena verify` computes them again, and pages
and commands show them as sentences.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.judge_errors import judge_errors
from evaluator.scoring.metrics.aggregate import TaskScore, repeated_in_runs, repeated_scores
from evaluator.scoring.metrics.crossed import Matrix, are_enough, fixed_tasks, sampled_tasks
from evaluator.scoring.metrics.runs import RepeatedScores, flip_rate, half_width, pass_hat, run_variance
from evaluator.scoring.metrics.statistics import Interval, mean_of_tasks

DETERMINISTIC = frozenset({"deterministic", "fixed"})
"""Verdicts of rows (`asked`) by which further runs add nothing: the planner is declared to answer alike and did, or its
plans are a file."""
NONE_OPEN = 1e-9
"""Open verdicts below this share are rounding errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """The margins of a mean, in its unit."""

    runs: float | None
    """The same requests again; 0 for a planner that answers alike, None for a single run of one that may not."""
    asked: int
    """Tasks that were asked more than once."""
    times: int
    """Least number of runs of these tasks."""
    requests: float | None
    """Other requests of this kind; None for too few tasks."""
    scenes: float | None
    """Other scenes; None for judged plans, and for too few scenes."""
    judge: float
    """What open verdicts add if they are all in the row's favour."""
    flips: Interval | None
    """The probability that two runs of a task score differently; None unless tasks were asked again."""
    passes: Interval | None
    """The probability that `times` runs of a task all succeed; None unless all scores are 0 or 1."""

    def to_json(self) -> dict[str, JsonValue]:
        """As rows of snapshots have it."""
        return {
            "runs": self.runs,
            "asked": self.asked,
            "times": self.times,
            "requests": self.requests,
            "scenes": self.scenes,
            "judge": self.judge,
            "flips": _ends(self.flips),
            "passes": _ends(self.passes),
        }


def uncertainty_of(
    *, column: Column, table: Matrix, strata: Sequence[str], repeated: RepeatedScores, upper: Matrix | None = None
) -> Uncertainty | None:
    """The margins of a row in a column.

    Args:
        column: by which the board ranks.
        table: (tasks, samples), one sample for judged plans; NaN for tasks that do not count.
        strata: the metric of each task.
        repeated: what is known about the row's runs.
        upper: the table with undecided tasks counted as the better value; None if every task is decided.

    Returns:
        None if no task counts.
    """
    known = np.asarray(~np.isnan(table).any(axis=1))
    if not known.any():
        return None
    scores = np.asarray(table[known], dtype=np.float64)
    names = [name for name, counts in zip(strata, known.tolist(), strict=True) if counts]
    variance = run_variance(repeated, tasks=len(scores))
    runs = None if variance is None else half_width(variance=0.0, df=1.0, runs=variance)
    requests = _over_requests(scores, column=column, strata=names)
    if runs is not None and requests is not None:
        # The spread between requests contains that of the runs, and is known from all tasks.
        runs = min(runs, requests)
    times = min((len(own) for own in repeated.by_task.values()), default=1)
    return Uncertainty(
        runs=runs,
        asked=len(repeated.by_task),
        times=times,
        requests=requests,
        scenes=_margin(fixed_tasks(scores, bounds=column.bounds).interval) if column.interval.over_scenes else None,
        judge=0.0 if upper is None else float(np.mean(np.asarray(upper[known], dtype=np.float64) - scores)),
        flips=flip_rate(repeated),
        passes=pass_hat(repeated, k=times) if times > 1 else None,
    )


def _over_requests(scores: Matrix, *, column: Column, strata: Sequence[str]) -> float | None:
    """The margin over requests, each of which was answered in a run of its own: with the runs."""
    means = scores.mean(axis=1)
    if not column.interval.over_scenes:
        return _margin(mean_of_tasks(means.tolist(), bounds=column.bounds))
    enough = are_enough(tasks=len(means), scenes=scores.shape[1], method=IntervalMethod.SAMPLED_TASKS)
    estimate = sampled_tasks(means[:, None], strata=strata, bounds=column.bounds)
    return _margin(replace(estimate, enough=enough).interval)


def _margin(interval: Interval) -> float | None:
    """The distance of the mean to the farther end: near a bound intervals are not symmetric, and half their width would
    leave a part of them out."""
    return None if interval.ends is None else max(interval.mean - interval.ends[0], interval.ends[1] - interval.mean)


def _ends(interval: Interval | None) -> dict[str, JsonValue] | None:
    return None if interval is None else {"mean": interval.mean, "low": interval.low, "high": interval.high}


def is_deterministic(asked: Mapping[str, Any] | None) -> bool:
    """Whether further runs add nothing, by what a row says of how often its planner was asked (`asked`)."""
    return bool(asked) and (asked or {}).get("verdict") in DETERMINISTIC


def repeated_of_row(*, column: Column, runs: Sequence[Sequence[TaskScore]], is_deterministic: bool) -> RepeatedScores:
    """What is known about the runs of a row.

    Args:
        column: by which the board ranks.
        runs: the results of each run that the row shows, with those of tasks that were asked again.
        is_deterministic: whether the row says so.
    """
    if len(runs) > 1:
        return repeated_in_runs(column=column, runs=runs, is_deterministic=is_deterministic)
    return repeated_scores(column=column, results=runs[0], is_deterministic=is_deterministic)


def in_sentences(value: Mapping[str, Any], *, is_fixed: bool = False, by_network: float = 0.0) -> list[str]:
    """The answers to three questions: the same planner again, other requests, another verdict.

    Args:
        value: as `Uncertainty.to_json` writes it.
        is_fixed: whether the board ranks by exactly these requests.
        by_network: share of the tasks that the present judge's network decided, whose errors are measured.
    """
    return [*_sentences(value, is_fixed=is_fixed), *_errors_of_network(by_network)]


def _errors_of_network(share: float) -> Iterator[str]:
    if share > NONE_OPEN:
        errors = judge_errors()
        yield (
            f"The judge's network decided {100 * share:.1f} % of the tasks. Of hidden texts as planners write them, "
            f"rules and network accept {errors.accepted} of the wrong ones and refuse {errors.refused} of the right "
            "ones; no margin contains this."
        )


def _sentences(value: Mapping[str, Any], *, is_fixed: bool) -> Iterator[str]:
    times = "twice" if value["times"] == 2 else f"{value['times']} times"
    asked = f"{value['asked']} task{'' if value['asked'] == 1 else 's'} asked at least {times}"
    if value["runs"] is None:
        unknown = ", so that its rank on this list has no range" if is_fixed else ""
        yield f"The same planner again: unknown, since it was asked once and may answer otherwise{unknown}."
    elif value["runs"] == 0:
        yield f"The same planner again: it answers alike{f' ({asked})' if value['asked'] else ''}."
    else:
        yield f"The same planner again: ± {_points(value['runs'])} ({asked})."
    if value["flips"] is not None and value["flips"]["mean"] > 0:
        passes = value["passes"]
        every = "both" if value["times"] == 2 else f"all {value['times']}"
        all_succeed = f"; {every} runs of a task succeed in {_share(passes)}" if passes else ""
        yield f"Two runs of a task score differently in {_share(value['flips'])}{all_succeed}."
    if value["requests"] is not None:
        list_only = ", although ranks are about this list alone" if is_fixed else ""
        yield f"Other requests of this kind: ± {_points(value['requests'])}{list_only}."
    if value["scenes"] is not None:
        yield f"Other scenes: ± {_points(value['scenes'])}."
    if value["judge"] > NONE_OPEN:
        yield f"The judge: up to + {_points(value['judge'])}, which its open verdicts leave."
    else:
        yield "The judge: no verdict is open."


def _points(value: float) -> str:
    """A margin with two digits that count, and at most four decimal places."""
    return f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"


def _share(value: Mapping[str, float]) -> str:
    mean, low, high = (100 * value[name] for name in ("mean", "low", "high"))
    return f"{mean:.0f} % ({low:.0f} to {high:.0f} %)"
