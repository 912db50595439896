"""Limits of plans as graphs."""

import pytest

from evaluator.plans.canonical import parse_canonical
from evaluator.plans.model import PlanSyntaxError
from evaluator.suites import suite_of


def test_a_plan_with_more_answers_than_a_site_keeps_cannot_be_read():
    suite = suite_of("toolmini")
    context = suite.context(task=suite.task("QA/0"), offered=frozenset(suite.catalogue.tools))
    plan = {"steps": [], "answers": ["x"] * 1001}
    with pytest.raises(PlanSyntaxError, match="1001 answers; a plan has at most 1000"):
        parse_canonical(value=plan, context=context)
