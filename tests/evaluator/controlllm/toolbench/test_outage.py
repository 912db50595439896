"""Tasks with a tool less: another plan meets them, or abstaining is right, by the rules that judge plans."""

import pytest

from evaluator.controlllm.toolbench.judging import judge
from evaluator.controlllm.toolbench.tasks import with_outage
from evaluator.core.plans.model import plan_to_json
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.reliability.perturbed_evaluation import PerturbedEvaluator


def changed(slug):
    suite = suite_of(slug)
    variant = with_outage(suite, frozenset(suite.catalogue.tools))
    return variant, [(old, new) for old, new in zip(suite.tasks, variant.tasks, strict=True) if old is not new]


def verdict(suite, task, plan):
    return judge(suite=suite, task=task, value=plan_to_json(plan) if plan.steps else None).judgement


@pytest.mark.parametrize("slug", ["toolmini", "toolworld", "toolmini-abstain"])
def test_the_new_gold_plan_does_without_the_tool_and_solves_the_task_and_the_old_one_does_not(slug):
    suite, pairs = changed(slug)
    for old, new in pairs:
        (tool,) = new.withheld
        assert tool in old.gold.tools()
        assert tool not in new.gold.tools()
        found = verdict(suite, new, new.gold)
        assert found.SE == 1 or found.undecided, (new.key, found.why)
        assert verdict(suite, new, old.gold).SE == 0


@pytest.mark.parametrize("slug", ["toolmini", "toolworld"])
def test_both_cases_occur_and_an_empty_answer_is_right_in_one_of_them_only(slug):
    suite, pairs = changed(slug)
    replaced = [new for _, new in pairs if new.metric != ABSTENTION]
    lost = [new for _, new in pairs if new.metric == ABSTENTION]
    assert len(replaced) >= 40
    assert len(lost) >= 40
    assert all(judge(suite=suite, task=task, value=None).judgement.SE == 1 for task in lost)
    assert all(judge(suite=suite, task=task, value=None).judgement.SE == 0 for task in replaced)


def test_a_tool_is_withheld_for_abstaining_only_if_every_tool_of_the_gold_plan_is_needed():
    suite, pairs = changed("toolmini")
    tools = frozenset(suite.catalogue.tools)
    for old, new in pairs:
        if new.metric == ABSTENTION:
            left = [with_outage_of_one(suite, old, tool=tool, tools=tools) for tool in old.gold.tools()]
            assert not any(left), old.key


def with_outage_of_one(suite, task, *, tool, tools):
    """Whether every part has a sufficient chain of the other tools."""
    del suite
    return all(any(chain <= tools - {tool} for chain in chains) for chains in task.goal.chains)


def test_the_tool_is_not_offered_and_the_same_in_each_run():
    suite, pairs = changed("toolmini")
    again, _ = changed("toolmini")
    for _, new in pairs:
        context = suite.context(task=new, offered=frozenset(suite.catalogue.tools))
        assert set(suite.catalogue.tools) - set(context.catalogue.tools) == new.withheld
        assert again.task(new.key) == new


def test_tools_without_an_expert_replace_none():
    suite = suite_of("toolmini")
    task = next(new for old, new in changed("toolmini")[1] if new.metric != ABSTENTION and len(old.gold.steps) > 1)
    offered = frozenset(suite.task(task.key).gold.tools())
    assert with_outage(suite, offered).task(task.key).metric == ABSTENTION


def test_the_evaluator_scores_by_the_column_that_ranks():
    suite, episode = suite_of("toolmini"), episode_of("toolmini")
    variant, pairs = changed("toolmini")
    plain = episode.evaluator(suite=suite, setting=Setting())
    perturbed = PerturbedEvaluator(plain, perturbation="tool-outage", episode=episode, profile="")
    knowing = GivenPlans({
        task.key: GivenPlan(plan_to_json(task.gold) if task.gold.steps else None) for task in variant.tasks
    })  # fmt: skip
    records = {one.task: one for one in perturbed.run(planner=knowing, tasks=[task.key for task in suite.tasks])}
    assert len(pairs) == len(records) == 120
    assert all(one.indicators["SE"] == one.score == 1.0 for one in records.values())
