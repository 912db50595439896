"""Enrolment tokens of workers: operators', users', and those that launchers mint.

An enrolment token opens sessions (`sessions.py`), and only sessions lease. The owner and the restrictions of the token
determine what a worker may lease.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from leaderboard.evaluations.models import OWN_WORKER, AttemptState
from leaderboard.people.credentials import Credential, last_use
from leaderboard.people.models import User, lock_owner
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.queue.leasing.leases import lose
from leaderboard.queue.leasing.next_shard import hash_token
from leaderboard.queue.leasing.worker_pools import EVERY_SUITE
from leaderboard.queue.models import AttemptToken, WorkerToken
from leaderboard.queue.pools import tag_of, taken_by

PREFIX = "paw_"
MOST_TOKENS = 20
_REVOKED = "the token of its worker was revoked"
_USE_IS_NOTED_EVERY = timedelta(minutes=1)
_UNKNOWN = (
    "This enrolment token is invalid or was revoked. Operators create one with `manage.py worker_token NAME`, users on "
    "the page Self-hosted workers."
)
_EXPIRED = "This enrolment token of a launch has expired. The launcher starts another worker if needed."


@dataclass(frozen=True, slots=True)
class NewWorkerToken:
    """A new token. `token` is shown only once; only its hash is stored."""

    id: UUID
    name: str
    token: str


class CredentialRefusedError(ProblemError):
    """An enrolment token opens no session, or a session cannot lease. The message says what to do."""

    status = 403

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The calling worker: its enrolment and the restrictions of its session."""

    token: WorkerToken | None
    """None: PLANARENA_WORKER_TOKEN, which is the operator's."""
    evaluation_id: UUID | None = None
    """The only evaluation of its session; None: no restriction."""
    suites: tuple[str, ...] | None = None
    """The only suites of its session; None: no restriction."""

    @property
    def owner_id(self) -> int | None:
        """The owner of a self-hosted worker; None for operators' workers."""
        return None if self.token is None else self.token.owner_id

    @property
    def scope(self) -> Q:
        """Condition: the evaluations that this worker may lease."""
        if self.owner_id is None:
            scope = Q(own_worker_run__isnull=True)
        else:
            scope = Q(own_worker_run__isnull=False, submission__submitted_by=self.owner_id)
        if self.token is not None and self.token.evaluation is not None:
            scope &= Q(pk=self.token.evaluation)
        if self.token is not None and self.token.suite:
            scope &= Q(suite__slug=self.token.suite)
        if self.token is not None and self.token.pool:
            scope &= taken_by(self.token.pool)
        if self.evaluation_id is not None:
            scope &= Q(pk=self.evaluation_id)
        return scope if self.suites is None else scope & Q(suite__slug__in=self.suites)

    def pool(self, *, suites: Sequence[str] | None, evaluation_id: UUID | None) -> list[str]:
        """The suites, or the pool, for which this worker serves all users when it requests these suites or this
        evaluation (`Attempt.pool`)."""
        bound = self.evaluation_id or evaluation_id or (self.token is not None and self.token.evaluation)
        if bound or self.owner_id is not None:
            return []
        if self.token is not None and self.token.pool:
            return [tag_of(self.token.pool)]
        if self.token is not None and self.token.suite:
            return [self.token.suite]
        chosen = [set(some) for some in (self.suites, suites) if some is not None]
        return sorted(set.intersection(*chosen)) if chosen else [EVERY_SUITE]

    def name(self, worker: str) -> str:
        """The worker's name on this site."""
        return worker if self.owner_id is None else f"{OWN_WORKER}{worker}"[:120]


def create_worker_token(*, owner: User | None, name: str) -> NewWorkerToken:
    """Create a token for a worker of this user, or of the operator at the command line.

    Raises:
        FieldErrors: the name is empty or too long, or there are too many tokens.
    """
    name = name.strip()
    if not 1 <= len(name) <= 80 or not name.isprintable():
        raise FieldErrors({"name": ["A worker token has a name of 1 to 80 printable characters."]})
    text = f"{PREFIX}{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        if owner is not None:
            lock_owner(owner)
            if worker_tokens_of(owner).count() >= MOST_TOKENS:
                raise FieldErrors({"name": [f"You have {MOST_TOKENS} worker tokens, the maximum: revoke one first."]})
        row = WorkerToken.objects.create(owner=owner, name=name, token_hash=hash_token(text))
        record(by=owner, action=Action.WORKER_TOKEN_MADE, target=row)
    return NewWorkerToken(id=row.pk, name=name, token=text)


def mint_launch_token(*, name: str, valid: timedelta, pool: str = "") -> str:
    """Create the enrolment token of a launch or a pool, and return its text, which is not stored.

    Args:
        name: display name of the launch.
        valid: how long it opens sessions.
        pool: the worker pool whose evaluations it covers; empty: all evaluations for operators' workers.
    """
    text = f"{PREFIX}{secrets.token_urlsafe(32)}"
    WorkerToken.objects.create(
        owner=None,
        name=name[:80],
        token_hash=hash_token(text),
        pool=pool,
        expires_at=timezone.now() + valid,
    )
    return text


