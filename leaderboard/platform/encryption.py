"""Encryption of secrets that the database keeps: whoever reads it, or a backup, reads none of them.

With Fernet (AES-128-CBC and HMAC-SHA256), under keys derived from those of the environment.
"""

import base64
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class UnreadableSecretError(Exception):
    """What is kept was encrypted with a key that this installation no longer has."""


WEBHOOK = "secret of a webhook"
"""The purpose that has keys of its own, `WEBHOOK_KEYS`, since the queue's processes need them."""


def encrypt(text: str, *, purpose: str) -> str:
    """The text, encrypted under the first key for its purpose.

    Args:
        purpose: what kind of secret it is; each kind has a key of its own.

    Raises:
        UnreadableSecretError: this process has no key for it.
    """
    keys = _keys(purpose)
    if not keys:
        raise UnreadableSecretError(f"Only the web process encrypts a {purpose}: this one has no key for it.")
    return _fernet(purpose=purpose, keys=keys).encrypt(text.encode()).decode("ascii")


def decrypt(encrypted: str, *, purpose: str) -> str:
    """What was encrypted for the same purpose, under any of the keys.

    Raises:
        UnreadableSecretError: none of them opens it.
    """
    keys = _keys(purpose)
    if not keys:
        raise UnreadableSecretError(f"Only the web process reads a {purpose}: this one has no key for it.")
    try:
        return _fernet(purpose=purpose, keys=keys).decrypt(encrypted.encode("ascii")).decode()
    except (InvalidToken, UnicodeError):
        if purpose == WEBHOOK:
            raise UnreadableSecretError(
                f"A {purpose} cannot be read with PLANARENA_WEBHOOK_KEY: run `manage.py seal_again` where the keys "
                "before it are set, in PLANARENA_WEBHOOK_KEY, PLANARENA_SECRETS_KEY or PLANARENA_SECRET_KEY_BEFORE."
            ) from None
        raise UnreadableSecretError(
            f"A {purpose} cannot be read, since the site's key has changed: name the one before it at the end of "
            "PLANARENA_SECRETS_KEY, or in PLANARENA_SECRET_KEY_BEFORE."
        ) from None


def encrypt_again(encrypted: str, *, purpose: str) -> str:
    """The same text under the first key.

    Raises:
        UnreadableSecretError: no key opens it.
    """
    return encrypt(decrypt(encrypted, purpose=purpose), purpose=purpose)


def _keys(purpose: str) -> tuple[str, ...]:
    return tuple(settings.WEBHOOK_KEYS if purpose == WEBHOOK else settings.SECRETS_KEYS)


@cache
def _fernet(*, purpose: str, keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(key, purpose=purpose)) for key in dict.fromkeys(keys)])


def _derived(key: str, *, purpose: str) -> bytes:
    """256 bits from a key of any length. It is random, not a password, so that no slow derivation is needed."""
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"planarena:{purpose}".encode())
    return base64.urlsafe_b64encode(derivation.derive(key.encode()))
