"""Perturbed evaluations: planners get perturbed requests, and their plans are converted back to the suite's names."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast, runtime_checkable

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import BatchPlanner, Planner, PlannerError, PlannerReply, PlannerRequest, request_for
from evaluator.core.records import Reason, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.core.turns import BatchTurnPlanner, Formulation, PacedTurnPlanner, TurnPlanner, TurnReply, TurnRequest
from evaluator.episodes.base import Episode, Evaluator
from evaluator.episodes.parts import not_run_records
from evaluator.episodes.turns.faults import Fault
from evaluator.episodes.turns.planners import in_turns
from evaluator.reliability.perturbations import Perturbation, Perturbed, perturbation_named


@dataclass(slots=True)
class Asking:
    """Perturbs the requests of a suite, and records their texts."""

    perturbation: Perturbation
    suite: Suite
    texts: dict[str, str] = field(default_factory=dict)
    """The perturbed requests, by key of the task."""

    def perturbed(self, request: PlannerRequest) -> Perturbed:
        """The perturbed request, unchanged if the perturbation does not apply."""
        perturbed = self.perturbation.applied_to(request, suite=self.suite) or Perturbed(request)
        self.texts[self.suite.task(request.task.id).key] = perturbed.request.task.request
        return perturbed

    def turn(self, request: TurnRequest) -> TurnRequest:
        """The perturbed turn, unchanged if the perturbation does not apply."""
        return cast("TurnRequest", self.perturbed(request).request)


class PerturbedPlanner:
    """Passes perturbed requests to a planner."""

    def __init__(self, planner: Planner, *, asking: Asking) -> None:
        self.name = f"{planner.name}, {asking.perturbation.name}"
        self._planner, self._asking = planner, asking

    def plan(self, request: PlannerRequest) -> PlannerReply:
        perturbed = self._asking.perturbed(request)
        return _restored(self._planner.plan(perturbed.request), perturbed=perturbed)


class PerturbedBatchPlanner(PerturbedPlanner):
    """A `PerturbedPlanner` for batch planners."""

    def __init__(self, planner: BatchPlanner, *, asking: Asking) -> None:
        super().__init__(planner, asking=asking)
        self._together = planner

    def plan_all(self, requests: Iterable[PlannerRequest]) -> Iterator[tuple[int, PlannerReply | PlannerError]]:
        perturbed: list[Perturbed] = []

        def changed() -> Iterator[PlannerRequest]:
            for request in requests:
                perturbed.append(self._asking.perturbed(request))
                yield perturbed[-1].request

        for index, end in self._together.plan_all(changed()):
            yield index, end if isinstance(end, PlannerError) else _restored(end, perturbed=perturbed[index])


def perturbed_planner(planner: Planner, *, asking: Asking) -> PerturbedPlanner:
    """Wrap a planner of whole plans."""
    if isinstance(planner, BatchPlanner):
        return PerturbedBatchPlanner(planner, asking=asking)
    return PerturbedPlanner(planner, asking=asking)


class PerturbedTurnPlanner:
    """Passes perturbed turns to a planner. Perturbations of turns do not rename tools, so actions need no
    conversion."""

    def __init__(self, planner: TurnPlanner, *, asking: Asking) -> None:
        self.name = f"{planner.name}, {asking.perturbation.name}"
        self._acting, self._asking = planner, asking
        if isinstance(planner, PacedTurnPlanner):
            self.episodes_at_once = planner.episodes_at_once

    @property
    def formulation(self) -> Formulation:
        return self._acting.formulation

    def turn(self, request: TurnRequest) -> TurnReply:
        return self._acting.turn(self._asking.turn(request))


class PerturbedBatchTurnPlanner(PerturbedTurnPlanner):
    """A `PerturbedTurnPlanner` for batch planners."""

    def __init__(self, planner: BatchTurnPlanner, *, asking: Asking) -> None:
        super().__init__(planner, asking=asking)
        self._together = planner

    def turn_all(self, requests: Iterable[TurnRequest]) -> list[TurnReply | PlannerError]:
        return self._together.turn_all([self._asking.turn(request) for request in requests])


def perturbed_turn_planner(planner: TurnPlanner, *, asking: Asking) -> PerturbedTurnPlanner:
    """Wrap a planner in turns."""
    if isinstance(planner, BatchTurnPlanner):
        return PerturbedBatchTurnPlanner(planner, asking=asking)
    return PerturbedTurnPlanner(planner, asking=asking)


def _restored(reply: PlannerReply, *, perturbed: Perturbed) -> PlannerReply:
    names = perturbed.names
    if names is None or reply.unreadable:
        return reply
    plan, *others = (
        names.restored(plan_received, request=perturbed.request) for plan_received in (reply.plan, *reply.alternatives)
    )  # fmt: skip
    return replace(reply, plan=plan, alternatives=tuple(others))


WHY_NOT_PERTURBED = "This perturbation does not apply to this request."


def not_perturbed(
    *, perturbation: str, suite: Suite, offered: frozenset[str], tasks: Iterable[Task] | None = None
) -> Mapping[str, tuple[Reason, str]]:
    """The tasks to which a perturbation does not apply, with reason and sentence, by key; independent of planners.

    Args:
        perturbation: a name of `PERTURBATIONS`.
        suite: the suite.
        offered: names of the tools that plans may call, from `Episode.offered`.
        tasks: tasks of the suite; None: all.

    Raises:
        LookupError: there is no such perturbation.
    """
    chosen = perturbation_named(perturbation)
    variant = chosen.variant(suite, offered=offered)

    def applies(task: Task) -> bool:
        if chosen.fault is not None:
            return True
        if variant is not suite:
            return variant.task(task.key) is not suite.task(task.key)
        request = request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered))
        return chosen.applied_to(request, suite=suite) is not None

    return {
        task.key: (Reason.NOT_PERTURBED, WHY_NOT_PERTURBED)
        for task in (suite.tasks if tasks is None else tasks)
        if not applies(task)
    }


@runtime_checkable
class VariantEvaluator(Evaluator, Protocol):
    """An evaluator that can evaluate a variant of its suite."""

    def on(self, suite: Suite) -> Evaluator:
        """The evaluator of a variant."""
        ...


@runtime_checkable
class FaultyEvaluator(Evaluator, Protocol):
    """An evaluator in turns that can inject faults."""

    def with_fault(self, fault: Fault) -> Evaluator:
        """The evaluator with a fault in every episode."""
        ...


class PerturbedEvaluator:
    """Evaluates planners on the perturbed requests of another evaluator, whose resources it shares.

    Tasks to which the perturbation does not apply get `not_run` records with the reason `not_perturbed`. All others are
    scored as usual, and their records have the perturbed request.
    """

    def __init__(self, evaluator: Evaluator, *, perturbation: str, episode: Episode, profile: str) -> None:
        """Args:
        evaluator: evaluator of the unperturbed suite.
        perturbation: a name of `PERTURBATIONS`.
        episode: episode of the suite.
        profile: profile of the experts, if any.

        Raises:
            LookupError: there is no such perturbation.
            ValueError: it does not apply to the suite.
        """
        self._perturbation = perturbation_named(perturbation)
        self.suite = evaluator.suite
        self._in_turns = episode.in_turns
        self._offered = episode.offered(suite=self.suite, profile=profile)
        self._evaluator = self._disturbed(evaluator)

    def run(self, *, planner: Planner, tasks: Sequence[str], run: str = "") -> Iterator[ResultRecord]:
        selected = self.suite.asked(tasks)
        left_out = not_perturbed(
            perturbation=self._perturbation.name, suite=self.suite, offered=self._offered, tasks=selected
        )
        yield from not_run_records(suite=self.suite, tasks=selected, reasons=left_out)
        keys = [task.key for task in selected if task.key not in left_out]
        asking = Asking(self._perturbation, self.suite)
        if self._in_turns:
            # Evaluators in turns accept planners of both kinds.
            planner = cast("Planner", perturbed_turn_planner(in_turns(planner), asking=asking))
        else:
            planner = perturbed_planner(planner, asking=asking)
        for record in self._evaluator.run(planner=planner, tasks=keys, run=run):
            text = asking.texts.get(record.task)
            yield record if text is None else record.model_copy(update={"request": text})

    def facts(self) -> dict[str, JsonValue]:
        """See `Evaluator`; adds the perturbation and its version."""
        changed: dict[str, JsonValue] = {"name": self._perturbation.name, "version": self._perturbation.version}
        return {**self._evaluator.facts(), "perturbation": changed}

    def _disturbed(self, evaluator: Evaluator) -> Evaluator:
        """The evaluator with the perturbed tasks or faults, if the perturbation has any."""
        perturbation = self._perturbation
        if perturbation.is_of(self.suite, in_turns=self._in_turns):
            variant = perturbation.variant(self.suite, offered=self._offered)
            if perturbation.fault is None and variant is self.suite:
                return evaluator
            if perturbation.fault is not None and isinstance(evaluator, FaultyEvaluator):
                return evaluator.with_fault(perturbation.fault)
            if perturbation.fault is None and isinstance(evaluator, VariantEvaluator):
                return evaluator.on(variant)
        raise ValueError(f"the perturbation {perturbation.name} does not apply to {self.suite.slug}")
