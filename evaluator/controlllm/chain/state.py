"""The state of a running chain (ControlLLM, section 3.3): values, and the progress of subtasks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from evaluator.controlllm.strategies.binding import Action, Solution, solution_json
from evaluator.controlllm.strategies.planning import Planned
from evaluator.controlllm.strategies.subtasks import TypedSubtask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import ArtefactReference
from evaluator.core.sounds import Sound
from evaluator.core.tools.types import ResourceType
from evaluator.core.values import Boxes, Labels, Masks, Value

_MOST_CHARACTERS = 200
"""Longer texts are cut in prompts and transcripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value of the state, with the facts that corrections use."""

    reference: str
    """A file of the request, or the placeholder of a result."""
    type: ResourceType
    artefact: ArtefactReference
    maker: str = ""
    """The tool that made it; empty for files of the request."""
    size: tuple[int, int] | None = None
    """Width and height in pixels of a picture or clip, or of the picture of boxes or masks."""
    labels: tuple[str, ...] | None = None
    """The labels of findings in descending order of confidence; None for other values."""
    text: str | None = None

    def in_words(self) -> str:
        """A short description of the value."""
        if self.text is not None:
            return self.text if len(self.text) <= _MOST_CHARACTERS else f"{self.text[:_MOST_CHARACTERS]}..."
        if self.labels is not None:
            counts = Counter(label or "unnamed" for label in self.labels)
            return ", ".join(f"{count} x {label}" for label, count in counts.items()) or "nothing"
        return "" if self.size is None else f"{self.size[0]}x{self.size[1]} pixels"

    def to_json(self) -> dict[str, JsonValue]:
        """For the transcript."""
        return {
            "reference": self.reference,
            "type": str(self.type),
            "made_by": self.maker or "request",
            "artefact": self.artefact.digest,
            "media_type": self.artefact.media_type,
            "value": self.in_words(),
        }


def entry_of(
    *, reference: str, kind: ResourceType, artefact: ArtefactReference, value: Value, maker: str = ""
) -> Entry:
    """The entry of a value."""
    size = value.size if not isinstance(value, str | Labels | Sound) else None
    labels: tuple[str, ...] | None = None
    if isinstance(value, Labels):
        labels = tuple(label.name for label in value.items)
    elif isinstance(value, Boxes | Masks):
        labels = tuple(finding.label for finding in value.items)
    return Entry(
        reference=reference, type=kind, artefact=artefact, maker=maker, labels=labels,
        size=(size[0], size[1]) if size is not None else None, text=value if isinstance(value, str) else None,
    )  # fmt: skip


class StateMemory:
    """Available values: files of the request, then results in the order of their creation."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = {entry.reference: entry for entry in entries}

    def get(self, reference: str) -> Entry | None:
        """The value of a reference, written with or without `$`."""
        return self._entries.get(reference) or self._entries.get(reference.removeprefix("$"))

    def entries(self) -> tuple[Entry, ...]:
        """All values, in order."""
        return tuple(self._entries.values())


class Outcome(StrEnum):
    """The outcome of a subtask."""

    OPEN = "open"
    MADE = "made"
    FAILED = "failed"
    DECLINED = "declined"
    """Not run: there is no suitable tool, or it names a file that is not given."""
    BLOCKED = "blocked"
    """It needs the result of a subtask that failed or was declined."""


@dataclass(frozen=True, slots=True)
class Place:
    """One action: the subtask's position and the action's within its solution."""

    subtask: int
    action: int

    @property
    def step(self) -> str:
        """Id of its step in the plan."""
        return f"{self.subtask}.{self.action}"

    def is_before(self, other: "Place") -> bool:
        """Whether it is an earlier action; subtasks are in the order of their dependencies."""
        return (self.subtask, self.action) < (other.subtask, other.action)


