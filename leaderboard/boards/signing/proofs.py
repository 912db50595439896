"""Documents for verifiers: the site's keys, and proofs of snapshots, results and withdrawals."""

from evaluator.core.signatures.documents import EvaluationProof, KeysDocument, SnapshotProof, WithdrawalsDocument
from evaluator.core.signatures.envelope import Envelope
from evaluator.core.signatures.statements import RowDigests
from leaderboard.boards.models import EvaluationSignature, SigningKey, Snapshot, SnapshotSignature, Withdrawal
from leaderboard.boards.signing.keys import key_entries
from leaderboard.boards.signing.services import task_entries
from leaderboard.evaluations.models import Evaluation


def keys_document() -> KeysDocument:
    """The public keys of this site, newest first."""
    newest = SigningKey.objects.order_by("-created", "pk").first()
    return KeysDocument(keys=key_entries(), signature=_envelope(newest and newest.listing))


def withdrawals_document(suite: str) -> WithdrawalsDocument:
    """The signed withdrawals from the boards of a suite."""
    signed = Withdrawal.objects.filter(suite=suite, envelope__isnull=False).order_by("number")
    return WithdrawalsDocument(
        suite=suite, withdrawals=list(map(Envelope.model_validate, signed.values_list("envelope", flat=True)))
    )


def snapshot_proof(snapshot: Snapshot) -> SnapshotProof:
    """The stored rows of a snapshot, with the digests that its statement covers."""
    signature = SnapshotSignature.objects.filter(pk=snapshot.pk).first()
    return SnapshotProof(
        suite=snapshot.suite.slug,
        number=snapshot.number,
        digest=snapshot.digest,
        content=snapshot.content,
        signature=_envelope(signature and signature.envelope),
        rows=[] if signature is None else [RowDigests.model_validate(row) for row in signature.rows],
        salts={} if signature is None else signature.salts,
    )


def evaluation_proof(*, evaluation: Evaluation, shows_records: bool, shows_tasks: bool) -> EvaluationProof:
    """The results of an evaluation's tasks, with the digests that its statement covers.

    Args:
        evaluation: completed or not.
        shows_records: whether the proof contains the digests of records. Otherwise it has only their salted digests,
            which the signature covers, without the salt.
        shows_tasks: whether the proof contains the results of tasks. Otherwise it is the statement alone, which commits
            to the results until they are published.
    """
    signature = EvaluationSignature.objects.filter(pk=evaluation.pk).first()
    if signature is None:
        return EvaluationProof(
            evaluation=str(evaluation.pk), signature=None, tasks=[], withheld=not shows_tasks, salt=None, records={}
        )
    entries, records = task_entries(evaluation_id=evaluation.pk, salt=signature.salt)
    return EvaluationProof(
        evaluation=str(evaluation.pk),
        signature=_envelope(signature.envelope),
        tasks=entries if shows_tasks else [],
        withheld=not shows_tasks,
        salt=signature.salt if shows_records and shows_tasks else None,
        records=dict(records) if shows_records and shows_tasks else {},
    )


def _envelope(stored: object) -> Envelope | None:
    return None if stored is None else Envelope.model_validate(stored)
