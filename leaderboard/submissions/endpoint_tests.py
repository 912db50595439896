"""Test calls of endpoints before submission: the site sends one request once.

Each test is a job, since an endpoint may answer late or never. It runs in a process with limits on memory and time,
since an answer may be crafted to be expensive.
"""

from typing import Any

from django.conf import settings

from evaluator.core.canonical_json import JsonValue
from evaluator.core.suggestions import as_sentence, no_such
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
from leaderboard.planners.kinds.chat import SETTINGS
from leaderboard.planners.kinds.language_models import MODEL_ID, STRATEGY, check_understanding
from leaderboard.planners.services import check_planner, find_planner
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.jobs import JobKind, accept
from leaderboard.queue.models import Job, JobState

LONGEST_SECONDS = 15.0
"""Limit of a call, whatever the timeout of the endpoint."""
_NEEDED = frozenset(field.name for field in (*CALL, MODEL_ID, STRATEGY, *SETTINGS))
"""The fields that the call depends on; errors in others are ignored."""


def accept_test(*, user: User, data: PlannerData, suite: str = "") -> Job:
    """Accept a test: a job that sends one request of a suite to the endpoint, as a worker would.

    Args:
        suite: slug; empty: the first of the current ones.

    Raises:
        FieldErrors: the address, the header or the suite is invalid.
        TooManyJobsError: the user has too many unfinished tests.
    """
    kind = KINDS.get(data.kind)
    if not isinstance(kind, CalledKind):
        raise FieldErrors({"kind": ["Only an HTTP endpoint, an A2A agent or a chat endpoint can be tested."]})
    errors = {field: texts for field, texts in check_planner(data).items() if field in _NEEDED}
    planner = find_planner(owner=user, name=data[NAME])
    if errors := errors or kind.check_owned(data=data, suites=[], owner=user, planner=planner):
        raise FieldErrors(errors)
    called = kind.trial_settings(
        data=data,
        timeout_seconds=min(data[TIMEOUT] or LONGEST_SECONDS, LONGEST_SECONDS),
        header=secret_headers.header_to_send(planner=planner, data=data),
    )
    current = {row.slug: row for row in Suite.objects.filter(current=True).order_by("slug")}
    if not current:
        raise FieldErrors({"suites": ["This site has no suites."]})
    if suite and suite not in current:
        raise FieldErrors({"suites": [as_sentence(no_such("suite", suite, current))]})
    slug = suite or next(iter(current))
    if isinstance(called, ChatTrialSettings):
        if current[slug].in_turns:
            raise FieldErrors({"suites": ["A chat endpoint is tested on a suite of whole plans: choose one."]})
        if errors := check_understanding(strategy=called.strategy, suites=[slug]):
            raise FieldErrors(errors)
    return accept(kind=ENDPOINT_TEST, owner=user, request={"suite": slug, "settings": settings_to_json(called)})


def trial_of(job: Job) -> Trial | None:
    """The result of a test; None: there is none."""
    return trial_from_json(job.result) if job.state == JobState.DONE else None


def _run(user: User, request: Any) -> JsonValue:  # noqa: ARG001 - of a job
    called = settings_from_json(request["settings"])
    # The call may take longer than any query.
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
