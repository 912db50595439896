"""Signed results: what a site signs about its boards, and how anybody checks it. No Django, no network.

keys.py        Ed25519 keys and their ids
envelope.py    signatures over typed payloads (DSSE)
documents.py   what a site serves for verification
statements.py  what is signed, and the digests that bind rows and records to it
"""

from evaluator.signatures.documents import (
    EvaluationProof,
    KeyEntry,
    KeysDocument,
    Served,
    SnapshotProof,
    WithdrawalsDocument,
    digested_keys,
)
from evaluator.signatures.envelope import Envelope, EnvelopeError, open_envelope, seal
from evaluator.signatures.keys import KeyFormatError, PrivateKey, PublicKey
from evaluator.signatures.statements import (
    ColumnFacts,
    Conditions,
    Digested,
    EvaluationStatement,
    KeysStatement,
    KeyStatement,
    Previous,
    RowDigests,
    SeasonStatement,
    SnapshotStatement,
    SuiteCommitment,
    SuiteFacts,
    TaskEntry,
    Withdrawals,
    WithdrawalStatement,
    name_digest,
    record_commitment,
    result_digest,
    rows_digest,
    rows_that_left,
    tasks_digest,
)

__all__ = [
    "ColumnFacts",
    "Conditions",
    "Digested",
    "Envelope",
    "EnvelopeError",
    "EvaluationProof",
    "EvaluationStatement",
    "KeyEntry",
    "KeyFormatError",
    "KeyStatement",
    "KeysDocument",
    "KeysStatement",
    "Previous",
    "PrivateKey",
    "PublicKey",
    "RowDigests",
    "SeasonStatement",
    "Served",
    "SnapshotProof",
    "SnapshotStatement",
    "SuiteCommitment",
    "SuiteFacts",
    "TaskEntry",
    "WithdrawalStatement",
    "Withdrawals",
    "WithdrawalsDocument",
    "digested_keys",
    "name_digest",
    "open_envelope",
    "record_commitment",
    "result_digest",
    "rows_digest",
    "rows_that_left",
    "seal",
    "tasks_digest",
]
