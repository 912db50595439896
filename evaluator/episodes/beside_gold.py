"""Scores relative to the gold plan on the same samples, so that weak experts do not count against a planner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum

from evaluator.core.plans.model import Plan
from evaluator.episodes.counterparts import COUNTERPART
from evaluator.execution.engine.jobs import Job, JobResult

RELATIVE = "relative"
"""Name of the indicator: the score divided by the gold plan's on the same sample, at most 1."""
_GOLD = " (gold)"
"""Suffix of the jobs of gold plans; no task key ends with it."""


@dataclass(slots=True)
class Pending:
    """The results so far of a task's plan and of the gold plan it is compared with."""

    gold: Plan | None
    """None if there is no comparison, or the planner's plan equals the gold plan."""
    is_gold: bool
    """Whether the planner's plan equals the gold plan."""
    has_counterparts: bool = False
    """Whether the planner's plan is executed on counterparts of the samples too."""
    own_by_sample: dict[int, JobResult] = field(default_factory=dict)
    gold_by_sample: dict[int, JobResult] = field(default_factory=dict)
    counterpart_by_sample: dict[int, JobResult] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, *, gold: Plan | None) -> "Pending":
        """Start without results; `gold` is None if there is no comparison."""
        return cls(gold=None if plan == gold else gold, is_gold=gold is not None and plan == gold)

    def gold_jobs(self, own: Sequence[Job]) -> list[Job]:
        """The jobs of the gold plan on the same samples."""
        if self.gold is None:
            return []
        return [replace(job, task=job.task + _GOLD, plan=self.gold) for job in own]

    def take(self, result: JobResult) -> None:
        results = self.own_by_sample
        if result.job.task.endswith(_GOLD):
            results = self.gold_by_sample
        elif result.job.task.endswith(COUNTERPART):
            results = self.counterpart_by_sample
        results[result.job.sample] = result

    def is_complete(self, count: int) -> bool:
        """Whether all jobs on `count` samples have finished."""
        wanted = [self.own_by_sample]
        wanted += [self.gold_by_sample] if self.gold is not None else []
        wanted += [self.counterpart_by_sample] if self.has_counterparts else []
        return all(len(results) == count for results in wanted)

    def results(self, count: int) -> list[JobResult]:
        """Results of the planner's plan, in sample order."""
        return [self.own_by_sample[index] for index in range(count)]

    def gold_results(self, count: int) -> list[JobResult]:
        """Results of the gold plan; empty if there is no comparison."""
        if self.is_gold:
            return self.results(count)
        return [] if self.gold is None else [self.gold_by_sample[index] for index in range(count)]

    def counterpart_results(self, count: int) -> list[JobResult]:
        """Results of the planner's plan on the counterparts; empty if there are none."""
        return [self.counterpart_by_sample[index] for index in range(count)] if self.has_counterparts else []


def task_of(job: Job) -> str:
    """Key of the task of a job."""
    return job.task.removesuffix(_GOLD).removesuffix(COUNTERPART)


def with_relative(
    indicators: Sequence[Mapping[str, float]], *, own: Sequence[float], gold: Sequence[float]
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Add `RELATIVE` to the indicators of each sample, and return that of the task besides.

    Samples on which the gold plan scores 0 have no such value; nor has a task with only such samples.

    Args:
        indicators: the indicators of each sample so far.
        own: the score of the planner's plan on each sample.
        gold: the score of the gold plan on each sample; empty if there is no comparison.
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
