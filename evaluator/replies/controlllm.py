"""Parser for ControlLLM's action lists as JSON.

Grammar (JSON)::

    plan      = [action, ...] | [subtask, ...] | candidate
    subtask   = [action, ...] | [candidate, ...]
    candidate = {"solution": [action, ...], "score"?: any} | [action, ...]
    action    = {"tool" | "tool_name": text, "inputs" | "args": inputs, "outputs" | "returns": outputs,
                 "description"?: any, "domain"?: any, "id"?: any}
    inputs    = {argument: value, ...} | [{"name": argument, "type"?: text, "value": value}, ...]
    outputs   = [reference, ...] | [{"name": output, "type"?: text, "value": reference}, ...]
              | {output: reference, ...} | reference

References are kept verbatim: the paper's `<GEN>-k`, `<TOOL-GEN>-tool-type-i` and `<TOOL-GEN>-type-i`, the released
code's `<GENERATED>-k` and `<TOOL-GENERATED>-tool-type-i`, file names. `evaluator.replies.actions` converts actions to
steps.

Actions of which none has outputs are tool calls with the ids `s1`, `s2`, ...: their values refer to each other by the
rules of `evaluator.replies.calls`.

Tolerated and recorded: several candidates of a subtask, of which the first is taken; missing inputs or outputs; unknown
keys, unless inputs are missing and one of them could be meant.
"""

from collections.abc import Iterator, Mapping

from evaluator.core.plans.literals import a_list, a_text, kind_of, load_json
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.actions import Action, plan_of
from evaluator.replies.calls import Call, plan_of_calls

FORM = "ControlLLM actions"
_TOOL = ("tool", "tool_name")
_INPUTS = ("inputs", "args")
_OUTPUTS = ("outputs", "returns")
# Further keys of the released code, which are ignored without a note.
_REMARKS = frozenset({*_TOOL, *_INPUTS, *_OUTPUTS, "description", "domain", "id", "score"})

JsonObject = Mapping[str, object]


def parse_controlllm(*, value: object, context: PlanContext) -> ParsedPlan:
    """Parse an action list from a JSON value or its text.

    Raises:
        PlanSyntaxError: it is no action list; `where` is the JSON path or the position in the text.
    """
    if isinstance(value, str):
        value = load_json(value)
    tolerated: list[str] = []
    actions = [
        _action(raw=raw, where=where, tolerated=tolerated) for raw, where in _calls(value=value, tolerated=tolerated)
    ]
    if actions and all(action.outputs is None for action in actions):
        calls = [
            Call(tool=action.tool, arguments=action.inputs, where=action.where, id=f"s{number}")
            for number, action in enumerate(actions, start=1)
        ]
        tolerated += [f"{call.where}: no outputs; named them by {call.id}" for call in calls]
        return plan_of_calls(calls=calls, context=context, form=FORM, tolerated=tolerated)
    return plan_of(actions=actions, context=context, form=FORM, tolerated=tolerated)


def _calls(*, value: object, tolerated: list[str]) -> Iterator[tuple[JsonObject, str]]:
    if isinstance(value, Mapping):
        yield from _candidate(value=value, where="plan")
        return
    for index, item in enumerate(a_list(value, "plan")):
        where = f"[{index}]"
        if isinstance(item, list):
            yield from _subtask(items=item, where=where, tolerated=tolerated)
        elif "solution" in _object(item, where):
            yield from _candidate(value=item, where=where)
        else:
            yield _object(item, where), where


def _subtask(*, items: list[object], where: str, tolerated: list[str]) -> Iterator[tuple[JsonObject, str]]:
    first = items[0] if items else None
    if isinstance(first, list) or (isinstance(first, Mapping) and "solution" in first):
        if len(items) > 1:
            tolerated.append(f"{where}: took the first of {len(items)} candidate solutions")
        yield from _candidate(value=first, where=f"{where}[0]")
        return
    for index, item in enumerate(items):
        yield _object(item, f"{where}[{index}]"), f"{where}[{index}]"


def _candidate(*, value: object, where: str) -> Iterator[tuple[JsonObject, str]]:
    if isinstance(value, Mapping):
        if "solution" not in value:
            raise PlanSyntaxError('a plan is a list of actions, or an object with "solution"', where=where)
        value, where = value["solution"], f"{where}.solution"
    for index, item in enumerate(a_list(value, where)):
        yield _object(item, f"{where}[{index}]"), f"{where}[{index}]"


def _action(*, raw: JsonObject, where: str, tolerated: list[str]) -> Action:
    unknown = sorted(str(key) for key in raw if key not in _REMARKS)
    if unknown:
        tolerated.append(f"{where}: ignored {', '.join(unknown[:5])}")
    _, tool = _one_of(raw=raw, keys=_TOOL, where=where)
    if not isinstance(tool, str) or not tool:
        raise PlanSyntaxError(f"the tool's name must be a non-empty text, not {kind_of(tool)}", where=where)
    key, inputs = _one_of(raw=raw, keys=_INPUTS, where=where)
    if inputs is None and (values := [name for name in unknown if raw[name] and isinstance(raw[name], Mapping | list)]):
        raise PlanSyntaxError(f"the values must be under 'inputs' or 'args', not under {values[0]!r}", where=where)
    arguments = _inputs(value=inputs, where=f"{where}.{key}", tolerated=tolerated)
    key, outputs = _one_of(raw=raw, keys=_OUTPUTS, where=where)
    results = None if outputs is None else _outputs(value=outputs, where=f"{where}.{key}", tolerated=tolerated)
    return Action(tool=tool, inputs=arguments, outputs=results, where=where)


def _one_of(*, raw: JsonObject, keys: tuple[str, str], where: str) -> tuple[str, object]:
    present = [key for key in keys if key in raw]
    if len(present) > 1:
        raise PlanSyntaxError(f'"{keys[0]}" and "{keys[1]}" mean the same; give one of them', where=where)
    return (present[0], raw[present[0]]) if present else (keys[0], None)


def _inputs(*, value: object, where: str, tolerated: list[str]) -> dict[str, object]:
    if value is None:
        tolerated.append(f"{where}: missing; read as no inputs")
        return {}
    if isinstance(value, Mapping):
        return {a_text(name, where): item for name, item in value.items()}
    if not isinstance(value, list):
        raise PlanSyntaxError(f"must be an object of values by argument name, not {kind_of(value)}", where=where)
    return _named(items=value, where=where)


def _outputs(*, value: object, where: str, tolerated: list[str]) -> list[str] | dict[str, str]:
    if isinstance(value, str) and value:
        tolerated.append(f"{where}: read a text as a list of one")
        return [value]
    if isinstance(value, Mapping):
        return {a_text(name, where): a_text(item, f"{where}.{name}") for name, item in value.items()}
    items = a_list(value, where)
    if items and isinstance(items[0], Mapping):
        return {name: a_text(item, f"{where}.{name}") for name, item in _named(items=items, where=where).items()}
    return [a_text(item, f"{where}[{index}]") for index, item in enumerate(items)]


def _named(*, items: list[object], where: str) -> dict[str, object]:
    named: dict[str, object] = {}
    for index, item in enumerate(items):
        place = f"{where}[{index}]"
        raw = _object(item, place)
        name = a_text(raw.get("name"), f"{place}.name")
        if name in named:
            raise PlanSyntaxError(f"{name!r} occurs twice", where=place)
        named[name] = raw.get("value")
    return named


def _object(value: object, where: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise PlanSyntaxError(f"an action is a JSON object, not {kind_of(value)}", where=where)
    return value
