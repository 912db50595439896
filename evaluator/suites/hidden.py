"""The tasks of a hidden split: the same goals and data as on the others, in other words and under other names.

A planner that has memorised the public requests, or their keys, finds none of them here. Everything follows from the
secret seed and a task's key: asked again, by another worker or for a verification, a task reads the same.
"""

import hashlib
import hmac
from dataclasses import replace

from evaluator import canonical_json
from evaluator.suites.base import Suite, Task

HIDDEN = "hidden"
"""Name of the split."""
_PURPOSE = "planarena requests/1"


def suite_on_split(*, suite: Suite, split: str, hidden_seed: str | None) -> Suite:
    """The suite as planners are asked on a split: with hidden requests on the hidden one, unchanged on others.

    The keys of tasks, their gold plans' meaning and their data are those of `suite`, whose digest is compared between
    site and worker. The result is for asking and judging only: its texts must be in no output.

    Args:
        suite: one of the registry's.
        split: a split of the suite's conditions.
        hidden_seed: the secret; needed for the hidden split, ignored on the others.

    Raises:
        ValueError: the split is hidden and the seed is missing, or the suite has no hidden requests.
    """
    if split != HIDDEN:
        return suite
    if not hidden_seed:
        raise ValueError("the hidden split needs its secret seed")
    if suite.hidden_requests is None:
        raise ValueError(f"the suite {suite.slug} has no hidden requests: its requests are published data")
    asked = suite.hidden_requests(suite, hidden_seed)
    named = (replace(task, asked_as=_name(suite=suite, task=task, seed=hidden_seed)) for task in asked)
    return replace(suite, tasks=tuple(named))


def commitment(*, seed: str, season: str) -> str:
    """HMAC-SHA-256 of a season's name under its seed, as 64 hexadecimal digits.

    Published when a season is announced. Once its seed is published too, anybody can see that it was not exchanged.
    """
    return hmac.new(seed.encode(), season.encode(), hashlib.sha256).hexdigest()


def data_digest(*, source: str, split: str, season: str = "", committed: str = "") -> str:
    """SHA-256 of everything that identifies the data of an evaluation.

    Args:
        source: digest of the source of samples; empty where plans are judged.
        split: of the suite's data.
        season: name of the season on the hidden split; else empty.
        committed: `commitment` to its seed; else empty.
    """
    return canonical_json.digest({"source": source, "split": split, "season": season, "commitment": committed})


def derived(*, seed: str, about: str) -> str:
    """A secret of its own for each purpose: one that leaks tells nothing about the seed or another one."""
    return hmac.new(seed.encode(), f"{_PURPOSE} {about}".encode(), hashlib.sha256).hexdigest()


def _name(*, suite: Suite, task: Task, seed: str) -> str:
    """A name for a task that says nothing about its key, not even its place."""
    return derived(seed=seed, about=f"{suite.slug} name {task.key}")[:16]
