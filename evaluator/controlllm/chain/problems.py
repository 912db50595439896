"""Problems with arguments at run time: before a step runs, when it fails, and in its result."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluator.controlllm.chain.memory import StateMemory
from evaluator.controlllm.chain.progress import Place, Progress, actions_of, makers
from evaluator.controlllm.strategies.binding import Action
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.execution.engine.jobs import FailureKind, StepFailure

LISTS = frozenset({ResourceType.CATEGORY, ResourceType.BBOX, ResourceType.MASK})
"""What holds several things, of which a text may name one."""
_REFERENCE = re.compile(r"<[A-Z-]+>-\S+")
_QUOTED = re.compile(r'"(\w+)"')


class Kind(StrEnum):
    """Why a step did not do its job."""

    MISSING = "missing resource"
    TYPE = "wrong type"
    INPUT = "unfit input"
    """The expert refused: its inputs do not go together."""
    NOTHING = "found nothing"
    EXPERT = "expert failed"
    """No argument is at fault."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with one action."""

    place: Place
    kind: Kind
    message: str
    inputs: tuple[str, ...] = ()
    """The inputs concerned, most suspect first."""
    is_result: bool = False
    """Whether the result may be correct nevertheless: absent things count 0."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The current plan before it runs."""

    problems: tuple[Problem, ...]
    left_out: frozenset[Place]
    """Actions that cannot run: those with a problem, and those that need what they make."""
    blocked: Mapping[int, str]
    """By subtask, the reference it lacks because another subtask failed."""


def check(*, progress: Sequence[Progress], given: StateMemory) -> Checked:
    """Look up the arguments of every action.

    Args:
        progress: the subtasks.
        given: the files of the request.
    """
    made = makers(progress)
    lost = {result for one in progress if not one.is_active for result in one.results}
    problems: dict[Place, Problem] = {}
    blocked: dict[int, str] = {}
    for place, action in actions_of(progress):
        for name in action.tool.inputs:
            value = action.inputs.get(name)
            if value in lost:
                blocked.setdefault(place.subtask, value)
                problems.setdefault(place, Problem(place, Kind.MISSING, f"{value} was not made", (name,)))
                continue
            problem = _argument(place=place, action=action, name=name, made=made, given=given)
            if problem is not None:
                problems.setdefault(place, problem)
    own = tuple(one for place, one in problems.items() if place.subtask not in blocked)
    return Checked(problems=own, left_out=_with_users(frozenset(problems), progress=progress), blocked=blocked)


def _argument(
    *,
    place: Place,
    action: Action,
    name: str,
    made: Mapping[str, tuple[Place, ResourceType]],
    given: StateMemory,
) -> Problem | None:
    wanted, value = action.tool.inputs[name], action.inputs.get(name)
    title = f'{action.tool.name}: "{name}"'
    if not value:
        return Problem(place, Kind.MISSING, f"{title} has no value", (name,))
    entry = given.get(value)
    found = entry.type if entry is not None else None
    # A result that is made later is not there yet: the decomposition left a dependency out.
    if value in made and made[value][0].is_before(place):
        found = made[value][1]
    if found is None:
        if wanted is ResourceType.TEXT and not _REFERENCE.fullmatch(value):
            return None
        return Problem(place, Kind.MISSING, f"{title} is {value}, which is not there", (name,))
    if found is not wanted:
        return Problem(place, Kind.TYPE, f"{title} is {value}, which is {found}; it takes {wanted}", (name,))
    return None


def _with_users(places: frozenset[Place], *, progress: Sequence[Progress]) -> frozenset[Place]:
    """The places and everything that depends on them, directly or not."""
    all_actions = list(actions_of(progress))
    found = set(places)
    while True:
        lost = {reference for place, action in all_actions if place in found for reference in action.outputs.values()}
        more = {place for place, action in all_actions if lost.intersection(filter(None, action.inputs.values()))}
        if more <= found:
            return frozenset(found)
        found |= more


def problems_of(
    *, progress: Sequence[Progress], checked: Checked, failures: Mapping[str, StepFailure], state: StateMemory
) -> dict[int, Problem]:
    """The first problem of each subtask in the order of its actions, by the subtask's position."""
    found: dict[int, Problem] = {problem.place.subtask: problem for problem in reversed(checked.problems)}
    for place, action in actions_of(progress):
        earlier = found.get(place.subtask)
        if earlier is not None and earlier.place.action < place.action and earlier.kind is not Kind.NOTHING:
            continue
        failure = failures.get(place.step)
        if failure is not None:
            found[place.subtask] = _failed(place=place, action=action, failure=failure)
        elif not progress[place.subtask].content and place.subtask not in found:
            nothing = _nothing(place=place, action=action, progress=progress, state=state)
            if nothing is not None:
                found[place.subtask] = nothing
    return found


def _failed(*, place: Place, action: Action, failure: StepFailure) -> Problem:
    if failure.kind not in (FailureKind.INPUT, FailureKind.LIMIT):
        return Problem(place, Kind.EXPERT, failure.message)
    named = [name for name in _QUOTED.findall(failure.message) if name in action.tool.inputs]
    return Problem(place, Kind.INPUT, failure.message, tuple(dict.fromkeys([*named, *action.tool.inputs])))


def _nothing(*, place: Place, action: Action, progress: Sequence[Progress], state: StateMemory) -> Problem | None:
    """A selection whose result is empty."""
    if not chooses(action.tool):
        return None
    made = [state.get(reference) for reference in action.outputs.values()]
    if not any(entry is not None and entry.is_empty for entry in made):
        return None
    texts = tuple(name for name, kind in action.tool.inputs.items() if kind is ResourceType.TEXT)
    condition = action.inputs[texts[0]]
    return Problem(
        place, Kind.NOTHING, f"{action.tool.name} found nothing called {condition!r}", texts,
        is_result=_is_counted(references=action.outputs.values(), progress=progress),
    )  # fmt: skip


def chooses(tool: Tool) -> bool:
    """Whether a tool returns a list of the things that a text names."""
    return ResourceType.TEXT in tool.input_types and bool(tool.outputs) and set(tool.output_types) <= LISTS


def _is_counted(*, references: Iterable[str], progress: Sequence[Progress]) -> bool:
    wanted = set(references)
    return any(
        counts(action.tool) and wanted.intersection(filter(None, action.inputs.values()))
        for _, action in actions_of(progress)
    )


def counts(tool: Tool) -> bool:
    """Whether a tool returns the length of a list."""
    return len(tool.inputs) == 1 and set(tool.input_types) <= LISTS and tool.output_types == (ResourceType.TEXT,)
