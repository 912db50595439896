"""Signatures of lock files: an operator vouches for the checkpoints that a profile's experts load.

A lock file pins the bytes of a machine's first fetch. The signature beside it says that the operator who holds the key
compared them with the release, so that a public row rests on known checkpoints. It covers the profile's name and, for
each checkpoint, its source, revision and the digest of all its files.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, ValidationError

from evaluator.core.signatures.envelope import (
    Envelope,
    EnvelopeError,
    PrivateKey,
    PublicKey,
    open_envelope,
    seal,
)
from evaluator.core.signatures.statements import Digest, Shape, Statement
from evaluator.execution.experts.checkpoints import Checkpoint, FetchError, Locked, read_lock

SIGNATURE = "lock.sig.json"
"""The file beside `lock.json`."""
_LARGEST = 128 * 1024
_Name = Annotated[str, Field(max_length=300)]


class SignedCheckpoint(Shape):
    """A checkpoint that was fetched."""

    source: _Name
    revision: _Name
    digest: Digest
    """Of the folder (`Locked.digest`)."""


class LockStatement(Statement):
    """The checkpoints of a profile, as the lock file has them."""

    kind: ClassVar[str] = "lock"
    profile: Annotated[str, Field(max_length=40)]
    checkpoints: Annotated[dict[Annotated[str, Field(max_length=100)], SignedCheckpoint], Field(max_length=200)]


def trusted_keys(text: str) -> Mapping[str, PublicKey]:
    """Public keys in base64, separated by commas or spaces, by their ids.

    Raises:
        KeyFormatError: one is no key.
    """
    keys = [PublicKey.from_text(part) for part in text.replace(",", " ").split()]
    return {key.id: key for key in keys}


def sign_lock(*, profile: str, folder: Path, secret: str) -> PublicKey:
    """Sign the lock file of a folder of weights, and return the key with which the signature is verified.

    Raises:
        FetchError: there is no lock file, or it is damaged.
    """
    locked = read_lock(folder)
    if not locked:
        raise FetchError(f"there is no lock file in {folder}; `planarena profiles fetch {profile}` writes it")
    key = PrivateKey.from_secret(secret)
    statement = LockStatement(key=key.public.id, profile=profile, checkpoints=_facts(locked))
    text = seal(statement=statement, key=key).model_dump_json(indent=1)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{SIGNATURE}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    Path(temporary).chmod(0o644)
    Path(temporary).replace(folder / SIGNATURE)
    return key.public


def _facts(locked: Mapping[str, Locked]) -> dict[str, SignedCheckpoint]:
    return {
        name: SignedCheckpoint(source=entry.source, revision=entry.revision, digest=entry.digest)
        for name, entry in sorted(locked.items())
    }


def signer_of(folder: Path) -> str:
    """The id of the key that claims to have signed the lock file; empty if there is no signature."""
    try:
        return _envelope(folder).key_id
    except EnvelopeError:
        return ""


def lock_problem(
    *, profile: str, checkpoints: Mapping[str, Checkpoint], folder: Path, keys: Mapping[str, PublicKey]
) -> str:
    """Why no trusted key vouches for the lock file of a profile's weights, as a phrase; empty: one does.

    Args:
        profile: its name.
        checkpoints: those of the profile.
        folder: of its weights; the weights themselves need not be there.
        keys: the trusted keys, by their ids.

    Raises:
        FetchError: the lock file is damaged.
    """
    locked = read_lock(folder)
    missing = sorted(set(checkpoints) - set(locked))
    if missing:
        return f"its lock file has no entry for {missing[0]}" if locked else "it has no lock file"
    try:
        statement = open_envelope(_envelope(folder), expected=LockStatement, keys=keys)
    except EnvelopeError as error:
        return f"the signature of its lock file {error}"
    if statement.profile != profile:
        return f"the signature of its lock file is of the profile {statement.profile}"
    facts = _facts(locked)
    changed = sorted(name for name in checkpoints if statement.checkpoints.get(name) != facts[name])
    return f"its lock file was signed before {changed[0]} changed" if changed else ""


def _envelope(folder: Path) -> Envelope:
    try:
        with (folder / SIGNATURE).open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        raise EnvelopeError("is missing") from None
    if len(data) > _LARGEST:
        raise EnvelopeError(f"has more than {_LARGEST} bytes")
    try:
        return Envelope.model_validate_json(data)
    except ValidationError:
        raise EnvelopeError("is no signed envelope") from None
