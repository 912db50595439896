"""What each cause costs: the part of a planner's distance from the gold score that is due to it. Pure.

A task's loss is the difference between its value in the suite's primary metric and the value of the gold plan on the
same samples. It counts for the task's main cause, so that the costs of all causes add up to the distance.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.causes.of_records import EXPLAINED
from evaluator.scoring.causes.sentences import mistake_key, sentence_of
from evaluator.scoring.causes.taxonomy import Cause, Finding
from evaluator.scoring.metrics.aggregate import TaskScore, counted, counted_by_sample
from evaluator.scoring.metrics.crossed import Matrix, fixed_tasks, sampled_tasks
from evaluator.scoring.metrics.statistics import Interval, mean_of_tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTask:
    """A result with what is known about its causes."""

    score: TaskScore
    findings: Sequence[Finding] | None
    """Main cause first; empty at the gold score; None if they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """Tasks with the same mistake."""

    key: str
    """`mistake_key`."""
    sentence: str
    """That of the first task (`sentence_of`)."""
    tasks: tuple[str, ...]
    """Their keys, in the order given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCost:
    """The tasks with one main cause, and what they cost."""

    cause: Cause
    tasks: int
    also: int
    """Further tasks that have it beside their main cause."""
    cost: Interval | None
    """Mean loss over all tasks that count, as losses of tasks with other main causes are 0. None if no task counts, as
    for faults of the site."""
    mistakes: tuple[Mistake, ...]
    """The most frequent first."""

    def to_json(self) -> dict[str, JsonValue]:
        """The cause with its cost and mistakes."""
        return {
            "cause": self.cause.value,
            "tasks": self.tasks,
            "also": self.also,
            "cost": None if self.cost is None else as_json(self.cost),
            "mistakes": [{"key": one.key, "sentence": one.sentence, "tasks": list(one.tasks)} for one in self.mistakes],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "CauseCost":
        """The inverse of `to_json`."""
        cost = value["cost"]
        return cls(
            cause=Cause(value["cause"]),
            tasks=value["tasks"],
            also=value["also"],
            cost=None if cost is None else from_json(cost),
            mistakes=tuple(Mistake(**{**one, "tasks": tuple(one["tasks"])}) for one in value["mistakes"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Why an evaluation is below the gold score."""

    causes: tuple[CauseCost, ...]
    """The costliest first, then those of most tasks, then in the order of the taxonomy."""
    ran: int
    """Tasks that ran."""
    below: int
    """Tasks with a known cause."""
    unknown: int
    """Tasks whose causes are not known."""
    gap: Interval | None
    """Mean loss of all tasks with a cause; None if no task counts."""
    against_gold: bool
    """Whether the gold plan was measured on every task below it; elsewhere losses count from the best value."""

    @property
    def at_gold(self) -> int:
        """Tasks at the gold score."""
        return self.ran - self.below - self.unknown

    def to_json(self) -> dict[str, JsonValue]:
        """Counts and costs as a JSON object."""
        return {
            "ran": self.ran,
            "below": self.below,
            "unknown": self.unknown,
            "gap": None if self.gap is None else as_json(self.gap),
            "against_gold": self.against_gold,
            "causes": [one.to_json() for one in self.causes],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Costs":
        """The inverse of `to_json`."""
        gap = value["gap"]
        return cls(
            causes=tuple(map(CauseCost.from_json, value["causes"])),
            gap=None if gap is None else from_json(gap),
            **{name: value[name] for name in ("ran", "below", "unknown", "against_gold")},
        )


def as_json(interval: Interval) -> dict[str, JsonValue]:
    """An interval in the format of `summarise`."""
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "tasks": interval.count}


def from_json(value: Mapping[str, Any]) -> Interval:
    """The inverse of `as_json`."""
    return Interval(mean=value["mean"], low=value["low"], high=value["high"], count=value["tasks"])


