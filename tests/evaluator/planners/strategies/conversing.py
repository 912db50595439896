"""Holding a conversation by hand: requests of real suites, and answers that the test gives."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import jsonschema

from evaluator.core import canonical_json
from evaluator.core.language_model import Call, Completion
from evaluator.core.planner import PlannerRequest, request_for
from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import ParsedPlan, PlanContext, Problem
from evaluator.core.strategy import Draft, Strategy
from evaluator.core.suites.registry import suite_of
from evaluator.replies.read import read_plan

NOISY_QUESTION = ("openagi", "150")
"""Given low-resolutioned noisy blurry image and clozed English query, ... answer the question in German"""
REMOVE_KEYBOARD = ("toolmini", "image_editing/5")
"""Remove the keyboard from station_000.png, please."""


def validate(value: object, schema: Mapping[str, Any]) -> None:
    """Raises `jsonschema.ValidationError` for a value that a schema refuses; the schema is checked once."""
    _validator(canonical_json.dumps(schema)).validate(value)


@cache
def _validator(schema: str) -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    return jsonschema.Draft202012Validator(json.loads(schema))


def request_of(suite: str, key: str) -> PlannerRequest:
    """The request of a task that offers all tools."""
    result = suite_of(suite)
    return request_for(suite=result, task=result.task(key), context=_context(suite, key))


def held(strategy: Strategy, request: PlannerRequest, answers: Sequence[str]) -> tuple[Draft, list[Call]]:
    """As `held_with`, with texts as answers."""
    return held_with(strategy, request, [Completion(text=answer) for answer in answers])


def held_with(strategy: Strategy, request: PlannerRequest, answers: Sequence[Completion]) -> tuple[Draft, list[Call]]:
    """The draft of a conversation in which the completions are answered one after the other, and the calls it made.

    Asserts that it ends with the last answer, and not before.
    """
    conversation = strategy.converse(request)
    calls = list(next(conversation))
    for position, answer in enumerate(answers):
        try:
            calls += conversation.send([answer])
        except StopIteration as end:
            assert position == len(answers) - 1, f"it ended after answer {position + 1}"
            return end.value, calls
    raise AssertionError("it wants more answers")


def read(draft: Draft, suite: str, key: str) -> tuple[ParsedPlan, tuple[Problem, ...]]:
    """The plan of a draft as the evaluation reads it, with its problems."""
    context = _context(suite, key)
    parsed = read_plan(value=draft.plan, context=context)
    return parsed, check_plan(plan=parsed.plan, context=context)


def is_solved(draft: Draft, key: str) -> bool:
    """Whether a plan solves a task of `toolmini`, as the suite judges."""
    from evaluator.controlllm.toolbench.judging import judge

    suite = suite_of("toolmini")
    return judge(suite=suite, task=suite.task(key), value=draft.plan).judgement.SE == 1


def prompt_of(call: Call) -> str:
    """Everything that a call shows the language model."""
    return "\n".join(message.content for message in call.messages)


def _context(suite: str, key: str) -> PlanContext:
    result = suite_of(suite)
    return result.context(task=result.task(key), offered=frozenset(result.catalogue.tools))
