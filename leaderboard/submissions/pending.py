"""Idempotency keys, and submissions that first ask another service about the planner, which are jobs.

A request with an `Idempotency-Key` submits once, however often it arrives. The key is written in the transaction of the
submission. Of two simultaneous requests the second waits in the database for the end of the first, then returns its
submission or, if the first was refused, makes its own. Where the submission is a job, a repeated request returns the
job.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from evaluator.core.canonical_json import JsonValue
from evaluator.sandbox.admission.hub_lookup import DEADLINE_SECONDS
from leaderboard.catalog.hidden_data import DATA_FIELDS
from leaderboard.evaluations.models import IdempotencyKey, Submission
from leaderboard.people.models import User
from leaderboard.planners.data import PlannerData
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.queue.jobs import JobKind, accept, request_of
from leaderboard.queue.models import Job, JobState
from leaderboard.submissions import services
from leaderboard.submissions.services import submit_for_own_worker

Prepared = TypeVar("Prepared")
LASTS = timedelta(hours=24)
LONGEST_KEY = 255


class KeyReusedError(ProblemError):
    """The key was used for another request; nothing was changed."""

    status = 422
    code = "idempotency_key_reused"

    def __init__(self, key: str) -> None:
        super().__init__(f"The Idempotency-Key {key!r} came before with another request: use a new one for this.")


class WrongKeyError(FieldErrors):
    """The key is invalid; nothing was changed."""

    def __init__(self) -> None:
        sentence = f"An Idempotency-Key has 1 to {LONGEST_KEY} printable ASCII characters."
        super().__init__({"Idempotency-Key": [sentence]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """The submission of a request."""

    submission: Submission
    repeated: bool
    """Whether an earlier request with the same key made it."""


def submit_once(
    *,
    user: User,
    key: str | None,
    request: Any,
    prepare: Callable[[], Prepared],
    submit: Callable[[Prepared], Submission],
) -> Once:
    """Submit, unless the user's same request did within the last day.

    Args:
        key: of the request; None: every request submits.
        request: a JSON value that a repeated request must equal.
        prepare: runs before the transaction, since it may wait for other services.
        submit: submits what `prepare` returned.

    Raises:
        WrongKeyError: the key is invalid.
        KeyReusedError: the key was used for another request.
        Exception: whatever `prepare` and `submit` raise; the key is not stored then.
    """
    if key is None:
        return Once(submission=submit(prepare()), repeated=False)
    digest = digest_of(key=key, request=request)
    if (earlier := submission_for(user=user, key=key, digest=digest)) is not None:
        return Once(submission=earlier, repeated=True)
    prepared = prepare()
    with transaction.atomic():
        IdempotencyKey.objects.filter(user=user, created__lt=timezone.now() - LASTS).delete()
        # Waits for a concurrent request with this key.
        IdempotencyKey.objects.bulk_create([IdempotencyKey(user=user, key=key, digest=digest)], ignore_conflicts=True)
        if (earlier := submission_for(user=user, key=key, digest=digest)) is not None:
            return Once(submission=earlier, repeated=True)
        submission = submit(prepared)
        IdempotencyKey.objects.filter(user=user, key=key).update(submission=submission)
    return Once(submission=submission, repeated=False)


def digest_of(*, key: str, request: Any) -> str:
    """Digest of a request, to recognise a repeated one.

    Raises:
        WrongKeyError: the key is invalid.
    """
    if not 1 <= len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise WrongKeyError
    # ASCII escapes: a request may contain lone surrogates, which UTF-8 cannot encode.
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode("ascii")).hexdigest()


def submission_for(*, user: User, key: str, digest: str) -> Submission | None:
    """The submission of the user's request with this key within the last day; None: none yet.

    Raises:
        KeyReusedError: the key was used for another request.
    """
    recent = IdempotencyKey.objects.filter(user=user, key=key, created__gte=timezone.now() - LASTS)
    row = recent.select_related("submission").first()
    if row is not None and row.digest != digest:
        raise KeyReusedError(key)
    return None if row is None else row.submission


_INSPECTION_SECONDS = 20.0
"""For the check of a model's files."""


def accept_submission(
    *,
    user: User,
    data: services.SubmissionData,
    own_worker: bool,
    key: str | None = None,
    asked: Any = None,
    form: str = "",
) -> Job | Submission:
    """Check a submission without asking other services and accept it as a job; or return the job or submission of an
    earlier request with the same key.

    Args:
        key: the `Idempotency-Key`; None: every request submits.
        asked: a JSON value that a repeated request must equal.
        form: the posted form, to show it again with its errors.

    Raises:
        FieldErrors: a field is invalid.
        KeyReusedError: the key was used for another request.
        TooManyJobsError: the user has too many unfinished submissions.
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


def submission_of(job: Job) -> UUID:
    """The submission of a completed job."""
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
    beside = {
        name: getattr(data, name)
        for name in (
            "team",
            "version",
            *(field.name for field in DATA_FIELDS),
            "priority",
            "visibility",
            "deterministic",
            "asked_again",
        )
    }
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
