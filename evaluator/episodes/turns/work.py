"""What an episode with typed results has done: the plan that its actions make, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from evaluator.episodes.turns.environment import ExpertRun
from evaluator.episodes.turns.typed_results import TypedTask, TypedValue
from evaluator.plans.model import Plan, Step
from evaluator.records import ArtefactReference, StepRun


@dataclass(slots=True)
class Work:
    """The steps so far. A name may be given to several results in turn; in the plan each has one of its own."""

    made: dict[str, str] = field(default_factory=dict)
    """Names of the results, the latest last, with the text that each is shown as."""
    taken: set[str] = field(default_factory=set)
    """Names of results that an action took."""
    steps: list[Step] = field(default_factory=list)
    runs: list[StepRun] = field(default_factory=list)
    answers: tuple[ArtefactReference, ...] = ()
    _origins: dict[str, str] = field(default_factory=dict)
    """By name, the reference of the plan."""
    _answered: tuple[str, ...] = ()
    """References of the answers."""

    @classmethod
    def begun(cls, typed: TypedTask) -> Self:
        """Nothing is done yet."""
        return cls(_origins={key: key for key in typed.held()})

    def add(self, run: ExpertRun, *, outputs: Sequence[str], shown: Sequence[str]) -> None:
        """An action worked.

        Args:
            run: how its expert was called.
            outputs: what the action calls its results.
            shown: the results as texts.
        """
        number = len(self.steps) + 1
        self.taken |= {value for value in run.inputs.values() if value in self.made}
        references = {name: f"s{number}.{name}" for name in run.outputs}
        inputs = {name: self._origins.get(value, value) for name, value in run.inputs.items()}
        self.steps.append(Step(id=f"s{number}", tool=run.tool, inputs=inputs, outputs=references))
        self.runs.append(run.step.model_copy(update={"step": f"s{number}"}))
        for name, reference, text in zip(outputs, references.values(), shown, strict=True):
            self.forget(name)
            self.made[name] = text
            self._origins[name] = reference

    def forget(self, name: str) -> None:
        """There is no result of this name any more."""
        self.made.pop(name, None)
        self.taken.discard(name)
        self._origins.pop(name, None)

    def answer(self, names: Sequence[str], *, values: Mapping[str, str]) -> None:
        """These results are the answers."""
        self.answers = tuple(TypedValue.read(values[name]).artefact for name in names)
        self._answered = tuple(self._origins[name] for name in names)

    def shown_as(self, name: str) -> str:
        """A result as a text; an input of the request by its name."""
        return self.made.get(name, name)

    def plan(self, *, subgoals: Sequence[str]) -> Plan:
        """What was done, as a plan."""
        return Plan(steps=tuple(self.steps), answers=self._answered, subgoals=tuple(subgoals) or None)
