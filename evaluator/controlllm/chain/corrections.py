"""Problems at run time, and corrections of arguments by the resource expert (section 3.3).

Problems are detected before a step runs, when it fails, and in its result. Without a language model these rules correct
them, in this order:

1. A condition that selects nothing takes the spelling of an available label all of whose words it contains: `yellow
   stars visible` becomes `yellow star`. Other labels are not used: `blue star` never becomes `red star`, so the count
   of absent objects stays 0.
2. An input that is missing, of the wrong type, or refused by the expert becomes the next resource of its type: the
   latest unused result, else an unused given file, else the latest. After a refusal, resources of the size of the
   other inputs come first.
3. A missing text becomes a text of the subtask, else the request.

A language model is asked first, in one call for each problem. Its answer is used if every value is an available
resource of the right type, or a text for an input of type text, and was not tried before.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluator.controlllm.chain.state import Entry, Place, Progress, StateMemory, actions_of, makers
from evaluator.controlllm.strategies.asking import ask, inside, signature, text_of
from evaluator.controlllm.strategies.binding import Action, nearest
from evaluator.controlllm.strategies.subtasks import Resource
from evaluator.core.language_model import Answer, GenerateCall
from evaluator.core.naming import words_of
from evaluator.core.plans.literals import load_literal
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.tools.types import ResourceType, Tool
from evaluator.execution.engine.jobs import FailureKind, StepFailure

LISTS = frozenset({ResourceType.CATEGORY, ResourceType.BBOX, ResourceType.MASK})
"""Types with several items, from which a text may select."""
_REFERENCE = re.compile(r"<[A-Z-]+>-\S+")
_QUOTED = re.compile(r'"(\w+)"')


class Kind(StrEnum):
    """The kind of a problem with a step."""

    MISSING = "missing resource"
    TYPE = "wrong type"
    INPUT = "unfit input"
    """The expert refused inputs that do not fit together."""
    NOTHING = "found nothing"
    EXPERT = "expert failed"
    """No argument is at fault."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of one action."""

    place: Place
    kind: Kind
    message: str
    inputs: tuple[str, ...] = ()
    """The inputs concerned, most likely cause first."""
    is_result: bool = False
    """Whether the result may still be correct: the count of absent objects is 0."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The current plan before it runs."""

    problems: tuple[Problem, ...]
    left_out: frozenset[Place]
    """Actions that cannot run: those with a problem, and those that depend on them."""
    blocked: Mapping[int, str]
    """By subtask, the missing result of a failed subtask."""


def check(*, progress: Sequence[Progress], given: StateMemory) -> Checked:
    """Look up the arguments of every action.

    Args:
        progress: the subtasks.
        given: the files of the request.
    """
    made = makers(progress)
    lost = {result for subtask in progress if not subtask.is_active for result in subtask.results}
    problems: dict[Place, Problem] = {}
    blocked: dict[int, str] = {}
    for place, action in actions_of(progress):
        for name in action.tool.inputs:
            value = action.inputs.get(name)
            if value in lost:
                blocked.setdefault(place.subtask, value)
                problems.setdefault(place, Problem(place, Kind.MISSING, f"{value} was not made", (name,)))
                continue
            problem = _argument_problem(place=place, action=action, name=name, made=made, given=given)
            if problem is not None:
                problems.setdefault(place, problem)
    own = tuple(problem for place, problem in problems.items() if place.subtask not in blocked)
    return Checked(problems=own, left_out=_with_dependents(frozenset(problems), progress=progress), blocked=blocked)


def _argument_problem(
    *, place: Place, action: Action, name: str, made: Mapping[str, tuple[Place, ResourceType]], given: StateMemory
) -> Problem | None:
    declared, value = action.tool.inputs[name], action.inputs.get(name)
    title = f'{action.tool.name}: "{name}"'
    if not value:
        return Problem(place, Kind.MISSING, f"{title} has no value", (name,))
    entry = given.get(value)
    kind = entry.type if entry is not None else None
    # The result of a later action is not available yet: the decomposition omitted a dependency.
    if value in made and made[value][0].is_before(place):
        kind = made[value][1]
    if kind is None:
        if declared is ResourceType.TEXT and not _REFERENCE.fullmatch(value):
            return None
        return Problem(place, Kind.MISSING, f"{title} is {value}, which is not there", (name,))
    if kind is not declared:
        return Problem(place, Kind.TYPE, f"{title} is {value}, which is {kind}; it takes {declared}", (name,))
    return None


def _with_dependents(places: frozenset[Place], *, progress: Sequence[Progress]) -> frozenset[Place]:
    """The places and everything that depends on them, directly or not."""
    actions = list(actions_of(progress))
    while True:
        lost = {reference for place, action in actions if place in places for reference in action.outputs.values()}
        dependents = {place for place, action in actions if lost.intersection(filter(None, action.inputs.values()))}
        if dependents <= places:
            return places
        places |= dependents


