"""Sessions of workers: credentials that lease shards for an hour, opened with an enrolment token.

An intercepted session is worth little: it ends within the hour, with its enrolment, or when the operator changes
PLANARENA_WORKER_TOKEN.
"""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from gpu_jobs.contract import Session
from leaderboard.planners.gpu_memory import note_worker_gpu
from leaderboard.platform.compiled_queries import CompiledQuery
from leaderboard.queue.leasing.next_shard import hash_token
from leaderboard.queue.models import WorkerSession
from leaderboard.queue.workers.tokens import PREFIX as ENROLMENT_PREFIX
from leaderboard.queue.workers.tokens import CredentialRefusedError, Holder, enrolled, is_valid, note_use

PREFIX = "pas_"
VALID = timedelta(hours=1)
_KEPT = timedelta(days=1)
"""How long expired sessions are kept."""
_MOST_OF_A_USER = 200
"""Sessions of a user's token; the oldest end when there are more. Operators' tokens have no limit."""
_NEEDS_SESSION = (
    "This is an enrolment token, but leasing needs a session, which POST worker/session/ opens with it. This worker is "
    "older than the site: update its checkout or image to the site's release and start it again."
)
_OVER = "This session is unknown or has ended: open another one at POST worker/session/ with the enrolment token."
_NOT_COVERED = "The enrolment token covers {covered} only."


def open_session(
    *,
    enrolment: str,
    evaluation_id: UUID | None = None,
    suites: Sequence[str] | None = None,
    gpu_memory_bytes: int | None = None,
) -> Session:
    """Open a session, restricted to what the enrolment covers and what the worker requests.

    Args:
        enrolment: the enrolment token.
        evaluation_id: the only requested evaluation; None: no restriction.
        suites: slugs of the only requested suites; None: no restriction.
        gpu_memory_bytes: of the GPU that loads the worker's models, which counts if an operator runs it; None: unknown.

    Raises:
        CredentialRefusedError: the token opens no session, or none for this evaluation or these suites.
    """
    holder = enrolled(enrolment)
    if holder.token is not None:
        if holder.token.evaluation is not None and evaluation_id not in {None, holder.token.evaluation}:
            covered = f"evaluation {holder.token.evaluation}"
            raise CredentialRefusedError("not_covered", _NOT_COVERED.format(covered=covered))
        if holder.token.suite and suites is not None and holder.token.suite not in suites:
            covered = f"suite {holder.token.suite}"
            raise CredentialRefusedError("not_covered", _NOT_COVERED.format(covered=covered))
    now, valid = timezone.now(), VALID
    if holder.token is not None:
        note_use(holder.token)
        if holder.token.expires_at is not None:
            valid = min(valid, holder.token.expires_at - now)
    text = f"{PREFIX}{secrets.token_urlsafe(32)}"
    WorkerSession.objects.create(
        token_hash=hash_token(text),
        enrolment=holder.token,
        enrolled_with=hash_token(enrolment),
        evaluation=evaluation_id,
        suites=None if suites is None else list(suites),
        expires_at=now + valid,
    )
    WorkerSession.objects.filter(expires_at__lt=timezone.now() - _KEPT).delete()
    if holder.owner_id is not None:
        own = WorkerSession.objects.filter(enrolment=holder.token).order_by("-pk")
        oldest_kept = own.values_list("pk", flat=True)[_MOST_OF_A_USER - 1 : _MOST_OF_A_USER].first()
        if oldest_kept is not None:
            own.filter(pk__lt=oldest_kept).delete()
    elif gpu_memory_bytes is not None:
        note_worker_gpu(gpu_memory_bytes)
    return Session(token=text, expires_in=valid.total_seconds())


def _session(token_hash: str) -> QuerySet[WorkerSession]:
    return WorkerSession.objects.filter(token_hash=token_hash).select_related("enrolment__owner")


_SESSION = CompiledQuery(_session, token_hash=str)


def holder_of_session(token: str) -> Holder:
    """The worker of a session.

    Raises:
        CredentialRefusedError: it is no session or has ended.
    """
    session = _SESSION.first(token_hash=hash_token(token))
    if session is None or session.expires_at <= timezone.now() or not _enrolment_is_valid(session):
        if token.startswith(ENROLMENT_PREFIX) or constant_time_compare(token, settings.WORKER_TOKEN):
            raise CredentialRefusedError("session_needed", _NEEDS_SESSION)
        raise CredentialRefusedError("session_over", _OVER)
    if session.enrolment is not None:
        note_use(session.enrolment)
    suites = None if session.suites is None else tuple(session.suites)
    return Holder(token=session.enrolment, evaluation_id=session.evaluation, suites=suites)


def _enrolment_is_valid(session: WorkerSession) -> bool:
    if session.enrolment is not None:
        return is_valid(session.enrolment)
    return bool(settings.WORKER_TOKEN) and session.enrolled_with == hash_token(settings.WORKER_TOKEN)
