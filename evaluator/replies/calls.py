"""From the tool calls of a language model, in any dialect (`evaluator.replies.dialects`), to a plan.

A step has its call's id, and its outputs are `<call id>.<output>`; the n-th call without an id is `call_n`. Arguments
are a JSON object or its text, also encoded twice, in a code fence, or written as a Python literal.

A value refers to another call if it is

1. the call's id, for the call's first output, or `<call id>.<output>`; also after `$`, in `{...}`, `{{...}}`, `${...}`
   or `<...>`, unless the request has a resource of that name; the only output of a tool may also be called `output` or
   `result`, and where the argument is no text, like the argument or its type;
2. where the argument is no text, and so cannot be a literal: the number of the call (`call_2`, `result_2`, `step 2`,
   `<resource>-1` counted from 0), or the name of the tool, if exactly one other call has it.

Calls may refer to each other in any order. `evaluator.replies.actions` converts calls to steps.

Recorded: arguments encoded twice or as a Python literal, missing ids, unknown keys, references by rule 2 or in marks,
other names of an output.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from evaluator.core.plans.literals import kind_of, load_json, load_literal, refuse_too_many, short, spelling
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.core.tools.types import ResourceType
from evaluator.replies.actions import Action, inputs_of, named_arguments, outputs_of, plan_of, tool_name
from evaluator.replies.envelope import has_fence, opened

_MARKED = re.compile(r"\$?\{\{?\s*([^{}]+?)\s*\}\}?|<([^<>]+)>|\$(.+)", re.DOTALL)
_NUMBERED = re.compile(
    r"[<{$]*(?:call|result|step|output|action|tool)[ _-]?([0-9]{1,3})[>}]*((?:\.\w+)?)", re.IGNORECASE
)
_COUNTED = re.compile(r"<(?:resource|GEN(?:ERATED)?)>-([0-9]{1,3})")
_ANY_OUTPUT = ("output", "result")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as it was written."""

    tool: str
    arguments: object
    where: str
    id: str | None = None
    positional: tuple[object, ...] = ()
    """Arguments without names, in the order of the signature."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A call whose tool and arguments were read."""

    id: str
    tool: str
    arguments: Mapping[str, object]
    where: str
    outputs: tuple[str, ...]


def plan_of_calls(
    *, calls: Sequence[Call], context: PlanContext, form: str, tolerated: Sequence[str] = ()
) -> ParsedPlan:
    """The plan of tool calls.

    Args:
        calls: the calls, in the order of the text.
        context: has the signatures of the tools.
        form: name of the plan's form.
        tolerated: what was recorded before.

    Raises:
        PlanSyntaxError: arguments cannot be read, two calls have the same id, or there are too many; `where` is the
            call's.
    """
    refuse_too_many(steps=calls)
    records = list(tolerated)
    known: dict[str, _Known] = {}
    for number, call in enumerate(calls, start=1):
        call_id = call.id
        if call_id is None:
            call_id = f"call_{number}"
            records.append(f"{call.where}: no id; named it {call_id}")
        if call_id in known:
            raise PlanSyntaxError(f"two calls have the id {short(call_id)}", where=f"{call.where}.id")
        written = call.tool.removeprefix("functions.") if call.tool.startswith("functions.") else call.tool
        tool = tool_name(written=written, context=context, where=call.where, tolerated=records)
        arguments = arguments_of(value=call.arguments, where=call.where, tolerated=records)
        arguments = named_arguments(arguments, tool=tool, context=context, where=call.where, tolerated=records)
        names = [name for name in inputs_of(tool=tool, context=context) if name not in arguments]
        for place, value in enumerate(call.positional):
            arguments[names[place] if place < len(names) else f"input{place}"] = value
        outputs = tuple(outputs_of(tool=tool, context=context)) or ("output0",)
        known[call_id] = _Known(call_id, tool, arguments, call.where, outputs)
    references = _References(known=tuple(known.values()), context=context, tolerated=records)
    actions = [
        Action(
            id=call.id,
            tool=call.tool,
            inputs={name: references.resolve(item, of=call, argument=name) for name, item in call.arguments.items()},
            outputs={output: f"{call.id}.{output}" for output in call.outputs},
            where=call.where,
            is_resolved=True,
        )
        for call in known.values()
    ]
    return plan_of(actions=actions, context=context, form=form, tolerated=records)


