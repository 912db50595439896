"""Null plans: what is read as an abstention, and what its reason is."""

import pytest

from evaluator.plans import Plan, PlanContext, PlanSyntaxError, read_plan
from evaluator.plans.abstaining import FORM, MAX_REASON, abstention, is_abstention, reason_received
from evaluator.tools.controlllm import CONTROLLLM

CONTEXT = PlanContext(catalogue=CONTROLLLM, resources={}, expects=None)
WHY = {"plan": None, "reason": "There is no printer."}


@pytest.mark.parametrize(
    "value", [None, {"plan": None}, WHY, {"plan": None, "reason": None}, ' {"plan": null, "reason": "No."}']
)
def test_an_abstention_is_read_as_a_plan_without_steps_and_answers(value):
    parsed = read_plan(value=value, context=CONTEXT)
    assert (parsed.plan, parsed.form) == (Plan(steps=(), answers=()), FORM)


@pytest.mark.parametrize("value", [{"steps": [], "answers": []}, [], {"plan": {"steps": []}}, {"reason": "no"}, "null"])
def test_nothing_else_is_an_abstention(value):
    assert not is_abstention(value)
    assert reason_received(value) is None


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"plan": None, "why": "no"}, "unknown key 'why'"),
        ({"plan": None, "steps": []}, "unknown key 'steps'"),
        ({"plan": None, "reason": ["no"]}, "reason: must be a text"),
    ],
)
def test_an_abstention_has_nothing_but_a_reason(value, says):
    with pytest.raises(PlanSyntaxError, match=says):
        read_plan(value=value, context=CONTEXT)


@pytest.mark.parametrize(
    ("received", "reason"),
    [
        (None, ""),
        ({"plan": None}, ""),
        (WHY, "There is no printer."),
        ('{"plan": null, "reason": " No. "}', "No."),
        ("{'plan': None}", ""),
        ("{", None),
        ({"plan": None, "reason": "x" * 5000}, "x" * MAX_REASON),
        ({"plan": None, "reason": 3}, ""),
    ],
)
def test_the_reason_of_what_was_received_is_bounded(received, reason):
    assert reason_received(received) == reason


def test_an_abstention_without_a_reason_is_null():
    assert abstention() is None
    assert abstention(" ") is None
    assert abstention("No.") == {"plan": None, "reason": "No."}
