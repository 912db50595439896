"""Test calls of endpoints, before anything is submitted: sent from the site, one request, once, and nothing is kept.

Each call has a process of its own with limits on memory and time, since an answer may be made to cost much. A few run
at once for each process of the site, a few more wait for them, and others are refused. A call waits in the thread of
its own request and holds no connection of the database meanwhile.
"""

from collections.abc import Mapping

from django.conf import settings
from django.db import connection

from evaluator.planners.trials.settings import ChatTrialSettings
from evaluator.planners.trials.trial import Trial
from leaderboard.accounts.models import User
from leaderboard.catalog.library import library
from leaderboard.catalog.models import Suite
from leaderboard.planners import secret_headers
from leaderboard.planners.call_fields import CALL
from leaderboard.planners.data import NAME, TIMEOUT, PlannerData
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.kinds.language_models import MODEL_ID, STRATEGY, check_understanding
from leaderboard.planners.places import NoPlaceError, Places
from leaderboard.planners.services import check_planner, find_planner
from leaderboard.site.field_errors import FieldErrors
from leaderboard.site.problems import ProblemError

LONGEST_SECONDS = 15.0
"""Whatever the endpoint's own timeout is."""
AT_ONCE = 4
"""Processes."""
WAITING = 8
"""Calls that wait for one of these."""
WAIT_SECONDS = 10.0

_places = Places(at_once=AT_ONCE, waiting=WAITING, wait_seconds=WAIT_SECONDS)
_NEEDED = frozenset(field.name for field in (*CALL, MODEL_ID, STRATEGY))
"""The fields that the call depends on; the others may be wrong as yet."""


RETRY_SECONDS = 5


class BusyError(ProblemError):
    """Too many test calls are under way; nothing was sent."""

    status = 503
    code = "busy"

    def __init__(self) -> None:
        super().__init__("Too many endpoint tests at the moment: try again in a few seconds.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


def try_endpoint(*, user: User, data: PlannerData, suite: str = "") -> Trial:
    """Send one request of a suite to the endpoint that was entered, as a worker would.

    Args:
        suite: slug; empty: the first of the current ones.

    Raises:
        FieldErrors: the address, the header or the suite cannot be taken; nothing was sent.
        BusyError: nothing was sent.
        NotReadyError: this installation cannot evaluate at present.
    """
    kind = KINDS.get(data.kind)
    if not isinstance(kind, CalledKind):
        raise FieldErrors({"kind": ["Only an HTTP endpoint or a chat endpoint can be tested."]})
    errors = {field: texts for field, texts in check_planner(data).items() if field in _NEEDED}
    planner = find_planner(owner=user, name=data[NAME])
    owned = kind.check_owned(data=data, suites=[], owner=user, planner=planner)
    if errors := errors or owned:
        raise FieldErrors(errors)
    called = kind.trial_settings(
        data=data,
        timeout_seconds=min(data[TIMEOUT] or LONGEST_SECONDS, LONGEST_SECONDS),
        header=secret_headers.header_to_send(planner=planner, data=data),
    )
    slug = _suite(suite)
    if isinstance(called, ChatTrialSettings):
        _check_suite(slug, strategy=called.strategy)
    if not connection.in_atomic_block:
        # Back into the pool: the call may take longer than all that this page asks of the database.
        connection.close()
    try:
        with _places.taken():
            return library().try_endpoint(suite=slug, profile=settings.PROFILE, settings=called)
    except NoPlaceError:
        raise BusyError from None


def _check_suite(slug: str, *, strategy: str) -> None:
    """Refuse a suite that a strategy cannot be tested on.

    Raises:
        FieldErrors: it wants turns, or the strategy is made for others.
    """
    if Suite.objects.get(slug=slug, current=True).in_turns:
        raise FieldErrors({"suites": ["A chat endpoint is tested on a suite of whole plans: choose one."]})
    if errors := check_understanding(strategy=strategy, suites=[slug]):
        raise FieldErrors(errors)


def _suite(slug: str) -> str:
    current = list(Suite.objects.filter(current=True).order_by("slug").values_list("slug", flat=True))
    if not current:
        raise FieldErrors({"suites": ["This site has no suites."]})
    if slug and slug not in current:
        raise FieldErrors({"suites": [f"There is no suite {slug!r}; there are: {', '.join(current)}."]})
    return slug or current[0]
