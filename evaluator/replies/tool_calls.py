"""Parser for OpenAI's tool calls.

Grammar (JSON)::

    plan      = [call, ...] | {"tool_calls": [call, ...], ...}
    call      = {"id": text, "type"?: "function", "index"?: integer, "function": {"name": tool, "arguments": arguments}}
    arguments = the JSON text of {argument: value, ...}
    value     = "$" resource | ["$"] call id ["." output] | literal text

A step has its call's id, and its outputs are `<call id>.<output>`. A value that is a call's id refers to that call's
first output, a value `<call id>.<output>` to that output; a leading `$` is ignored, unless the request has a resource
of that name. Calls may refer to each other in any order. `evaluator.replies.actions` converts calls to steps.

Tolerated and recorded: arguments as an object instead of its text; a call without id; unknown keys.
"""

from collections.abc import Mapping

from evaluator.core.plans.literals import a_text, kind_of, load_json, refuse_too_many
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.actions import Action, outputs_of, plan_of, tool_name

FORM = "tool calls"
_KEYS = frozenset({"id", "type", "index", "function"})

JsonObject = Mapping[str, object]
Results = Mapping[str, tuple[str, ...]]


def parse_tool_calls(*, value: object, context: PlanContext) -> ParsedPlan:
    """Parse tool calls from a JSON value or its text.

    Raises:
        PlanSyntaxError: the form is invalid; `where` is the JSON path or the position in the text.
    """
    if isinstance(value, str):
        value = load_json(value)
    tolerated: list[str] = []
    calls = _calls(value=value, context=context, tolerated=tolerated)
    results = {
        call_id: tuple(outputs_of(tool=tool, context=context)) or ("output0",)
        for call_id, (tool, _, _) in calls.items()
    }
    actions = [
        Action(
            id=call_id,
            tool=tool,
            inputs={key: _resolved(value=item, results=results, context=context) for key, item in arguments.items()},
            outputs={output: f"{call_id}.{output}" for output in results[call_id]},
            where=where,
        )
        for call_id, (tool, arguments, where) in calls.items()
    ]
    return plan_of(actions=actions, context=context, form=FORM, tolerated=tolerated)


def _calls(*, value: object, context: PlanContext, tolerated: list[str]) -> dict[str, tuple[str, JsonObject, str]]:
    """The calls by id: tool, arguments and location."""
    root = ""
    if isinstance(value, Mapping) and "tool_calls" in value:
        value, root = value["tool_calls"], "tool_calls"
    if not isinstance(value, list):
        raise PlanSyntaxError(f"tool calls are a list, not {kind_of(value)}", where=root)
    refuse_too_many(steps=value, where=root)
    calls: dict[str, tuple[str, JsonObject, str]] = {}
    for index, raw in enumerate(value):
        where = f"{root}[{index}]"
        call_id, name, arguments = _call(raw=raw, where=where, tolerated=tolerated)
        call_id = call_id or f"call_{index + 1}"
        if call_id in calls:
            raise PlanSyntaxError(f"two calls have the id {call_id!r}", where=f"{where}.id")
        tool = tool_name(written=name, context=context, where=where, tolerated=tolerated)
        calls[call_id] = (tool, arguments, where)
    return calls


def _call(*, raw: object, where: str, tolerated: list[str]) -> tuple[str | None, str, JsonObject]:
    """The call's id, if any, the function's name, and the arguments."""
    if not isinstance(raw, Mapping):
        raise PlanSyntaxError(f"a call is a JSON object, not {kind_of(raw)}", where=where)
    unknown = sorted(str(key) for key in raw if key not in _KEYS)
    if unknown:
        tolerated.append(f"{where}: ignored {', '.join(unknown[:5])}")
    if raw.get("type", "function") != "function":
        raise PlanSyntaxError('the type of a call is "function"', where=f"{where}.type")
    call_id = raw.get("id")
    if call_id is None:
        tolerated.append(f"{where}.id: missing; called it by its number")
    else:
        call_id = a_text(call_id, f"{where}.id")
    function = raw.get("function")
    if not isinstance(function, Mapping):
        raise PlanSyntaxError(
            f"must be an object with name and arguments, not {kind_of(function)}", where=f"{where}.function"
        )
    name = a_text(function.get("name"), f"{where}.function.name")
    arguments = _arguments(value=function.get("arguments"), where=f"{where}.function.arguments", tolerated=tolerated)
    return call_id, name, arguments


def _arguments(*, value: object, where: str, tolerated: list[str]) -> JsonObject:
    if isinstance(value, Mapping):
        tolerated.append(f"{where}: an object instead of its text")
        return value
    if not isinstance(value, str):
        raise PlanSyntaxError(f"must be the text of a JSON object, not {kind_of(value)}", where=where)
    try:
        loaded = load_json(value)
    except PlanSyntaxError as error:
        raise PlanSyntaxError(error.message, where=f"{where}, {error.where}".removesuffix(", ")) from None
    if not isinstance(loaded, Mapping):
        raise PlanSyntaxError(f"must be the text of a JSON object, not of {kind_of(loaded)}", where=where)
    return loaded


def _resolved(*, value: object, results: Results, context: PlanContext) -> object:
    if isinstance(value, list):
        return [
            _resolved(value=item, results=results, context=context) if isinstance(item, str) else item for item in value
        ]
    if not isinstance(value, str) or (value.startswith("$") and value[1:] in context.resources):
        return value
    name = value.removeprefix("$")
    if name in results:
        return f"{name}.{results[name][0]}"
    call_id, dot, _ = name.rpartition(".")
    return name if dot and call_id in results else value
