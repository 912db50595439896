"""Encrypting what users entrust to the site: with Fernet (AES-128-CBC and HMAC-SHA256), under keys of the settings.

Whoever has the database, or a backup of it, has nothing without the key, which stands in the environment only.
"""

import base64
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_PURPOSE = b"planarena: secrets of users"
"""Part of the derivation, so that the key is of no use for what else SECRET_KEY signs."""


class UnsealError(Exception):
    """None of the keys opens it: the key that it was sealed with is gone, or it was changed."""


def seal(text: str) -> str:
    """The text, encrypted under the first key."""
    return _fernet(tuple(settings.SECRETS_KEYS)).encrypt(text.encode()).decode("ascii")


def unseal(sealed: str) -> str:
    """What was sealed under any of the keys.

    Raises:
        UnsealError: none of them opens it.
    """
    try:
        return _fernet(tuple(settings.SECRETS_KEYS)).decrypt(sealed.encode("ascii")).decode()
    except (InvalidToken, UnicodeError) as error:
        raise UnsealError from error


def seal_again(sealed: str) -> str:
    """The same text under the first key.

    Raises:
        UnsealError: no key opens it.
    """
    try:
        return _fernet(tuple(settings.SECRETS_KEYS)).rotate(sealed.encode("ascii")).decode("ascii")
    except (InvalidToken, UnicodeError) as error:
        raise UnsealError from error


@cache
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(key)) for key in dict.fromkeys(keys)])


def _derived(key: str) -> bytes:
    """256 bits from a key of any length. It is random, not a password, so that no slow derivation is needed."""
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key.encode())
    return base64.urlsafe_b64encode(derived)
