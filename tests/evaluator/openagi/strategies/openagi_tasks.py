"""The suite's requests as planners see them."""

from functools import cache

from evaluator.core.planner import request_for
from evaluator.core.plans.checks import check_plan
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import OPENAGI
from evaluator.replies.read import read_plan
from tests.evaluator.replies.printing import plan_to_tree

SUITE = suite_of("openagi")
TASKS = SUITE.tasks
ALL = frozenset(OPENAGI.tools)
LINEAR = [task for task in TASKS if task.structure == "linear"]
NONLINEAR = [task for task in TASKS if task.structure == "nonlinear"]


def context(task, *, offered=ALL):
    return SUITE.context(task=task, offered=offered)


@cache
def request(task_key, *, offered=ALL):
    task = SUITE.task(task_key)
    return request_for(suite=SUITE, task=task, context=context(task, offered=offered))


def task_like(*, text):
    """The task whose request contains these words; there must be one."""
    (found,) = [task for task in TASKS if text in task.text]
    return found


def read(draft, task, *, offered=ALL):
    """The plan of a draft, and what is wrong with it."""
    there = context(task, offered=offered)
    plan = read_plan(value=draft.plan, context=there).plan
    return plan, check_plan(plan=plan, context=there)


def is_gold(plan, task):
    return plan_to_tree(plan) == plan_to_tree(task.gold)
