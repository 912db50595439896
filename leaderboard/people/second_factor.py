"""Two-factor authentication: allauth's, with its secrets encrypted."""

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.core.exceptions import PermissionDenied
from django.db import transaction

from leaderboard.people.models import User
from leaderboard.platform.audit import record
from leaderboard.platform.encryption import UnreadableSecretError, decrypt, encrypt, encrypt_again
from leaderboard.platform.models import Action

_PURPOSE = "secret of two-factor authentication"
_SEALED = frozenset({"secret", "seed"})
"""Encrypted members of an authenticator's data: the secret of an app, and the seed of recovery codes."""


class Adapter(DefaultMFAAdapter):
    """allauth's adapter with the site's encryption."""

    def encrypt(self, text: str) -> str:
        return encrypt(text, purpose=_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return decrypt(encrypted_text, purpose=_PURPOSE)
        except UnreadableSecretError:
            # Never substitute an empty secret, whose codes anyone could compute.
            raise PermissionDenied(
                "Your second factor is unreadable because this site's key was changed. Contact the operator."
            ) from None


def take_off(*, user: User, by: User | None) -> bool:
    """Remove a user's second factor, so that the password suffices to sign in. Returns whether there was one."""
    with transaction.atomic():
        removed, _ = Authenticator.objects.filter(user=user).delete()
        if removed:
            record(by=by, action=Action.SECOND_FACTOR_REMOVED, target=user)
    return removed > 0


def seal_secrets_again() -> tuple[int, list[str]]:
    """Re-encrypt all secrets with the first key. Returns their number, and the users whose secrets no key decrypts."""
    done, lost = 0, []
    for key in Authenticator.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            row = Authenticator.objects.select_for_update().select_related("user").filter(pk=key).first()
            if row is None:
                continue
            try:
                row.data = {
                    name: encrypt_again(value, purpose=_PURPOSE) if name in _SEALED else value
                    for name, value in row.data.items()
                }
            except UnreadableSecretError:
                lost.append(row.user.username)
            else:
                row.save(update_fields=["data"])
                done += 1
    return done, lost
