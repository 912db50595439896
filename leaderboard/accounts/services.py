"""Personal API tokens. The page and the API use the same functions."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from knox.models import AuthToken

from leaderboard.accounts.models import User
from leaderboard.field_errors import FieldErrors

DEFAULT_DAYS = 90
LONGEST_DAYS = 365
MOST_TOKENS = 20


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was just made. `token` is shown this once; only its hash is kept."""

    id: str
    token: str
    expires: datetime


def create_token(*, user: User, days: int = DEFAULT_DAYS) -> NewToken:
    """Make a personal token that ends after `days`.

    Raises:
        FieldErrors: the number of days is not possible, or the user has too many tokens.
    """
    if not 1 <= days <= LONGEST_DAYS:
        raise FieldErrors({"days": [f"A token lasts 1 to {LONGEST_DAYS} days."]})
    if tokens_of(user).count() >= MOST_TOKENS:
        raise FieldErrors({"days": [f"You have {MOST_TOKENS} tokens, the most there may be: delete one first."]})
    row, token = AuthToken.objects.create(user=user, expiry=timedelta(days=days))
    return NewToken(id=row.token_key, token=token, expires=row.expiry)


def tokens_of(user: User) -> QuerySet[AuthToken]:
    """The user's tokens that have not ended, newest first. `token_key` is the id to revoke one by."""
    return AuthToken.objects.filter(user=user, expiry__gt=timezone.now()).order_by("-created")


def revoke_token(*, user: User, token_id: str) -> bool:
    """End a token of the user. False if the user has no such token."""
    deleted, _ = AuthToken.objects.filter(user=user, token_key=token_id).delete()
    return deleted > 0
