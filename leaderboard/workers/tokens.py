"""Tokens of workers: the operator's and researchers' own. What each may lease follows from whose it is."""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from leaderboard.accounts.models import User
from leaderboard.audit.models import Action
from leaderboard.audit.services import record
from leaderboard.evaluations.leases import hash_token, lose
from leaderboard.evaluations.models import OWN_WORKER, AttemptState
from leaderboard.field_errors import FieldErrors
from leaderboard.locks import lock_owner
from leaderboard.workers.models import AttemptToken, WorkerToken

PREFIX = "paw_"
MOST_TOKENS = 20
_REVOKED = "the token of its worker was revoked"
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NewWorkerToken:
    """A token that was just made. `token` is shown this once; only its hash is kept."""

    id: UUID
    name: str
    token: str


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks for tasks."""

    token: WorkerToken | None
    """None: PLANARENA_WORKER_TOKEN, which is the operator's."""

    @property
    def owner_id(self) -> int | None:
        """The researcher whose worker it is; None for the operator's."""
        return None if self.token is None else self.token.owner_id

    @property
    def scope(self) -> Q:
        """The evaluations of which this worker may lease shards."""
        if self.owner_id is None:
            return Q(own_worker_run__isnull=True)
        return Q(own_worker_run__isnull=False, submission__submitted_by=self.owner_id)

    def name(self, worker: str) -> str:
        """How the worker is called here."""
        return worker if self.owner_id is None else f"{OWN_WORKER}{worker}"[:120]


def create_worker_token(*, owner: User | None, name: str) -> NewWorkerToken:
    """Make a token for a worker of this user, or of the operator at the command line.

    Raises:
        FieldErrors: the name is empty or too long, or there are too many tokens.
    """
    name = name.strip()
    if not 1 <= len(name) <= 80 or not name.isprintable():
        raise FieldErrors({"name": ["A worker token has a name of 1 to 80 characters that can be shown."]})
    text = f"{PREFIX}{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        if owner is not None:
            _refuse_too_many(owner)
        row = WorkerToken.objects.create(owner=owner, name=name, token_hash=hash_token(text))
        record(by=owner, action=Action.WORKER_TOKEN_MADE, target=row)
    return NewWorkerToken(id=row.pk, name=name, token=text)


def _refuse_too_many(owner: User) -> None:
    lock_owner(owner)
    if worker_tokens_of(owner).count() >= MOST_TOKENS:
        raise FieldErrors({"name": [f"You have {MOST_TOKENS} worker tokens, the most there may be: revoke one first."]})


def worker_tokens_of(owner: User) -> QuerySet[WorkerToken]:
    """The user's tokens that were not revoked, newest first."""
    return WorkerToken.objects.filter(owner=owner, revoked_at=None).order_by("-created", "pk")


def revoke_worker_token(*, owner: User | None, token_id: UUID, by: User | None = None) -> bool:
    """End a token. False if the owner has no such token. `by` is who does it, if that is not the owner.

    After: nobody leases with it any more, and what is leased with it goes back to be leased again.
    """
    with transaction.atomic():
        if not _end(owner=owner, token_id=token_id, by=by or owner):
            return False
    _take_back(token_id)
    return True


def revoke_with_commit(*, owner: User, token_id: UUID | str, because: str) -> bool:
    """The same within a transaction, which ends the token with its commit. The audit log says `because` of what."""
    if not _end(owner=owner, token_id=token_id, by=owner, because=because):
        return False
    transaction.on_commit(partial(_take_back, token_id))
    return True


def _end(*, owner: User | None, token_id: UUID | str, by: User | None, because: str = "") -> bool:
    own = WorkerToken.objects.filter(pk=token_id, owner=owner, revoked_at=None)
    if not own.update(revoked_at=timezone.now()):
        return False
    token = WorkerToken.objects.get(pk=token_id)
    details = {"because": because} if because else None
    record(by=by, action=Action.WORKER_TOKEN_REVOKED, target=token, details=details)
    return True


def _take_back(token_id: UUID | str) -> None:
    # After the commit, so that a lease which is given at this moment is seen here or sees that the token has ended;
    # and each by itself: whoever holds the locks of one evaluation waits for no other.
    live = AttemptToken.objects.filter(token=token_id, attempt__state=AttemptState.LIVE).order_by("attempt")
    for attempt_id in list(live.values_list("attempt", flat=True)):
        lose(attempt_id=attempt_id, detail=_REVOKED)


def holder_of(token: str) -> Holder | None:
    """Whose worker this token is; None if it is no worker's, was revoked, or its owner has no account any more."""
    if constant_time_compare(token, settings.WORKER_TOKEN):
        return Holder(token=None)
    # Looked up by its hash: how long that takes tells nothing about the token.
    found = WorkerToken.objects.filter(token_hash=hash_token(token), revoked_at=None).select_related("owner").first()
    if found is None or (found.owner is not None and not found.owner.is_active):
        return None
    _note_use(found)
    return Holder(token=found)


def note_lease(*, attempt_id: UUID, holder: Holder) -> bool:
    """Record which token an attempt was leased with.

    Before: nothing; the token may be revoked at this moment.
    After: it is recorded (True); or the token has ended meanwhile, and so has the lease (False).
    """
    if holder.token is None:
        return True
    AttemptToken.objects.get_or_create(attempt_id=attempt_id, defaults={"token": holder.token})
    if WorkerToken.objects.filter(pk=holder.token.pk, revoked_at=None).exists():
        return True
    lose(attempt_id=attempt_id, detail=_REVOKED)
    return False


def _note_use(token: WorkerToken) -> None:
    now = timezone.now()
    if token.last_used is None or now - token.last_used > _USE_IS_NOTED_EVERY:
        WorkerToken.objects.filter(pk=token.pk).update(last_used=now)
