"""Encryption of secrets that the database keeps: whoever reads a dump alone reads none of them."""

import base64
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class UnreadableSecretError(Exception):
    """What is kept was encrypted with a key that this installation no longer has."""


def encrypt(text: str, *, purpose: str, keys: Sequence[str] | None = None) -> str:
    """The text, readable only with this installation's secret key.

    Args:
        purpose: what kind of secret it is; each kind has a key of its own.
        keys: what the key is derived from, the newest first; None: the secret key and the one before it.
    """
    return _keys(purpose, keys).encrypt(text.encode()).decode()


def encrypt_again(encrypted: str, *, purpose: str, keys: Sequence[str] | None = None) -> str:
    """The same text, readable with the newest key.

    Raises:
        UnreadableSecretError: it was encrypted with another key.
    """
    return encrypt(decrypt(encrypted, purpose=purpose, keys=keys), purpose=purpose, keys=keys)


def decrypt(encrypted: str, *, purpose: str, keys: Sequence[str] | None = None) -> str:
    """What was encrypted for the same purpose, with the present secret key or one that it replaced.

    Raises:
        UnreadableSecretError: it was encrypted with another key.
    """
    try:
        return _keys(purpose, keys).decrypt(encrypted.encode()).decode()
    except InvalidToken:
        raise UnreadableSecretError(
            f"A {purpose} cannot be read: PLANARENA_SECRET_KEY has changed. Name the key before it in "
            "PLANARENA_SECRET_KEY_BEFORE."
        ) from None


def _keys(purpose: str, keys: Sequence[str] | None) -> MultiFernet:
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS] if keys is None else keys
    return MultiFernet([Fernet(_derived(secret, purpose=purpose)) for secret in secrets])


def _derived(secret: str, *, purpose: str) -> bytes:
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"planarena:{purpose}".encode())
    return base64.urlsafe_b64encode(derivation.derive(secret.encode()))
