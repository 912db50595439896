"""Personal API tokens, and weights of users and teams. Pages, API and admin use the same functions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from knox.models import AuthToken

from evaluator.core.suggestions import as_sentence, no_such
from leaderboard.people.models import Scope, Team, TokenScopes, User, lock_owner
from leaderboard.platform.audit import record
from leaderboard.platform.models import Action
from leaderboard.platform.problems import FieldErrors

DEFAULT_SCOPES: Sequence[Scope] = (Scope.READ, Scope.SUBMIT)
"""The scopes that a pipeline needs."""


def check_scopes(scopes: Collection[str]) -> dict[str, list[str]]:
    """Errors of the scopes of a new token, by field; empty if valid."""
    if unknown := [scope for scope in scopes if scope not in Scope.values]:
        return {"scopes": [as_sentence(no_such("scope", unknown[0], Scope.values))]}
    return {} if scopes else {"scopes": [f"Choose at least one of: {', '.join(Scope.values)}."]}


DEFAULT_DAYS = 90
LONGEST_DAYS = 365
MOST_TOKENS = 20
LONGEST_TOKEN_NAME = 80
LARGEST_WEIGHT = 1000
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A new token. `token` is shown once; only its hash is stored."""

    id: str
    name: str
    token: str
    expires: datetime
    scopes: Sequence[str]


def create_token(
    *, user: User, name: str = "", days: int = DEFAULT_DAYS, scopes: Collection[str] = DEFAULT_SCOPES
) -> NewToken:
    """Create a personal token with `scopes` that expires after `days`.

    Raises:
        FieldErrors: the name, the scopes or the number of days are invalid, or the user has too many tokens.
    """
    name = name.strip()
    if len(name) > LONGEST_TOKEN_NAME or not name.isprintable():
        raise FieldErrors({"name": [f"A name has at most {LONGEST_TOKEN_NAME} printable characters on one line."]})
    if errors := check_scopes(scopes):
        raise FieldErrors(errors)
    if not 1 <= days <= LONGEST_DAYS:
        raise FieldErrors({"days": [f"A token lasts 1 to {LONGEST_DAYS} days."]})
    with transaction.atomic():
        lock_owner(user)
        if tokens_of(user).count() >= MOST_TOKENS:
            raise FieldErrors({"days": [f"You have {MOST_TOKENS} tokens, the maximum: delete one first."]})
        row, token = AuthToken.objects.create(user=user, expiry=timedelta(days=days))
        ordered = [scope for scope in Scope.values if scope in scopes]
        granted = TokenScopes.objects.create(token=row, scopes=ordered, name=name)
        _note(action=Action.TOKEN_MADE, row=row, details={"scopes": granted.scopes})
    return NewToken(id=row.token_key, name=name, token=token, expires=row.expiry, scopes=granted.scopes)


def tokens_of(user: User) -> QuerySet[AuthToken]:
    """The user's unexpired tokens, newest first, with their scopes in `granted`. `token_key` is the id for
    revocation."""
    valid = AuthToken.objects.filter(user=user, expiry__gt=timezone.now())
    return valid.select_related("granted").order_by("-created")


def revoke_token(*, user: User, token_id: str, because: str = "") -> bool:
    """Revoke a token of the user. False if there is no such token. The audit log records the reason `because`."""
    with transaction.atomic():
        row = AuthToken.objects.select_for_update().filter(user=user, token_key=token_id).first()
        if row is None:
            return False
        _note(action=Action.TOKEN_REVOKED, row=row, details={"because": because} if because else None)
        row.delete()
    return True


def set_weight(*, of: User | Team, weight: int, by: User | None = None) -> None:
    """Set the weight of a user or a team in the queue; `by` is None for a command on the operator's machine.

    Raises:
        ValueError: the weight is not in [1, 1000].
    """
    if not 1 <= weight <= LARGEST_WEIGHT:
        raise ValueError(f"Give a weight from 1 to {LARGEST_WEIGHT}.")
    with transaction.atomic():
        rows = type(of)._default_manager.filter(pk=of.pk)
        before = rows.select_for_update().get().queue_weight
        rows.update(queue_weight=weight)
        record(by=by, action=Action.WEIGHT_SET, target=of, details={"before": before, "after": weight})


def scopes_of(token: AuthToken) -> Sequence[str]:
    """The scopes of a token."""
    granted: TokenScopes | None = getattr(token, "granted", None)
    return granted.scopes if granted else []


def note_use(token: AuthToken) -> None:
    """Record the use of a token, with at most one write a minute."""
    granted: TokenScopes | None = getattr(token, "granted", None)
    now = timezone.now()
    if granted and (granted.last_used is None or now - granted.last_used > _USE_IS_NOTED_EVERY):
        TokenScopes.objects.filter(token=granted.token_id).update(last_used=now)


def _note(*, action: Action, row: AuthToken, details: dict[str, object] | None = None) -> None:
    # By its first characters, since the primary key is the token's hash.
    record(
        by=row.user,
        action=action,
        target=row,
        target_id=row.token_key,
        label=f"{row.token_key}...",
        details=details or {},
    )
