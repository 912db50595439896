"""Submissions of planners that another service is asked about before they are entered: each is a job.

Its result is the submission. With an `Idempotency-Key`, a repeated request finds the job or its submission.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.admission.hub_lookup import DEADLINE_SECONDS
from leaderboard.evaluations.models import Submission
from leaderboard.people.models import User
from leaderboard.planners.data import PlannerData
from leaderboard.planners.kinds import KINDS
from leaderboard.platform.field_errors import FieldErrors
from leaderboard.queue.jobs import JobKind, accept, request_of
from leaderboard.queue.models import Job, JobState
from leaderboard.submissions import services
from leaderboard.submissions.idempotency import KeyReusedError, digest_of, submission_for, submit_once
from leaderboard.submissions.own_workers import submit_for_own_worker

_INSPECTION_SECONDS = 20.0
"""For the check of a model's files, which has limits of its own."""


def accept_submission(
    *,
    user: User,
    data: services.SubmissionData,
    own_worker: bool,
    key: str | None = None,
    asked: Any = None,
    form: str = "",
) -> Job | Submission:
    """Accept a submission, checked as far as this site can alone; or find what the same request led to before.

    Args:
        key: the `Idempotency-Key`; None: each request is another.
        asked: what must be the same with the same key, as `submit_once` takes it.
        form: the form as it was posted, to be shown again with its errors.

    Raises:
        FieldErrors: something entered is wrong.
        KeyReusedError: the key came with another request.
        TooManyJobsError: the user has as many unfinished submissions as a user may have.
    """
    if key is not None:
        digest = digest_of(key=key, request=asked)
        earlier = submission_for(user=user, key=key, digest=digest) or _unfinished_with(user=user, key=key, asked=asked)
        if earlier is not None:
            return earlier
    if errors := services.problems(user=user, data=data):
        raise FieldErrors(errors)
    request: Any = {"data": _to_json(data), "own_worker": own_worker, "key": key, "asked": asked, "form": form}
    return accept(kind=SUBMISSION, owner=user, request=request)


def asks_others(kind: str) -> bool:
    """Whether submissions of this kind of planner are jobs."""
    return kind in KINDS and KINDS[kind].asks_others


def submission_of(job: Job) -> UUID:
    """The submission that a job made which is done."""
    assert job.result is not None, "a job that is done has a result"
    return UUID(job.result["submission"])


def _unfinished_with(*, user: User, key: str, asked: Any) -> Job | None:
    mine = Job.objects.filter(Q(state__in=[JobState.WAITING, JobState.RUNNING]), owner=user, kind=SUBMISSION.name)
    for job in mine:
        request = request_of(job)
        if request["key"] == key:
            if request["asked"] != asked:
                raise KeyReusedError(key)
            return job
    return None


def _run(user: User, request: Any) -> JsonValue:
    """Look up what the submission names, and enter it.

    Raises:
        FieldErrors, ProblemError: as `services.validate` and `services.submit`.
    """
    data = _from_json(request["data"])
    once = submit_once(
        user=user,
        key=request["key"],
        request=request["asked"],
        prepare=lambda: services.validate(user=user, data=data),
        submit=submit_for_own_worker if request["own_worker"] else services.submit,
    )
    return {"submission": str(once.submission.pk)}


SUBMISSION = JobKind(
    name="submission",
    noun="submissions that are being checked",
    run=_run,
    seconds=DEADLINE_SECONDS + _INSPECTION_SECONDS,
    # Each look-up needs up to 90 MB of disk and 1 GiB of memory.
    at_once=2,
    share=1,
    unfinished=4,
    keeps_request=True,
)


def _to_json(data: services.SubmissionData) -> dict[str, Any]:
    beside = {name: getattr(data, name) for name in ("team", "version", "season", "priority", "visibility")}
    until = data.embargo_until
    return {
        **beside,
        "kind": data.planner.kind,
        "planner": dict(data.planner.values),
        "suites": list(data.suites),
        "embargo_until": until and until.isoformat(),
    }


def _from_json(value: Mapping[str, Any]) -> services.SubmissionData:
    beside = {name: part for name, part in value.items() if name not in {"kind", "planner", "embargo_until"}}
    until = value["embargo_until"]
    planner = PlannerData(kind=value["kind"], values=value["planner"])
    return services.SubmissionData(planner=planner, embargo_until=parse_datetime(until) if until else None, **beside)
