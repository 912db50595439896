"""Tools that are relevant in no request."""

from evaluator.plans import Plan, Step
from evaluator.suites import suite_of
from evaluator.suites.toolbench.indicators import judge_plan
from evaluator.tools.controlllm import CONTROLLLM


def test_a_tool_is_idle_if_no_goal_has_it_in_a_sufficient_chain(suites):
    for suite in suites.values():
        relevant = {tool for task in suite.tasks if task.goal is not None for tool in task.goal.relevant}
        assert set(suite.idle_tools) == set(CONTROLLLM.tools) - relevant
        assert list(suite.idle_tools) == sorted(suite.idle_tools)
        assert len(suite.idle_tools) == 23
        assert not {tool for task in suite.tasks if task.gold for tool in task.gold.tools()} & set(suite.idle_tools)


def test_calling_an_idle_tool_is_irrelevant_in_every_request():
    suite = suite_of("toolmini")
    for number, task in enumerate(suite.tasks):
        tool = CONTROLLLM[suite.idle_tools[number % len(suite.idle_tools)]]
        step = Step("x", tool.name, dict.fromkeys(tool.inputs, "x"), {name: f"x.{name}" for name in tool.outputs})
        plan = Plan(steps=(*task.gold.steps, step), answers=())
        assert judge_plan(plan=plan, goal=task.goal, catalogue=CONTROLLLM, files=task.files).IR == 1
