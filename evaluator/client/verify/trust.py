"""Which keys of a site are trusted. Pure.

Trust starts from the given key, else the pinned keys, else (on first use) every key that the site lists. A trusted key
can introduce another one, so operators can rotate keys without contacting every client.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from evaluator.client.verify.pins import KnownSite, PinnedKey
from evaluator.core.signatures.documents import KeyEntry, KeysDocument, digested_keys
from evaluator.core.signatures.envelope import EnvelopeError, KeyFormatError, PublicKey, open_envelope
from evaluator.core.signatures.statements import KeysStatement, KeyStatement


class Basis(StrEnum):
    """Why the first keys are trusted."""

    GIVEN = "given"
    PINNED = "pinned"
    FIRST_USE = "first use"


class UntrustedError(Exception):
    """No key of the site is trusted; the message is a sentence."""

    def __init__(self, text: str, *, expected: str, found: str) -> None:
        super().__init__(text)
        self.expected, self.found = expected, found


class ForgedListError(UntrustedError):
    """The list of keys is not what the newest of them signed."""


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key, and until when it signs."""

    key: PublicKey
    created: datetime | None = None
    """None: not known."""
    retired: datetime | None = None

    def covers(self, signed: datetime) -> bool:
        """Whether it was in use at that time."""
        begun = self.created is None or signed >= self.created
        return begun and (self.retired is None or signed <= self.retired)


@dataclass(frozen=True)
class Trust:
    """The keys of a site."""

    basis: Basis
    trusted: Mapping[str, TrustedKey]
    listed: Mapping[str, PublicKey] = field(default_factory=dict)
    """Every key that the site lists. An untrusted key's signature is accepted only for a statement whose digest a
    trusted statement contains."""

    @property
    def keys(self) -> dict[str, PublicKey]:
        """The trusted keys by their ids."""
        return {name: one.key for name, one in self.trusted.items()}

    def pins(self) -> dict[str, PinnedKey]:
        """What to remember."""
        return {name: PinnedKey(public_key=one.key.text, retired=one.retired) for name, one in self.trusted.items()}


def trust(*, document: KeysDocument, known: KnownSite, given: str = "", first_use: bool = True) -> Trust:
    """Decide which keys are trusted.

    Args:
        document: what the site says of its keys.
        known: what was pinned before.
        given: a public key in base64 or a key id; it alone is trusted, in place of pinned ones.
        first_use: whether to trust a site that was never seen.

    Raises:
        UntrustedError: none can be.
        ForgedListError: the list is not the signed one.
    """
    entries = {entry.id: entry for entry in document.keys}
    if len(entries) != len(document.keys):
        raise ForgedListError(
            "the list of keys has a key twice", expected=str(len(entries)), found=str(len(document.keys))
        )
    listed = {name: _public(entry) for name, entry in entries.items()}
    basis, anchors = _anchors(listed=listed, known=known, given=given, first_use=first_use)
    trusted = {
        name: TrustedKey(
            key,
            created=entries[name].created if name in entries else None,
            retired=_earliest(
                known.keys[name].retired if name in known.keys else None,
                entries[name].retired if name in entries else None,
            ),
        )
        for name, key in anchors.items()
    }
    trusted = _with_introduced(trusted, entries=entries, listed=listed)
    if entries and not trusted.keys() & entries.keys():
        raise UntrustedError(
            "the site has other keys than the ones trusted, and none of them introduces a new one; if the operator "
            "announced a new key, give it by --key",
            expected=", ".join(trusted),
            found=", ".join(entries),
        )
    _check_list(document, trusted=trusted)
    return Trust(basis=basis, trusted=trusted, listed=listed)


def _check_list(document: KeysDocument, *, trusted: Mapping[str, TrustedKey]) -> None:
    """Check that the newest key signed the list, including the validity periods and introductions of its keys."""
    signs = document.keys[0].id
    if document.signature is None:
        raise ForgedListError("the list of keys is not signed", expected=f"a signature of {signs}", found="none")
    try:
        statement = open_envelope(
            document.signature, expected=KeysStatement, keys={name: one.key for name, one in trusted.items()}
        )
    except EnvelopeError as error:
        raise ForgedListError(
            f"the list of keys {error}", expected=f"a signature of {signs}", found=document.signature.key_id
        ) from None
    served = digested_keys(document.keys)
    for expected, found in (
        ((signs, signs), (statement.key, document.signature.key_id)), (statement.keys, served)
    ):  # fmt: skip
        if expected != found:
            raise ForgedListError("the list of keys is not the signed one", expected=str(expected), found=str(found))


def _anchors(
    *, listed: Mapping[str, PublicKey], known: KnownSite, given: str, first_use: bool
) -> tuple[Basis, dict[str, PublicKey]]:
    if given:
        key = listed.get(given.lower()) or _given(given, listed=listed)
        return Basis.GIVEN, {key.id: key}
    if known.keys:
        return Basis.PINNED, {name: PublicKey.from_text(pin.public_key) for name, pin in known.keys.items()}
    if not first_use:
        raise UntrustedError(
            "no key of this site is known here, and a file cannot vouch for its own; give the operator's key by --key",
            expected="a key given by --key, or pinned by an earlier verification",
            found=", ".join(listed) or "no key",
        )
    if not listed:
        raise UntrustedError("the site has no key: it signs nothing", expected="a key", found="none")
    return Basis.FIRST_USE, dict(listed)


def _given(text: str, *, listed: Mapping[str, PublicKey]) -> PublicKey:
    try:
        return PublicKey.from_text(text)
    except KeyFormatError:
        found = ", ".join(listed) or "no key"
        raise UntrustedError("the site does not have the given key", expected=text, found=found) from None


def _public(entry: KeyEntry) -> PublicKey:
    try:
        key = PublicKey.from_text(entry.public_key)
    except KeyFormatError as error:
        raise UntrustedError(
            f"the site names something that is no key: {error}", expected="a key", found=entry.id
        ) from None
    if key.id != entry.id:
        raise UntrustedError("the id of a key does not follow from it", expected=key.id, found=entry.id)
    return key


def _with_introduced(
    trusted: Mapping[str, TrustedKey], *, entries: Mapping[str, KeyEntry], listed: Mapping[str, PublicKey]
) -> dict[str, TrustedKey]:
    """The trusted keys and all keys that they introduce, directly or transitively."""
    found = dict(trusted)
    while True:
        new = {
            name: statement
            for name, entry in entries.items()
            if name not in found and (statement := _introduction(entry, trusted=found)) is not None
        }
        if not new:
            return found
        for name, statement in new.items():
            found[name] = TrustedKey(listed[name], created=statement.created, retired=entries[name].retired)
            before = found[statement.key]
            found[statement.key] = replace(before, retired=_earliest(before.retired, statement.created))


def _introduction(entry: KeyEntry, *, trusted: Mapping[str, TrustedKey]) -> KeyStatement | None:
    if entry.introduction is None:
        return None
    keys = {name: one.key for name, one in trusted.items() if one.key.id in trusted}
    try:
        statement = open_envelope(entry.introduction, expected=KeyStatement, keys=keys)
    except EnvelopeError:
        return None
    is_about_it = statement.introduces == entry.public_key and statement.key == entry.introduction.key_id
    # A retired key cannot introduce keys: a stolen one could otherwise introduce the thief's.
    return statement if is_about_it and trusted[statement.key].covers(statement.created) else None


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
