"""The cost of a reliability profile as a multiple of one evaluation, the planner's own calls aside."""

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

WANTED = 2.5
"""Evaluations that a profile may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was spent."""

    cpu: float
    """Seconds of this process, all threads together, without the planner's."""
    planner_cpu: float
    """Seconds of the planner."""
    calls: int
    """Of experts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityReport:
    """What was measured."""

    evaluation: Cost
    """The first run, from an empty store, experts and scorers loaded on the way."""
    profile: Cost
    """All runs of the profile, the first one included."""
    conditions: dict[str, Any]

    @property
    def ratio(self) -> float:
        """The profile over the evaluation, by processor time: what the machine does besides hardly changes it."""
        return self.profile.cpu / self.evaluation.cpu

    @property
    def claims(self) -> dict[str, bool | None]:
        """What is wanted, and whether it holds."""
        return {f"a profile costs at most {WANTED} evaluations": self.ratio <= WANTED}

    def to_json(self) -> dict[str, Any]:
        """The report with its ratio and claims."""
        return {**asdict(self), "ratio": self.ratio, "claims": self.claims}


def measure_reliability(
    *, prepared: Prepared, episode: Episode, planner: Planner, tasks: Sequence[str], runs: int = RUNS
) -> ReliabilityReport:
    """Make the reliability profile of a planner.

    Args:
        prepared: suite, experts and data. Its store is not used: the first run begins with an empty one.
        episode: of the suite.
        planner: any planner of whole plans.
        tasks: keys.
        runs: on the requests as they are.
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
    """Adds up what the planner takes, from several threads."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def add(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


@dataclass(slots=True)
class _Timed:
    """A planner that is asked for one plan after the other, each in a thread of its own."""

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
    """A planner that is asked for many plans, during which nothing else runs."""

    planner: BatchPlanner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        ends = self.planner.plan_all(requests)
        while True:
            started = time.process_time()
            found = next(ends, None)
            self.clock.add(time.process_time() - started)
            if found is None:
                return
            yield found


def _timed(planner: Planner, *, clock: _Clock) -> Planner:
    if isinstance(planner, BatchPlanner):
        return _TimedTogether(planner, clock, planner.name)
    return _Timed(planner, clock, planner.name)
