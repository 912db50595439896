"""The examples are what somebody starts from: they must be right, and short."""

from evaluator.planners import request_for
from evaluator.plans import read_plan
from evaluator.suites import suite_of
from tests.end_to_end.arena import ROOT
from tests.end_to_end.endpoints import example

OPENAGI = suite_of("openagi")


def test_the_example_endpoint_plans_every_request_as_the_gold_does():
    for task in OPENAGI.tasks:
        context = OPENAGI.context(task=task, offered=frozenset(OPENAGI.catalogue.tools))
        request = request_for(suite=OPENAGI, task=task, context=context).model_dump()
        plan = read_plan(value=example().make_plan(request), context=context).plan
        assert plan == task.gold, task.text


def test_the_example_endpoint_has_fewer_than_60_lines():
    assert len((ROOT / "examples" / "planner_server.py").read_text().splitlines()) < 60
