"""Announcing seasons of hidden data, with a commitment to the seed of each suite, and closing them by publishing the
seeds. `hidden_data.py` has what the rest of the site needs to know of them.
"""

from collections.abc import Mapping
from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from django.db.models import Q

from evaluator.core.suites.hidden import HIDDEN, commitment
from evaluator.core.suites.sealed import SealedRequest, sealed_digest
from leaderboard.catalog.hidden_data import REHEARSAL, checked_hidden_seed, commitments_of, seed_of_season
from leaderboard.catalog.models import Season, Suite
from leaderboard.catalog.sealed.choosing import choose, publish
from leaderboard.catalog.sealed.pool import PoolError
from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.database import database_now
from leaderboard.platform.models import Action


class SeasonError(Exception):
    """A season cannot be announced or closed; the message is a sentence for the operator."""


def announce(
    *,
    name: str,
    opens: datetime | None = None,
    closes: datetime | None = None,
    sealed: Mapping[str, float] | None = None,
    by: User | None = None,
) -> Season:
    """Announce a season with a commitment to the seed of each current suite that has a hidden split.

    Before: nothing. The caller signs the announcement in the same transaction (`hidden_data.sign_announcements`).
    After: the season has a commitment for each suite, and the audit log has them all. Announcing it again adds suites
    that came later and changes nothing else.

    Args:
        name: letters, digits, hyphens and underscores.
        opens: when it opens; None: now.
        closes: when it is to be closed, by which readers know when single scores are shown; None: not said.
        sealed: by suite, the share of its requests that are sealed ones, from 0 to 1; 0 where it is not named.
        by: None: a command.

    Raises:
        NoSeedError: the site has no master seed, or one of another form than 64 hexadecimal digits.
        SeasonError: the name is invalid, the season would close before it opens, it is closed, or sealed requests are
            asked for that there are not, or for a suite that was announced already.
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
        shares = {suite: share for suite, share in (sealed or {}).items() if share}
        if late := sorted(shares.keys() - set(new)):
            raise SeasonError(
                f"The share of sealed requests of {late[0]} cannot be set: season {name} was announced with it, or it "
                "is no current suite with a hidden split."
            )
        for suite in new:
            seed = seed_of_season(season=name, suite=suite)
            chosen = _chosen(season=season, suite=suite, share=shares[suite], seed=seed) if suite in shares else []
            digest = sealed_digest(chosen)
            committed = commitment(seed=seed, season=name, suite=suite, sealed=digest)
            season.suites.create(suite=suite, commitment=committed, sealed=len(chosen), sealed_digest=digest)
        if new:
            counts = dict(season.suites.filter(sealed__gt=0).order_by("suite").values_list("suite", "sealed"))
            details = {"opens": season.opens.isoformat(), "commitments": commitments_of(season), "sealed": counts}
            record(by=by, action=Action.SEASON_ANNOUNCED, target=season, details=details)
    return season


def _chosen(*, season: Season, suite: str, share: float, seed: str) -> list[SealedRequest]:
    try:
        return choose(season=season, suite=suite, share=share, seed=seed)
    except PoolError as error:
        raise SeasonError(str(error)) from error


def close(*, name: str, unfinished: Q, by: User | None = None) -> Season:
    """Close a season by publishing its seeds and sealed requests.

    Before: nothing. A submission at the same time is either counted here or refused.
    After: its seeds and sealed requests are public, and nothing can be submitted to it any more.

    Args:
        unfinished: condition on evaluations that have not ended.

    Raises:
        SeasonError: there is no such open season, or evaluations of it have not ended.
        NoSeedError: a seed or a sealed request does not fit its commitment; nothing was published.
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
            data.seed = checked_hidden_seed(season=name, suite=data.suite).secret
            data.save(update_fields=["seed"])
        publish(season)
        season.closed = database_now()
        season.save(update_fields=["closed"])
        seeds = dict(season.suites.order_by("suite").values_list("suite", "seed"))
        record(by=by, action=Action.SEASON_CLOSED, target=season, details={"seeds": seeds})
    return season
