"""A perturbed evaluation: the tasks of a suite in one other form, as an evaluator like any other.

Planners are asked in the other form; their plans come back in the suite's names.
"""

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
    """How the requests of a suite are perturbed."""

    perturbation: Perturbation
    suite: Suite
    """As planners are asked."""
    texts: dict[str, str] = field(default_factory=dict)
    """The requests that were asked, by key of the task."""

    def perturbed(self, request: PlannerRequest) -> Perturbed:
        """The request in another form, or as it is."""
        perturbed = self.perturbation.applied_to(request, suite=self.suite) or Perturbed(request)
        self.texts[self.suite.task(request.task.id).key] = perturbed.request.task.request
        return perturbed

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
        perturbed: list[Perturbed] = []

        def changed() -> Iterator[PlannerRequest]:
            for request in requests:
                perturbed.append(self._asking.perturbed(request))
                yield perturbed[-1].request

        for index, end in self._together.plan_all(changed()):
            yield index, end if isinstance(end, PlannerError) else _restored(end, perturbed=perturbed[index])


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
        names.restored(plan_received, request=perturbed.request) for plan_received in (reply.plan, *reply.alternatives)
    )  # fmt: skip
    return replace(reply, plan=plan, alternatives=tuple(others))


WHY_NOT_PERTURBED = "This perturbation does not apply to this request."


def not_perturbed(
    *, perturbation: str, suite: Suite, offered: frozenset[str], tasks: Iterable[Task] | None = None
) -> Mapping[str, tuple[Reason, str]]:
    """The tasks that a perturbed evaluation leaves out, with reason and sentence, by key; the same for every planner.

    Pure: it asks nobody and runs nothing.

    Args:
        perturbation: a name of `PERTURBATIONS`.
        suite: as planners are asked.
        offered: names of the tools that plans may call, as `Episode.offered` says.
        tasks: only these of its tasks; None: all.

    Raises:
        LookupError: there is no such perturbation.
    """
    chosen = perturbation_named(perturbation)
    variant = chosen.variant(suite, offered=offered)
    return {
        task.key: (Reason.NOT_PERTURBED, WHY_NOT_PERTURBED)
        for task in (suite.tasks if tasks is None else tasks)
        if not _applies(chosen, suite=suite, variant=variant, task=task, offered=offered)
    }


def _applies(perturbation: Perturbation, *, suite: Suite, variant: Suite, task: Task, offered: frozenset[str]) -> bool:
    if perturbation.fault is not None:
        return True
    if variant is not suite:
        return variant.task(task.key) is not suite.task(task.key)
    request = request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered))
    return perturbation.applied_to(request, suite=suite) is not None


@runtime_checkable
class VariantEvaluator(Evaluator, Protocol):
    """An evaluator that can evaluate other forms of its tasks."""

    def on(self, suite: Suite) -> Evaluator:
        """The same on another form of the suite's tasks."""
        ...


@runtime_checkable
class FaultyEvaluator(Evaluator, Protocol):
    """An evaluator in turns, into whose episodes faults can be injected."""

    def with_fault(self, fault: Fault) -> Evaluator:
        """The same, with a fault in every episode."""
        ...


class PerturbedEvaluator:
    """Evaluates planners on the perturbed requests of another evaluator's suite, and shares what that one has loaded.

    Tasks to which the perturbation does not apply are not asked for: their records are `not_run`, with the reason
    `not_perturbed`. All others are scored as usual, and their records have the request as it was asked.
    """

    def __init__(self, evaluator: Evaluator, *, perturbation: str, episode: Episode, profile: str) -> None:
        """Args:
        evaluator: of the suite as it is.
        perturbation: a name of `PERTURBATIONS`.
        episode: of the suite.
        profile: of the experts, where they run.

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
        for record in self._evaluator.run(planner=self._asked(planner, asking=asking), tasks=keys, run=run):
            text = asking.texts.get(record.task)
            yield record if text is None else record.model_copy(update={"request": text})

    def facts(self) -> dict[str, JsonValue]:
        """See `Evaluator`; with the perturbation and its version."""
        changed: dict[str, JsonValue] = {"name": self._perturbation.name, "version": self._perturbation.version}
        return {**self._evaluator.facts(), "perturbation": changed}

    def _disturbed(self, evaluator: Evaluator) -> Evaluator:
        """The evaluator, with other tasks or faults where these are what is perturbed."""
        about = self._perturbation
        if about.is_of(self.suite, in_turns=self._in_turns):
            variant = about.variant(self.suite, offered=self._offered)
            if about.fault is None and variant is self.suite:
                return evaluator
            if about.fault is not None and isinstance(evaluator, FaultyEvaluator):
                return evaluator.with_fault(about.fault)
            if about.fault is None and isinstance(evaluator, VariantEvaluator):
                return evaluator.on(variant)
        raise ValueError(f"the perturbation {about.name} does not apply to {self.suite.slug}")

    def _asked(self, planner: Planner, *, asking: Asking) -> Planner:
        if self._in_turns:
            # Evaluators in turns take planners of both kinds.
            return cast("Planner", perturbed_turn_planner(in_turns(planner), asking=asking))
        return perturbed_planner(planner, asking=asking)