def problems_of(
    *, progress: Sequence[Progress], checked: Checked, failures: Mapping[str, StepFailure], state: StateMemory
) -> dict[int, Problem]:
    """The first problem of each subtask in the order of its actions, by the subtask's position."""
    problems: dict[int, Problem] = {problem.place.subtask: problem for problem in reversed(checked.problems)}
    for place, action in actions_of(progress):
        earlier = problems.get(place.subtask)
        if earlier is not None and earlier.place.action < place.action and earlier.kind is not Kind.NOTHING:
            continue
        failure = failures.get(place.step)
        if failure is not None:
            if failure.kind in (FailureKind.INPUT, FailureKind.LIMIT):
                quoted = [name for name in _QUOTED.findall(failure.message) if name in action.tool.inputs]
                inputs = tuple(dict.fromkeys([*quoted, *action.tool.inputs]))
                problems[place.subtask] = Problem(place, Kind.INPUT, failure.message, inputs)
            else:
                problems[place.subtask] = Problem(place, Kind.EXPERT, failure.message)
        elif not progress[place.subtask].accepts_empty and earlier is None:
            empty = _empty_selection(place=place, action=action, progress=progress, state=state)
            if empty is not None:
                problems[place.subtask] = empty
    return problems


def _empty_selection(
    *, place: Place, action: Action, progress: Sequence[Progress], state: StateMemory
) -> Problem | None:
    """The problem of a selection without results."""
    if not selects(action.tool):
        return None
    results = [state.get(reference) for reference in action.outputs.values()]
    if not any(entry is not None and entry.labels == () for entry in results):
        return None
    texts = tuple(name for name, kind in action.tool.inputs.items() if kind is ResourceType.TEXT)
    condition = action.inputs[texts[0]]
    references = set(action.outputs.values())
    is_counted = any(
        counts(other.tool) and not references.isdisjoint(filter(None, other.inputs.values()))
        for _, other in actions_of(progress)
    )
    # To the question whether a picture or video shows something, "nothing" is an answer.
    is_answer = action.tool.output_types == (ResourceType.CATEGORY,) and not references.isdisjoint(
        progress[place.subtask].results
    )
    message = f"{action.tool.name} found nothing called {condition!r}"
    return Problem(place, Kind.NOTHING, message, texts, is_result=is_counted or is_answer)


def selects(tool: Tool) -> bool:
    """Whether a tool returns the items that a text names."""
    return ResourceType.TEXT in tool.input_types and bool(tool.outputs) and set(tool.output_types) <= LISTS


def counts(tool: Tool) -> bool:
    """Whether a tool returns the length of a list."""
    return len(tool.inputs) == 1 and set(tool.input_types) <= LISTS and tool.output_types == (ResourceType.TEXT,)


_MAX_TOKENS = 256

INSTRUCTIONS = """\
A tool call failed. Correct its inputs. Choose each input from the resources that are there, by its type; never invent
one. Only an input of type text may be a text of your own: a name as the labels spell it, or a question in the words of
the request. If no other input could help, answer {}.
Answer with JSON between tags and nothing else: <Solution>{"name of the input": "value", ...}</Solution>
Name only the inputs that you change."""


@dataclass(frozen=True, slots=True)
class Change:
    """New arguments for one action."""

    inputs: Mapping[str, str]
    why: str
    by: str = "rules"


@dataclass(frozen=True, slots=True)
class Situation:
    """The facts that a correction may use."""

    request: str
    progress: Sequence[Progress]
    state: StateMemory
    """The values of this round."""

    def action(self, place: Place) -> Action:
        """The action at a place."""
        return self.progress[place.subtask].solution[place.action]

    def available(self, place: Place) -> tuple[Entry, ...]:
        """Resources available to an action: given files and results of earlier actions."""
        made = makers(self.progress)
        return tuple(
            entry
            for entry in self.state.entries()
            if entry.reference not in made or made[entry.reference][0].is_before(place)
        )


def correct_offline(*, problem: Problem, situation: Situation) -> Change | None:
    """The next untried correction by the rules, or None."""
    own = situation.progress[problem.place.subtask]
    inputs = situation.action(problem.place).inputs
    for name, value, why in _proposals(problem=problem, situation=situation):
        if (problem.place.action, name, value) not in own.tried and inputs.get(name) != value:
            return Change(inputs={name: value}, why=why)
    return None


