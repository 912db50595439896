"""How planners are asked and scored on each suite of the registry."""

from typing import cast

from evaluator.core.suites.registry import entry_of
from evaluator.episodes.base import Episode


def episode_of(slug: str) -> Episode:
    """How planners are asked and scored on the suite with this slug.

    Raises:
        LookupError: there is none.
    """
    return cast("Episode", entry_of(slug).episode)
