"""toolmini stands in for the released benchmarks: same groups, same form, own words."""

from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest

from evaluator.controlllm.toolbench.indicators import judge_plan
from evaluator.controlllm.toolbench.mini.requests import Fill, toolmini_tasks
from evaluator.controlllm.toolbench.released.files import (
    MOST_CALLS_OF_EASY,
    MOST_CALLS_OF_MEDIUM,
    TOOL2K_GOLD_EVEN,
    RawTask,
    level_of,
    level_of_plan,
    read_tool2k,
    read_tool100,
)
from evaluator.controlllm.toolbench.released.source import gold_file
from evaluator.controlllm.toolbench.tasks import tool_task
from evaluator.core.plans.model import Plan, Step
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.replies.decomposition import parse_decomposition

TASKS = toolmini_tasks()


def test_what_is_put_into_a_request_depends_on_nothing_but_its_key():
    assert toolmini_tasks.__wrapped__() == TASKS
    assert Fill(key="QA/0").image(1) == Fill(key="QA/0").image(1)
    assert Fill(key="QA/0", number=1).image() != Fill(key="QA/0", number=2).image()


def signatures(tasks):
    """What subtasks turn into what, with which kinds of tools."""
    found = Counter()
    for task in tasks:
        for subtask in parse_decomposition(task.output).subtasks:
            taken = tuple(argument.type for argument in subtask.args)
            found[frozenset(subtask.domains), taken, subtask.returns[0].type] += 1
    return found


def test_its_signatures_are_those_of_the_released_files(controlllm_folder):
    gold = gold_file(controlllm_folder) or controlllm_folder / TOOL2K_GOLD_EVEN
    released = read_tool100(controlllm_folder / "tool100.json") + read_tool2k(controlllm_folder / "tool2k.json", gold)
    theirs = signatures(task for task in released if task.output is not None)
    ours = signatures(TASKS)
    assert set(ours) <= set(theirs)
    covered = sum(count for signature, count in theirs.items() if signature in ours)
    assert covered / theirs.total() > 0.95
    assert not {task.instruction for task in TASKS} & {task.instruction for task in released}


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


RAW = RawTask(key="0", group="QA", instruction="Why?", output=None, level=None)


@pytest.mark.parametrize(
    ("calls", "level"), [(1, "easy"), (2, "easy"), (3, "medium"), (4, "hard"), (5, "hard"), (40, "hard")]
)
def test_more_calls_are_harder(calls, level):
    assert level_of_plan(calls) == level


def test_the_file_has_the_first_word():
    assert level_of(raw=replace(RAW, level="medium"), calls=9) == "medium"
    assert level_of(raw=RAW, calls=9) == "hard"
    assert level_of(raw=RAW, calls=None) is None


def agreement(calls_and_levels, *, easy, medium):
    """How many requests thresholds put where the file puts them."""
    levels = ["easy" if calls <= easy else "medium" if calls <= medium else "hard" for calls, _ in calls_and_levels]
    return sum(level == given for level, (_, given) in zip(levels, calls_and_levels, strict=True))


def test_no_thresholds_agree_better_with_the_levels_of_tool100(controlllm_folder):
    requests = read_tool100(controlllm_folder / "tool100.json")
    found = [(len(tool_task(raw).gold.steps), raw.level) for raw in requests]
    ours = agreement(found, easy=MOST_CALLS_OF_EASY, medium=MOST_CALLS_OF_MEDIUM)
    assert ours == max(agreement(found, easy=easy, medium=medium) for easy, medium in combinations(range(1, 12), 2))
    assert ours / len(found) >= 0.88
