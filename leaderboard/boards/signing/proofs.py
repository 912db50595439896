"""What a site serves to verifiers: its keys, and what the statements of snapshots and results bind."""

from typing import Any

from leaderboard.boards.models import Snapshot
from leaderboard.boards.signing.models import EvaluationSignature, SigningKey, SnapshotSignature
from leaderboard.boards.signing.services import task_entries
from leaderboard.evaluations.models import Evaluation

KEYS_FORMAT = "planarena-keys/1"
SNAPSHOT_FORMAT = "planarena-snapshot-proof/1"
EVALUATION_FORMAT = "planarena-evaluation-proof/1"


def keys_document() -> dict[str, Any]:
    """The public keys of this site, the newest first."""
    return {
        "format": KEYS_FORMAT,
        "keys": [
            {
                "id": key.pk,
                "algorithm": "ed25519",
                "public_key": key.public_key,
                # Not as Django's encoder writes them, which cuts off microseconds: introductions have all of them.
                "created": key.created.isoformat(),
                "retired": None if key.retired is None else key.retired.isoformat(),
                "introduction": key.introduction,
            }
            for key in SigningKey.objects.order_by("-created", "pk")
        ],
    }


def snapshot_proof(snapshot: Snapshot) -> dict[str, Any]:
    """A snapshot's rows as they are kept, with what its statement binds."""
    signature = SnapshotSignature.objects.filter(pk=snapshot.pk).first()
    return {
        "format": SNAPSHOT_FORMAT,
        "suite": snapshot.suite.slug,
        "number": snapshot.number,
        "digest": snapshot.digest,
        "content": snapshot.content,
        "signature": None if signature is None else signature.envelope,
        "rows": [] if signature is None else signature.rows,
        "salts": {} if signature is None else signature.salts,
    }


def evaluation_proof(*, evaluation: Evaluation, shows_records: bool) -> dict[str, Any]:
    """The results of an evaluation's tasks, with what its statement binds.

    Args:
        shows_records: whether the reader may know the digests of its records. Otherwise they get only salted ones,
            which the signature covers, and not the salt.
    """
    signature = EvaluationSignature.objects.filter(pk=evaluation.pk).first()
    if signature is None:
        return {
            "format": EVALUATION_FORMAT, "evaluation": str(evaluation.pk), "signature": None, "tasks": [],
            "salt": None, "records": {},
        }  # fmt: skip
    entries, records = task_entries(evaluation_id=evaluation.pk, salt=signature.salt)
    return {
        "format": EVALUATION_FORMAT,
        "evaluation": str(evaluation.pk),
        "signature": signature.envelope,
        "tasks": [entry.model_dump(mode="json") for entry in entries],
        "salt": signature.salt if shows_records else None,
        "records": records if shows_records else {},
    }
