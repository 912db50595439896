"""Encryption of secrets in the database, which protects them if the database or a backup leaks.

Uses Fernet (AES-128-CBC and HMAC-SHA256) with keys derived from those of the environment.
"""

import base64
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class UnreadableSecretError(Exception):
    """The secret was encrypted with a key that this process does not have."""


WEBHOOK = "secret of a webhook"
"""The purpose with separate keys, `WEBHOOK_KEYS`, since the queue's processes need them."""


def encrypt(text: str, *, purpose: str) -> str:
    """The text, encrypted with the first key for its purpose.

    Args:
        text: the secret.
        purpose: kind of secret; each kind has a separate derived key.

    Raises:
        UnreadableSecretError: this process has no key for it.
    """
    keys = _keys(purpose)
    if not keys:
        raise UnreadableSecretError(f"Only the web process encrypts a {purpose}: this one has no key for it.")
    return _fernet(purpose=purpose, keys=keys).encrypt(text.encode()).decode("ascii")


def decrypt(encrypted: str, *, purpose: str) -> str:
    """The secret that was encrypted for this purpose with any of the keys.

    Raises:
        UnreadableSecretError: no key decrypts it.
    """
    keys = _keys(purpose)
    if not keys:
        raise UnreadableSecretError(f"Only the web process reads a {purpose}: this one has no key for it.")
    try:
        return _fernet(purpose=purpose, keys=keys).decrypt(encrypted.encode("ascii")).decode()
    except (InvalidToken, UnicodeError):
        if purpose == WEBHOOK:
            raise UnreadableSecretError(
                f"A {purpose} cannot be read with PLANARENA_WEBHOOK_KEY: run `manage.py seal_again` where the previous "
                "keys are set, in PLANARENA_WEBHOOK_KEY, PLANARENA_SECRETS_KEY or PLANARENA_SECRET_KEY_BEFORE."
            ) from None
        raise UnreadableSecretError(
            f"A {purpose} cannot be read, since the site's key has changed: add the previous key to the end of "
            "PLANARENA_SECRETS_KEY, or set PLANARENA_SECRET_KEY_BEFORE."
        ) from None


def encrypt_again(encrypted: str, *, purpose: str) -> str:
    """The secret, re-encrypted with the first key.

    Raises:
        UnreadableSecretError: no key decrypts it.
    """
    return encrypt(decrypt(encrypted, purpose=purpose), purpose=purpose)


def _keys(purpose: str) -> tuple[str, ...]:
    return tuple(settings.WEBHOOK_KEYS if purpose == WEBHOOK else settings.SECRETS_KEYS)


@cache
def _fernet(*, purpose: str, keys: tuple[str, ...]) -> MultiFernet:
    fernets = []
    for key in dict.fromkeys(keys):
        # Keys are random, not passwords, so no slow derivation is needed.
        derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=f"planarena:{purpose}".encode())
        fernets.append(Fernet(base64.urlsafe_b64encode(derivation.derive(key.encode()))))
    return MultiFernet(fernets)
