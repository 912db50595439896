"""The reward of a plan: its score when the engine executes it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evaluator.core import canonical_json
from evaluator.core.planner import PlannerReply, PlannerRequest
from evaluator.core.records import FAULT_SCORE, Outcome, PlannerCall

if TYPE_CHECKING:
    from evaluator.episodes.execution import ExecutionEvaluator

Proposal = tuple[str, object]
"""Key of a task, and a plan for it in any form that `read_plan` accepts."""
_KEPT = 200_000
"""Rewards in memory: some hundred bytes each."""


class Rewards(Protocol):
    """Scores plans."""

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """The reward of each: in [0, 1] if it was executed, a constant for an invalid plan, None where the
        infrastructure failed."""
        ...


@dataclass(slots=True)
class _Fixed:
    """Answers each task with a given plan."""

    plans: dict[str, object]
    name: str = "proposals"

    def plan(self, request: PlannerRequest) -> PlannerReply:
        return PlannerReply(plan=self.plans[request.task.id], call=PlannerCall(seconds=0.0))


class ExecutedRewards:
    """Executes plans with real experts. Equal plans for a task are executed once; equal steps are in the store."""

    def __init__(self, evaluator: "ExecutionEvaluator", *, fault: float = FAULT_SCORE) -> None:
        """Args:
        evaluator: executes and scores.
        fault: reward of a plan that cannot be read or is invalid.
        """
        self._evaluator = evaluator
        self._fault = fault
        self._known: dict[tuple[str, str], float] = {}
        self.executed = 0
        """Plans that were not known before."""

    def of(self, proposals: Sequence[Proposal]) -> list[float | None]:
        """See `Rewards`.

        Raises:
            LookupError: a key names no task of the suite.
        """
        keys = [(task, canonical_json.digest(plan)) for task, plan in proposals]
        new = {key: plan for key, (_, plan) in zip(keys, proposals, strict=True) if key not in self._known}
        for batch in _one_per_task(new):
            self._execute(batch)
        found = [self._known.get(key) for key in keys]
        if len(self._known) > _KEPT:
            self._known.clear()
        return found

    def _execute(self, batch: dict[str, tuple[str, object]]) -> None:
        planner = _Fixed({task: plan for task, (_, plan) in batch.items()})
        for record in self._evaluator.run(planner=planner, tasks=list(batch)):
            self.executed += 1
            key = (record.task, batch[record.task][0])
            if record.outcome is Outcome.SCORED and record.score is not None:
                self._known[key] = record.score
            elif record.outcome is Outcome.PLANNER_FAULT:
                self._known[key] = self._fault


def _one_per_task(plans: dict[tuple[str, str], object]) -> Iterator[dict[str, tuple[str, object]]]:
    """Batches in which each task has one plan: an evaluation asks a planner once about a task."""
    waiting = list(plans.items())
    while waiting:
        batch: dict[str, tuple[str, object]] = {}
        left = []
        for (task, digest), plan in waiting:
            if task in batch:
                left.append(((task, digest), plan))
            else:
                batch[task] = (digest, plan)
        yield batch
        waiting = left
