"""A perturbed evaluation: the tasks of a suite in one other form, as an evaluator like any other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import Planner, request_for
from evaluator.core.records import Reason, ResultRecord
from evaluator.core.suites.base import Suite, Task
from evaluator.episodes.base import Episode, Evaluator
from evaluator.episodes.parts import not_run_records
from evaluator.episodes.turns.faults import Fault
from evaluator.episodes.turns.one_shot import in_turns
from evaluator.reliability.perturbation import Perturbation
from evaluator.reliability.perturbations import perturbation_named
from evaluator.reliability.perturbed import Asking, perturbed_planner, perturbed_turn_planner

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
        """See `Evaluator.run`."""
        wanted = self.suite.asked(tasks)
        left_out = not_perturbed(
            perturbation=self._perturbation.name, suite=self.suite, offered=self._offered, tasks=wanted
        )
        yield from not_run_records(suite=self.suite, tasks=wanted, reasons=left_out)
        asked = [task.key for task in wanted if task.key not in left_out]
        asking = Asking(self._perturbation, self.suite)
        for record in self._evaluator.run(planner=self._asked(planner, asking=asking), tasks=asked, run=run):
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
