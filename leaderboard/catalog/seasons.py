"""Seasons of hidden data: announced with a commitment to the seed of each suite, open from a date on, and closed by
publishing the seeds.

Seeds are derived from the site's master seed. Workers get the derived seed of one season and suite only: it gives away
nothing about any other, and neither does publishing it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evaluator.core.canonical_json import framed_digest
from evaluator.core.suites.hidden import HIDDEN, SeedError, commitment
from evaluator.core.suites.hidden import checked_seed as checked_form
from leaderboard.catalog.models import Season, SeasonData, Suite
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.database import database_now
from leaderboard.platform.models import Action
from leaderboard.platform.secret_keys import QUEUE

REHEARSAL = "rehearsal"
"""Stands for the public split where a season is chosen."""
_PURPOSE = "planarena hidden split/2"


class Seasonal(Protocol):
    """What an evaluation says of its data. `Evaluation` is one."""

    split: str
    suite: Suite
    season_id: str | None


class NoSeedError(Exception):
    """The seed of hidden data cannot be given; the message is a sentence for operators."""


class SeedElsewhereError(NoSeedError):
    """This is a process of the queue: only the web process has the seeds of hidden data."""


class SeasonRefusedError(Exception):
    """Nothing can be submitted to a season; the message is a sentence for the submitter."""


class SeasonError(Exception):
    """A season cannot be announced or closed; the message is a sentence for the operator."""


def derived_seed(*, master: str, season: str, suite: str) -> str:
    """SHA-256 of the length-prefixed master seed, season and suite, as 64 hexadecimal digits.

    Args:
        master: PLANARENA_HIDDEN_SEED.
        season: name of the season.
        suite: slug of the suite.
    """
    return framed_digest(_PURPOSE, master, season, suite)


def seed_of(evaluation: Seasonal) -> str:
    """The seed of the evaluation's hidden data.

    Raises:
        NoSeedError: there is none.
    """
    if evaluation.split != HIDDEN:
        raise NoSeedError("This evaluation runs on open data, which have no seed.")
    if evaluation.season_id is None:
        raise NoSeedError("This hidden evaluation belongs to no season: submit it again.")
    return _derived(season=evaluation.season_id, suite=evaluation.suite.slug)


def seed_for_workers(evaluation: Seasonal) -> str:
    """`seed_of`, which is the one that the season was announced with.

    Raises:
        NoSeedError: it is another one, or there is none.
    """
    seed_of(evaluation)
    return checked_seed(season=str(evaluation.season_id), suite=evaluation.suite.slug)


def seeds_to_hide(evaluation: Seasonal) -> list[str]:
    """The seed that the evaluation's workers know, for taking it out of what they send."""
    try:
        return [seed_of(evaluation)]
    except NoSeedError:
        return []


def checked_seed(*, season: str, suite: str) -> str:
    """The seed of a season and suite, which is the one that it was announced with.

    Raises:
        NoSeedError: it is another one, or there is none.
    """
    announced = commitment_of(season=season, suite=suite)
    if not announced:
        raise NoSeedError(
            f"Season {season} was announced without {suite}: `planarena manage season announce {season}` adds it."
        )
    seed = _derived(season=season, suite=suite)
    if commitment(seed=seed, season=season, suite=suite) != announced:
        raise NoSeedError(
            f"The seed of {suite} in season {season} does not fit the commitment that was published for it: "
            "PLANARENA_HIDDEN_SEED is another one than when the season was announced."
        )
    return seed


def commitment_of(*, season: str, suite: str) -> str:
    """The published commitment to the seed of a suite in a season; empty if there is none."""
    found = SeasonData.objects.filter(season=season, suite=suite).values_list("commitment", flat=True).first()
    return found or ""


def open_seasons() -> QuerySet[Season]:
    """The seasons that may be submitted to, the present one first."""
    return Season.objects.filter(opens__lte=Now(), closed=None).order_by("-opens", "-name")


def chosen_season(name: str) -> Season:
    """The season of a new evaluation on hidden data.

    Args:
        name: as the submitter wrote it; empty: the present one.

    Raises:
        SeasonRefusedError: nothing can be submitted to it now.
    """
    if not name:
        present = open_seasons().first()
        if present is None:
            coming = Season.objects.filter(opens__gt=Now(), closed=None).order_by("opens").first()
            raise SeasonRefusedError(f"No season is open. {_opens(coming)}" if coming else "No season is open.")
        return present
    found = Season.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(season.name for season in open_seasons()) or "none"
        raise SeasonRefusedError(f"There is no season {name!r}; open are: {known}. {REHEARSAL!r} is the public split.")
    check_open(found)
    return found


def check_open(season: Season) -> None:
    """Refuse a season that is not open.

    Raises:
        SeasonRefusedError: it is not.
    """
    if season.closed is not None:
        raise SeasonRefusedError(f"Season {season.name} was closed on {season.closed:%Y-%m-%d %H:%M} UTC.")
    if season.opens > database_now():
        raise SeasonRefusedError(_opens(season))