def withdraw_launch_token(token: str) -> None:
    """Revoke a launch's token that no worker has received."""
    minted = WorkerToken.objects.filter(token_hash=hash_token(token), expires_at__isnull=False, revoked_at=None)
    minted.update(revoked_at=timezone.now())


def is_fresh_pool_token(*, pool: str, token: str, remaining: timedelta) -> bool:
    """Whether this is a token of the pool that was not revoked and opens sessions for at least `remaining`."""
    own = WorkerToken.objects.filter(token_hash=hash_token(token), pool=pool, owner=None, revoked_at=None)
    return bool(token) and own.filter(expires_at__gt=timezone.now() + remaining).exists()


def worker_tokens_of(owner: User) -> QuerySet[WorkerToken]:
    """The user's valid tokens, newest first."""
    return WorkerToken.objects.filter(owner=owner, revoked_at=None).order_by("-created", "pk")


def revoke_worker_token(*, owner: User | None, token_id: UUID, by: User | None = None) -> bool:
    """Revoke a token. False if the owner has no such token. `by`: the acting user, if not the owner.

    After: it leases nothing, and its leased shards can be leased again.
    """
    with transaction.atomic():
        if not _end(owner=owner, token_id=token_id, by=by or owner):
            return False
    _take_back(token_id)
    return True


def revoke_with_commit(*, owner: User, token_id: UUID, because: str) -> bool:
    """`revoke_worker_token` within a transaction, effective with its commit; `because` is for the audit log."""
    if not _end(owner=owner, token_id=token_id, by=owner, because=because):
        return False
    transaction.on_commit(partial(_take_back, token_id))
    return True


def _end(*, owner: User | None, token_id: UUID, by: User | None, because: str = "") -> bool:
    own = WorkerToken.objects.filter(pk=token_id, owner=owner, revoked_at=None)
    if not own.update(revoked_at=timezone.now()):
        return False
    token = WorkerToken.objects.get(pk=token_id)
    details = {"because": because} if because else None
    record(by=by, action=Action.WORKER_TOKEN_REVOKED, target=token, details=details)
    return True


def _take_back(token_id: UUID) -> None:
    # After the commit, so that a concurrent lease is either seen here or sees the revocation; and each in its own
    # transaction, so that no transaction holds the locks of two evaluations.
    live = AttemptToken.objects.filter(token=token_id, attempt__state=AttemptState.LIVE).order_by("attempt")
    for attempt_id in list(live.values_list("attempt", flat=True)):
        lose(attempt_id=attempt_id, detail=_REVOKED)


def enrolled(token: str) -> Holder:
    """The worker of an enrolment token.

    Raises:
        CredentialRefusedError: it is unknown, was revoked, has expired, or its owner's account is inactive.
    """
    if settings.WORKER_TOKEN and constant_time_compare(token, settings.WORKER_TOKEN):
        return Holder(token=None)
    # By hash, so that the duration of the look-up reveals nothing about the token.
    row = WorkerToken.objects.filter(token_hash=hash_token(token)).select_related("owner").first()
    if row is None or not is_valid(row):
        raise CredentialRefusedError("enrolment_refused", _UNKNOWN)
    if row.expires_at is not None and row.expires_at <= timezone.now():
        raise CredentialRefusedError("enrolment_expired", _EXPIRED)
    return Holder(token=row)


def is_valid(token: WorkerToken) -> bool:
    """Whether the token was not revoked and its owner's account is active."""
    return token.revoked_at is None and (token.owner is None or token.owner.is_active)


def note_lease(*, attempt_id: UUID, holder: Holder) -> bool:
    """Record the token of an attempt's lease.

    Before: nothing; the token may be revoked concurrently.
    After: it is recorded (True); or the token has been revoked, and the lease has ended (False).
    """
    if holder.token is None:
        return True
    AttemptToken.objects.get_or_create(attempt_id=attempt_id, defaults={"token": holder.token})
    if WorkerToken.objects.filter(pk=holder.token.pk, revoked_at=None).exists():
        return True
    lose(attempt_id=attempt_id, detail=_REVOKED)
    return False


def note_use(token: WorkerToken) -> None:
    """Record the time at which a worker used the token, to the minute."""
    now = timezone.now()
    if token.last_used is None or now - token.last_used > _USE_IS_NOTED_EVERY:
        WorkerToken.objects.filter(pk=token.pk).update(last_used=now)


class WorkerTokens:
    """Worker tokens as credentials of their owner."""

    prefix = "worker"

    def of(self, user: User) -> list[Credential]:
        """The user's valid tokens, newest first."""
        return [
            Credential(
                key=f"{self.prefix}:{token.pk}",
                kind="worker token",
                name=token.name,
                made=token.created,
                note=last_use(token.last_used),
            )
            for token in worker_tokens_of(user)
        ]

    def revoke(self, *, user: User, token_id: str, because: str) -> None:
        """Revoke a token with the commit of the current transaction."""
        revoke_with_commit(owner=user, token_id=UUID(token_id), because=because)
