"""Documents that a site serves for verification, shared by server and client. Their content is untrusted except where
signatures or digests cover it."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from evaluator.core import canonical_json
from evaluator.core.signatures.envelope import Envelope
from evaluator.core.signatures.statements import Digest, Digested, RowDigests, Shape, TaskEntry

_Text = Annotated[str, Field(max_length=1000)]


class Served(Shape):
    """A document that a site serves."""


class KeyEntry(Served):
    """One public key of a site."""

    id: _Text
    algorithm: Literal["ed25519"]
    public_key: _Text
    """Base64."""
    created: AwareDatetime
    retired: AwareDatetime | None
    introduction: Envelope | None
    """Envelope in which the previous key introduces this one."""


class KeysDocument(Served):
    """`/.well-known/planarena-keys.json`"""

    format: Literal["planarena-keys/2"] = "planarena-keys/2"
    keys: Annotated[list[KeyEntry], Field(max_length=1000)]
    """The newest first."""
    signature: Envelope | None
    """A `KeysStatement` about the keys; None if there is no key."""


class WithdrawalsDocument(Served):
    """`/api/v1/boards/<suite>/withdrawals/`"""

    format: Literal["planarena-withdrawals/1"] = "planarena-withdrawals/1"
    suite: _Text
    withdrawals: list[Envelope]
    """Signed `WithdrawalStatement`s, oldest first."""


class SnapshotProof(Served):
    """A snapshot with the data that its statement covers."""

    format: Literal["planarena-snapshot-proof/2"] = "planarena-snapshot-proof/2"
    suite: _Text
    number: int
    digest: Digest
    """Of `content`."""
    content: dict[str, Any]
    signature: Envelope | None
    rows: list[RowDigests]
    salts: dict[str, dict[str, _Text]]
    """Salts of the digests of names, by evaluation and field, except those of withdrawn names."""


class EvaluationProof(Served):
    """The results of an evaluation with the data that its statement covers."""

    format: Literal["planarena-evaluation-proof/1"] = "planarena-evaluation-proof/1"
    evaluation: _Text
    signature: Envelope | None
    tasks: list[TaskEntry]
    withheld: bool
    """Whether the site withholds `tasks`, as it may while hidden data are secret."""
    salt: _Text | None
    """Salt of the digests of records; None if records are withheld."""
    records: dict[str, Digest]
    """Digests of records by task."""


def digested_keys(keys: Sequence[KeyEntry]) -> Digested:
    """Count and digest of a list of keys, for a `KeysStatement`."""
    entries = [entry.model_dump(mode="json") for entry in keys]
    return Digested(count=len(entries), digest=canonical_json.digest(entries))
