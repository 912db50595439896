"""What lets a program act as a user, and its end when the user's password becomes another one.

Sessions are not listed: Django ties each to the password, so that all others end with it by themselves.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.conf import settings
from knox.models import AuthToken

from leaderboard.accounts import services
from leaderboard.accounts.models import TokenScopes, User
from leaderboard.audit.models import Action
from leaderboard.audit.services import record
from leaderboard.locks import lock_owner
from leaderboard.outbox.models import Kind
from leaderboard.outbox.services import enqueue
from leaderboard.workers import tokens as worker_tokens
from leaderboard.workers.models import WorkerToken


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


def credentials_of(user: User) -> list[Credential]:
    """The user's tokens that can be used: API tokens, then worker tokens, the newest of each first."""
    return [*_api_tokens(user), *_worker_tokens(user)]


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
    _send_mail(user=user, event=event, ended=ended, kept=len(found) - len(ended))
    return ended


def end_all(*, user: User, because: str) -> None:
    """End every token of the user with the commit of the present transaction, which locks them."""
    _end(user=user, credentials=credentials_of(user), because=because)
    # Expired ones, which no list shows.
    AuthToken.objects.filter(user=user).delete()


def _end(*, user: User, credentials: Iterable[Credential], because: str) -> None:
    for credential in credentials:
        prefix, _, token_id = credential.key.partition(":")
        if prefix == "api":
            services.revoke_token(user=user, token_id=token_id, because=because)
        else:
            worker_tokens.revoke_with_commit(owner=user, token_id=token_id, because=because)


def _api_tokens(user: User) -> list[Credential]:
    return [
        Credential(
            key=f"api:{token.token_key}",
            kind="API token",
            name=_token_name(token),
            made=token.created,
            note=f"may {_scopes(token)}, expires {token.expiry:%Y-%m-%d}, {_last_use(_granted(token))}",
        )
        for token in services.tokens_of(user)
    ]


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


def _last_use(used: TokenScopes | WorkerToken | None) -> str:
    return f"last used {used.last_used:%Y-%m-%d %H:%M} UTC" if used and used.last_used else "never used"


def _worker_tokens(user: User) -> list[Credential]:
    return [
        Credential(
            key=f"worker:{token.pk}",
            kind="worker token",
            name=token.name,
            made=token.created,
            note=_last_use(token),
        )
        for token in worker_tokens.worker_tokens_of(user)
    ]


def _send_mail(*, user: User, event: PasswordEvent, ended: Sequence[Credential], kept: int) -> None:
    if settings.DEMO or not user.email:
        return
    done = "changed" if event is PasswordEvent.CHANGED else "reset by the link in an email"
    lines = [
        f"The password of your account {user.username} was {done}. Other browsers are signed out.",
        "",
        *(f"Ended: {credential.kind} {credential.name}" for credential in ended),
        *([f"Tokens kept: {kept}"] if kept else []),
        "",
        "If this was not you, reset your password immediately"
        + (f": {settings.SITE_URL}/accounts/password/reset/" if settings.SITE_URL else "."),
    ]
    # By the queue: a mail server that hangs must not keep a password from being changed.
    payload = {"to": user.email, "subject": "Your password was changed", "text": "\n".join(lines)}
    enqueue(kind=Kind.MAIL, payload=payload)
