"""Jobs: work for a user, outside of requests, that waits for other machines or executes plans.

PostgreSQL is the source of truth. A job is started at most once. If it is not started in time, or its process dies, it
fails at its deadline by the database's clock, when its owner or the sweep next reads it. Users take turns: of the
waiting jobs of a kind, the next is that of the user whose last job started the longest ago.

Threads of the web processes run jobs (`Runner`), apart from those that answer requests: queue processes lack the key
that decrypts secret headers, and have too few slots to wait for remote machines.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from evaluator.core.canonical_json import JsonValue
from leaderboard.people.models import User, lock_owner
from leaderboard.platform.coordination.locks import Lock, lock_until_commit
from leaderboard.platform.database import give_connection_back
from leaderboard.platform.encryption import UnreadableSecretError, decrypt, encrypt
from leaderboard.platform.hooks import Hook
from leaderboard.platform.problems import FieldErrors, ProblemError, refused
from leaderboard.queue.models import Job, JobState

logger = logging.getLogger(__name__)

PURPOSE = "request of a job"
KEPT = timedelta(hours=1)
"""How long a finished job can be read."""
KEPT_PER_USER = 20
"""Finished jobs of a kind that are kept for each user."""
WAITS = timedelta(minutes=5)
"""How long a job may wait to be started."""
GRACE = timedelta(seconds=30)
"""Added to a job's time limit for its deadline: time to start its process and to store its result."""
RETRY_SECONDS = 5
_UNFINISHED = Q(state__in=[JobState.WAITING, JobState.RUNNING])


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """A kind of job and its limits."""

    name: str
    noun: str
    """Plural noun for sentences: "tests of endpoints"."""
    run: Callable[[User, Any], JsonValue]
    """Takes the user and the request, and returns the result. Called in a thread of a web process outside
    transactions. The job's owner reads a `ProblemError` or `FieldErrors` that it raises."""
    seconds: float
    """Time limit."""
    at_once: int
    """Most running jobs in one web process."""
    share: int
    """Most running jobs of one user, in all processes."""
    unfinished: int
    """Most waiting and running jobs of one user."""
    keeps_request: bool = False
    """Whether the request is kept after the job has ended."""
    ended: Callable[[Job, Any], None] | None = None
    """Called with the job and its request, in the transaction in which the job is done or fails."""


KINDS: dict[str, JobKind] = {}
"""By name; registered in `leaderboard.wiring`."""
accepted: Hook[Job] = Hook()
"""Called after a job is committed."""


class TooManyJobsError(ProblemError):
    """The user has reached the limit of unfinished jobs of a kind."""

    status = 429
    code = "too_many_jobs"

    def __init__(self, kind: JobKind) -> None:
        super().__init__(f"You have {kind.unfinished} unfinished {kind.noun}, the maximum: wait until one has ended.")

    def headers(self) -> Mapping[str, str]:
        return {"Retry-After": str(RETRY_SECONDS)}


def accept(*, kind: JobKind, owner: User, request: JsonValue) -> Job:
    """Accept a job.

    Before: nothing.
    After: the job waits and is started soon after the commit; or `TooManyJobsError` was raised.
    """
    with transaction.atomic():
        lock_owner(owner)
        mine = Job.objects.filter(owner=owner, kind=kind.name)
        if mine.filter(_UNFINISHED, deadline__gt=Now()).count() >= kind.unfinished:
            raise TooManyJobsError(kind)
        old = mine.exclude(_UNFINISHED).order_by("-created").values("pk")[KEPT_PER_USER - 1 :]
        Job.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()
        encrypted = encrypt(json.dumps(request), purpose=PURPOSE)
        job = Job.objects.create(
            owner=owner, kind=kind.name, request=encrypted, created=Now(), deadline=Now() + WAITS
        )  # fmt: skip
        job.refresh_from_db()
        transaction.on_commit(lambda: accepted.call(job), robust=True)
    return job


def find(*, owner: User, kind: str, job_id: UUID) -> Job | None:
    """The owner's job of this kind; None if there is none or it has expired."""
    mine = Job.objects.filter(owner=owner, kind=kind, pk=job_id)
    fail_abandoned(mine)
    return mine.filter(~old_jobs_condition()).first()


