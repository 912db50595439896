"""Printers of plans: inverses of the parsers. They raise `UnprintableError` for plans that their form cannot
express."""

import json
import re
from collections.abc import Mapping

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.model import Plan, Step
from evaluator.replies.lumos import TARGET, TOOL

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UnprintableError(ValueError):
    """A form has no words for a plan."""


def plan_to_comma(plan: Plan) -> str:
    """`A, B, C`. The wiring is not printed: `parse_comma` wires by its rule."""
    for step in plan.steps:
        _check_name(step.tool, forbidden=",")
    return ", ".join(step.tool for step in plan.steps)


def plan_to_tree(plan: Plan) -> str:
    """`(A,B,)(C,)D,`. Each result must be used once, by the last step in the end."""
    if not plan.steps:
        raise UnprintableError("a tree needs a step")
    makers = {reference: step for step in plan.steps for reference in step.outputs.values()}
    if len(makers) < len(plan.steps):
        raise UnprintableError("in a tree every step makes something of its own")
    used: list[str] = []
    text = _tree(step=plan.steps[-1], makers=makers, used=used)
    if len(used) < len(plan.steps) or len(used) > len(set(used)):
        raise UnprintableError("in a tree every step leads to the last one, and is used once")
    return text


def plan_to_actions(plan: Plan) -> list[JsonValue]:
    """ControlLLM's action list: `[{"tool", "inputs", "outputs"}, ...]`."""
    return [
        {"tool": step.tool, "inputs": dict(step.inputs), "outputs": list(step.outputs.values())} for step in plan.steps
    ]


def plan_to_printed(plan: Plan) -> str:
    """`[Action(tool_name='x', inputs={...}, outputs=[...]), ...]`."""
    actions = ",\n ".join(
        f"Action(tool_name={_quoted(step.tool)}, inputs={_mapping(step.inputs)}, "
        f"outputs=[{', '.join(map(_quoted, step.outputs.values()))}])"
        for step in plan.steps
    )
    return f"[{actions}]"


def plan_to_lumos(plan: Plan) -> str:
    """`R1 = Tool(name="x")`, one action to a line, with the plan's own references as targets."""
    if not plan.steps:
        raise UnprintableError("assignments need a step")
    made = {reference for step in plan.steps for reference in step.outputs.values()}
    return "\n".join(_assignment(step=step, made=made) for step in plan.steps)


def _tree(*, step: Step, makers: Mapping[str, Step], used: list[str]) -> str:
    chain = []
    while True:
        _check_name(step.tool, forbidden="(),")
        used.append(step.id)
        if len(used) > len(makers):
            raise UnprintableError("a tree has no cycles")
        chain.append(f"{step.tool},")
        inputs = list(step.inputs.values())
        if not inputs:
            raise UnprintableError(f"step {step.id!r}: in a tree every step takes something")
        if len(inputs) > 1 or inputs[0] not in makers:
            break
        step = makers[inputs[0]]
    if len(inputs) > 1:
        branches = [
            f"({_tree(step=makers[value], makers=makers, used=used) if value in makers else ''})" for value in inputs
        ]
        chain.append("".join(branches))
    return "".join(reversed(chain))


def _assignment(*, step: Step, made: set[str]) -> str:
    if not step.outputs or not all(map(TARGET.fullmatch, step.outputs.values())):
        raise UnprintableError(f"step {step.id!r}: an assignment needs targets that are names")
    if not all(map(_IDENTIFIER.fullmatch, step.inputs)):
        raise UnprintableError(f"step {step.id!r}: the name of an argument is an identifier")
    _check_name(step.tool, forbidden="")
    if not TOOL.fullmatch(step.tool):
        raise UnprintableError(f"{step.tool!r} is no name of a tool in this form")
    arguments = ", ".join(f"{name}={value if value in made else _quoted(value)}" for name, value in step.inputs.items())
    return f"{', '.join(step.outputs.values())} = {step.tool}({arguments})"


def _check_name(name: str, *, forbidden: str) -> None:
    if name != " ".join(name.split()) or not name or any(character in name for character in forbidden):
        raise UnprintableError(f"{name!r} is no name of a tool in this form")


def _mapping(texts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_quoted(name)}: {_quoted(text)}" for name, text in texts.items()) + "}"


def _quoted(text: str) -> str:
    """In single quotes, as the paper prints; JSON's escapes are Python's, but for the quote."""
    return "'" + json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
