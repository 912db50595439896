"""The entries of the sealed pool that a season uses."""

from collections.abc import Mapping
from itertools import islice

from evaluator.core.suites.sealed import SealedRequest, placed
from leaderboard.catalog.models import SealedEntry, SealedState, Season
from leaderboard.catalog.sealed.bodies import Body, body_of
from leaderboard.catalog.sealed.pool import PoolError, library_suite
from leaderboard.platform.encryption import UnreadableSecretError


def choose(*, season: Season, suite: str, share: float, seed: str) -> list[SealedRequest]:
    """Take sealed entries for a season, so that no other one has them.

    Before: within a transaction.
    After: those that the seed chooses are used in the season.

    Args:
        season: which is announced.
        suite: slug.
        share: of the suite's requests that shall be sealed ones, above 0 and up to 1.
        seed: of the suite's hidden data in the season.

    Raises:
        PoolError: the share is out of range or less than one request, the pool does not fill it, or the suite takes no
            sealed requests.
    """
    if not 0 < share <= 1:
        raise PoolError(f"The share of sealed requests is above 0 and at most 1, not {share:g}.")
    library = library_suite(suite)
    wanted = round(share * len(library.tasks))
    if not wanted:
        raise PoolError(f"A share of {share:g} of the {len(library.tasks)} requests of {suite} is less than one.")
    entries = SealedEntry.objects.select_for_update().filter(suite=suite, state=SealedState.SEALED).order_by("pk")
    try:
        pool: Mapping[SealedRequest, SealedEntry] = {body_of(entry).request: entry for entry in entries}
    except UnreadableSecretError as error:
        raise PoolError(str(error)) from error
    chosen = [request for request, _ in islice(placed(suite=library, requests=list(pool), seed=seed), wanted)]
    if len(chosen) < wanted:
        raise PoolError(
            f"The sealed pool of {suite} fills {len(chosen)} of the {wanted} places of a share of {share:g}: "
            f"{len(pool)} entries are sealed, and each needs a request of its kind."
        )
    SealedEntry.objects.filter(pk__in=[pool[request].pk for request in chosen]).update(
        state=SealedState.USED, season=season
    )
    return chosen


def sealed_requests_of(*, season: str, suite: str) -> tuple[SealedRequest, ...]:
    """The sealed requests of a suite in a season.

    Raises:
        UnreadableSecretError: no key of this process decrypts them.
    """
    entries = SealedEntry.objects.filter(season=season, suite=suite).order_by("pk")
    return tuple(body_of(entry).request for entry in entries)


def published_bodies(*, season: str, suite: str) -> list[Body]:
    """The entries of a suite in a closed season, in an order that says nothing.

    Raises:
        UnreadableSecretError: no key of this process decrypts them.
    """
    entries = SealedEntry.objects.filter(season=season, suite=suite, state=SealedState.PUBLISHED)
    return sorted(map(body_of, entries), key=lambda body: body.request.digest)


def publish(season: Season) -> None:
    """Mark the entries of a season that is closed as published.

    Before: within the transaction that closes it.
    """
    season.sealed_entries.filter(state=SealedState.USED).update(state=SealedState.PUBLISHED)
