"""The cost of a reliability profile as a multiple of one evaluation, without the calls of the planner."""

import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest, reseeded
from evaluator.episodes.base import Episode
from evaluator.episodes.executed import Prepared
from evaluator.execution.engine.store import LocalStore
from evaluator.reliability.study import RUNS, Study, reliability

TARGET = 2.5
"""Highest cost of a profile, in evaluations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The resources used by one or more evaluations."""

    cpu: float
    """CPU seconds of all threads of this process, without those of the planner."""
    planner_cpu: float
    """CPU seconds of the planner."""
    calls: int
    """Expert calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityReport:
    """The result of the benchmark."""

    evaluation: Cost
    """The first run, with an empty store; experts and scorers are loaded on the way."""
    profile: Cost
    """All runs of the profile, including the first."""
    conditions: dict[str, Any]

    @property
    def ratio(self) -> float:
        """Profile relative to evaluation, by CPU time, which other load on the machine hardly changes."""
        return self.profile.cpu / self.evaluation.cpu

    @property
    def claims(self) -> dict[str, bool | None]:
        """The target, and whether it is met."""
        return {f"a profile costs at most {TARGET} evaluations": self.ratio <= TARGET}

    def to_json(self) -> dict[str, Any]:
        """The report with its ratio and claims."""
        return {**asdict(self), "ratio": self.ratio, "claims": self.claims}


def measure_reliability(
    *, prepared: Prepared, episode: Episode, planner: Planner, tasks: Sequence[str], runs: int = RUNS
) -> ReliabilityReport:
    """Measure the reliability profile of a planner.

    Args:
        prepared: suite, experts and data. Its store is not used: the first run starts with an empty one.
        episode: of the suite.
        planner: any planner of whole plans.
        tasks: keys.
        runs: on the unchanged requests.
    """
    clock = _Clock()
    timed = _timed(planner, clock=clock)
    with tempfile.TemporaryDirectory() as folder:
        evaluator = replace(prepared, store=LocalStore(Path(folder))).evaluator()
        started = time.process_time()

        def cost() -> Cost:
            spent = time.process_time() - started - clock.seconds
            return Cost(cpu=spent, planner_cpu=clock.seconds, calls=sum(evaluator.engine.calls.values()))

        first = {record.task: record for record in evaluator.run(planner=timed, tasks=tasks)}
        evaluation = cost()
        study = Study(
            evaluator=evaluator, episode=episode, profile=prepared.profile.name, planner=timed, tasks=tasks,
            has_gold=True, runs=runs,
        )  # fmt: skip
        reliability(study, first=first)
        profile = cost()
    conditions = {
        "suite": prepared.suite.slug, "profile": prepared.profile.name, "planner": planner.name, "runs": runs,
        "samples": prepared.count, "tasks": len(tasks),
    }  # fmt: skip
    return ReliabilityReport(evaluation=evaluation, profile=profile, conditions=conditions)


class _Clock:
    """Adds up the time of the planner from several threads."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def add(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


@dataclass(slots=True)
class _Timed:
    """A planner of single plans, each called in a thread of its own."""

    planner: Planner
    clock: _Clock
    name: str

    def plan(self, request: PlannerRequest) -> PlannerReply:
        started = time.thread_time()
        try:
            return self.planner.plan(request)
        finally:
            self.clock.add(time.thread_time() - started)

    def reseeded(self, run: int) -> Planner:
        return _timed(reseeded(self.planner, run=run), clock=self.clock)


@dataclass(slots=True)
class _TimedTogether(_Timed):
    """A planner of batches, during which nothing else runs."""

    planner: BatchPlanner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        ends = self.planner.plan_all(requests)
        while True:
            started = time.process_time()
            end = next(ends, None)
            self.clock.add(time.process_time() - started)
            if end is None:
                return
            yield end


def _timed(planner: Planner, *, clock: _Clock) -> Planner:
    if isinstance(planner, BatchPlanner):
        return _TimedTogether(planner, clock, planner.name)
    return _Timed(planner, clock, planner.name)
