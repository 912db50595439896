"""What the page of a board shows whichever rows its address selects."""

import re
import time
from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from evaluator.core import canonical_json
from evaluator.core.suites.reference_rows import reference_digest
from leaderboard.boards.contents import AllVersion, all_version
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import conditions_of, latest_snapshot, newest_of_seasons, unranked
from leaderboard.boards.signing.services import signature_of
from leaderboard.boards.standing import unpublished, unpublished_rows
from leaderboard.boards.web.presenters import progress_rows
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.board_of import Conditions
from leaderboard.platform.lru_cache import SharedCache

MOST_WAITING = 20
_MOST_KEPT = 100


class Shown(NamedTuple):
    """What was read of a board for a reader. Shared by all requests of strangers: do not change it."""

    suite: Suite
    snapshot: Snapshot | None
    version: AllVersion | None
    """Of all its evaluations, if the address asks for all."""
    waiting: list[dict[str, Any]]
    """Evaluations without a rank yet, one more than are shown, as JSON values."""
    waiting_mark: str
    """A digest of those that are shown."""
    unpublished: list[dict[str, Any]]
    """The reader's own places that are not public, as JSON values."""
    texts: str
    """A digest of the suite's title, description and rules."""
    mark: str
    """A digest of all this."""
    read: float
    """`time.monotonic()`"""


_kept: SharedCache[tuple[object, ...], Shown] = SharedCache(maxsize=_MOST_KEPT)
"""For strangers, who all see the same, as long as pages are kept for them."""


def shown_to(*, request: HttpRequest, slug: str, every: bool) -> Shown:
    """What the reader sees of a board.

    Args:
        slug: of the suite.
        every: whether the address asks for all evaluations.

    Raises:
        Http404: there is no such suite or board.
    """
    if request.user.is_authenticated or settings.KEEP_PAGES_SECONDS <= 0:
        return _read(request=request, slug=slug, every=every)
    key = slug, every, request.GET.get("season"), _conditions(request)
    found = _kept.get(key)
    if found is None or time.monotonic() - found.read >= settings.KEEP_PAGES_SECONDS:
        found = _read(request=request, slug=slug, every=every)
        _kept.put(key, found)
    return found


def name_of(snapshot: Snapshot | None) -> list[Any]:
    """What tells one published state from others, as JSON values."""
    if snapshot is None:
        return []
    signature = signature_of(snapshot)
    return [snapshot.pk, snapshot.digest, snapshot.number, signature and signature.key_id]


def texts_of(suite: Suite) -> list[Any]:
    """What boards say of a suite, as JSON values."""
    return [suite.digest, suite.title, suite.description, suite.metrics]


def texts_mark(suite: Suite) -> str:
    """A digest of all that boards say of a suite."""
    return canonical_json.digest([*texts_of(suite), suite.slug, suite.scoring, suite.conditions, suite.panels])


def _read(*, request: HttpRequest, slug: str, every: bool) -> Shown:
    read = time.monotonic()
    suite = get_object_or_404(Suite, slug=slug, current=True)
    snapshot = _newest(request=request, suite=suite)
    waiting = progress_rows(unranked(suite=suite, reader=request.user)[: MOST_WAITING + 1])
    version = all_version(suite=suite, snapshot=snapshot) if snapshot and every else None
    conditions = conditions_of(snapshot) if snapshot else _conditions(request)
    own = unpublished(suite=suite, conditions=conditions, reader=request.user)
    unseen = unpublished_rows(evaluations=own, snapshot=snapshot)
    texts = texts_mark(suite)
    parts = [name_of(snapshot), texts, waiting, reference_digest(slug), version.parts if version else [], unseen]
    return Shown(
        suite=suite,
        snapshot=snapshot,
        version=version,
        waiting=waiting,
        waiting_mark=canonical_json.digest(waiting[:MOST_WAITING]),
        unpublished=unseen,
        texts=texts,
        mark=canonical_json.digest(parts),
        read=read,
    )


def _newest(*, request: HttpRequest, suite: Suite) -> Snapshot | None:
    """The newest snapshot of the board that the address names by its season or its conditions; else of the usual one.

    Raises:
        Http404: the season has no board.
    """
    if name := request.GET.get("season"):
        return get_object_or_404(newest_of_seasons(suite.slug), season=name)
    return latest_snapshot(suite=suite, conditions=_conditions(request))


def _conditions(request: HttpRequest) -> Conditions | None:
    """The board that the address names by its conditions; None for the usual one."""
    given = {name: request.GET[name] for name in Conditions._fields if name in request.GET}
    if not given:
        return None
    if len(given) < len(Conditions._fields) or re.fullmatch(r"[0-9]{1,9}", given["samples"]) is None:
        raise Http404("a board is named by profile_digest, split, samples and data_digest together")
    return Conditions(given["profile_digest"], given["split"], int(given["samples"]), given["data_digest"])
