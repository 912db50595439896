"""The anchors of judged plans on the released suites, and damage on them: what can be said without the judge's help."""

import pytest

from evaluator.episodes.judgement import all_tools
from evaluator.metrics.plan_equality import canonical_form
from evaluator.planners.bundled import bundled_planner
from evaluator.planners.protocol import request_for
from evaluator.plans import check_plan, read_plan
from evaluator.validity.damages import DAMAGES, damaged
from evaluator.validity.plan_texts import Donors

pytestmark = pytest.mark.full


@pytest.mark.parametrize("name", ["gold", "random-valid", "random-valid/2", "parrot", "gold-minus-one"])
def test_anchors_answer_every_request_with_a_typed_plan(suites, name):
    for suite in suites.values():
        planner = bundled_planner(name=name, suite=suite)
        for task in suite.tasks:
            if task.gold is None:
                continue
            context = all_tools(suite=suite, task=task)
            reply = planner.plan(request_for(suite=suite, task=task, context=context))
            plan = read_plan(value=reply.plan, context=context).plan
            found = {problem.code for problem in check_plan(plan=plan, context=context)}
            # The release gives some files in two roles, of which the checks know one.
            has_roles = any(len(kinds) > 1 for kinds in task.types_given.values())
            assert found <= ({"type_conflict"} if has_roles else set())
            assert plan.steps or name == "gold-minus-one"


def test_damaged_plans_of_released_suites_are_other_plans_and_always_the_same(suites):
    for suite in suites.values():
        donors, again = Donors(suite), Donors(suite)
        counts = dict.fromkeys((damage.name for damage in DAMAGES), 0)
        for task in suite.tasks:
            for damage in DAMAGES:
                plan = damaged(damage=damage, task=task, donors=donors)
                assert plan == damaged(damage=damage, task=task, donors=again)
                if plan is not None:
                    counts[damage.name] += 1
                    assert plan.steps != task.gold.steps
                    if damage.name != "shuffled order":
                        assert canonical_form(plan) != canonical_form(task.gold)
        assert min(counts.values()) > 1, counts
