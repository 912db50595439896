"""A planner that is asked in another form and whose plans come back in the suite's names."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from evaluator.planners.protocol import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest
from evaluator.reliability.perturbations import Perturbation, Perturbed


class PerturbedPlanner:
    """Asks a planner for perturbed requests. `unchanged` has the tasks whose request cannot be perturbed."""

    def __init__(self, planner: Planner, *, perturbation: Perturbation) -> None:
        self.name = f"{planner.name}, {perturbation.name}"
        self.unchanged: set[str] = set()
        self._planner = planner
        self._perturbation = perturbation

    def plan(self, request: PlannerRequest) -> PlannerReply:
        """Answer one request. See `Planner.plan`."""
        perturbed = self._perturbed(request)
        return _restored(self._planner.plan(perturbed.request), perturbed=perturbed)

    def _perturbed(self, request: PlannerRequest) -> Perturbed:
        found = self._perturbation.of(request)
        if found is None:
            self.unchanged.add(request.task.id)
        return found or Perturbed(request)


class PerturbedBatchPlanner(PerturbedPlanner):
    """The same for planners that are asked for many requests together."""

    def __init__(self, planner: BatchPlanner, *, perturbation: Perturbation) -> None:
        super().__init__(planner, perturbation=perturbation)
        self._together = planner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        """Answer many requests. See `BatchPlanner.plan_all`."""
        asked: list[Perturbed] = []

        def changed() -> Iterator[PlannerRequest]:
            for request in requests:
                asked.append(self._perturbed(request))
                yield asked[-1].request

        for index, end in self._together.plan_all(changed()):
            yield index, end if isinstance(end, PlannerError) else _restored(end, perturbed=asked[index])


def perturbed_planner(planner: Planner, *, perturbation: Perturbation) -> PerturbedPlanner:
    """The planner, asked in another form."""
    if isinstance(planner, BatchPlanner):
        return PerturbedBatchPlanner(planner, perturbation=perturbation)
    return PerturbedPlanner(planner, perturbation=perturbation)


def _restored(reply: PlannerReply, *, perturbed: Perturbed) -> PlannerReply:
    names = perturbed.names
    if names is None or reply.unreadable:
        return reply
    plan, *others = (
        names.restored(one, request=perturbed.request) for one in (reply.plan, *reply.alternatives)
    )  # fmt: skip
    return replace(reply, plan=plan, alternatives=tuple(others))
