"""Signed results: what a site signs about its boards, and how anybody checks it. No Django, no network.

keys.py        Ed25519 keys and their ids
envelope.py    signatures over typed payloads (DSSE)
statements.py  what is signed, and the digests that bind rows and records to it
"""

from evaluator.signatures.envelope import Envelope, EnvelopeError, open_envelope, seal
from evaluator.signatures.keys import KeyFormatError, PrivateKey, PublicKey
from evaluator.signatures.statements import (
    ColumnFacts,
    Conditions,
    EvaluationStatement,
    KeyStatement,
    Previous,
    RowDigests,
    SeasonStatement,
    SnapshotStatement,
    SuiteCommitment,
    SuiteFacts,
    TaskEntry,
    names_digest,
    record_commitment,
    result_digest,
    rows_digest,
    tasks_digest,
)

__all__ = [
    "ColumnFacts",
    "Conditions",
    "Envelope",
    "EnvelopeError",
    "EvaluationStatement",
    "KeyFormatError",
    "KeyStatement",
    "Previous",
    "PrivateKey",
    "PublicKey",
    "RowDigests",
    "SeasonStatement",
    "SnapshotStatement",
    "SuiteCommitment",
    "SuiteFacts",
    "TaskEntry",
    "names_digest",
    "open_envelope",
    "record_commitment",
    "result_digest",
    "rows_digest",
    "seal",
    "tasks_digest",
]