def _proposals(*, problem: Problem, situation: Situation) -> list[tuple[str, str, str]]:
    """Input, value and reason of every correction by the rules, best first."""
    action = situation.action(problem.place)
    if problem.kind is Kind.EXPERT:
        return []
    if problem.kind is Kind.NOTHING:
        return _spellings(name=problem.inputs[0], action=action, situation=situation)
    proposals: list[tuple[bool, tuple[str, str, str]]] = []
    for name in problem.inputs:
        kind = action.tool.inputs[name]
        if kind is ResourceType.TEXT and problem.kind is not Kind.INPUT:
            args = situation.progress[problem.place.subtask].subtask.args
            texts = [argument.value for argument in args if argument.type is ResourceType.TEXT]
            proposals += [(False, (name, text, "a text of the subtask")) for text in texts]
            proposals.append((False, (name, situation.request, "the request")))
        elif kind is not ResourceType.TEXT:
            proposals += [
                (misfits, (name, reference, f"the next resource of type {kind}"))
                for reference, misfits in _resources(problem=problem, name=name, situation=situation)
            ]
    return [proposal for _, proposal in sorted(proposals, key=lambda ranked: ranked[0])]


def _spellings(*, name: str, action: Action, situation: Situation) -> list[tuple[str, str, str]]:
    """Spellings of a condition by available labels, longest label first."""
    condition = set(words_of(action.inputs[name] or ""))
    lists = [situation.state.get(value) for value in action.inputs.values() if value]
    labels = dict.fromkeys(label for entry in lists if entry is not None for label in entry.labels or ())
    spellings = [label for label in labels if words_of(label) and set(words_of(label)) <= condition]
    spellings.sort(key=lambda label: -len(words_of(label)))
    return [(name, label, f"the list calls it {label!r}") for label in spellings]


def _resources(*, problem: Problem, name: str, situation: Situation) -> list[tuple[str, bool]]:
    """Resources of an input's type in the order of the second rule, and whether their size differs from others'."""
    place, action = problem.place, situation.action(problem.place)
    kind = action.tool.inputs[name]
    left = {entry.reference: entry for entry in situation.available(place) if entry.type is kind}
    taken = {
        value
        for other_place, other in actions_of(situation.progress)
        if other_place != place
        for value in other.inputs.values()
        if value
    }
    ordered: list[Entry] = []
    while left:
        given = [Resource(type=kind, value=entry.reference) for entry in left.values() if not entry.maker]
        made = [Resource(type=kind, value=entry.reference) for entry in left.values() if entry.maker]
        best = nearest(kind=kind, available=[*given, *made], given=given, taken=taken)
        assert best is not None
        ordered.append(left.pop(best))
    sizes = [
        entry.size
        for other_name, value in action.inputs.items()
        if other_name != name and value and (entry := situation.state.get(value)) is not None and entry.size is not None
    ]
    return [
        (entry.reference, entry.size is not None and any(size != entry.size for size in sizes)) for entry in ordered
    ]


def correcting_call(*, problem: Problem, situation: Situation) -> GenerateCall:
    """The call that asks for a correction."""
    action = situation.action(problem.place)
    subtask = situation.progress[problem.place.subtask].subtask
    listed = "\n".join(
        f"- {entry.type}: {entry.reference} ({entry.in_words()})" for entry in situation.available(problem.place)
    )
    inputs = ", ".join(f"{name} = {action.inputs.get(name) or 'nothing'}" for name in action.tool.inputs)
    return ask(
        instructions=INSTRUCTIONS,
        question=f"Request: {situation.request}\nTask: {subtask.description}\nTool: {signature(action.tool)}\n"
        f"Inputs: {inputs}\nError: {problem.message}\n\nResources by type:\n{listed or 'none'}",
        max_tokens=_MAX_TOKENS,
    )


def read_correction(*, answer: Answer, problem: Problem, situation: Situation) -> Change | None:
    """The valid, untried changes of an answer, or None."""
    action = situation.action(problem.place)
    try:
        value, _ = load_literal(inside(text_of(answer), opening="{", closing="}"))
    except PlanSyntaxError:
        return None
    if not isinstance(value, Mapping):
        return None
    kinds = {entry.reference: entry.type for entry in situation.available(problem.place)}
    tried = situation.progress[problem.place.subtask].tried
    inputs: dict[str, str] = {}
    for name, choice in value.items():
        declared = action.tool.inputs.get(str(name))
        if declared is None or not isinstance(choice, str):
            return None
        is_text = bool(choice.strip()) and not choice.startswith("<")
        kind = kinds.get(choice, ResourceType.TEXT if is_text else None)
        if kind is not declared:
            return None
        if choice != action.inputs.get(str(name)):
            inputs[str(name)] = choice
    if not inputs or any((problem.place.action, name, choice) in tried for name, choice in inputs.items()):
        return None
    return Change(inputs=inputs, why="the language model's choice", by="language model")
