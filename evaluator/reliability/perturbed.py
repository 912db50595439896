"""Planners that are asked in another form and whose plans come back in the suite's names."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest
from evaluator.core.suites.base import Suite
from evaluator.core.turns import BatchTurnPlanner, Formulation, PacedTurnPlanner, TurnPlanner, TurnReply, TurnRequest
from evaluator.reliability.perturbation import Perturbation, Perturbed


@dataclass(slots=True)
class Asking:
    """How the requests of a suite are perturbed."""

    perturbation: Perturbation
    suite: Suite
    """As planners are asked."""
    texts: dict[str, str] = field(default_factory=dict)
    """The requests that were asked, by key of the task."""

    def perturbed(self, request: PlannerRequest) -> Perturbed:
        """The request in another form, or as it is."""
        found = self.perturbation.applied_to(request, suite=self.suite) or Perturbed(request)
        self.texts[self.suite.task(request.task.id).key] = found.request.task.request
        return found

    def turn(self, request: TurnRequest) -> TurnRequest:
        """A turn in another form, or as it is."""
        return cast("TurnRequest", self.perturbed(request).request)


class PerturbedPlanner:
    """Asks a planner for perturbed requests."""

    def __init__(self, planner: Planner, *, asking: Asking) -> None:
        self.name = f"{planner.name}, {asking.perturbation.name}"
        self._planner, self._asking = planner, asking

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Answer one request. See `Planner.plan`."""
        perturbed = self._asking.perturbed(request)
        return _restored(self._planner.plan(perturbed.request), perturbed=perturbed)


class PerturbedBatchPlanner(PerturbedPlanner):
    """The same for planners that are asked for many requests together."""

    def __init__(self, planner: BatchPlanner, *, asking: Asking) -> None:
        super().__init__(planner, asking=asking)
        self._together = planner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """Answer many requests. See `BatchPlanner.plan_all`."""
        asked: list[Perturbed] = []

        def changed() -> Iterator[PlannerRequest]:
            for request in requests:
                asked.append(self._asking.perturbed(request))
                yield asked[-1].request

        for index, end in self._together.plan_all(changed()):
            yield index, end if isinstance(end, PlannerError) else _restored(end, perturbed=asked[index])


def perturbed_planner(planner: Planner, *, asking: Asking) -> PerturbedPlanner:
    """The planner, asked in another form for whole plans."""
    if isinstance(planner, BatchPlanner):
        return PerturbedBatchPlanner(planner, asking=asking)
    return PerturbedPlanner(planner, asking=asking)


class PerturbedTurnPlanner:
    """Asks a planner for perturbed turns. Its actions are in the suite's names, which no change of turns renames."""

    def __init__(self, planner: TurnPlanner, *, asking: Asking) -> None:
        self.name = f"{planner.name}, {asking.perturbation.name}"
        self._acting, self._asking = planner, asking
        if isinstance(planner, PacedTurnPlanner):
            self.episodes_at_once = planner.episodes_at_once

    @property
    def formulation(self) -> Formulation:
        """See `TurnPlanner`."""
        return self._acting.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        """Answer one turn. See `TurnPlanner.turn`."""
        return self._acting.turn(self._asking.turn(request))


class PerturbedBatchTurnPlanner(PerturbedTurnPlanner):
    """The same for planners that are asked for many turns together."""

    def __init__(self, planner: BatchTurnPlanner, *, asking: Asking) -> None:
        super().__init__(planner, asking=asking)
        self._together = planner

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        """Answer many turns. See `BatchTurnPlanner.turn_all`."""
        return self._together.turn_all([self._asking.turn(request) for request in requests])


def perturbed_turn_planner(planner: TurnPlanner, *, asking: Asking) -> PerturbedTurnPlanner:
    """The planner, asked in another form turn by turn."""
    if isinstance(planner, BatchTurnPlanner):
        return PerturbedBatchTurnPlanner(planner, asking=asking)
    return PerturbedTurnPlanner(planner, asking=asking)


def _restored(reply: PlannerReply, *, perturbed: Perturbed) -> PlannerReply:
    names = perturbed.names
    if names is None or reply.unreadable:
        return reply
    plan, *others = (
        names.restored(one, request=perturbed.request) for one in (reply.plan, *reply.alternatives)
    )  # fmt: skip
    return replace(reply, plan=plan, alternatives=tuple(others))
