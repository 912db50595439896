"""Which tasks of a suite a perturbation changes: the others have no other form and are not asked."""

from collections.abc import Mapping

from evaluator.planners.protocol import request_for
from evaluator.reliability.perturbations import PERTURBATIONS
from evaluator.suites.base import Suite


def changed_tasks(*, suite: Suite, offered: frozenset[str]) -> Mapping[str, list[str]]:
    """By perturbation, in the order of reports, the keys of the tasks whose requests it changes, at least one.

    Args:
        suite: whose planners are asked for whole plans.
        offered: names of the tools that plans may call (`Episode.offered`).
    """
    requests = {
        task.key: request_for(suite=suite, task=task, context=suite.context(task=task, offered=offered))
        for task in suite.tasks
    }
    changed = {
        name: [key for key, request in requests.items() if one.of(request) is not None]
        for name, one in PERTURBATIONS.items()
    }
    return {name: keys for name, keys in changed.items() if keys}
