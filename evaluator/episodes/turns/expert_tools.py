"""Single expert calls for suites in turns, through the engine that executes whole plans.

A call shares its store key with plan steps of the same expert and inputs, and therefore their results.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step
from evaluator.core.provenance import provenance
from evaluator.core.records import ArtefactReference, StepRun
from evaluator.core.tools.types import Catalogue
from evaluator.core.transcripts import ActionProblem
from evaluator.core.values import Value
from evaluator.episodes.base import Setting
from evaluator.episodes.executed import named_profile
from evaluator.episodes.turns.environment import Refused, ToolFault
from evaluator.execution.engine.jobs import FailureKind, Job, JobResult
from evaluator.execution.engine.pool import ExpertPool, Experts
from evaluator.execution.engine.progress import Listener
from evaluator.execution.engine.run import Engine
from evaluator.execution.engine.store import Store
from evaluator.execution.experts.devices import device_facts
from evaluator.execution.experts.profile import Profile

_PROBLEMS = {FailureKind.INPUT: ActionProblem.TOOL_ERROR, FailureKind.LIMIT: ActionProblem.TOO_MUCH}
"""Failures caused by the action."""
_STEP = "call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertCall:
    """One call of a tool."""

    tool: str
    inputs: Mapping[str, Value | ArtefactReference]
    """All inputs of the tool by name; the caller has checked their types."""
    sample: int = 0
    """Index of the data point, which seeds experts that sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The results of a call."""

    outputs: Mapping[str, Value]
    """The tool's outputs by name, in the order of its signature. Shared: do not modify."""
    step: StepRun
    """The call for the record, with references to its inputs and outputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The failure of a call."""

    kind: FailureKind
    message: str
    """A sentence."""

    def outcome(self) -> Refused | ToolFault:
        """The outcome for an environment: mismatched or oversized inputs are faults of the action."""
        problem = _PROBLEMS.get(self.kind)
        return ToolFault(self.message) if problem is None else Refused(problem, self.message)


class ExpertTools:
    """The tools of a catalogue with an expert in a profile. Experts stay loaded between calls.

    Construction opens no store and loads no expert. Not thread-safe.
    """

    def __init__(
        self,
        *,
        profile: Profile,
        catalogue: Catalogue,
        store: Callable[[], Store],
        device: str = "cpu",
        memory_budget: int | None = None,
        salt: str = "",
        listener: Listener | None = None,
        experts: Experts | None = None,
    ) -> None:
        """Args:
        profile: the experts of the tools.
        catalogue: the tools' signatures.
        store: opens the store of artefacts and executed calls before the first call.
        device: torch device of the experts.
        memory_budget: total bytes of loaded experts; None: see `ExpertPool`.
        salt: of the suite; sampling experts share results between suites of equal salt.
        listener: receives progress after every batch.
        experts: the source of experts; by default the profile.
        """
        self.profile = profile
        self.catalogue = catalogue
        self.offered = frozenset(catalogue.tools) & frozenset(profile.experts)
        """Names of the callable tools."""
        self._open_store, self._device, self._budget = store, device, memory_budget
        self._salt, self._listener, self._experts = salt, listener, experts

    @classmethod
    def of_setting(cls, setting: Setting, *, catalogue: Catalogue, salt: str = "") -> Self:
        """The tools in a setting; calls need a store in it. Raises `SettingError` if the profile cannot be read."""
        return cls(
            profile=named_profile(setting.profile), catalogue=catalogue,
            store=setting.open_store or _no_store, device=setting.device, memory_budget=setting.memory_budget,
            salt=salt, listener=setting.listener,
        )  # fmt: skip

    @cached_property
    def engine(self) -> Engine:
        pool = self._experts or ExpertPool(profile=self.profile, device=self._device, budget=self._budget)
        return Engine(pool=pool, store=self._open_store(), salt=self._salt, listener=self._listener)

    def run(self, calls: Sequence[ExpertCall]) -> list[Ran | Failed]:
        """Run independent calls, equal ones once, in batches per expert.

        Returns:
            The outcome of each call, in order. All failures are outcomes, including those of the store.

        Raises:
            LookupError: a tool is not in `offered`.
        """
        for call in calls:
            if call.tool not in self.offered:
                raise LookupError(f"profile {self.profile.name} has no expert for {call.tool}")
        if not calls:
            return []
        try:
            jobs = [self._job(number, call) for number, call in enumerate(calls)]
            results = {result.job.task: result for result in self.engine.run(jobs)}
            return [self._outcome(results[str(number)]) for number in range(len(calls))]
        except Exception as error:  # noqa: BLE001 - stores may raise anything; not a planner fault
            message = f"The calls could not be run: {type(error).__name__}: {error}."
            return [Failed(kind=FailureKind.EXPERT, message=message) for _ in calls]

    def facts(self) -> dict[str, JsonValue]:
        """Profile, executed calls and provenance; complete after the last call."""
        calls: Mapping[str, int] = {}
        measured = provenance(device=self._device)
        if "engine" in self.__dict__:
            calls = self.engine.calls
            measured |= device_facts(self._device, of_class=self.engine.pool.device_class)
        return {
            "profile": self.profile.facts(),
            "expert_calls": dict(sorted(calls.items())),
            "provenance": measured,
        }

    def _job(self, number: int, call: ExpertCall) -> Job:
        outputs = {name: f"{_STEP}.{name}" for name in self.catalogue[call.tool].outputs}
        step = Step(id=_STEP, tool=call.tool, inputs={name: f"${name}" for name in call.inputs}, outputs=outputs)
        resources = {
            name: value if isinstance(value, ArtefactReference) else self.engine.keep(value)
            for name, value in call.inputs.items()
        }
        plan = Plan(steps=(step,), answers=tuple(outputs.values()))
        return Job(task=str(number), sample=call.sample, plan=plan, resources=resources)

    def _outcome(self, result: JobResult) -> Ran | Failed:
        if result.failure is not None:
            return Failed(kind=result.failure.kind, message=f"{result.failure.message}.")
        (step,) = result.steps
        names = self.catalogue[step.tool].outputs
        return Ran(outputs={name: self.engine.value(step.outputs[name]) for name in names}, step=step)


def _no_store() -> Store:
    raise OSError("experts need a store for what they make, and this setting has none")
