"""Encrypting what users entrust to the site for others to be sent, under keys of its own (`config/encryption.py`).

Not under SECRET_KEY alone: the key that signs sessions can then be changed, and nobody enters a secret again.
"""

from django.conf import settings

from leaderboard.config.encryption import UnreadableSecretError, decrypt, encrypt, encrypt_again

__all__ = ["UnreadableSecretError", "seal", "seal_again", "unseal"]

_PURPOSE = "secret header of an endpoint"


def seal(text: str) -> str:
    """The text, encrypted under the first key."""
    return encrypt(text, purpose=_PURPOSE, keys=settings.SECRETS_KEYS)


def unseal(sealed: str) -> str:
    """What was sealed under any of the keys.

    Raises:
        UnreadableSecretError: none of them opens it.
    """
    return decrypt(sealed, purpose=_PURPOSE, keys=settings.SECRETS_KEYS)


def seal_again(sealed: str) -> str:
    """The same text under the first key.

    Raises:
        UnreadableSecretError: no key opens it.
    """
    return encrypt_again(sealed, purpose=_PURPOSE, keys=settings.SECRETS_KEYS)
