"""Under which conditions this installation evaluates a suite. What it is compared by stands in `boards.services`."""

from typing import NamedTuple

from django.conf import settings

from evaluator.core.suites.hidden import HIDDEN
from leaderboard.catalog.library import NotReadyError, library
from leaderboard.catalog.models import Season, Suite
from leaderboard.catalog.seasons import REHEARSAL, NoSeedError, checked_seed, chosen_season

NO_PROFILE = "none"
"""The profile of suites whose plans are judged: no expert runs."""


class RunConditions(NamedTuple):
    """What is recorded of an evaluation's conditions; the names are those of `Evaluation`'s fields."""

    profile: str
    profile_digest: str
    split: str
    samples: int
    data_digest: str
    season: Season | None
    """None on open data."""


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


def conditions_of(suite: Suite, *, season: str = "") -> RunConditions:
    """The conditions of a new evaluation of a suite.

    Args:
        season: name of an open season, or `REHEARSAL` for open data; empty: the present one.

    Raises:
        NotReadyError: profile or data cannot be read, or the season's seed is not the announced one.
        SeasonRefusedError: the suite has hidden data here, and the season is not open.
    """
    profile = profile_of(suite)
    split = open_split(suite) if season == REHEARSAL else split_of(suite)
    found = chosen_season(season) if split == HIDDEN else None
    digest = data_digest(suite=suite, profile=profile, split=split, season=found.name if found else None)
    return RunConditions(
        profile=profile,
        profile_digest=library().rules_digest(suite=suite.slug, profile=profile),
        split=split,
        samples=samples_of(suite),
        data_digest=digest,
        season=found,
    )


def open_split(suite: Suite) -> str:
    """The suite's first split, whose data are open."""
    return str(suite.conditions["splits"][0])


def data_digest(*, suite: Suite, profile: str, split: str, season: str | None) -> str:
    """Digest of the data of an evaluation, with the commitment of its season.

    Raises:
        NotReadyError: there are no data, or the season's seed is not the announced one.
    """
    seed = hidden_seed(suite=suite, season=season)
    return library().data_digest(suite=suite.slug, profile=profile, split=split, season=season or "", seed=seed)


def hidden_seed(*, suite: Suite, season: str | None) -> str | None:
    """The seed of a suite's data in a season; None for open data.

    Raises:
        NotReadyError: it is not the announced one, or there is none.
    """
    if season is None:
        return None
    try:
        return checked_seed(season=season, suite=suite.slug)
    except NoSeedError as error:
        raise NotReadyError(suite=suite.slug, why=str(error).rstrip(".")) from error


def tasks_per_shard(suite: Suite) -> int:
    """How many tasks a worker leases at once."""
    return int(settings.TASKS_PER_SHARD if suite.runs_experts else settings.PLANNING_TASKS_PER_SHARD)
