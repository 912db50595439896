"""Assigning an action's arguments to the parameters of a tool.

`QA([R1, R2], Question: How many, if any?)` against the parameters `context` and `question`:

1. An item that begins with a parameter's name or alias and `:` or `=` is the value of that parameter. Names are
   compared in any case and with any blanks, hyphens or underscores.
2. Other items are values of the parameters in order, up to the first named one.
3. An item that is left over belongs to the value before it, comma included: a question may contain commas.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.core.plans.literals import spelling
from evaluator.replies.turns.model import Action, Argument

_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_ -]{0,60})[ \t]{0,9}[:=](?!=)[ \t]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool."""

    name: str
    aliases: tuple[str, ...] = ()
    required: bool = True

    @property
    def spellings(self) -> frozenset[str]:
        return frozenset(map(spelling, (self.name, *self.aliases)))


class BindingError(ValueError):
    """The arguments do not fit the tool; the message names the action's place and what would be right."""


def bind_arguments(*, action: Action, parameters: Sequence[Parameter]) -> Mapping[str, Argument]:
    """The values of a tool's parameters, by name and in the order of the tool.

    Raises:
        BindingError: a required parameter has no value, one has two, or the tool takes no arguments.
    """
    spelled = {name: parameter for parameter in parameters for name in parameter.spellings}
    bound: dict[str, Argument] = {}
    last = ""
    named = False
    for item in action.items:
        found = _named(item, spelled=spelled)
        if found is not None:
            named, (last, value) = True, found
            if last in bound:
                raise _error(action, f"the argument {last!r} is given twice")
            bound[last] = value
            continue
        free = next((one.name for one in parameters if one.name not in bound), None)
        if named or free is None:
            if not last:
                raise _error(action, f"{_tool(action)} takes no arguments")
            bound[last] = _joined(action, first=bound[last], until=item)
        else:
            last, bound[free] = free, item
    missing = [one.name for one in parameters if one.required and not (one.name in bound and bound[one.name].text)]
    if missing:
        raise _error(action, f"{_tool(action)} needs {_listed(parameters)}; missing: {', '.join(missing)}")
    return {one.name: bound[one.name] for one in parameters if one.name in bound}


def _named(item: Argument, *, spelled: Mapping[str, Parameter]) -> tuple[str, Argument] | None:
    match = _NAME.match(item.text)
    parameter = spelled.get(spelling(match[1])) if match else None
    if match is None or parameter is None:
        return None
    skipped = match.end()
    value = replace(
        item,
        text=item.text[skipped:],
        start=item.start + skipped,
        references=tuple(one.shifted(-skipped) for one in item.references if one.start >= skipped),
    )
    return parameter.name, value


def _joined(action: Action, *, first: Argument, until: Argument) -> Argument:
    references = tuple(
        one.shifted(-first.start) for one in action.references if first.start <= one.start and one.end <= until.end
    )
    return Argument(text=action.raw[first.start : until.end], start=first.start, end=until.end, references=references)


def _error(action: Action, message: str) -> BindingError:
    return BindingError(f"{action.place}: {message}")


def _tool(action: Action) -> str:
    return action.tool or "the statement"


def _listed(parameters: Sequence[Parameter]) -> str:
    return ", ".join(one.name if one.required else f"[{one.name}]" for one in parameters)
