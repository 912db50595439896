"""Parser for HuggingGPT's task lists.

Grammar (JSON)::

    plan  = [task, ...]
    task  = {"task": tool, "id": integer, "dep": [integer, ...] | [-1], "args": {argument: value, ...}}
    value = "<resource>-" id | literal, file name

`<resource>-id` is the result of the task with that id, like `<GENERATED>-id` in the released code. Further outputs of a
tool are `<resource>-id.name`. HuggingGPT names arguments by their type (`text`, `image`, `audio`): if the tool has no
argument of that name, its only free argument of that type is meant. `evaluator.replies.actions` converts tasks to
steps.

Tolerated and recorded: an argument named by its type; the released spelling of references; ids as texts; a missing
`dep`, or one with a task whose result is not used (only data flow makes a plan's edges); unknown keys.
"""

import re
from collections.abc import Mapping

from evaluator.core.plans.literals import a_text, integer, kind_of, load_json, refuse_too_many
from evaluator.core.plans.model import ParsedPlan, PlanContext, PlanSyntaxError
from evaluator.replies.actions import Action, inputs_of, outputs_of, plan_of, tool_name

FORM = "HuggingGPT tasks"
_KEYS = frozenset({"task", "id", "dep", "args"})
_GENERATED = re.compile(r"<GEN(?:ERATED)?>-([0-9]{1,9})")
_RESOURCE = re.compile(r"<resource>-([0-9]{1,9})")


def parse_hugginggpt(*, value: object, context: PlanContext) -> ParsedPlan:
    """Parse a task list from a JSON value or its text.

    Raises:
        PlanSyntaxError: it is no task list; `where` is the JSON path or the position in the text.
    """
    if isinstance(value, str):
        value = load_json(value)
    if not isinstance(value, list):
        raise PlanSyntaxError(f"a task list is a list, not {kind_of(value)}")
    refuse_too_many(steps=value)
    tolerated: list[str] = []
    seen: set[int] = set()
    actions = []
    for index, raw in enumerate(value):
        action, number = _task(raw=raw, where=f"[{index}]", context=context, tolerated=tolerated)
        if number in seen:
            raise PlanSyntaxError(f"two tasks have the id {number}", where=f"[{index}].id")
        seen.add(number)
        actions.append(action)
    return plan_of(actions=actions, context=context, form=FORM, tolerated=tolerated)


def _task(*, raw: object, where: str, context: PlanContext, tolerated: list[str]) -> tuple[Action, int]:
    if not isinstance(raw, Mapping):
        raise PlanSyntaxError(f"a task is a JSON object, not {kind_of(raw)}", where=where)
    unknown = sorted(str(key) for key in raw if key not in _KEYS)
    if unknown:
        tolerated.append(f"{where}: ignored {', '.join(unknown[:5])}")
    written = a_text(raw.get("task"), f"{where}.task")
    number = integer(value=raw.get("id"), where=f"{where}.id", tolerated=tolerated)
    args = raw.get("args")
    if not isinstance(args, Mapping):
        raise PlanSyntaxError(f"must be an object of values by argument, not {kind_of(args)}", where=f"{where}.args")
    tool = tool_name(written=written, context=context, where=where, tolerated=tolerated)
    inputs = _inputs(args=args, tool=tool, where=f"{where}.args", context=context, tolerated=tolerated)
    _check_dependencies(raw=raw, inputs=inputs, where=f"{where}.dep", tolerated=tolerated)
    result = f"<resource>-{number}"
    names = tuple(outputs_of(tool=tool, context=context)) or ("output0",)
    outputs = {name: result if index == 0 else f"{result}.{name}" for index, name in enumerate(names)}
    return Action(tool=tool, inputs=inputs, outputs=outputs, where=where), number


def _inputs(
    *, args: Mapping[str, object], tool: str, where: str, context: PlanContext, tolerated: list[str]
) -> dict[str, object]:
    signature = inputs_of(tool=tool, context=context)
    inputs: dict[str, object] = {}
    for key, raw in args.items():
        name = key
        if signature and key not in signature:
            free = [name for name, kind in signature.items() if kind == key and not (name in args or name in inputs)]
            if len(free) == 1:
                name = free[0]
                tolerated.append(f"{where}: read {key!r} as {name!r}, the one argument of that type")
        inputs[name] = _reference(value=raw, where=f"{where}.{key}", tolerated=tolerated)
    return inputs


def _reference(*, value: object, where: str, tolerated: list[str]) -> object:
    if isinstance(value, list):
        return [
            _reference(value=item, where=where, tolerated=tolerated) if isinstance(item, str) else item
            for item in value
        ]
    match = _GENERATED.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    tolerated.append(f"{where}: read {value!r} as '<resource>-{match[1]}'")
    return f"<resource>-{match[1]}"


def _check_dependencies(
    *, raw: Mapping[str, object], inputs: Mapping[str, object], where: str, tolerated: list[str]
) -> None:
    if "dep" not in raw:
        tolerated.append(f"{where}: missing")
        return
    listed = raw["dep"]
    if not isinstance(listed, list):
        raise PlanSyntaxError(f"must be a list of ids, not {kind_of(listed)}", where=where)
    numbers = [integer(value=item, where=f"{where}[{index}]", tolerated=tolerated) for index, item in enumerate(listed)]
    items = [item for value in inputs.values() for item in (value if isinstance(value, list) else [value])]
    used = {match[1] for item in items if isinstance(item, str) and (match := _RESOURCE.fullmatch(item))}
    unused = [str(number) for number in numbers if number != -1 and str(number) not in used]
    if unused:
        tolerated.append(f"{where}: no argument uses the result of {', '.join(unused)}")
