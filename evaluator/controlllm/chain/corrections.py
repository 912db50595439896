"""Problems at run time, and corrections of arguments (section 3.3): the resource expert is asked again, with error and
state.

Problems are found before a step runs, when it fails, and in its result. Offline they are corrected by these rules, in
this order:

1. A condition that finds nothing takes the spelling of an available label all of whose words it contains: `yellow stars
   visible` becomes `yellow star`. A label with any other word is not used: `blue star` never becomes `red star`, so
   that the count of absent things stays 0.
2. An input that is missing, of the wrong type, or refused by the expert becomes the next resource of its type: the
   latest unused result, else an unused given file, else the latest. After a refusal, resources of the size of the
   other inputs come first.
3. A missing text becomes a text of the subtask, else the request.

With a language model the model is asked first, in one call for each problem. Its answer is used if every value is an
available resource of the right type, or a text for an input of type text, and was not tried before.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
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


_MAX_TOKENS = 256

INSTRUCTIONS = """\
A tool call failed. Correct its inputs. Choose each input from the resources that are there, by its type; never invent
one. Only an input of type text may be a text of your own: a name as the labels spell it, or a question in the words of
the request. If no other input could help, answer {}.
Answer with JSON between tags and nothing else: <Solution>{"name of the input": "value", ...}</Solution>
Name only the inputs that you change."""


@dataclass(frozen=True, slots=True)
class Change:
    """Other arguments for one action."""

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

    def there(self, place: Place) -> tuple[Entry, ...]:
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
    for name, value, why in _proposals(problem=problem, situation=situation):
        if (problem.place.action, name, value) not in own.tried and own.solution[problem.place.action].inputs.get(
            name
        ) != value:
            return Change(inputs={name: value}, why=why)
    return None


def _proposals(*, problem: Problem, situation: Situation) -> list[tuple[str, str, str]]:
    """Input, value and reason of every correction by the rules, best first."""
    action = situation.action(problem.place)
    if problem.kind is Kind.EXPERT:
        return []
    if problem.kind is Kind.NOTHING:
        return _spellings(problem=problem, action=action, situation=situation)
    found: list[tuple[bool, tuple[str, str, str]]] = []
    for name in problem.inputs:
        kind = action.tool.inputs[name]
        if kind is ResourceType.TEXT and problem.kind is not Kind.INPUT:
            texts = [one.value for one in _subtask_texts(problem=problem, situation=situation)]
            found += [(False, (name, text, "a text of the subtask")) for text in texts]
            found.append((False, (name, situation.request, "the request")))
        elif kind is not ResourceType.TEXT:
            found += [
                (misfits, (name, reference, f"the next resource of type {kind}"))
                for reference, misfits in _resources(problem=problem, name=name, situation=situation)
            ]
    return [proposal for _, proposal in sorted(found, key=lambda one: one[0])]


def _spellings(*, problem: Problem, action: Action, situation: Situation) -> list[tuple[str, str, str]]:
    """Spellings of a condition by available labels, longest label first."""
    name = problem.inputs[0]
    wanted = set(words_of(action.inputs[name] or ""))
    lists = [situation.state.get(value) for value in action.inputs.values() if value]
    labels = dict.fromkeys(label for entry in lists if entry is not None for label in entry.labels or ())
    fitting = [label for label in labels if words_of(label) and set(words_of(label)) <= wanted]
    fitting.sort(key=lambda label: -len(words_of(label)))
    return [(name, label, f"the list calls it {label!r}") for label in fitting]


def _subtask_texts(*, problem: Problem, situation: Situation) -> list[Resource]:
    subtask = situation.progress[problem.place.subtask].planned.searching.subtask
    return [one for one in subtask.args if one.type is ResourceType.TEXT]


def _resources(*, problem: Problem, name: str, situation: Situation) -> list[tuple[str, bool]]:
    """Resources of an input's type in the order of the second rule, and whether their size differs from others'."""
    place, action = problem.place, situation.action(problem.place)
    kind = action.tool.inputs[name]
    left = {entry.reference: entry for entry in situation.there(place) if entry.type is kind}
    taken = {value for other, one in actions_of(situation.progress) if other != place for value in one.inputs.values()}
    ordered: list[Entry] = []
    while left:
        given = [Resource(type=kind, value=one.reference) for one in left.values() if not one.maker]
        made = [Resource(type=kind, value=one.reference) for one in left.values() if one.maker]
        best = nearest(kind=kind, there=[*given, *made], given=given, taken={one for one in taken if one})
        assert best is not None
        ordered.append(left.pop(best))
    sizes = [
        entry.size
        for other, value in action.inputs.items()
        if other != name and value and (entry := situation.state.get(value)) is not None and entry.size is not None
    ]
    return [
        (entry.reference, entry.size is not None and any(size != entry.size for size in sizes)) for entry in ordered
    ]


def correcting_call(*, problem: Problem, situation: Situation) -> GenerateCall:
    """The call that asks for a correction."""
    action = situation.action(problem.place)
    subtask = situation.progress[problem.place.subtask].planned.searching.subtask
    listed = "\n".join(
        f"- {entry.type}: {entry.reference} ({entry.in_words()})" for entry in situation.there(problem.place)
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
    kinds = {entry.reference: entry.type for entry in situation.there(problem.place)}
    tried = situation.progress[problem.place.subtask].tried
    inputs: dict[str, str] = {}
    for name, chosen in value.items():
        wanted = action.tool.inputs.get(str(name))
        if wanted is None or not isinstance(chosen, str) or not _may_be(chosen, wanted=wanted, kinds=kinds):
            return None
        if chosen != action.inputs.get(str(name)):
            inputs[str(name)] = chosen
    if not inputs or any((problem.place.action, name, chosen) in tried for name, chosen in inputs.items()):
        return None
    return Change(inputs=inputs, why="the language model's choice", by="language model")


def _may_be(value: str, *, wanted: ResourceType, kinds: Mapping[str, ResourceType]) -> bool:
    if value in kinds:
        return kinds[value] is wanted
    return wanted is ResourceType.TEXT and bool(value.strip()) and not value.startswith("<")
