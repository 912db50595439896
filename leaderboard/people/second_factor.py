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
"""What allauth has encrypted within an authenticator's data: an app's secret, and what recovery codes are made from."""


class Adapter(DefaultMFAAdapter):
    """What allauth asks the site about second factors."""

    def encrypt(self, text: str) -> str:
        return encrypt(text, purpose=_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return decrypt(encrypted_text, purpose=_PURPOSE)
        except UnreadableSecretError:
            # Never an empty secret in its place: anybody could work out its codes.
            raise PermissionDenied(
                "Your second factor is unreadable because this site's key was changed. Contact the operator."
            ) from None


def take_off(*, user: User, by: User | None) -> bool:
    """Let somebody who lost telephone and codes sign in with the password alone; whether there was anything to do."""
    with transaction.atomic():
        taken, _ = Authenticator.objects.filter(user=user).delete()
        if taken:
            record(by=by, action=Action.SECOND_FACTOR_REMOVED, target=user)
    return taken > 0


def seal_secrets_again() -> tuple[int, list[str]]:
    """Encrypt everybody's secrets under the first key: how many, and the users whose secrets no key opens."""
    done, lost = 0, []
    for key in Authenticator.objects.order_by("pk").values_list("pk", flat=True):
        with transaction.atomic():
            kept = Authenticator.objects.select_for_update().select_related("user").filter(pk=key).first()
            if kept is None:
                continue
            try:
                kept.data = {
                    name: encrypt_again(value, purpose=_PURPOSE) if name in _SEALED else value
                    for name, value in kept.data.items()
                }
            except UnreadableSecretError:
                lost.append(kept.user.username)
            else:
                kept.save(update_fields=["data"])
                done += 1
    return done, lost
