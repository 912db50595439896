"""Equality and similarity of plans as graphs. Pure.

Names of steps and values and the written order do not matter. Everything else does: a plan with another order of
dependent calls, even if the tools commute, or with an additional call is a different plan. Calls with the same tool and
inputs are interchangeable.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan

Edge = tuple[str, str]
"""Source and target of a value: a tool, an input of the request, a text of the plan, or an answer."""


def is_same_plan(*, plan: Plan, other: Plan) -> bool:
    """Whether two plans are equal up to the names of steps and values and the order of steps.

    Raises:
        CycleError: a plan has a cycle (`check_plan` reports it).
    """
    return canonical_form(plan) == canonical_form(other)


def canonical_form(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sorted digests of the calls, and those of the answers in order; equal only for equal plans.

    The digest of a call covers its tool and its inputs: inputs of the request, texts, and outputs of calls by the
    digests of these calls.

    Raises:
        CycleError: the plan has a cycle.
    """
    values: dict[str, JsonValue] = {}
    calls: list[str] = []
    for step in execution_order(plan):
        inputs: dict[str, JsonValue] = {name: _value(value, values) for name, value in step.inputs.items()}
        call = _digest([step.tool, inputs])
        calls.append(call)
        values |= {reference: [call, output] for output, reference in step.outputs.items()}
    answers = tuple(_digest(_value(answer, values)) for answer in plan.answers)
    return tuple(sorted(calls)), answers


def edge_f1(*, plan: Plan, other: Plan) -> float:
    """F1 of the edges of two plans as multisets, in [0, 1], symmetric; 1 if neither has any.

    Edges lead from a tool or input to the tool that takes its value, or to a numbered answer. A text of the plan is an
    input. Equal plans score 1; so do plans that only differ in the call of a tool to which an edge belongs.
    """
    first, second = Counter(_edges(plan)), Counter(_edges(other))
    if not first and not second:
        return 1.0
    return 2 * (first & second).total() / (first.total() + second.total())


def _edges(plan: Plan) -> Iterator[Edge]:
    makers = {reference: step.tool for step in plan.steps for reference in step.outputs.values()}
    for step in plan.steps:
        for value in step.inputs.values():
            yield makers.get(value) or _given(value), step.tool
    for number, answer in enumerate(plan.answers, start=1):
        yield makers.get(answer) or _given(answer), f"answer {number}"


def _digest(value: JsonValue) -> str:
    # Escaped: texts of plans may have characters that UTF-8 cannot encode.
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).hexdigest()


def _value(value: str, made: dict[str, JsonValue]) -> JsonValue:
    return made[value] if value in made else _given(value)


def _given(value: str) -> str:
    """An input of the request, with or without `$`, or a text."""
    return f"${value.removeprefix('$').strip()}"
