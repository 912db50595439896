"""Envelopes around subgoals, actions, programs and whole plans of suites in turns change nothing."""

import json

import pytest

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.turns import Role, TurnResponse
from evaluator.episodes.judgement import all_tools
from evaluator.episodes.turns.reading import Actions, Stopped, Subgoals, actions_of_plan, read_response
from tests.evaluator.replies.envelopes import ENVELOPES, MESSAGES

SUITES = ("arc-mini", "lumos-mini", "openagi-turns", "toolworld-turns")
FEW = 12
STOP = "Yes, I will stop planning."


def tasks(suite, *, full):
    every = [task for task in suite.tasks if task.gold is not None and task.gold.steps]
    return every[:: 1 if full else max(1, len(every) // FEW)]


def read(suite, task, *, role=Role.JOINT, **response):
    """What a response says, without places in its text."""
    context = all_tools(suite=suite, task=task)
    intent = read_response(
        response=TurnResponse.model_validate(response), role=role, context=context,
        statement_tool=suite.statement_tool_in(context), is_typed=suite.named_inputs, candidates=suite.candidates,
    )  # fmt: skip
    if not isinstance(intent, Actions):
        return intent
    # Line breaks within an argument stay as they are written.
    actions = [
        (action.tool, action.arguments.replace("\r\n", "\n").strip(), action.outputs, action.named)
        for action in intent.actions
    ]
    return actions, intent.subgoals, intent.is_whole, intent.answers, intent.error


def whole_plans(suite, task):
    """The gold plan in the forms of the suite."""
    yield json.dumps(plan_to_json(task.gold))
    if not suite.named_inputs:
        yield actions(suite, task)


def actions(suite, task):
    """The gold plan in LUMOS's grammar; a statement has no tool."""
    written, _ = actions_of_plan(plan=task.gold, catalogue=all_tools(suite=suite, task=task).catalogue)
    return "; ".join(
        f"{', '.join(action.outputs)} = {action.arguments}" if action.tool == suite.statement_tool else action.text
        for action in written
    )


@pytest.mark.parametrize("slug", SUITES)
@pytest.mark.parametrize("envelope", [*ENVELOPES, *MESSAGES])
def test_whole_plans(slug, envelope, *, full):
    suite = suite_of(slug)
    for task in tasks(suite, full=full):
        for bare in whole_plans(suite, task):
            wanted = read(suite, task, plan=bare)
            wrapped = {**ENVELOPES, **MESSAGES}[envelope](bare)
            assert read(suite, task, plan=wrapped) == wanted, (task.key, wrapped)


@pytest.mark.parametrize("slug", [slug for slug in SUITES if not suite_of(slug).named_inputs])
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_subgoals_actions_and_the_stop(slug, envelope, *, full):
    suite, wrap = suite_of(slug), ENVELOPES[envelope]
    for task in tasks(suite, full=full):
        written = actions(suite, task)
        assert read(suite, task, actions=wrap(written)) == read(suite, task, actions=written), wrap(written)
        assert read(suite, task, role=Role.GROUND, text=wrap(written)) == read(suite, task, actions=written)
        subgoals = "; ".join(f"Subgoal {n}: {text}" for n, text in enumerate(task.gold.subgoals or ("Look.",), start=1))
        wanted = read(suite, task, role=Role.PLAN, text=subgoals)
        assert isinstance(wanted, Subgoals)
        assert read(suite, task, role=Role.PLAN, text=wrap(subgoals)) == wanted, wrap(subgoals)
        assert read(suite, task, role=Role.PLAN, text=wrap(STOP)) == Stopped()
