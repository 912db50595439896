"""A suite as large as Tool2K, whose requests are not shipped: a module for `PLANARENA_SUITES`."""

from dataclasses import replace

from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.controlllm.toolbench.suite import toolmini_suite
from evaluator.core.suites.base import Suite
from evaluator.core.suites.registry import Entry
from evaluator.episodes.judgement import JudgedPlans

SLUG = "scale"
_TASKS = 2500


def _wide() -> Suite:
    """Shipped requests, again and again with a number."""
    like = toolmini_suite()
    tasks = tuple(
        replace(task, key=str(number), text=f"{task.text} ({number})")
        for number in range(_TASKS)
        for task in [like.tasks[number % len(like.tasks)]]
    )
    return replace(
        like, slug=SLUG, version="1", title="Many tasks", description="Made up.", tasks=tasks, hidden_requests=None
    )


SUITES = (Entry(slug=SLUG, build=_wide, episode=JudgedPlans(judge=ToolJudge())),)