@dataclass(slots=True)
class Progress:
    """One subtask: its current solution and earlier attempts."""

    planned: Planned
    solution: Solution = ()
    choice: int = 0
    """Index of the candidate from which the solution comes."""
    tried: set[tuple[int, str, str]] = field(default_factory=set)
    """Action, input and value of each attempt with this candidate."""
    changes: int = 0
    """Corrections of this candidate."""
    before: tuple[int, str, Solution] | None = None
    """Action and kind of problem of the last correction, and the solution before it."""
    outcome: Outcome = Outcome.OPEN
    why: str = ""
    fallback: tuple[int, Solution] | None = None
    """A candidate that runs although a selection in it is empty."""
    accepts_empty: bool = False
    """Whether an empty selection is accepted as its result."""

    @classmethod
    def begin(cls, planned: Planned) -> "Progress":
        """Start with the first candidate; a subtask without candidates has failed."""
        if not planned.candidates:
            return cls(planned=planned, outcome=Outcome.FAILED, why="the search found no chain of tools for it")
        return cls(planned=planned, solution=planned.candidates[0].solution)

    @property
    def subtask(self) -> TypedSubtask:
        return self.planned.searching.subtask

    @property
    def is_active(self) -> bool:
        """Whether its steps belong to the plan."""
        return self.outcome in (Outcome.OPEN, Outcome.MADE)

    def change(self, *, action: int, problem: str, inputs: Mapping[str, str]) -> None:
        """Give an action other arguments.

        Args:
            action: index of the action.
            problem: the kind of its problem.
            inputs: the new arguments.
        """
        self.before = (action, problem, self.solution)
        old = self.solution[action]
        for name, value in inputs.items():
            self.tried |= {(action, name, old.inputs.get(name) or ""), (action, name, value)}
        changed = replace(old, inputs={**old.inputs, **inputs})
        self.solution = (*self.solution[:action], changed, *self.solution[action + 1 :])
        self.changes += 1

    def undo(self, *, action: int, problem: str) -> None:
        """Revert the last correction if the action still has the same problem."""
        if self.before is not None and self.before[:2] == (action, problem):
            self.solution = self.before[2]

    def take(self, choice: int, *, solution: Solution | None = None) -> None:
        """Switch to another candidate."""
        self.choice = choice
        self.solution = self.planned.candidates[choice].solution if solution is None else solution
        self.tried, self.changes, self.before = set(), 0, None

    @property
    def results(self) -> tuple[str, ...]:
        """References to the results of the subtask."""
        return tuple(result.value for result in self.subtask.returns)

    def to_json(self) -> dict[str, JsonValue]:
        """For the transcript."""
        return {
            "id": self.subtask.id,
            "description": self.subtask.description,
            "outcome": str(self.outcome),
            "why": self.why,
            "solution": self.choice + 1 if self.solution else None,
            "solutions": len(self.planned.candidates),
            "actions": solution_json(self.solution),
            "returns": list(self.results),
        }


def actions_of(progress: Sequence[Progress]) -> Iterator[tuple[Place, Action]]:
    """All actions of the active subtasks, in order."""
    for number, subtask in enumerate(progress):
        if subtask.is_active:
            for index, action in enumerate(subtask.solution):
                yield Place(number, index), action


def plan_without(*, progress: Sequence[Progress], left_out: frozenset[Place]) -> Plan:
    """The plan of all runnable actions, without answers: results are looked up by step."""
    steps = tuple(
        Step(
            id=place.step,
            tool=action.tool.name,
            inputs={name: value for name, value in action.inputs.items() if value},
            outputs=dict(action.outputs),
        )
        for place, action in actions_of(progress)
        if place not in left_out
    )
    return Plan(steps=steps, answers=())


def makers(progress: Sequence[Progress]) -> dict[str, tuple[Place, ResourceType]]:
    """The action that makes each reference of the current plan, and the reference's type."""
    return {
        reference: (place, action.tool.outputs[name])
        for place, action in actions_of(progress)
        for name, reference in action.outputs.items()
    }
