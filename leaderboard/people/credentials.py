"""What lets a program act as a user, and its end when the user's password becomes another one.

Sessions are not listed: Django ties each to the password, so that all others end with it by themselves.
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
    """How a password became another one."""

    CHANGED = "password changed"
    """By somebody who is signed in and knew the old one."""
    RESET = "password reset"
    """By the link in a mail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One token of a user."""

    key: str
    """Tells it from the user's other ones: `api:` or `worker:`, and its id."""
    kind: str
    """`API token` or `worker token`."""
    name: str
    """What its owner knows it by: the name they gave it, or what it begins with."""
    made: datetime
    note: str
    """What else tells it from others, as a phrase."""


class CredentialSource(Protocol):
    """One kind of tokens."""

    prefix: str
    """What the keys of its credentials begin with."""

    def of(self, user: User) -> list[Credential]:
        """Those that can be used, the newest first."""
        ...

    def revoke(self, *, user: User, token_id: str, because: str) -> None:
        """End one within the present transaction; `because` is for the audit log."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordSet:
    """A user has another password than before."""

    user: User
    event: PasswordEvent
    ended: Sequence[Credential]
    """Credentials that ended with the old one."""
    kept: int
    """How many did not."""


password_set: Hook[PasswordSet] = Hook()
"""Called in the transaction that sets the password."""


class _ApiTokens:
    """Personal tokens of the API."""

    prefix = "api"

    def of(self, user: User) -> list[Credential]:
        return [
            Credential(
                key=f"{self.prefix}:{token.token_key}",
                kind="API token",
                name=_token_name(token),
                made=token.created,
                note=f"may {_scopes(token)}, expires {token.expiry:%Y-%m-%d}, {last_use(_last_used(token))}",
            )
            for token in services.tokens_of(user)
        ]

    def revoke(self, *, user: User, token_id: str, because: str) -> None:
        services.revoke_token(user=user, token_id=token_id, because=because)


SOURCES: list[CredentialSource] = [_ApiTokens()]
"""Every kind of tokens, in the order in which lists show them."""


def credentials_of(user: User) -> list[Credential]:
    """The user's tokens that can be used, kind by kind, the newest of each first."""
    return [credential for source in SOURCES for credential in source.of(user)]


def end_credentials(*, user: User, event: PasswordEvent, keep: Collection[str] = ()) -> Sequence[Credential]:
    """End the user's tokens, after the password became another one, and return those that ended.

    To be called in the transaction that sets the password, so that both happen or neither.

    Before: nothing; `keep` may name credentials that are gone, or are somebody else's.
    After: no token of the user is good but those to keep; what is leased with worker tokens goes back after the commit;
    the audit log has an entry for the password and for each token; and a mail to the user waits, but in a demo.
    """
    # Tokens are made under the same lock, so that none slips through.
    lock_owner(user)
    found = credentials_of(user)
    ended = [credential for credential in found if credential.key not in keep]
    _end(user=user, credentials=ended, because=event.value)
    action = Action.PASSWORD_CHANGED if event is PasswordEvent.CHANGED else Action.PASSWORD_RESET
    record(by=user, action=action, target=user, details={"ended": len(ended), "kept": len(found) - len(ended)})
    password_set.call(PasswordSet(user=user, event=event, ended=ended, kept=len(found) - len(ended)))
    return ended


def end_all(*, user: User, because: str) -> None:
    """End every token of the user with the commit of the present transaction, which locks them."""
    _end(user=user, credentials=credentials_of(user), because=because)
    # Expired ones, which no list shows.
    AuthToken.objects.filter(user=user).delete()


def _token_name(token: AuthToken) -> str:
    granted = _granted(token)
    begins = f"{token.token_key}…"
    return f"{granted.name} ({begins})" if granted and granted.name else begins


def _scopes(token: AuthToken) -> str:
    # A token without the row is good for nothing.
    granted = _granted(token)
    return ", ".join(granted.scopes) if granted else "do nothing"


def _granted(token: AuthToken) -> TokenScopes | None:
    return getattr(token, "granted", None)


def last_use(used: datetime | None) -> str:
    """When a credential was used last, as a phrase."""
    return f"last used {used:%Y-%m-%d %H:%M} UTC" if used else "never used"


def _last_used(token: AuthToken) -> datetime | None:
    granted = _granted(token)
    return granted.last_used if granted else None


def _end(*, user: User, credentials: Iterable[Credential], because: str) -> None:
    sources = {source.prefix: source for source in SOURCES}
    for credential in credentials:
        prefix, _, token_id = credential.key.partition(":")
        sources[prefix].revoke(user=user, token_id=token_id, because=because)
