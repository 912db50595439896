"""Two-factor authentication: allauth's, with its secrets encrypted."""

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.audit.models import Action
from leaderboard.audit.services import record
from leaderboard.config.encryption import decrypt, encrypt

_PURPOSE = "secret of two-factor authentication"


class Adapter(DefaultMFAAdapter):
    """What allauth asks the site about second factors."""

    def encrypt(self, text: str) -> str:
        return encrypt(text, purpose=_PURPOSE)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text, purpose=_PURPOSE)


def take_off(*, user: User, by: User | None) -> bool:
    """Let somebody who lost telephone and codes sign in with the password alone; whether there was anything to do."""
    with transaction.atomic():
        taken, _ = Authenticator.objects.filter(user=user).delete()
        if taken:
            record(by=by, action=Action.SECOND_FACTOR_REMOVED, target=user)
    return taken > 0
