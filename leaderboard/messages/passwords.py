"""Telling users that their password has become another one."""

from django.conf import settings

from leaderboard.messages.models import Kind
from leaderboard.messages.outbox import enqueue
from leaderboard.people.credentials import PasswordEvent, PasswordSet


def tell_user(changed: PasswordSet) -> None:
    """Write the mail about a new password, within the transaction that sets it; a demo sends none."""
    user = changed.user
    if settings.DEMO or not user.email:
        return
    done = "changed" if changed.event is PasswordEvent.CHANGED else "reset by the link in an email"
    lines = [
        f"The password of your account {user.username} was {done}. Other browsers are signed out.",
        "",
        *(f"Ended: {credential.kind} {credential.name}" for credential in changed.ended),
        *([f"Tokens kept: {changed.kept}"] if changed.kept else []),
        "",
        "If this was not you, reset your password immediately"
        + (f": {settings.SITE_URL}/accounts/password/reset/" if settings.SITE_URL else "."),
    ]
    # By the queue: a mail server that hangs must not keep a password from being changed.
    payload = {"to": user.email, "subject": "Your password was changed", "text": "\n".join(lines)}
    enqueue(kind=Kind.MAIL, payload=payload)
