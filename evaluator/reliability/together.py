"""Executing the plans of several runs together.

Experts compute whole batches, however few of their places are taken (`evaluator.execution.engine.batches`). Runs that
execute a few steps each would pay for a batch per tool and run; together they share it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest
from evaluator.episodes.base import Evaluator
from evaluator.execution.engine.jobs import Job

Form = Callable[[Evaluator], Evaluator]
"""From an evaluator to the one that a run uses: itself, or one that perturbs its requests."""


@runtime_checkable
class CollectingEvaluator(Evaluator, Protocol):
    """An evaluator that executes plans, and can put that off."""

    def collecting(self, jobs: list[Job]) -> Evaluator:
        """The same, whose runs add to these jobs instead of executing them."""
        ...

    def execute(self, jobs: Sequence[Job]) -> None:
        """Execute jobs, so that runs that need the same find them in the store."""
        ...


def executed_together(
    evaluator: Evaluator, *, runs: Sequence[tuple[Form, Planner]], tasks: Sequence[str]
) -> list[Planner]:
    """Ask the planners of all runs, execute their plans together, and return planners that give the same replies again.

    Args:
        evaluator: of all runs. If it executes no plans, nothing happens.
        runs: the form of the evaluator and the planner of each.
        tasks: keys.
    """
    if not isinstance(evaluator, CollectingEvaluator):
        return [planner for _, planner in runs]
    jobs: list[Job] = []
    collecting = evaluator.collecting(jobs)
    asked = [_remembering(planner) for _, planner in runs]
    for (form, _), planner in zip(runs, asked, strict=True):
        for _ in form(collecting).run(planner=planner, tasks=tasks):
            pass
    evaluator.execute(jobs)
    return [Replayed(planner.name, planner.replies) for planner in asked]


class Replayed:
    """Gives known replies."""

    def __init__(self, name: str, replies: dict[str, PlannerReply | PlannerError]) -> None:
        """Args:
        name: of the planner that gave them.
        replies: by id of the task.
        """
        self.name = name
        self._replies = replies

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """See `Planner`."""
        known = self._replies[request.task.id]
        if isinstance(known, PlannerError):
            raise known
        return known


class _Remembering:
    """Keeps what a planner replies, by id of the task."""

    def __init__(self, planner: Planner) -> None:
        self.name = planner.name
        self.replies: dict[str, PlannerReply | PlannerError] = {}
        self._planner = planner

    def plan(self, request: PlannerRequest) -> PlannerReply:
        try:
            reply = self._planner.plan(request)
        except PlannerError as error:
            self.replies[request.task.id] = error
            raise
        self.replies[request.task.id] = reply
        return reply


class _RememberingTogether(_Remembering):
    """The same for planners that are asked for many plans together."""

    def __init__(self, planner: BatchPlanner) -> None:
        super().__init__(planner)
        self._together = planner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        ids: list[str] = []

        def noted() -> Iterator[PlannerRequest]:
            for request in requests:
                ids.append(request.task.id)
                yield request

        for index, end in self._together.plan_all(noted()):
            self.replies[ids[index]] = end
            yield index, end


def _remembering(planner: Planner) -> _Remembering:
    return _RememberingTogether(planner) if isinstance(planner, BatchPlanner) else _Remembering(planner)