def arguments_of(*, value: object, where: str, tolerated: list[str]) -> Mapping[str, object]:
    """The arguments of a call: an object, or its text.

    Raises:
        PlanSyntaxError: they are neither.
    """
    if value is None or value == "":
        tolerated.append(f"{where}: no arguments; read as none")
        return {}
    for decoding in range(3):
        if isinstance(value, Mapping):
            if decoding == 2:
                tolerated.append(f"{where}: the arguments are encoded twice")
            return value
        if not isinstance(value, str):
            break
        value = _decoded(value, where=where, tolerated=tolerated)
    raise PlanSyntaxError(f"the arguments must be a JSON object or its text, not {kind_of(value)}", where=where)


def _decoded(text: str, *, where: str, tolerated: list[str]) -> object:
    if has_fence(text) and text.lstrip()[:1] not in ("{", "[", '"'):
        text, notes = opened(text)
        tolerated += [f"{where}: {note}" for note in notes]
    try:
        return load_json(text)
    except PlanSyntaxError as error:
        try:
            value, notes = load_literal(text)
        except PlanSyntaxError:
            place = f"{where}, {error.where}".removesuffix(", ")
            raise PlanSyntaxError(f"the arguments cannot be read: {error.message}", where=place) from None
        tolerated += [f"{where}: {note}" for note in notes]
        return value


class _References:
    def __init__(self, *, known: tuple[_Known, ...], context: PlanContext, tolerated: list[str]) -> None:
        self._known = known
        self._by_id = {call.id: call for call in known}
        self._context = context
        self._tolerated = tolerated

    def resolve(self, value: object, *, of: _Known, argument: str) -> object:
        if isinstance(value, list):
            return [self.resolve(item, of=of, argument=argument) if isinstance(item, str) else item for item in value]
        if not isinstance(value, str):
            return value
        if value.startswith("$") and value[1:] in self._context.resources:
            return value
        kind = inputs_of(tool=of.tool, context=self._context).get(argument)
        is_text = kind is None or kind is ResourceType.TEXT
        names = _ANY_OUTPUT if is_text else (*_ANY_OUTPUT, argument, str(kind))
        if (reference := self._by_call_id(value)) is not None:
            return self._with_output(reference, of=of, names=names)
        marked = _MARKED.fullmatch(value)
        if marked is not None:
            name = next(group for group in marked.groups() if group is not None).strip()
            if (reference := self._by_call_id(name)) is not None:
                if not value.startswith("$") or "{" in value:
                    self._tolerated.append(f"{of.where}: read {short(value)} as the result of a call")
                return self._with_output(reference, of=of, names=names)
        if is_text:
            return value
        reference = self._by_number(value) or self._by_tool(value, of=of)
        if reference is not None:
            self._tolerated.append(f"{of.where}: read {short(value)} as {reference!r}")
        return reference or value

    def _by_call_id(self, name: str) -> str | None:
        if name in self._by_id:
            return _first(self._by_id[name])
        call_id, dot, _ = name.rpartition(".")
        return name if dot and call_id in self._by_id else None

    def _with_output(self, reference: str, *, of: _Known, names: Collection[str]) -> str:
        """A reference by a call's id, with the only output of its tool in place of one of these names."""
        call_id, _, output = reference.rpartition(".")
        outputs = self._by_id[call_id].outputs
        if output in outputs or len(outputs) != 1 or output not in names:
            return reference
        self._tolerated.append(f"{of.where}: read {short(reference)} as {f'{call_id}.{outputs[0]}'!r}")
        return f"{call_id}.{outputs[0]}"

    def _by_number(self, value: str) -> str | None:
        for pattern, base in ((_NUMBERED, 1), (_COUNTED, 0)):
            match = pattern.fullmatch(value)
            if match is not None and 0 <= int(match[1]) - base < len(self._known):
                call = self._known[int(match[1]) - base]
                output = match[2] if pattern is _NUMBERED else ""
                return f"{call.id}{output}" if output else _first(call)
        return None

    def _by_tool(self, value: str, *, of: _Known) -> str | None:
        name, _, output = value.strip("<>{}$ ").partition(".")
        name = name.removesuffix("()")
        others = [call for call in self._known if call is not of and spelling(call.tool) == spelling(name)]
        if len(others) != 1:
            return None
        if not output:
            return _first(others[0])
        return f"{others[0].id}.{output}" if output in others[0].outputs else None


def _first(call: _Known) -> str:
    return f"{call.id}.{call.outputs[0]}"
