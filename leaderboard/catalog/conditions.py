"""Under which conditions this installation evaluates a suite. What it is compared by stands in `boards.services`."""

from typing import NamedTuple

from django.conf import settings

from leaderboard.catalog.library import library
from leaderboard.catalog.models import Suite

NO_PROFILE = "none"
"""The profile of suites whose plans are judged: no expert runs."""


class RunConditions(NamedTuple):
    """What is recorded of an evaluation's conditions; the names are those of `Evaluation`'s fields."""

    profile: str
    profile_digest: str
    split: str
    samples: int


def split_of(suite: Suite) -> str:
    """The split that this installation evaluates a suite on: that of the settings, or the suite's first."""
    splits: list[str] = suite.conditions["splits"]
    return str(settings.SPLIT) if settings.SPLIT in splits else splits[0]


def profile_of(suite: Suite) -> str:
    """The profile that this installation evaluates a suite under."""
    return str(settings.PROFILE) if suite.runs_experts else NO_PROFILE


def samples_of(suite: Suite) -> int:
    """How many data points each task has on this installation."""
    return int(settings.SAMPLES) if suite.conditions["samples"] else 1


def conditions_of(suite: Suite) -> RunConditions:
    """The conditions of a new evaluation of a suite.

    Raises:
        NotReadyError: the profile cannot be read.
    """
    profile = profile_of(suite)
    return RunConditions(
        profile=profile,
        profile_digest=library().rules_digest(suite=suite.slug, profile=profile),
        split=split_of(suite),
        samples=samples_of(suite),
    )


def tasks_per_shard(suite: Suite) -> int:
    """How many tasks a worker leases at once."""
    return int(settings.TASKS_PER_SHARD if suite.runs_experts else settings.PLANNING_TASKS_PER_SHARD)
