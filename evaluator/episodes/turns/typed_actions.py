"""Actions of tools with named inputs of declared types: which tool, which value for which input, which outputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.core.plans.literals import spelling
from evaluator.core.records import ArtefactReference
from evaluator.core.tools.types import Catalogue, ResourceType, Tool
from evaluator.core.transcripts import ActionProblem
from evaluator.episodes.turns.environment import Call, TypedValue, known_names
from evaluator.replies.turns.binding import BindingError, Parameter, bind_arguments

_REFERENCE = re.compile(r"\$[A-Za-z0-9_.-]+|R[0-9]{1,9}", re.ASCII)
"""What a planner that writes it means as a result, not as a text."""
LONGEST_TEXT = 16_384
"""Characters of a text that an action gives to a tool; results of tools may be longer."""
_QUOTED = re.compile(r"([\"'`])(.*)\1", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A call that passed its checks."""

    tool: str
    """The catalogue's name."""
    inputs: Mapping[str, str]
    """By name, the reference or the text that the action gives."""
    values: Mapping[str, ArtefactReference | str]
    """The same as artefacts and texts."""
    outputs: tuple[str, ...]
    """Names of the outputs that the action takes, in its order."""


class ActionError(ValueError):
    """An action cannot be run; the message is a sentence that says what would be right."""

    def __init__(self, problem: ActionProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def bind(*, call: Call, catalogue: Catalogue, offered: frozenset[str]) -> Bound:
    """Check an action against the signature of its tool.

    Args:
        call: the action with all results that it may name.
        catalogue: the signatures.
        offered: names of the tools that can be called.

    Raises:
        ActionError: there is no such tool, or its inputs or outputs are not what it takes and gives.
    """
    tool = _tool(call.tool, catalogue=catalogue, offered=offered)
    written = _given(call, tool=tool)
    unknown = next((name for name in written if name not in tool.inputs), None)
    if unknown is not None:
        raise _wrong(f'There is no input "{unknown}"; {tool.name} takes {_listed(tool.inputs)}.')
    missing = next((name for name in tool.inputs if name not in written), None)
    if missing is not None:
        raise _wrong(f'The input "{missing}" is missing; {tool.name} takes {_listed(tool.inputs)}.')
    inputs = {name: written[name] for name in tool.inputs}
    values = {
        name: _value(inputs[name], name=name, wanted=wanted, tool=tool, held=call.values)
        for name, wanted in tool.inputs.items()
    }
    return Bound(tool=tool.name, inputs=inputs, values=values, outputs=_outputs(call, tool=tool))


def _tool(written: str, *, catalogue: Catalogue, offered: frozenset[str]) -> Tool:
    name = catalogue.canonical(written) or _by_spelling(written, catalogue=catalogue)
    available = ", ".join(tool_name for tool_name in catalogue.tools if tool_name in offered) or "none"
    if name is None:
        raise ActionError(ActionProblem.UNKNOWN_TOOL, f"There is no tool {written!r}; there are: {available}.")
    if name not in offered:
        raise ActionError(ActionProblem.UNAVAILABLE, f"{name} has no expert here; there are: {available}.")
    return catalogue[name]


def _by_spelling(written: str, *, catalogue: Catalogue) -> str | None:
    wanted = spelling(written)
    return next((name for name in catalogue.tools if spelling(name) == wanted), None)


def _given(call: Call, *, tool: Tool) -> dict[str, str]:
    """The inputs by name, as they are written."""
    if call.named is not None:
        return dict(call.named.inputs)
    assert call.action is not None
    try:
        bound = bind_arguments(action=call.action, parameters=[Parameter(name) for name in tool.inputs])
    except BindingError as error:
        raise _wrong(f"{str(error)[:1].upper()}{str(error)[1:]}; {tool.name} takes {_listed(tool.inputs)}.") from None
    return {name: _plain(argument.text) for name, argument in bound.items()}


def _plain(text: str) -> str:
    """An argument without quotes or brackets around all of it: `"a text"`, `[R1]`."""
    if text[:1] == "[" and text[-1:] == "]" and "," not in text:
        text = text[1:-1].strip()
    quoted = _QUOTED.fullmatch(text)
    return quoted[2] if quoted and quoted[1] not in quoted[2] else text


def _value(
    text: str, *, name: str, wanted: ResourceType, tool: Tool, held: Mapping[str, str]
) -> ArtefactReference | str:
    if text in held:
        value = TypedValue.read(held[text])
        if value.kind is not wanted:
            raise _wrong(f'The input "{name}" is {text}, which is {value.kind}; {tool.name} takes {wanted}.')
        return value.artefact
    if wanted is ResourceType.TEXT and not _REFERENCE.fullmatch(text):
        if len(text) > LONGEST_TEXT:
            raise _wrong(f'The input "{name}" has {len(text)} characters; at most {LONGEST_TEXT} are read.')
        return text
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    message = f'The input "{name}" is {shown}, which names no result; {known_names(held)}.'
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
