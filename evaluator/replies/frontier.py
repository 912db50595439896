"""Wiring for the forms without data flow: comma sequences and trees.

The *frontier* is the ordered list of available values, initially the request's resources. If a tool has one argument of
a type, its step takes the most recent value of that type (or the first resource); if it has several, the frontier's
values of that type in order. The step's outputs replace its inputs. An unknown name becomes a step without inputs and
outputs, for the checks to report.
"""

from dataclasses import dataclass

from evaluator.core.plans.literals import spelling
from evaluator.core.plans.model import PlanContext, Step
from evaluator.core.tools.types import ResourceType


@dataclass(slots=True)
class Value:
    """An available value."""

    reference: str
    type: ResourceType
    produced_at: int
    """Number of its step, or -1 for a resource of the request."""


def resources_of(context: PlanContext) -> list[Value]:
    """The request's resources, in order."""
    return [Value(f"${name}", kind, -1) for name, kind in context.resources.items()]


def wire(*, name: str, number: int, frontier: list[Value], context: PlanContext) -> Step:
    """The step that calls a tool on the frontier, which it updates. `number` counts the steps from 0."""
    step_id = f"s{number + 1}"
    if name not in context.catalogue:
        return Step(id=step_id, tool=name, inputs={}, outputs={})
    tool = context.catalogue[name]
    taken: dict[str, Value] = {}
    for kind in dict.fromkeys(tool.input_types):
        arguments = [argument for argument, expected in tool.inputs.items() if expected is kind]
        values = [value for value in frontier if value.type is kind]
        if len(arguments) == 1:
            values = sorted(values, key=lambda value: -value.produced_at)[:1]
        taken.update(zip(arguments, values, strict=False))
    outputs = {output: f"{step_id}.{output}" for output in tool.outputs}
    consumed = [index for index, value in enumerate(frontier) if value in taken.values()]
    place = consumed[0] if consumed else len(frontier)
    for index in reversed(consumed):
        del frontier[index]
    frontier[place:place] = [Value(outputs[output], kind, number) for output, kind in tool.outputs.items()]
    inputs = {argument: value.reference for argument, value in taken.items()}
    return Step(id=step_id, tool=name, inputs=inputs, outputs=outputs)


def known_names(context: PlanContext) -> dict[str, str]:
    """The catalogue's names by the normalized spellings of names and aliases."""
    tools = (context.known or context.catalogue).tools.values()
    names = {spelling(alias): tool.name for tool in tools for alias in tool.aliases}
    return names | {spelling(tool.name): tool.name for tool in tools}
