"""From parsed tool calls to a plan: the common rules of all forms with named results.

1. Steps are named `s1`, `s2`, ... in the order of the text, unless the form names them.
2. A tool's name is looked up verbatim, then among the aliases, then ignoring case, blanks, hyphens and underscores.
   Unknown names are kept, for the checks to report; a text with a tag, a brace or a line break is no name.
3. An argument that the tool does not have counts as the one that its spelling or an alias of the catalogue means
   (`named_arguments`).
4. A text argument is kept verbatim. A list becomes its items joined by ", ", any other value its JSON text. An empty
   value counts as a missing argument.
5. A list of outputs names the outputs of the tool's signature in order; additional outputs, and all outputs of an
   unknown tool, are named by their index (`output2`). Two steps may make the same reference.
6. The answers are the references `<GENERATED>-k` or `<GEN>-k`, in the order of `k`, or else the outputs that no step
   uses.

Changes by rules 2 to 4 are recorded as tolerated.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from evaluator.core.plans.literals import refuse_too_many, short, spelling
from evaluator.core.plans.model import ParsedPlan, Plan, PlanContext, PlanSyntaxError, Step
from evaluator.core.tools.types import ResourceType

_GENERATED = re.compile(r"<GEN(?:ERATED)?>-([0-9]{1,9})")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_Value = TypeVar("_Value")
_NO_NAME = re.compile(r"[{}\n]|<[^<>]*>|<\|")


@dataclass(frozen=True, slots=True)
class Action:
    """A parsed tool call."""

    tool: str
    inputs: Mapping[str, object]
    outputs: Sequence[str] | Mapping[str, str] | None
    """References in the order of the signature, or by output name; None if the form omits them."""
    where: str
    """Its location in the text or JSON value."""
    id: str | None = None
    is_resolved: bool = False
    """Whether aliases of arguments are resolved already."""


def plan_of(*, actions: Sequence[Action], context: PlanContext, form: str, tolerated: Sequence[str] = ()) -> ParsedPlan:
    """The plan of the actions, by the rules of this module; PlanSyntaxError if there are too many."""
    refuse_too_many(steps=actions)
    records = list(tolerated)
    used: set[str] = set()
    steps = tuple(
        _step(action=action, number=number, context=context, used=used, tolerated=records)
        for number, action in enumerate(actions, start=1)
    )
    return ParsedPlan(
        plan=Plan(steps=steps, answers=answers_of(steps=steps, used=used)), form=form, tolerated=tuple(records)
    )


def answers_of(*, steps: Sequence[Step], used: Iterable[str] = ()) -> tuple[str, ...]:
    """The answers of a plan that does not name them (rule 6). `used` are references inside joined lists."""
    references = list(dict.fromkeys(reference for step in steps for reference in step.outputs.values()))
    numbered = [(int(match[1]), reference) for reference in references if (match := _GENERATED.fullmatch(reference))]
    if numbered:
        return tuple(reference for _, reference in sorted(numbered, key=lambda pair: pair[0]))
    return unused_outputs(steps=steps, used=used)


def unused_outputs(*, steps: Sequence[Step], used: Iterable[str] = ()) -> tuple[str, ...]:
    """The outputs that no step takes, in the order of the steps. `used` are references inside joined lists."""
    taken = {value for step in steps for value in step.inputs.values()}.union(used)
    references = dict.fromkeys(reference for step in steps for reference in step.outputs.values())
    return tuple(reference for reference in references if reference not in taken)


def tool_name(*, written: str, context: PlanContext, where: str, tolerated: list[str]) -> str:
    """The catalogue's name of a tool (rule 2).

    Raises:
        PlanSyntaxError: the text is no name.
    """
    catalogue = context.known or context.catalogue
    if written in catalogue:
        return written
    name = catalogue.canonical(written)
    if name is None:
        sought = spelling(written)
        tools = catalogue.tools.values()
        name = next((tool.name for tool in tools if sought in map(spelling, (tool.name, *tool.aliases))), None)
    if name is None:
        if _NO_NAME.search(written):
            raise PlanSyntaxError(f"{short(written)} is no name of a tool", where=where)
        return written
    tolerated.append(f"{where}: read {short(written)} as {name!r}")
    return name


def inputs_of(*, tool: str, context: PlanContext) -> Mapping[str, ResourceType]:
    """The inputs of a tool's signature, offered or not; empty for an unknown tool."""
    catalogue = context.known or context.catalogue
    return catalogue[tool].inputs if tool in catalogue else {}


