"""The tasks of a hidden split: the same goals and data as on the others, in other words and under other names.

Who has learnt the public requests by heart, or their keys, finds none of them here. Everything follows from the secret
seed and a task's key, so that a task that is asked again, by another worker or for a verification, reads the same.
"""

import hashlib
import hmac
from dataclasses import replace

from evaluator.suites.model import Suite, Task
from evaluator.suites.openagi.suite import OpenAGITask
from evaluator.suites.openagi.variants import variant
from evaluator.suites.toolbench.suite import hidden_toolmini_tasks

HIDDEN = "hidden"
"""Name of the split."""
_PURPOSE = "planarena requests/1"


def suite_on_split(*, suite: Suite, split: str, hidden_seed: str | None) -> Suite:
    """The suite as planners are asked on a split: with hidden requests on the hidden one, unchanged on others.

    The keys of tasks, their gold plans' meaning and their data are those of `suite`, whose digest is compared between
    site and worker. What is returned is for asking and judging only: its texts must be in no output.

    Args:
        suite: one of the registry's.
        split: `public`, `validation`, `hidden`, or `all` for suites that judge plans.
        hidden_seed: the secret; needed for the hidden split, ignored on the others.

    Raises:
        ValueError: the split is hidden and the seed is missing, or the suite has no hidden requests.
    """
    if split != HIDDEN:
        return suite
    if not hidden_seed:
        raise ValueError("the hidden split needs its secret seed")
    if suite.slug == "openagi":
        asked = tuple(_worded(task, seed=hidden_seed) for task in suite.tasks)
    elif suite.slug == "toolmini":
        asked = hidden_toolmini_tasks(seed=_derived(seed=hidden_seed, about="toolmini"))
    else:
        raise ValueError(f"the suite {suite.slug} has no hidden requests: its requests are published data")
    named = (replace(task, asked_as=_name(suite=suite, task=task, seed=hidden_seed)) for task in asked)
    return replace(suite, tasks=tuple(named))


def _worded(task: Task, *, seed: str) -> Task:
    if not isinstance(task, OpenAGITask):
        raise TypeError(f"task {task.key} is not OpenAGI's")
    return replace(task, text=variant(task=task, seed=_derived(seed=seed, about=f"openagi {task.key}")))


def _name(*, suite: Suite, task: Task, seed: str) -> str:
    """A name for a task that says nothing about its key, not even its place."""
    return _derived(seed=seed, about=f"{suite.slug} name {task.key}")[:16]


def _derived(*, seed: str, about: str) -> str:
    """A secret of its own for each purpose: one that leaks tells nothing about the seed or another one."""
    return hmac.new(seed.encode(), f"{_PURPOSE} {about}".encode(), hashlib.sha256).hexdigest()