def costs_of(
    tasks: Iterable[ExplainedTask],
    *,
    column: Column,
    samples: int = 1,
    has_experts: bool = False,
    gold: Mapping[str, TaskScore] = MappingProxyType({}),
) -> Costs:
    """What each cause costs in a metric.

    Args:
        tasks: all tasks of an evaluation, in the suite's order.
        column: the suite's primary metric.
        samples: number of samples of an executed task.
        has_experts: whether experts execute the plans, so that gold plans may not reach the best value.
        gold: scored results of the gold plan under the same conditions, by task. Without one, a task's loss counts from
            the best value of the column.
    """
    ran = [task for task in tasks if task.score.outcome in EXPLAINED]
    losses = _Losses([task.score for task in ran], column=column, gold=gold, samples=samples)
    members: dict[Cause, list[int]] = {}
    also = dict.fromkeys(Cause, 0)
    for place, task in enumerate(ran):
        if not task.findings:
            continue
        main = task.findings[0].cause
        members.setdefault(main, []).append(place)
        for cause in {finding.cause for finding in task.findings} - {main}:
            also[cause] += 1
    causes = [
        CauseCost(
            cause=cause,
            tasks=len(members.get(cause, ())),
            also=also[cause],
            cost=losses.mean_of(members.get(cause, ())),
            mistakes=_mistakes([ran[place] for place in members.get(cause, ())]),
        )
        for cause in Cause
        if cause in members or also[cause]
    ]
    causes.sort(key=lambda one: (0.0 if one.cost is None else -one.cost.mean, -one.tasks, -one.also))
    below = [place for places in members.values() for place in places]
    return Costs(
        causes=tuple(causes),
        ran=len(ran),
        below=len(below),
        unknown=sum(task.findings is None for task in ran),
        gap=losses.mean_of(below) if below else None,
        against_gold=not has_experts or all(ran[place].score.task in gold for place in below),
    )


def _mistakes(tasks: Sequence[ExplainedTask]) -> tuple[Mistake, ...]:
    groups: dict[str, tuple[str, list[str]]] = {}
    for task in tasks:
        assert task.findings
        main = task.findings[0]
        groups.setdefault(mistake_key(main), (sentence_of(main), []))[1].append(task.score.task)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1][1]))
    return tuple(Mistake(key=key, sentence=sentence, tasks=tuple(keys)) for key, (sentence, keys) in ordered)


class _Losses:
    """The losses of tasks in one column, by sample if all tasks have every sample."""

    def __init__(
        self, results: Sequence[TaskScore], *, column: Column, gold: Mapping[str, TaskScore], samples: int
    ) -> None:
        best = [gold.get(result.task) or _perfect(result, column=column, samples=samples) for result in results]
        own_values = counted(column=column, results=results)
        best_values = counted(column=column, results=best)
        sign = 1.0 if column.higher_is_better else -1.0
        pairs = list(zip(own_values, best_values, strict=True))
        counting = [place for place, (own, top) in enumerate(pairs) if own is not None and top is not None]
        self._column = column
        self._rows = {place: number for number, place in enumerate(counting)}
        self._strata = [results[place].metric for place in counting]
        self._means = np.array([sign * (pairs[place][1] - pairs[place][0]) for place in counting])  # type: ignore[operator]
        self._table: Matrix | None = None
        if column.interval.over_scenes and counting:
            own_rows = counted_by_sample(column=column, results=results, samples=samples)
            best_rows = counted_by_sample(column=column, results=best, samples=samples)
            rows = [(own_rows[place] or (), best_rows[place] or ()) for place in counting]
            if all(len(own) == len(top) == samples for own, top in rows):
                self._table = sign * np.array([np.subtract(top, own) for own, top in rows])

    def mean_of(self, places: Iterable[int]) -> Interval | None:
        """The mean loss over all counting tasks with the losses of other tasks as 0; None if none of these counts."""
        rows = [self._rows[place] for place in places if place in self._rows]
        if not rows:
            return None
        chosen = np.zeros(len(self._means))
        chosen[rows] = 1.0
        losses = self._means * chosen
        if self._table is not None:
            table = self._table * chosen[:, None]
            if self._column.interval is IntervalMethod.FIXED_TASKS:
                return fixed_tasks(table).interval
            return sampled_tasks(table, strata=self._strata).interval
        if self._column.interval.over_scenes:
            return Interval(mean=float(losses.mean()), low=None, high=None, count=len(losses))
        return mean_of_tasks(losses.tolist())


def _perfect(result: TaskScore, *, column: Column, samples: int) -> TaskScore:
    """The result of a task with the best value of a column."""
    best = column.high if column.higher_is_better else column.low
    value = 1.0 if best is None else best
    return TaskScore(
        task=result.task,
        metric=result.metric,
        outcome=Outcome.SCORED,
        score=value,
        indicators={column.key: value},
        samples=(value,) * samples,
    )