def request_of(job: Job) -> Any:
    """The decrypted request.

    Raises:
        UnreadableSecretError: the site's key has changed.
    """
    return json.loads(decrypt(job.request, purpose=PURPOSE))


def run_next(kind: JobKind) -> bool:
    """Run the next job of a kind. False if none may run now.

    Before: nothing; many threads of many processes may call at once.
    After: the job is done, or failed with its problem; or its deadline had passed, and another caller has failed it.
    """
    job = claim(kind)
    if job is None:
        return False
    run(job, kind=kind)
    return True


def claim(kind: JobKind) -> Job | None:
    """Mark the next job of a kind as running; None if none may run now."""
    with transaction.atomic():
        # Serialised: concurrent claims could exceed a user's share.
        lock_until_commit(Lock.JOBS, kind.name)
        claimed = Job.objects.raw(
            "UPDATE queue_job SET state = 'running', started = statement_timestamp(),"
            " deadline = statement_timestamp() + %(lasting)s WHERE id = ("
            "  SELECT waiting.id FROM queue_job waiting WHERE waiting.kind = %(kind)s AND waiting.state = 'waiting'"
            "  AND waiting.deadline > statement_timestamp() AND ("
            "   SELECT count(*) FROM queue_job running WHERE running.kind = %(kind)s AND running.state = 'running'"
            "   AND running.owner_id = waiting.owner_id AND running.deadline > statement_timestamp()) < %(share)s"
            "  ORDER BY (SELECT max(started) FROM queue_job last WHERE last.kind = %(kind)s"
            "   AND last.owner_id = waiting.owner_id) NULLS FIRST, waiting.created LIMIT 1"
            ") RETURNING *",
            {"kind": kind.name, "share": kind.share, "lasting": timedelta(seconds=kind.seconds) + GRACE},
        )
        return next(iter(claimed), None)


def run(job: Job, *, kind: JobKind) -> None:
    """Run a claimed job and store its result or problem."""
    facts: dict[str, Any]
    try:
        facts = {"state": JobState.DONE, "result": kind.run(job.owner, request_of(job))}
    except Exception as error:  # noqa: BLE001 - its owner sees every failure
        facts = {"state": JobState.FAILED, "problem": _problem_of(error)}
    with transaction.atomic():
        Job.objects.select_for_update().filter(pk=job.pk).first()
        if not _end(job, **facts):
            logger.warning("%s ended after its deadline; its result is discarded", job)


def _problem_of(error: Exception) -> dict[str, Any]:
    match error:
        case FieldErrors():
            detail = "; ".join(f"{name}: {' '.join(texts)}" for name, texts in error.errors.items())
            return {"status": 400, "code": "invalid", "detail": detail, "errors": dict(error.errors)}
        case ProblemError():
            refused.call(error)
            return {"status": error.status, "code": error.code, "detail": error.sentence, **error.facts()}
        case UnreadableSecretError():
            return _interrupted()
    logger.error("a job failed", exc_info=error)
    return {"status": 500, "code": "internal_error", "detail": "Internal error. Try again later."}


def _interrupted() -> dict[str, Any]:
    detail = "This was interrupted: the site was restarted, or was too busy to start it. Try again."
    return {"status": 503, "code": "interrupted", "detail": detail}


def _end(job: Job, **facts: Any) -> bool:
    """End a job that the caller's transaction has locked; False if it had ended already."""
    kind = KINDS.get(job.kind)
    if not Job.objects.filter(_UNFINISHED, pk=job.pk).update(finished=Now(), **facts):
        return False
    if kind is not None and kind.ended is not None:
        job.refresh_from_db()
        try:
            request = request_of(job)
        except UnreadableSecretError:
            logger.exception("%s ended, but its request cannot be decrypted for the actions that follow", job)
        else:
            kind.ended(job, request)
    if kind is None or not kind.keeps_request:
        Job.objects.filter(pk=job.pk).update(request="")
    return True