def problems(name: str) -> Mapping[str, list[str]]:
    """What is wrong with the season that a submission names, by field; empty if nothing is."""
    if name in {"", REHEARSAL}:
        return {}
    if settings.SPLIT != HIDDEN:
        return {"season": ["This site evaluates open data, which have no seasons: leave this empty."]}
    try:
        chosen_season(name)
    except SeasonRefusedError as error:
        return {"season": [str(error)]}
    return {}


def announce(
    *, name: str, opens: datetime | None = None, closes: datetime | None = None, by: User | None = None
) -> Season:
    """Announce a season with a commitment to the seed of each current suite that has a hidden split.

    Before: nothing. The caller signs the announcement in the same transaction (`boards/signing/services.py`).
    After: the season has a commitment for each suite, and the audit log has them all. Announcing it again adds suites
    that came later and changes nothing else.

    Args:
        name: letters, digits, hyphens and underscores.
        opens: when it opens; None: now.
        closes: when it is to be closed, by which readers know when single scores are shown; None: not said.

    Raises:
        NoSeedError: the site has no master seed, or one of another form than 64 hexadecimal digits.
        SeasonError: the name is none, the season would close before it opens, or it is closed.
    """
    try:
        validate_slug(name)
    except ValidationError:
        raise SeasonError("A season's name has letters, digits, hyphens and underscores only.") from None
    if name == REHEARSAL:
        raise SeasonError(f"{REHEARSAL!r} stands for the public split: choose another name.")
    suites = [suite.slug for suite in Suite.objects.filter(current=True) if HIDDEN in suite.conditions["splits"]]
    with transaction.atomic():
        opens = opens or database_now()
        if closes is not None and closes <= opens:
            raise SeasonError(f"Season {name} would close on {closes:%Y-%m-%d %H:%M} UTC, before it opens.")
        season, _ = Season.objects.get_or_create(name=name, defaults={"opens": opens, "closes": closes})
        if season.closed is not None:
            raise SeasonError(f"Season {name} is closed; its seeds are public. Announce another one.")
        new = sorted(set(suites) - set(season.suites.values_list("suite", flat=True)))
        for suite in new:
            seed = _derived(season=name, suite=suite)
            season.suites.create(suite=suite, commitment=commitment(seed=seed, season=name, suite=suite))
        if new:
            details = {"opens": season.opens.isoformat(), "commitments": commitments_of(season)}
            record(by=by, action=Action.SEASON_ANNOUNCED, target=season, details=details)
    return season


def close(*, name: str, unfinished: Q, by: User | None = None) -> Season:
    """Close a season by publishing its seeds.

    Before: nothing. A submission at the same time is either counted here or refused.
    After: its seeds are public, and nothing can be submitted to it any more.

    Args:
        unfinished: condition on evaluations that have not ended.

    Raises:
        SeasonError: there is no such open season, or evaluations of it have not ended.
        NoSeedError: a seed does not fit its commitment; nothing was published.
    """
    with transaction.atomic():
        season = Season.objects.select_for_update().filter(name=name).first()
        if season is None:
            raise SeasonError(f"There is no season {name!r}.")
        if season.closed is not None:
            raise SeasonError(f"Season {name} was closed on {season.closed:%Y-%m-%d %H:%M} UTC already.")
        if left := season.evaluations(manager="runs").filter(unfinished).count():
            were = "evaluation of it has" if left == 1 else "evaluations of it have"
            raise SeasonError(f"{left} {were} not ended: a season closes when all have. Wait, or cancel them.")
        for data in season.suites.order_by("suite"):
            data.seed = checked_seed(season=name, suite=data.suite)
            data.save(update_fields=["seed"])
        season.closed = database_now()
        season.save(update_fields=["closed"])
        seeds = dict(season.suites.order_by("suite").values_list("suite", "seed"))
        record(by=by, action=Action.SEASON_CLOSED, target=season, details={"seeds": seeds})
    return season


def commitments_of(season: Season) -> dict[str, str]:
    """The commitment of every suite of a season, by slug."""
    return dict(season.suites.order_by("suite").values_list("suite", "commitment"))


def _opens(season: Season) -> str:
    return f"Season {season.name} opens on {season.opens:%Y-%m-%d %H:%M} UTC."


def _derived(*, season: str, suite: str) -> str:
    if settings.ROLE == QUEUE:
        raise SeedElsewhereError("Only the web process has the seeds of hidden data.")
    if not settings.HIDDEN_SEED:
        raise NoSeedError("This site has no seed for hidden data: its operator must set PLANARENA_HIDDEN_SEED.")
    try:
        master = checked_form(settings.HIDDEN_SEED, what="PLANARENA_HIDDEN_SEED")
    except SeedError as error:
        raise NoSeedError(str(error)) from error
    return derived_seed(master=master, season=season, suite=suite)
