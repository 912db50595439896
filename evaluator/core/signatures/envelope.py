"""Ed25519 keys (RFC 8032), and payloads signed in the Dead Simple Signing Envelope (DSSE 1.0.2).

A payload is canonical JSON. Each kind of statement has its own media type, which the signature covers, so that a
signature of one kind is invalid for another.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from evaluator.core import canonical_json
from evaluator.core.signatures.statements import Statement

ID_LENGTH = 32
"""Hexadecimal digits of a key id: 128 bits, so that finding a second key with the same id is infeasible."""
_KEY_BYTES = 32


class KeyFormatError(ValueError):
    """The text is not a public key."""


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
    """A private key. Its `repr` does not contain the key."""

    def __init__(self, seed: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = PublicKey(self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @classmethod
    def from_secret(cls, secret: str) -> "PrivateKey":
        """Derive a key from a random secret of any length. HKDF suffices, since the secret is not a password."""
        derivation = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=b"planarena:key that signs results")
        return cls(derivation.derive(secret.encode()))

    def sign(self, message: bytes) -> bytes:
        """The signature of a message: 64 bytes, deterministic."""
        return self._key.sign(message)


_LARGEST_PAYLOAD = 64 * 1024
"""Maximum number of base64 characters. Statements contain digests instead of large data: about 1,000 bytes each."""
_Statement = TypeVar("_Statement", bound=Statement)


class EnvelopeError(Exception):
    """A signed statement is not trustworthy; the message is a predicate without its subject."""


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError("is not base64") from None


def _base64(text: str) -> str:
    _decoded(text)
    return text


class _Signature(BaseModel):
    model_config = ConfigDict(extra="forbid")

    keyid: Annotated[str, Field(max_length=64)]
    sig: Annotated[str, Field(max_length=128), AfterValidator(_base64)]


class Envelope(BaseModel):
    """A signed payload as it is served."""

    model_config = ConfigDict(extra="forbid")

    payloadType: Annotated[str, Field(max_length=100)]
    payload: Annotated[str, Field(max_length=_LARGEST_PAYLOAD), AfterValidator(_base64)]
    """Base64 of canonical JSON."""
    signatures: Annotated[list[_Signature], Field(min_length=1, max_length=1)]

    @property
    def key_id(self) -> str:
        """Id of the signing key, according to the envelope."""
        return self.signatures[0].keyid

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, by which the next statement of a chain refers to it."""
        return hashlib.sha256(_decoded(self.payload)).hexdigest()


def seal(*, statement: Statement, key: PrivateKey) -> Envelope:
    """Sign a statement."""
    body = canonical_json.dumps(statement.model_dump(mode="json")).encode()
    kind = statement.media_type()
    signature = base64.b64encode(key.sign(_signed_bytes(kind=kind, body=body))).decode("ascii")
    return Envelope(
        payloadType=kind,
        payload=base64.b64encode(body).decode("ascii"),
        signatures=[_Signature(keyid=key.public.id, sig=signature)],
    )


def open_envelope(envelope: Envelope, *, expected: type[_Statement], keys: Mapping[str, PublicKey]) -> _Statement:
    """Verify an envelope and return its statement.

    Args:
        expected: the only kind of statement that is accepted.
        keys: the trusted keys by their ids.

    Raises:
        EnvelopeError: it has another kind, no valid signature of a trusted key, or a form that is not canonical.
    """
    if envelope.payloadType != expected.media_type():
        raise EnvelopeError(f"is of type {envelope.payloadType!r}, expected {expected.media_type()!r}")
    key = keys.get(envelope.key_id)
    if key is None:
        known = ", ".join(keys) or "none"
        raise EnvelopeError(f"is signed by key {envelope.key_id!r}, which is not trusted (trusted: {known})")
    body = _decoded(envelope.payload)
    message = _signed_bytes(kind=envelope.payloadType, body=body)
    if not key.verifies(signature=_decoded(envelope.signatures[0].sig), message=message):
        raise EnvelopeError(f"does not have a valid signature of key {envelope.key_id}")
    return _parsed(body, expected=expected)


def _parsed(body: bytes, *, expected: type[_Statement]) -> _Statement:
    try:
        if canonical_json.dumps(canonical_json.loads(body)).encode() != body:
            raise EnvelopeError("is not canonical JSON")
        statement = expected.model_validate_json(body, strict=True)
    except ValidationError as error:
        place = ".".join(str(part)[:40] for part in error.errors()[0]["loc"][:6])
        raise EnvelopeError(f"is no {expected.media_type()}: see {place!r}") from None
    except ValueError as error:
        raise EnvelopeError(f"is no {expected.media_type()}: it {error}") from None
    # Otherwise one statement could have two digests, for example if 1 is parsed as 1.0.
    if canonical_json.dumps(statement.model_dump(mode="json")).encode() != body:
        raise EnvelopeError("is not in canonical form")
    return statement


def _signed_bytes(*, kind: str, body: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(body), body)