def outputs_of(*, tool: str, context: PlanContext) -> Mapping[str, ResourceType]:
    """The outputs of a tool's signature, offered or not; empty for an unknown tool."""
    catalogue = context.known or context.catalogue
    return catalogue[tool].outputs if tool in catalogue else {}


def named_arguments(
    arguments: Mapping[str, _Value], *, tool: str, context: PlanContext, where: str, tolerated: list[str]
) -> dict[str, _Value]:
    """Arguments by the names of a tool's signature.

    A name that is none of them counts as the argument whose spelling differs in case, blanks or hyphens only, or as the
    only free one of which it is an alias in the catalogue.
    """
    signature = inputs_of(tool=tool, context=context)
    aliases = (context.known or context.catalogue).argument_aliases
    named: dict[str, _Value] = {}
    for written, value in arguments.items():
        name = written
        if signature and written not in signature:
            plain = _argument_spelling(written)
            free = {_argument_spelling(each): each for each in signature if not (each in arguments or each in named)}
            meant = [plain] if plain in free else [alias for alias in aliases.get(plain, ()) if alias in free]
            if len(meant) == 1:
                name = free[meant[0]]
                tolerated.append(f"{where}: read the argument {short(written)} as {name!r}")
        named[name] = value
    return named


def _argument_spelling(name: str) -> str:
    return spelling(_CAMEL.sub("_", name))


def text_of(*, value: object, where: str, tolerated: list[str], used: set[str] | None = None) -> str | None:
    """An argument's value as a text, or None if it is empty (rule 4). Adds the items of a list to `used`."""
    if isinstance(value, str) and value:
        return value
    if value is None or value == "" or (isinstance(value, list | tuple | Mapping) and not value):
        tolerated.append(f"{where}: an empty value counts as a missing argument")
        return None
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        items = [item if isinstance(item, str) else _json(item, where) for item in value]
        if used is not None:
            used.update(items)
        text = ", ".join(items)
        tolerated.append(f"{where}: joined a list of {len(items)} to {short(text)}")
        return text or None
    text = _json(value, where)
    tolerated.append(f"{where}: read {short(text)} as a text")
    return text


def _step(*, action: Action, number: int, context: PlanContext, used: set[str], tolerated: list[str]) -> Step:
    where = action.where
    name = tool_name(written=action.tool, context=context, where=where, tolerated=tolerated)
    inputs = {}
    given = action.inputs
    if not action.is_resolved:
        given = named_arguments(given, tool=name, context=context, where=where, tolerated=tolerated)
    for argument, value in given.items():
        text = text_of(value=value, where=f"{where}, input {short(argument)}", tolerated=tolerated, used=used)
        if text is not None:
            inputs[argument] = text
    step_id = action.id or f"s{number}"
    signature = tuple(outputs_of(tool=name, context=context))
    outputs = action.outputs
    if outputs is None:
        outputs = {output: f"{step_id}.{output}" for output in signature}
        tolerated.append(f"{where}: no outputs; named them {', '.join(outputs.values()) or 'nothing'}")
    elif not isinstance(outputs, Mapping):
        outputs = {
            signature[index] if index < len(signature) else f"output{index}": reference
            for index, reference in enumerate(outputs)
        }
    return Step(id=step_id, tool=name, inputs=inputs, outputs=outputs)


def _json(value: object, where: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        raise PlanSyntaxError("a value nested too deeply, or not JSON", where=where) from None
