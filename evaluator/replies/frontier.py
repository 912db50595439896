"""Wiring for the forms that name tools but no data flow: comma sequences and trees.

The *frontier* is what there is to be used, in order; it starts as the request's resources. A step takes, for an
argument whose type the tool needs once, the value of that type that was produced last (or, if none was produced, the
first resource); for a type it needs several times, the frontier's values of that type in order. Its outputs replace
what it consumed. A name of no tool becomes a step without inputs and outputs, for the checks to report.
"""

from dataclasses import dataclass

from evaluator.core.plans.literals import spelling
from evaluator.core.plans.model import PlanContext, Step
from evaluator.core.tools.types import ResourceType, Tool


@dataclass(slots=True)
class Value:
    """Something a step may take."""

    reference: str
    type: ResourceType
    produced_at: int
    """Number of the step that made it, or -1 for a resource of the request."""


def resources_of(context: PlanContext) -> list[Value]:
    """The request's resources, in order."""
    return [Value(f"${name}", kind, -1) for name, kind in context.resources.items()]


def wire(*, name: str, number: int, frontier: list[Value], context: PlanContext) -> Step:
    """The step that calls a tool on the frontier, which is changed. `number` counts the steps from 0."""
    step_id = f"s{number + 1}"
    if name not in context.catalogue:
        return Step(id=step_id, tool=name, inputs={}, outputs={})
    tool = context.catalogue[name]
    taken = _take(tool=tool, frontier=frontier)
    outputs = {output: f"{step_id}.{output}" for output in tool.outputs}
    consumed = [index for index, value in enumerate(frontier) if value in taken.values()]
    place = consumed[0] if consumed else len(frontier)
    for index in reversed(consumed):
        del frontier[index]
    frontier[place:place] = [Value(outputs[output], kind, number) for output, kind in tool.outputs.items()]
    inputs = {argument: value.reference for argument, value in taken.items()}
    return Step(id=step_id, tool=name, inputs=inputs, outputs=outputs)


def known_names(context: PlanContext) -> dict[str, str]:
    """The catalogue's names by what all spellings of a name or alias have in common."""
    tools = (context.known or context.catalogue).tools.values()
    names = {spelling(alias): tool.name for tool in tools for alias in tool.aliases}
    return names | {spelling(tool.name): tool.name for tool in tools}


def _take(*, tool: Tool, frontier: list[Value]) -> dict[str, Value]:
    taken: dict[str, Value] = {}
    for kind in dict.fromkeys(tool.input_types):
        arguments = [argument for argument, wanted in tool.inputs.items() if wanted is kind]
        values = [value for value in frontier if value.type is kind]
        if len(arguments) == 1:
            values = sorted(values, key=lambda value: -value.produced_at)[:1]
        taken.update(zip(arguments, values, strict=False))
    return taken
