"""Tokens with which programs act as a user, and their revocation when the password changes.

Sessions are not included: Django invalidates all other sessions when the password changes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from knox.models import AuthToken

from leaderboard.people import services
from leaderboard.people.models import TokenScopes, User, lock_owner
from leaderboard.platform.audit import record
from leaderboard.platform.hooks import Hook
from leaderboard.platform.models import Action


class PasswordEvent(StrEnum):
    """How a password was replaced."""

    CHANGED = "password changed"
    """By a signed-in user who entered the old password."""
    RESET = "password reset"
    """By the link in an email."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One token of a user."""

    key: str
    """`api:` or `worker:`, and its id."""
    kind: str
    """`API token` or `worker token`."""
    name: str
    """The name that its owner chose, or its first characters."""
    made: datetime
    note: str
    """Further properties, as a phrase."""


class CredentialSource(Protocol):
    """One kind of tokens."""

    prefix: str
    """Prefix of its credentials' keys."""

    def of(self, user: User) -> list[Credential]:
        """The valid tokens of a user, newest first."""
        ...

    def revoke(self, *, user: User, token_id: str, because: str) -> None:
        """Revoke a token within the current transaction; `because` is for the audit log."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordSet:
    """A user's password was replaced."""

    user: User
    event: PasswordEvent
    ended: Sequence[Credential]
    """Credentials that were revoked."""
    kept: int
    """Number of credentials that were not revoked."""


password_set: Hook[PasswordSet] = Hook()
"""Called in the transaction that sets the password."""


class _ApiTokens:
    """Personal tokens of the API."""

    prefix = "api"

    def of(self, user: User) -> list[Credential]:
        credentials = []
        for token in services.tokens_of(user):
            granted: TokenScopes | None = getattr(token, "granted", None)
            prefix = f"{token.token_key}…"
            # A token without scopes is useless.
            scopes = ", ".join(granted.scopes) if granted else "do nothing"
            used = last_use(granted.last_used if granted else None)
            credentials.append(
                Credential(
                    key=f"{self.prefix}:{token.token_key}",
                    kind="API token",
                    name=f"{granted.name} ({prefix})" if granted and granted.name else prefix,
                    made=token.created,
                    note=f"may {scopes}, expires {token.expiry:%Y-%m-%d}, {used}",
                )
            )
        return credentials

    def revoke(self, *, user: User, token_id: str, because: str) -> None:
        services.revoke_token(user=user, token_id=token_id, because=because)


SOURCES: list[CredentialSource] = [_ApiTokens()]
"""All kinds of tokens, in display order."""


def credentials_of(user: User) -> list[Credential]:
    """The user's valid tokens by kind, newest first."""
    return [credential for source in SOURCES for credential in source.of(user)]


def end_credentials(*, user: User, event: PasswordEvent, keep: Collection[str] = ()) -> Sequence[Credential]:
    """Revoke the user's tokens after the password was replaced. Returns the revoked ones.

    Before: in the transaction that sets the password; `keep` may contain keys that are unknown or of other users.
    After: only tokens in `keep` are valid; leases of revoked worker tokens are returned after the commit; the audit log
    has an entry for the password and for each token; and an email to the user is queued, except in a demo.
    """
    # Tokens are created under the same lock, so that none is missed.
    lock_owner(user)
    credentials = credentials_of(user)
    ended = [credential for credential in credentials if credential.key not in keep]
    _end(user=user, credentials=ended, because=event.value)
    action = Action.PASSWORD_CHANGED if event is PasswordEvent.CHANGED else Action.PASSWORD_RESET
    kept = len(credentials) - len(ended)
    record(by=user, action=action, target=user, details={"ended": len(ended), "kept": kept})
    password_set.call(PasswordSet(user=user, event=event, ended=ended, kept=kept))
    return ended


def end_all(*, user: User, because: str) -> None:
    """Revoke every token of the user within the current transaction."""
    _end(user=user, credentials=credentials_of(user), because=because)
    # Expired tokens, which are not listed.
    AuthToken.objects.filter(user=user).delete()


def last_use(used: datetime | None) -> str:
    """The last use of a credential, as a phrase."""
    return f"last used {used:%Y-%m-%d %H:%M} UTC" if used else "never used"


def _end(*, user: User, credentials: Iterable[Credential], because: str) -> None:
    sources = {source.prefix: source for source in SOURCES}
    for credential in credentials:
        prefix, _, token_id = credential.key.partition(":")
        sources[prefix].revoke(user=user, token_id=token_id, because=because)
