"""Parser for OpenAGI's comma sequences: `Image Denoising, Image Deblurring, Image Captioning`.

Grammar::

    sequence = name { "," name } [","]
    name     = any text without a comma; white space around it does not count

A sequence says nothing about data flow, so the steps are wired by one rule. The *frontier* starts as the
request's resources in order. A step takes, for an argument whose type the tool needs once, the value of that
type that was produced last (or, if none was produced, the first resource); for a type it needs several times,
the frontier's values of that type in order. Its outputs replace what it consumed. The answer is the first
output of the last step. What a sequence cannot express (two texts repaired separately, say) needs a tree or
`plan/1`.
"""

from dataclasses import dataclass

from evaluator.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError, Step
from evaluator.tools.types import ResourceType, Tool

FORM = "comma sequence"
MAX_NAMES = 100


@dataclass(slots=True)
class _Value:
    reference: str
    type: ResourceType
    produced_at: int


def parse_comma(*, text: str, context: PlanContext) -> ParsedPlan:
    """Read a comma sequence and wire it. Unknown names become steps without inputs, for the checks to report.

    Raises:
        PlanSyntaxError: there is no name in the text, or there are too many.
    """
    tolerated: list[str] = []
    names = _names(text=text, context=context, tolerated=tolerated)
    frontier = [_Value(f"${name}", kind, -1) for name, kind in context.resources.items()]
    steps = tuple(
        _wire(name=name, number=number, frontier=frontier, context=context) for number, name in enumerate(names)
    )
    answers = tuple(steps[-1].outputs.values())[:1]
    return ParsedPlan(plan=Plan(steps=steps, answers=answers), form=FORM, tolerated=tuple(tolerated))


def _names(*, text: str, context: PlanContext, tolerated: list[str]) -> list[str]:
    spellings = {name.casefold(): name for name in (context.known or context.catalogue).tools}
    names = []
    position = 0
    for part in text.split(","):
        name = " ".join(part.split())
        known = spellings.get(name.casefold())
        if not name:
            tolerated.append(f"character {position + 1}: ignored an empty name")
        elif known is not None and known != part.strip():
            tolerated.append(f"character {position + 1}: read {part.strip()!r} as {known!r}")
        if name:
            names.append(known or name)
        position += len(part) + 1
    if not names:
        raise PlanSyntaxError("the plan is empty: it names no tool", tolerated=tuple(tolerated))
    if len(names) > MAX_NAMES:
        raise PlanSyntaxError(f"{len(names)} names; a plan has at most {MAX_NAMES}")
    return names


def _wire(*, name: str, number: int, frontier: list[_Value], context: PlanContext) -> Step:
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
    frontier[place:place] = [_Value(outputs[output], kind, number) for output, kind in tool.outputs.items()]
    inputs = {argument: value.reference for argument, value in taken.items()}
    return Step(id=step_id, tool=name, inputs=inputs, outputs=outputs)


def _take(*, tool: Tool, frontier: list[_Value]) -> dict[str, _Value]:
    taken: dict[str, _Value] = {}
    for kind in dict.fromkeys(tool.input_types):
        arguments = [argument for argument, wanted in tool.inputs.items() if wanted is kind]
        values = [value for value in frontier if value.type is kind]
        if len(arguments) == 1:
            values = sorted(values, key=lambda value: -value.produced_at)[:1]
        taken.update(zip(arguments, values, strict=False))
    return taken
