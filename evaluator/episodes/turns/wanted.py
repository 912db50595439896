"""An action as an episode runs it, whatever form it was written in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluator.core.transcripts import ActionRun
from evaluator.replies.turns.model import Action, Reference
from evaluator.replies.turns.scanning import Scan, references_of


@dataclass(frozen=True, slots=True)
class NamedStep:
    """The inputs and outputs of a step of `plan/1`."""

    inputs: Mapping[str, str]
    """Argument name to a reference or a text."""
    outputs: tuple[str, ...]
    """Names of the tool's outputs, in the order of the action's results; empty: as in the tool's signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """An action that is to be run."""

    tool: str
    arguments: str
    """As the planner wrote them."""
    references: tuple[Reference, ...]
    """With offsets in `arguments`."""
    outputs: tuple[str, ...]
    """Under which names later actions take the results; at least one."""
    text: str
    """The whole action."""
    action: Action | None = None
    """As it was read, if it was written in LUMOS's grammar."""
    named: NamedStep | None = None
    """If it was written as a step of `plan/1`, and tools take named inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An action that was run."""

    wanted: Wanted
    run: ActionRun
    values: Mapping[str, str]
    """The results as they are shown, in full, where `run` may have cut them."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Those that the planner is sent as pictures: PNG in base64."""


def references_in(text: str) -> tuple[Reference, ...]:
    """The references in a text that is the arguments of an action."""
    structure = Scan(text)
    for _ in structure.marks_from(0):
        pass
    return references_of(text, structure=structure, start=0, end=len(text))


def wanted_of_actions(actions: Sequence[Action], *, statement_tool: str) -> tuple[Wanted, ...]:
    """Actions as they were read; those without a tool's name are calls of `statement_tool`."""
    return tuple(
        Wanted(
            tool=action.tool or statement_tool, arguments=action.raw, references=action.references,
            outputs=action.outputs, text=str(action), action=action,
        )
        for action in actions
    )  # fmt: skip
