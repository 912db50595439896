"""Signed payloads in the Dead Simple Signing Envelope (DSSE 1.0.2): the signature also covers the payload's type.

A payload is canonical JSON. Each kind of statement has a media type of its own, so that a signature of one kind is
worthless for another, whatever the payload says.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from evaluator.core import canonical_json
from evaluator.core.signatures.keys import PrivateKey, PublicKey
from evaluator.core.signatures.statements import Statement

_LARGEST_PAYLOAD = 64 * 1024
"""Characters of base64. Statements hold digests of what is large, so that each has about a thousand bytes."""
_Statement = TypeVar("_Statement", bound=Statement)


class EnvelopeError(Exception):
    """A signed statement that must not be believed; the message is the end of a sentence."""


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
        """Id of the key that should have signed it."""
        return self.signatures[0].keyid

    @property
    def digest(self) -> str:
        """SHA-256 of the payload, which is how the next statement of a chain names it."""
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
    """The statement in an envelope, checked.

    Args:
        expected: the only kind of statement that is accepted.
        keys: the trusted keys by their ids.

    Raises:
        EnvelopeError: it is of another kind, not signed by a trusted key, or not in canonical form.
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
    # A value that is read as another one, such as 1 as 1.0, would give two digests to one statement.
    if canonical_json.dumps(statement.model_dump(mode="json")).encode() != body:
        raise EnvelopeError("is not in canonical form")
    return statement


def _signed_bytes(*, kind: str, body: bytes) -> bytes:
    """DSSE's pre-authentication encoding."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(body), body)
