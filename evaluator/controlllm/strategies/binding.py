"""From a path of tools to actions: what each tool takes, and what its results are called (section 3.2.3 and 3.2.5).

An argument with exactly one resource of its type there is bound to it. Those with several are left to the resource
expert: a language model, with one call per action, or offline the latest result that nothing takes, else the first
given resource that nothing takes, else the latest. A model's choice counts only if it is an available resource of the
right type; for a text it may write one of its own, as the paper allows. What it leaves open or gets wrong is filled
offline, and noted.

Results that the subtask returns get the name that the decomposition gave them, the others `<TOOL-GENERATED>-tool-
type-n`, where `n` differs between the subtasks of a plan.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.controlllm.strategies.asking import ask, inside, signature, text_of
from evaluator.controlllm.strategies.search import Chain
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask
from evaluator.core.canonical_json import JsonValue
from evaluator.core.language_model import Answer, Call
from evaluator.core.plans.literals import load_literal
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.tools.types import ResourceType, Tool


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call. An input that is None is open."""

    tool: Tool
    inputs: Mapping[str, str | None]
    outputs: Mapping[str, str]

    @property
    def open_inputs(self) -> tuple[str, ...]:
        """The arguments that nobody has bound yet."""
        return tuple(name for name, value in self.inputs.items() if value is None)

    def made(self) -> tuple[Resource, ...]:
        """What the call makes."""
        return tuple(Resource(type=kind, value=self.outputs[name]) for name, kind in self.tool.outputs.items())


Solution = tuple[Action, ...]


def bind(*, path: Chain, subtask: TypedSubtask) -> Solution:
    """The actions of a path, with every argument bound that only one resource fits."""
    names = _result_names(path=path, subtask=subtask)
    there = list(subtask.args)
    actions = []
    for tool, outputs in zip(path, names, strict=True):
        inputs = {name: _only(there, kind=kind) for name, kind in tool.inputs.items()}
        action = Action(tool=tool, inputs=inputs, outputs=outputs)
        actions.append(action)
        there += action.made()
    return tuple(actions)


def _only(resources: Sequence[Resource], *, kind: ResourceType) -> str | None:
    values = {resource.value for resource in resources if resource.type is kind}
    return values.pop() if len(values) == 1 else None


def _result_names(*, path: Chain, subtask: TypedSubtask) -> list[dict[str, str]]:
    """References of all outputs. The last ones of a returned type are what the subtask returns."""
    wanted = {kind: [one.value for one in subtask.returns if one.type is kind] for kind in subtask.return_types}
    names: list[dict[str, str]] = []
    for tool in reversed(path):
        counted: Counter[ResourceType] = Counter()
        outputs = {}
        for name, kind in tool.outputs.items():
            if wanted.get(kind):
                outputs[name] = wanted[kind].pop()
                continue
            number = subtask.id * len(tool.outputs) + counted[kind]
            outputs[name] = f"<TOOL-GENERATED>-{tool.name}-{kind}-{number}"
            counted[kind] += 1
        names.append(outputs)
    return names[::-1]


def solution_json(solution: Solution) -> list[JsonValue]:
    """A solution as the released code writes it. Open arguments are left out: they count as missing."""
    return [
        {
            "tool_name": action.tool.name,
            "args": [
                {"name": name, "type": str(kind), "value": action.inputs[name]}
                for name, kind in action.tool.inputs.items()
                if action.inputs[name]
            ],
            "returns": [
                {"name": name, "type": str(kind), "value": action.outputs[name]}
                for name, kind in action.tool.outputs.items()
            ],
        }
        for action in solution
    ]


_MAX_TOKENS = 256

INSTRUCTIONS = """\
You complete the inputs of a tool call. Some inputs are known; for each one that is missing choose a resource of its
type from the list. Never invent a resource. Only for an input of type text may you write a text of your own, in the
words of the request, if no listed text is what the tool should be given.
Answer with JSON between tags and nothing else: <Solution>{"name of the input": "value", ...}</Solution>"""


@dataclass(frozen=True, slots=True)
class Filled:
    """A solution without open arguments, and what was chosen for them."""

    solution: Solution
    notes: tuple[str, ...] = ()


