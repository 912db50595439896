"""Results beside those of the gold plan on the same samples, so that a weak expert does not count against a planner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from evaluator.core.plans.model import Plan
from evaluator.execution.engine.jobs import Job, JobResult

RELATIVE = "relative"
"""Name of the indicator: the score as a share of the gold plan's on the same sample, at most 1."""
_GOLD = " (gold)"
"""Marks the jobs of gold plans; no key of a task ends with it."""


@dataclass(slots=True)
class Pending:
    """A task whose plan is executed: what is over of it, and of the gold plan that it is compared with."""

    gold: Plan | None
    """None where nothing is compared, or the planner's plan is the gold plan."""
    is_gold: bool
    """Whether the planner's plan is the gold plan."""
    own_results: dict[int, JobResult] = field(default_factory=dict)
    its_results: dict[int, JobResult] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, *, gold: Plan | None) -> "Pending":
        """Nothing is over yet.

        Args:
            plan: the planner's.
            gold: what it is compared with; None for nothing.
        """
        return cls(gold=None if plan == gold else gold, is_gold=gold is not None and plan == gold)

    def gold_jobs(self, own: Sequence[Job]) -> list[Job]:
        """The gold plan on the same samples."""
        if self.gold is None:
            return []
        return [replace(job, task=job.task + _GOLD, plan=self.gold) for job in own]

    def take(self, result: JobResult) -> None:
        """A job is over."""
        results = self.its_results if result.job.task.endswith(_GOLD) else self.own_results
        results[result.job.sample] = result

    def is_complete(self, count: int) -> bool:
        """Whether all jobs on `count` samples are over."""
        return len(self.own_results) == count and (self.gold is None or len(self.its_results) == count)

    def results(self, count: int) -> list[JobResult]:
        """Of the planner's plan, in the order of the samples."""
        return [self.own_results[index] for index in range(count)]

    def gold_results(self, count: int) -> list[JobResult]:
        """Of the gold plan; empty where nothing is compared."""
        if self.is_gold:
            return self.results(count)
        return [] if self.gold is None else [self.its_results[index] for index in range(count)]


def task_of(job: Job) -> str:
    """Key of the task that a job is for."""
    return job.task.removesuffix(_GOLD)


def with_relative(
    indicators: Sequence[Mapping[str, float]], *, own: Sequence[float], gold: Sequence[float]
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """The indicators of each sample with `RELATIVE`, and that of the whole task.

    A sample on which the gold plan reaches nothing says nothing about a planner: it has no such value, and a task
    without any other sample neither.

    Args:
        indicators: of each sample so far.
        own: score of the planner's plan on each sample.
        gold: of the gold plan; empty where nothing is compared.
    """
    by_sample = [dict(own_indicators) for own_indicators in indicators]
    if not gold:
        return by_sample, {}
    shares = [min(1.0, mine / best) if best > 0 else None for mine, best in zip(own, gold, strict=True)]
    for sample, share in zip(by_sample, shares, strict=True):
        if share is not None:
            sample[RELATIVE] = share
    measured = [share for share in shares if share is not None]
    return by_sample, {RELATIVE: fsum(measured) / len(measured)} if measured else {}
