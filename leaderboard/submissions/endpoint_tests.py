"""Test calls of endpoints, before anything is submitted: sent from the site, one request, once.

Each is a job, since an endpoint may take its time or never answer. The call has a process of its own with limits on
memory and time, since an answer may be made to cost much.
"""

from typing import Any

from django.conf import settings

from evaluator.core.canonical_json import JsonValue
from evaluator.planners.trials import ChatTrialSettings
from evaluator.planners.trials.process import (
    GRACE_SECONDS,
    settings_from_json,
    settings_to_json,
    trial_from_json,
    trial_to_json,
)
from evaluator.planners.trials.trial import Trial
from leaderboard.catalog.library import library
from leaderboard.catalog.models import Suite
from leaderboard.people.models import User
from leaderboard.planners import secret_headers
from leaderboard.planners.data import CALL, NAME, TIMEOUT, PlannerData
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.kinds.called import CalledKind
from leaderboard.planners.kinds.language_models import MODEL_ID, STRATEGY, check_understanding
from leaderboard.planners.services import check_planner, find_planner
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.jobs import JobKind, accept
from leaderboard.queue.models import Job, JobState

LONGEST_SECONDS = 15.0
"""Whatever the endpoint's own timeout is."""
_NEEDED = frozenset(field.name for field in (*CALL, MODEL_ID, STRATEGY))
"""The fields that the call depends on; the others may be wrong as yet."""


def accept_test(*, user: User, data: PlannerData, suite: str = "") -> Job:
    """Accept a test: one request of a suite will be sent to the endpoint that was entered, as a worker would.

    Args:
        suite: slug; empty: the first of the current ones.

    Raises:
        FieldErrors: the address, the header or the suite cannot be taken.
        TooManyJobsError: the user has as many unfinished tests as a user may have.
    """
    kind = KINDS.get(data.kind)
    if not isinstance(kind, CalledKind):
        raise FieldErrors({"kind": ["Only an HTTP endpoint or a chat endpoint can be tested."]})
    errors = {field: texts for field, texts in check_planner(data).items() if field in _NEEDED}
    planner = find_planner(owner=user, name=data[NAME])
    if errors := errors or kind.check_owned(data=data, suites=[], owner=user, planner=planner):
        raise FieldErrors(errors)
    called = kind.trial_settings(
        data=data,
        timeout_seconds=min(data[TIMEOUT] or LONGEST_SECONDS, LONGEST_SECONDS),
        header=secret_headers.header_to_send(planner=planner, data=data),
    )
    slug = _suite(suite)
    if isinstance(called, ChatTrialSettings):
        _check_suite(slug, strategy=called.strategy)
    return accept(kind=ENDPOINT_TEST, owner=user, request={"suite": slug, "settings": settings_to_json(called)})


def trial_of(job: Job) -> Trial | None:
    """The result of a test; None: there is none."""
    return trial_from_json(job.result) if job.state == JobState.DONE else None


def _run(user: User, request: Any) -> JsonValue:  # noqa: ARG001 - of a job
    """Make the call.

    Raises:
        NotReadyError: this installation cannot evaluate at present.
    """
    called = settings_from_json(request["settings"])
    # The call may take longer than all that is asked of the database.
    give_connection_back()
    trial = library().try_endpoint(suite=request["suite"], profile=settings.PROFILE, settings=called)
    result: JsonValue = trial_to_json(trial)
    return result


ENDPOINT_TEST = JobKind(
    name="endpoint_test",
    noun="tests of endpoints",
    run=_run,
    seconds=LONGEST_SECONDS + GRACE_SECONDS,
    at_once=4,
    share=2,
    unfinished=4,
)


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
