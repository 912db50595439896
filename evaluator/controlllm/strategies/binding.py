"""From a path of tools to actions: what each tool takes, and what its results are called (section 3.2.3 and 3.2.5).

An argument with exactly one resource of its type there is bound to it. With several it is left open, for the resource
expert. Results that the subtask returns get the name that the decomposition gave them, the others
`<TOOL-GENERATED>-tool-type-n`, where `n` differs between the subtasks of a plan.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.controlllm.strategies.search import Chain
from evaluator.controlllm.strategies.subtasks import Resource, TypedSubtask
from evaluator.core.canonical_json import JsonValue
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
