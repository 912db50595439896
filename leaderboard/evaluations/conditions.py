"""Under which conditions this installation evaluates a suite. What it is compared by stands in `boards.services`."""

from typing import NamedTuple

from django.conf import settings

from leaderboard.catalog.models import Suite
from leaderboard.evaluations.library import library

NO_PROFILE = "none"
"""The profile of suites whose plans are judged: no expert runs."""
ALL_TASKS = "all"
"""Their split."""
HIDDEN_SPLIT = "hidden"
"""The split whose data nobody but staff may see."""
HIDDEN_REQUESTS = frozenset({"toolmini"})
"""Suites that judge plans and have hidden requests; those of the others are published data."""


class RunConditions(NamedTuple):
    """What is recorded of an evaluation's conditions; the names are those of `Evaluation`'s fields."""

    profile: str
    profile_digest: str
    split: str
    samples: int


def split_of(suite: Suite) -> str:
    """The split that this installation evaluates a suite on."""
    if not suite.judges_plans:
        return str(settings.SPLIT)
    return HIDDEN_SPLIT if settings.SPLIT == HIDDEN_SPLIT and suite.slug in HIDDEN_REQUESTS else ALL_TASKS


def conditions_of(suite: Suite) -> RunConditions:
    """The conditions of a new evaluation of a suite.

    Raises:
        NotReadyError: the profile cannot be read.
    """
    if suite.judges_plans:
        return RunConditions(
            profile=NO_PROFILE, profile_digest=library().judge_digest(), split=split_of(suite), samples=1
        )
    return RunConditions(
        profile=settings.PROFILE,
        profile_digest=library().profile_digest(settings.PROFILE),
        split=split_of(suite),
        samples=settings.SAMPLES,
    )


def tasks_per_shard(suite: Suite) -> int:
    """How many tasks a worker leases at once."""
    return int(settings.PLANNING_TASKS_PER_SHARD if suite.judges_plans else settings.TASKS_PER_SHARD)
