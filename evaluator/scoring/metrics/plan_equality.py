"""Whether a plan is the gold plan, and how near it comes, as graphs. Pure.

Names of steps and values, and the order in which steps are written, say nothing. Everything else counts: another order
of calls that depend on each other is another plan, even where the tools commute, and so is a call too many. Identical
calls, with the same tool and the same inputs, are interchangeable.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator

from evaluator.core.canonical_json import JsonValue
from evaluator.core.plans.checks import execution_order
from evaluator.core.plans.model import Plan

Edge = tuple[str, str]
"""Where a value comes from and where it goes: a tool, an input of the request, a text of the plan, or an answer."""


def is_same_plan(*, plan: Plan, other: Plan) -> bool:
    """Whether two plans are equal up to the names of steps and values and the order of steps.

    Raises:
        CycleError: a plan has a cycle (`check_plan` reports it).
    """
    return canonical_form(plan) == canonical_form(other)


def canonical_form(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The digests of the calls, sorted, and those of the answers, in order: equal for equal plans only.

    The digest of a call is that of its tool and its inputs, each of which is an input of the request, a text, or an
    output of a call, named by that call's digest.

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

    The edges run from a tool or an input to the tool that takes its value, and to the answers, which are numbered. A
    text that stands in the plan is an input. Equal plans score 1; so may plans that differ in which of several calls of
    one tool an edge belongs to.
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
    # Escaped: a plan's texts may hold what UTF-8 cannot encode.
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).hexdigest()


def _value(value: str, made: dict[str, JsonValue]) -> JsonValue:
    return made[value] if value in made else _given(value)


def _given(value: str) -> str:
    """An input of the request, which a plan may name with or without `$`, or a text."""
    return f"${value.removeprefix('$').strip()}"
