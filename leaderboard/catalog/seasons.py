"""Seeds of hidden data, one for each season and suite, derived from the site's master seed.

Workers get the derived seed only: it gives away one season of one suite, and nothing about any other.
"""

import hashlib
import hmac
from typing import Any, Protocol

from django.conf import settings

from evaluator.suites.hidden import HIDDEN
from leaderboard.catalog.models import Suite

_PURPOSE = "planarena hidden split 1"
_SEASON = "season"
"""Where an evaluation's provenance names its season."""


class Seasonal(Protocol):
    """What an evaluation says of its data. `Evaluation` is one."""

    split: str
    suite: Suite
    provenance: dict[str, Any]


class NoSeedError(Exception):
    """The evaluation has no hidden data, or the site has no master seed; the message is a sentence."""


def derived_seed(*, master: str, season: str, suite: str) -> str:
    """HMAC-SHA256 of season and suite under the master seed, as 64 hexadecimal digits.

    Args:
        master: PLANARENA_HIDDEN_SEED.
        season: label of the season.
        suite: slug of the suite.
    """
    parts = (_PURPOSE, season, suite)
    # Length prefixes: no choice of labels makes two different tuples read the same.
    message = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    return hmac.new(master.encode(), message, hashlib.sha256).hexdigest()


def seed_now(suite: str) -> str | None:
    """The seed of a suite's present season; None if the site has no master seed."""
    if not settings.HIDDEN_SEED:
        return None
    return derived_seed(master=settings.HIDDEN_SEED, season=settings.SEASON, suite=suite)


def season_recorded(*, split: str) -> dict[str, str]:
    """What the provenance of a new evaluation says of its season: nothing for open data."""
    return {_SEASON: settings.SEASON} if split == HIDDEN else {}


def season_of(evaluation: Seasonal) -> str:
    """The season that an evaluation was submitted in: a new season does not change the data of what runs."""
    return str(evaluation.provenance.get(_SEASON) or settings.SEASON)


def seeds_to_hide(evaluation: Seasonal) -> list[str]:
    """The seed that the evaluation's workers know, for taking it out of what they send."""
    try:
        return [seed_of(evaluation)]
    except NoSeedError:
        return []


def seed_of(evaluation: Seasonal) -> str:
    """The seed of the evaluation's hidden data.

    Raises:
        NoSeedError: there is none.
    """
    if evaluation.split != HIDDEN:
        raise NoSeedError("This evaluation runs on open data, which have no seed.")
    if not settings.HIDDEN_SEED:
        raise NoSeedError("This site has no seed for hidden data: its operator must set PLANARENA_HIDDEN_SEED.")
    return derived_seed(master=settings.HIDDEN_SEED, season=season_of(evaluation), suite=evaluation.suite.slug)
