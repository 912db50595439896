"""Ed25519 keys (RFC 8032) of operators."""

import base64
import binascii
import hashlib
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ID_LENGTH = 32
"""Hexadecimal digits of a key id: 128 bits, so that nobody finds a second key with the same id."""
_KEY_BYTES = 32


class KeyFormatError(ValueError):
    """A text that is no public key."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key."""

    raw: bytes
    """32 bytes."""

    @classmethod
    def from_text(cls, text: str) -> "PublicKey":
        """Read a key from its base64 text.

        Raises:
            KeyFormatError: it is not the base64 of 32 bytes.
        """
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) != _KEY_BYTES:
            raise KeyFormatError("an Ed25519 public key is 32 bytes in base64 (44 characters)")
        return cls(raw)

    @property
    def text(self) -> str:
        """The key in base64."""
        return base64.b64encode(self.raw).decode("ascii")

    @property
    def id(self) -> str:
        """The first 128 bits of the key's SHA-256, in hexadecimal."""
        return hashlib.sha256(self.raw).hexdigest()[:ID_LENGTH]

    def verifies(self, *, signature: bytes, message: bytes) -> bool:
        """Whether the holder of the private key signed this message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class PrivateKey:
    """A private key. Its `repr` does not show it."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @classmethod
    def from_secret(cls, secret: str) -> "PrivateKey":
        """The key that follows from a random secret of any length. It is no password, so one derivation is enough."""
        derivation = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=b"planarena:key that signs results")
        return cls(derivation.derive(secret.encode()))

    def sign(self, message: bytes) -> bytes:
        """The signature of a message: 64 bytes, the same each time."""
        return self._key.sign(message)