def filling_calls(*, request: str, subtask: TypedSubtask, solution: Solution) -> list[Call]:
    """One call for each action that has open arguments."""
    return [
        ask(instructions=INSTRUCTIONS, question=_question(request, subtask, action, there), max_tokens=_MAX_TOKENS)
        for action, there in _with_resources(subtask=subtask, solution=solution)
        if action.open_inputs
    ]


def fill(*, subtask: TypedSubtask, solution: Solution, answers: Sequence[Answer] = ()) -> Filled:
    """Fill the open arguments, by the answers to `filling_calls` or, without any, offline."""
    waiting = iter(answers)
    taken: set[str] = {value for action in solution for value in action.inputs.values() if value}
    actions: list[Action] = []
    notes: list[str] = []
    for action, there in _with_resources(subtask=subtask, solution=solution):
        if not action.open_inputs:
            actions.append(action)
            continue
        answer = next(waiting, None)
        chosen = {} if answer is None else _chosen(answer=answer, action=action, there=there, notes=notes)
        inputs = dict(action.inputs)
        for name in action.open_inputs:
            kind = action.tool.inputs[name]
            inputs[name] = chosen.get(name) or nearest(kind=kind, there=there, given=subtask.args, taken=taken)
            taken.add(inputs[name] or "")
            notes.append(f"{action.tool.name}.{name} = {inputs[name]}")
        actions.append(replace(action, inputs=inputs))
    return Filled(solution=tuple(actions), notes=tuple(notes))


def nearest(*, kind: ResourceType, there: Sequence[Resource], given: Sequence[Resource], taken: set[str]) -> str | None:
    """The resource to take where several fit; None if none does.

    The latest made that nobody takes, else the first given that nobody takes, else the latest of all.
    """
    fitting = [resource.value for resource in there if resource.type is kind]
    made = [resource.value for resource in there[len(given) :] if resource.type is kind]
    unused = [value for value in reversed(made) if value not in taken]
    unused += [resource.value for resource in given if resource.type is kind and resource.value not in taken]
    return next(iter([*unused, *reversed(fitting)]), None)


def _with_resources(*, subtask: TypedSubtask, solution: Solution) -> list[tuple[Action, tuple[Resource, ...]]]:
    """Each action with the resources that are there before it: what is given, then what was made, in order."""
    there = list(subtask.args)
    pairs = []
    for action in solution:
        pairs.append((action, tuple(there)))
        there += action.made()
    return pairs


def _question(request: str, subtask: TypedSubtask, action: Action, there: Sequence[Resource]) -> str:
    listed = "\n".join(f"- {resource.type}: {resource.value}" for resource in there)
    known = ", ".join(f"{name} = {value}" for name, value in action.inputs.items() if value is not None) or "none"
    missing = ", ".join(f"{name} ({action.tool.inputs[name]})" for name in action.open_inputs)
    return (
        f"Request: {request}\nTask: {subtask.description}\nTool: {signature(action.tool)}\n\n"
        f"Resources:\n{listed}\n\nKnown inputs: {known}\nMissing inputs: {missing}"
    )


def _chosen(*, answer: Answer, action: Action, there: Sequence[Resource], notes: list[str]) -> Mapping[str, str]:
    """What an answer rightly chose for open arguments; what is wrong about it is noted."""
    title = action.tool.name
    try:
        value, _ = load_literal(inside(text_of(answer), opening="{", closing="}"))
    except PlanSyntaxError as error:
        notes.append(f"{title}: the answer is not JSON: {error}")
        return {}
    chosen: dict[str, str] = {}
    for name, item in _pairs(value):
        if name not in action.open_inputs:
            continue
        if _may_be(value=item, kind=action.tool.inputs[name], there=there):
            chosen[name] = str(item)
        else:
            notes.append(f"{title}.{name}: {item!r} is no {action.tool.inputs[name]} that is there")
    return chosen


def _pairs(value: object) -> list[tuple[str, object]]:
    """Names with values, of one object or, as the paper writes it, of a list of them."""
    items = value if isinstance(value, list) else [value]
    return [(str(name), item) for one in items if isinstance(one, Mapping) for name, item in one.items()]


def _may_be(*, value: object, kind: ResourceType, there: Sequence[Resource]) -> bool:
    if not isinstance(value, str) or not value:
        return False
    known = {resource.value: resource.type for resource in there}
    invented = value.startswith("<") and value not in known
    return not invented and known.get(value, ResourceType.TEXT) is kind
