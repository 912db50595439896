"""Validates actions against tools with named, typed inputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.core.plans.literals import spelling
from evaluator.core.records import ArtefactReference
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, TypedValue, known_names, quoted
from evaluator.replies.turns.binding import BindingError, Parameter, bind_arguments

_REFERENCE = re.compile(r"\$[A-Za-z0-9_.-]+|R[0-9]{1,9}", re.ASCII)
"""Matches texts that a planner means as a result."""
LONGEST_TEXT = 16_384
"""Characters of a literal text input; results of tools may be longer."""
_QUOTED = re.compile(r"([\"'`])(.*)\1", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A valid call."""

    tool: str
    """The catalogue's name."""
    inputs: Mapping[str, str]
    """By name, the reference or text in the action."""
    values: Mapping[str, ArtefactReference | str]
    """By name, the artefact or text."""
    outputs: tuple[str, ...]
    """Names of the outputs that the action uses, in its order."""


class ActionError(ValueError):
    """An invalid action; the message is a sentence that says what would be valid."""

    def __init__(self, problem: ActionProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def bind(*, call: Call, catalogue: Catalogue, offered: frozenset[str]) -> Bound:
    """Check an action against the signature of its tool; raises `ActionError` if they do not match.

    `call` holds all results that the action may name, and `offered` the names of the callable tools.
    """
    tool = _tool(call.tool, catalogue=catalogue, offered=offered)
    written = _inputs(call, tool=tool)
    unknown = next((name for name in written if name not in tool.inputs), None)
    if unknown is not None:
        raise _wrong(f'There is no input "{unknown}"; {tool.name} takes {_listed(tool.inputs)}.')
    missing = next((name for name in tool.inputs if name not in written), None)
    if missing is not None:
        raise _wrong(f'The input "{missing}" is missing; {tool.name} takes {_listed(tool.inputs)}.')
    inputs = {name: written[name] for name in tool.inputs}
    values = {
        name: _value(inputs[name], name=name, kind=kind, tool=tool, results=call.values)
        for name, kind in tool.inputs.items()
    }
    return Bound(tool=tool.name, inputs=inputs, values=values, outputs=_outputs(call, tool=tool))


def _tool(written: str, *, catalogue: Catalogue, offered: frozenset[str]) -> Tool:
    name = catalogue.canonical(written)
    if not name:
        key = spelling(written)
        name = next((known for known in catalogue.tools if spelling(known) == key), None)
    available = ", ".join(tool_name for tool_name in catalogue.tools if tool_name in offered) or "none"
    if name is None:
        raise ActionError(ActionProblem.UNKNOWN_TOOL, f"There is no tool {written!r}; there are: {available}.")
    if name not in offered:
        raise ActionError(ActionProblem.UNAVAILABLE, f"{name} has no expert here; there are: {available}.")
    return catalogue[name]


def _inputs(call: Call, *, tool: Tool) -> dict[str, str]:
    """The inputs by name, as written."""
    if call.named is not None:
        return dict(call.named.inputs)
    assert call.action is not None
    try:
        bound = bind_arguments(action=call.action, parameters=[Parameter(name) for name in tool.inputs])
    except BindingError as error:
        raise _wrong(f"{str(error)[:1].upper()}{str(error)[1:]}; {tool.name} takes {_listed(tool.inputs)}.") from None
    return {name: _plain(argument.text) for name, argument in bound.items()}


def _plain(text: str) -> str:
    """An argument without enclosing quotes or brackets: `"a text"`, `[R1]`."""
    if text[:1] == "[" and text[-1:] == "]" and "," not in text:
        text = text[1:-1].strip()
    quoted = _QUOTED.fullmatch(text)
    return quoted[2] if quoted and quoted[1] not in quoted[2] else text


def _value(
    text: str, *, name: str, kind: ResourceType, tool: Tool, results: Mapping[str, str]
) -> ArtefactReference | str:
    if text in results:
        value = TypedValue.read(results[text])
        if value.kind is not kind:
            raise _wrong(f'The input "{name}" is {text}, which is {value.kind}; {tool.name} takes {kind}.')
        return value.artefact
    if kind is ResourceType.TEXT and not _REFERENCE.fullmatch(text):
        if len(text) > LONGEST_TEXT:
            raise _wrong(f'The input "{name}" has {len(text)} characters; at most {LONGEST_TEXT} are read.')
        return text
    message = f'The input "{name}" is {quoted(text)}, which names no result; {known_names(results)}.'
    raise ActionError(ActionProblem.BAD_REFERENCE, message)


def _outputs(call: Call, *, tool: Tool) -> tuple[str, ...]:
    names = call.named.outputs if call.named is not None else ()
    unknown = next((name for name in names if name not in tool.outputs), None)
    if unknown is not None:
        raise _wrong(f'There is no output "{unknown}"; {tool.name} gives {_listed(tool.outputs)}.')
    if call.outputs > len(tool.outputs):
        raise _wrong(f"The action names {call.outputs} results; {tool.name} gives {_listed(tool.outputs)}.")
    return names or tuple(tool.outputs)[: call.outputs]


def _wrong(message: str) -> ActionError:
    return ActionError(ActionProblem.BAD_ARGUMENTS, message)


def _listed(types: Mapping[str, ResourceType]) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in types.items()) or "nothing"