def fail_abandoned(jobs: "QuerySet[Job] | None" = None) -> int:
    """Fail the jobs (None: all jobs) whose deadline has passed, and return their number.

    Before: nothing; several processes may call at once.
    After: each of them has failed as interrupted.
    """
    late = Q(_UNFINISHED, deadline__lte=Now())
    count = 0
    # Most calls find none, and open no transaction.
    for pk in list((jobs if jobs is not None else Job.objects).filter(late).values_list("pk", flat=True)):
        with transaction.atomic():
            job = Job.objects.select_for_update().filter(late, pk=pk).first()
            count += job is not None and _end(job, state=JobState.FAILED, problem=_interrupted())
    return count


def old_jobs_condition() -> Q:
    """Jobs that have expired."""
    return Q(finished__lt=Now() - KEPT)


def sweep() -> None:
    """Fail abandoned jobs and delete expired ones.

    Called by web processes: `JobKind.ended` may need the request, which queue processes cannot decrypt.

    Before: nothing; several may run at once.
    After: no unfinished job is past its deadline, and no finished one is older than `KEPT`.
    """
    fail_abandoned()
    Job.objects.filter(old_jobs_condition()).delete()


def has_waiting() -> bool:
    """Whether any job waits to be started. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM queue_job WHERE state = 'waiting')")
        return bool(cursor.fetchone()[0])


POLL_SECONDS = 5.0
"""How soon this process notices a job that another process accepted and cannot run."""
SWEEP_SECONDS = 60.0


class Runner:
    """Starts jobs of each kind, up to the kind's limit."""

    def __init__(self, kinds: Mapping[str, JobKind], *, poll_seconds: float = POLL_SECONDS) -> None:
        """
        Args:
            kinds: which jobs to run; the mapping may grow.
            poll_seconds: how often to poll the database.
        """
        self._kinds, self._poll_seconds = kinds, poll_seconds
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._running: dict[threading.Thread, str] = {}
        self._thread = threading.Thread(target=self._dispatch, name="jobs", daemon=True)

    def start(self) -> None:
        """Start. Threads end with the process; unfinished jobs fail at their deadline."""
        accepted.register(self.wake)
        self._thread.start()

    def stop(self) -> None:
        """Start no more jobs, and wait for the running ones."""
        self._stopped.set()
        self._woken.set()
        self._thread.join()
        with self._lock:
            running = list(self._running)
        for thread in running:
            thread.join()

    def wake(self, job: Job | None = None) -> None:  # noqa: ARG002 - a callback of the hook
        """Poll for jobs now."""
        self._woken.set()

    def running(self, kind: str) -> int:
        """Number of running jobs of a kind in this process."""
        with self._lock:
            return sum(name == kind for name in self._running.values())

    def _dispatch(self) -> None:
        sweep_at = 0.0
        while not self._stopped.is_set():
            self._woken.wait(self._poll_seconds)
            self._woken.clear()
            if self._stopped.is_set():
                return
            try:
                if time.monotonic() >= sweep_at:
                    sweep()
                    sweep_at = time.monotonic() + SWEEP_SECONDS
                if has_waiting():
                    for kind in list(self._kinds.values()):
                        self._start_some(kind)
            except Exception:  # the next poll may succeed
                logger.exception("jobs could not be started")
            finally:
                give_connection_back()

    def _start_some(self, kind: JobKind) -> None:
        while self.running(kind.name) < kind.at_once and (job := claim(kind)) is not None:
            thread = threading.Thread(target=self._run, args=(job, kind), name=f"job-{kind.name}", daemon=True)
            with self._lock:
                self._running[thread] = kind.name
            try:
                thread.start()
            except RuntimeError:
                # Out of threads: the job fails at its deadline.
                with self._lock:
                    del self._running[thread]
                raise

    def _run(self, job: Job, kind: JobKind) -> None:
        try:
            run(job, kind=kind)
        except DatabaseError:
            logger.warning("%s ended, but its result could not be stored", job, exc_info=True)
        finally:
            give_connection_back()
            with self._lock:
                del self._running[threading.current_thread()]
            self.wake()
