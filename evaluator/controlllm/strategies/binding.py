"""Turns a path of tools into actions: binds their arguments and names their results (sections 3.2.3 and 3.2.5).

An argument is bound to the only available resource of its type. If there are several, the resource expert chooses: a
language model, with one call per action, or offline the latest unused result, else the first unused given resource,
else the latest. A model's choice counts only if it is an available resource of the right type; as in the paper, it may
write its own text. Arguments that it omits or gets wrong are filled offline, and noted.

Results that the subtask returns have their names in the decomposition, the others `<TOOL-GENERATED>-tool-type-n`,
where `n` differs between the subtasks of a plan.
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
        """The unbound arguments."""
        return tuple(name for name, value in self.inputs.items() if value is None)

    def results(self) -> tuple[Resource, ...]:
        """The results of the call."""
        return tuple(Resource(type=kind, value=self.outputs[name]) for name, kind in self.tool.outputs.items())

    def call(self) -> str:
        """The call as text: `tool(name=value, ...)`."""
        return f"{self.tool.name}({', '.join(f'{name}={value}' for name, value in self.inputs.items())})"


Solution = tuple[Action, ...]


def bind(*, path: Chain, subtask: TypedSubtask) -> Solution:
    """The actions of a path, with every argument bound that only one resource fits."""
    available = list(subtask.args)
    actions = []
    for tool, outputs in zip(path, _result_names(path=path, subtask=subtask), strict=True):
        values = {
            kind: {resource.value for resource in available if resource.type is kind} for kind in tool.input_types
        }
        inputs = {
            name: next(iter(values[kind])) if len(values[kind]) == 1 else None for name, kind in tool.inputs.items()
        }
        action = Action(tool=tool, inputs=inputs, outputs=outputs)
        actions.append(action)
        available += action.results()
    return tuple(actions)


def _result_names(*, path: Chain, subtask: TypedSubtask) -> list[dict[str, str]]:
    """References of all outputs. The last outputs of a returned type are those that the subtask returns."""
    returned = {
        kind: [result.value for result in subtask.returns if result.type is kind] for kind in subtask.return_types
    }
    names: list[dict[str, str]] = []
    for tool in reversed(path):
        counts: Counter[ResourceType] = Counter()
        outputs = {}
        for name, kind in tool.outputs.items():
            if returned.get(kind):
                outputs[name] = returned[kind].pop()
                continue
            number = subtask.id * len(tool.outputs) + counts[kind]
            outputs[name] = f"<TOOL-GENERATED>-{tool.name}-{kind}-{number}"
            counts[kind] += 1
        names.append(outputs)
    return names[::-1]


def solution_json(solution: Solution) -> list[JsonValue]:
    """A solution in the released code's format. Open arguments are omitted and count as missing."""
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
    """A solution without open arguments, and notes on the choices."""

    solution: Solution
    notes: tuple[str, ...] = ()


def filling_calls(*, request: str, subtask: TypedSubtask, solution: Solution) -> list[Call]:
    """One call for each action with open arguments."""
    return [
        ask(instructions=INSTRUCTIONS, question=_question(request, subtask, action, available), max_tokens=_MAX_TOKENS)
        for action, available in _with_resources(subtask=subtask, solution=solution)
        if action.open_inputs
    ]


def fill(*, subtask: TypedSubtask, solution: Solution, answers: Sequence[Answer] = ()) -> Filled:
    """Fill the open arguments by the answers to `filling_calls`, or offline if there are none."""
    remaining = iter(answers)
    taken: set[str] = {value for action in solution for value in action.inputs.values() if value}
    actions: list[Action] = []
    notes: list[str] = []
    for action, available in _with_resources(subtask=subtask, solution=solution):
        if not action.open_inputs:
            actions.append(action)
            continue
        answer = next(remaining, None)
        choices = {} if answer is None else _choices(answer=answer, action=action, available=available, notes=notes)
        inputs = dict(action.inputs)
        for name in action.open_inputs:
            kind = action.tool.inputs[name]
            default = nearest(kind=kind, available=available, given=subtask.args, taken=taken)
            inputs[name] = choices.get(name) or default
            taken.add(inputs[name] or "")
            notes.append(f"{action.tool.name}.{name} = {inputs[name]}")
        actions.append(replace(action, inputs=inputs))
    return Filled(solution=tuple(actions), notes=tuple(notes))


def nearest(
    *, kind: ResourceType, available: Sequence[Resource], given: Sequence[Resource], taken: set[str]
) -> str | None:
    """The latest unused result of a type, else the first unused given resource, else the latest; None if none fits."""
    fitting = [resource.value for resource in available if resource.type is kind]
    results = [resource.value for resource in available[len(given) :] if resource.type is kind]
    unused = [value for value in reversed(results) if value not in taken]
    unused += [resource.value for resource in given if resource.type is kind and resource.value not in taken]
    return next(iter([*unused, *reversed(fitting)]), None)


def _with_resources(*, subtask: TypedSubtask, solution: Solution) -> list[tuple[Action, tuple[Resource, ...]]]:
    """Each action with the resources available to it: given ones, then results of earlier actions in order."""
    available = list(subtask.args)
    pairs = []
    for action in solution:
        pairs.append((action, tuple(available)))
        available += action.results()
    return pairs


def _question(request: str, subtask: TypedSubtask, action: Action, available: Sequence[Resource]) -> str:
    listed = "\n".join(f"- {resource.type}: {resource.value}" for resource in available)
    known = ", ".join(f"{name} = {value}" for name, value in action.inputs.items() if value is not None) or "none"
    missing = ", ".join(f"{name} ({action.tool.inputs[name]})" for name in action.open_inputs)
    return (
        f"Request: {request}\nTask: {subtask.description}\nTool: {signature(action.tool)}\n\n"
        f"Resources:\n{listed}\n\nKnown inputs: {known}\nMissing inputs: {missing}"
    )


def _choices(*, answer: Answer, action: Action, available: Sequence[Resource], notes: list[str]) -> Mapping[str, str]:
    """The valid choices of an answer for open arguments; errors are noted."""
    title = action.tool.name
    try:
        value, _ = load_literal(inside(text_of(answer), opening="{", closing="}"))
    except PlanSyntaxError as error:
        notes.append(f"{title}: the answer is not JSON: {error}")
        return {}
    kinds = {resource.value: resource.type for resource in available}
    choices: dict[str, str] = {}
    # One object or, in the paper's format, a list of objects.
    rows = [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, Mapping)]
    for name, item in ((str(key), item) for row in rows for key, item in row.items()):
        if name not in action.open_inputs:
            continue
        kind = action.tool.inputs[name]
        is_own_text = isinstance(item, str) and bool(item) and not item.startswith("<")
        if isinstance(item, str) and item and kinds.get(item, ResourceType.TEXT if is_own_text else None) is kind:
            choices[name] = item
        else:
            notes.append(f"{title}.{name}: {item!r} is no {kind} that is there")
    return choices
