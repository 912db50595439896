"""A plans file to start from: every task of a suite with an example of a plan."""

import json
from functools import cache

from evaluator.core.canonical_json import JsonValue
from evaluator.core.planner import OfferedTool, offered_tools
from evaluator.core.plans.model import Plan, Step, plan_to_json
from evaluator.core.suites.base import Task
from evaluator.core.suites.registry import suite_of


@cache
def plans_template_of(slug: str) -> str:
    """A valid plans file of this suite as JSON lines, one for each task, in the suite's order.

    Each plan has one step that calls the first tool of the catalogue, whatever the request: it shows the form of a plan
    and the names of the task's files, and nothing of the gold plan.

    Raises:
        LookupError: there is no such suite, or its files were not fetched.
    """
    suite = suite_of(slug)
    tool = offered_tools(suite.catalogue)[0]
    lines = ({"task": task.key, "plan": _example(task, tool=tool)} for task in suite.tasks)
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _example(task: Task, *, tool: OfferedTool) -> JsonValue:
    files = {str(kind): f"${name}" for name, kind in reversed(list(task.resources.items()))}
    inputs = {argument: files.get(kind, "a text") for argument, kind in tool.inputs.items()}
    outputs = {name: f"s1.{name}" for name in tool.outputs}
    step = Step(id="s1", tool=tool.name, inputs=inputs, outputs=outputs)
    return plan_to_json(Plan(steps=(step,), answers=tuple(outputs.values())))
