"""The author's private key, and the public keys that a reader trusts.

    FOLDER/../keys.json   {"format": "planarena-study-keys/1", "keys": [{"id", "public_key", "holder", "since"}]}

A list beside the studies says whose keys they are. It proves nothing by itself: a reader compares the key with the one
that the authors publish elsewhere, or gives it.
"""

import os
import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from evaluator.core.private_files import private_folder
from evaluator.core.signatures.envelope import KeyFormatError, PrivateKey, PublicKey
from evaluator.studies.registered.files import StudyError, as_bytes, read

KEYS = "keys.json"
KEY_VARIABLE = "PLANARENA_STUDY_KEY"
_LEAST_SECRET = 32


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ListedKey(_Shape):
    """A public key, and whose it is."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    public_key: Annotated[str, Field(max_length=100)]
    """Base64."""
    holder: Annotated[str, Field(max_length=200)]
    since: AwareDatetime


class _File(_Shape):
    format: Literal["planarena-study-keys/1"] = "planarena-study-keys/1"
    keys: Annotated[list[ListedKey], Field(max_length=1000)] = []


def private_key_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the author's key is: `PLANARENA_STUDY_KEY`, or `planarena/study.key` in the user's folder for state."""
    if named := environment.get(KEY_VARIABLE, ""):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "planarena" / "study.key"


def private_key(file: Path, *, create: bool = False) -> PrivateKey:
    """The author's key.

    Args:
        file: a random text that the key is derived from, for its owner's eyes only.
        create: whether to write a new one if there is none.

    Raises:
        StudyError: there is none, or it is too short to be secret.
    """
    try:
        if create and not file.exists():
            private_folder(file.parent)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
                written.write(secrets.token_urlsafe(48) + "\n")
        secret = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"the key in {file} cannot be read ({error}); {KEY_VARIABLE} names another file") from None
    if len(secret) < _LEAST_SECRET:
        raise StudyError(f"the key in {file} has fewer than {_LEAST_SECRET} characters")
    return PrivateKey.from_secret(secret)


def listed_keys(folder: Path) -> dict[str, PublicKey]:
    """The keys that the list in a folder of studies names; empty without a list.

    Raises:
        StudyError: the list is malformed.
    """
    if not (folder / KEYS).exists():
        return {}
    return {entry.id: _public(entry) for entry in _listed(folder).keys}


def list_key(*, folder: Path, key: PublicKey, holder: str, now: datetime) -> bool:
    """Add a key to the list in a folder of studies. Returns whether it was new."""
    file = _listed(folder) if (folder / KEYS).exists() else _File()
    if any(entry.id == key.id for entry in file.keys):
        return False
    entry = ListedKey(id=key.id, public_key=key.text, holder=holder, since=now)
    (folder / KEYS).write_bytes(as_bytes(_File(keys=[*file.keys, entry]).model_dump(mode="json")))
    return True


def given_key(text: str, *, listed: Mapping[str, PublicKey]) -> dict[str, PublicKey]:
    """The only trusted key: a public key in base64, or the id of a listed one.

    Raises:
        StudyError: it is neither.
    """
    try:
        key = listed.get(text.lower()) or PublicKey.from_text(text)
    except KeyFormatError:
        raise StudyError("the given key is neither a public key in base64 nor the id of a listed one") from None
    return {key.id: key}


def _listed(folder: Path) -> _File:
    try:
        return _File.model_validate_json(read(folder, KEYS))
    except ValidationError as error:
        raise StudyError(f"{KEYS} is no list of keys: see {error.errors()[0]['loc']}") from None


def _public(entry: ListedKey) -> PublicKey:
    try:
        key = PublicKey.from_text(entry.public_key)
    except KeyFormatError as error:
        raise StudyError(f"{KEYS} names something that is no key: {error}") from None
    if key.id != entry.id:
        raise StudyError(f"{KEYS} gives a key the id of another: {entry.id}")
    return key
