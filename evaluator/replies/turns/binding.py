"""Assigns an action's arguments to the parameters of a tool.

`QA([R1, R2], Question: How many, if any?)` against the parameters `context` and `question`:

1. An item that begins with a parameter's name or alias and `:` or `=` is the value of that parameter. Comparison of
   names ignores case, blanks, hyphens and underscores.
2. Other items are values of the parameters in order, up to the first named one.
3. Remaining items are appended to the preceding value with their commas: a question may contain commas.
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
    """The arguments do not fit the tool; the message has the action's place and the expected arguments."""


def bind_arguments(*, action: Action, parameters: Sequence[Parameter]) -> Mapping[str, Argument]:
    """The values of a tool's parameters, by name, in the order of the tool.

    Raises:
        BindingError: a required parameter has no value, one has two, or the tool takes no arguments.
    """
    spelled = {name: parameter for parameter in parameters for name in parameter.spellings}
    bound: dict[str, Argument] = {}
    last = ""
    has_names = False
    for item in action.items:
        pair = _named(item, spelled=spelled)
        if pair is not None:
            has_names, (last, value) = True, pair
            if last in bound:
                raise _error(action, f"the argument {last!r} is given twice")
            bound[last] = value
            continue
        free = next((parameter.name for parameter in parameters if parameter.name not in bound), None)
        if has_names or free is None:
            if not last:
                raise _error(action, f"{_tool(action)} takes no arguments")
            start = bound[last].start
            references = tuple(
                reference.shifted(-start)
                for reference in action.references
                if start <= reference.start and reference.end <= item.end
            )
            bound[last] = Argument(text=action.raw[start : item.end], start=start, end=item.end, references=references)
        else:
            last, bound[free] = free, item
    names = [parameter.name for parameter in parameters if parameter.required]
    missing = [name for name in names if name not in bound or not bound[name].text]
    if missing:
        listed = ", ".join(parameter.name if parameter.required else f"[{parameter.name}]" for parameter in parameters)
        raise _error(action, f"{_tool(action)} needs {listed}; missing: {', '.join(missing)}")
    return {parameter.name: bound[parameter.name] for parameter in parameters if parameter.name in bound}


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
        references=tuple(reference.shifted(-skipped) for reference in item.references if reference.start >= skipped),
    )
    return parameter.name, value


def _error(action: Action, message: str) -> BindingError:
    return BindingError(f"{action.place}: {message}")


def _tool(action: Action) -> str:
    return action.tool or "the statement"
