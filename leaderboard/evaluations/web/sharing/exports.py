"""An evaluation in the formats of other platforms, as one zip: what `planarena export` writes, in a folder for each."""

import tempfile
import zipfile
from collections.abc import Iterator

from pydantic import ValidationError

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from evaluator.interop.exports.atif import atif
from evaluator.interop.exports.every_eval_ever import every_eval_ever
from evaluator.interop.exports.source import ExportedEvaluation, exported_metrics, signature_text, verifying_command
from leaderboard.boards.signing.proofs import evaluation_proof
from leaderboard.catalog.library import RunConditions
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import server_store, shown_record
from leaderboard.evaluations.visibility import Reader, withheld_from

ZIP = "application/zip"
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
_IN_MEMORY = 2**20
_CHUNK = 64 * 1024


def exports_zip(*, evaluation: Evaluation, reader: Reader, address: str) -> Iterator[bytes]:
    """The zip for this reader in pieces; equal for readers with the same access.

    Args:
        evaluation: completed, with suite, submission and planner.
        reader: who sees the evaluation and its tasks.
        address: absolute URL of its page.
    """
    exported = _exported(evaluation, reader=reader, address=address)
    folders = {"every-eval-ever": every_eval_ever(exported), "atif": atif(exported)}
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
            for folder, files in folders.items():
                for name, data in files.items():
                    made.writestr(zipfile.ZipInfo(f"{folder}/{name}", date_time=_FIRST_DAY), data, zipfile.ZIP_DEFLATED)
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk


def _exported(evaluation: Evaluation, *, reader: Reader, address: str) -> ExportedEvaluation:
    planner, suite = evaluation.submission.planner, evaluation.suite
    proof = evaluation_proof(evaluation=evaluation, shows_records=False, shows_tasks=False)
    signature = signature_text(proof.model_dump(mode="json")["signature"])
    conditions = {name: value for name, value in RunConditions.to_json(evaluation).items() if value not in (None, "")}
    measured = {key: value for key, value in (evaluation.summary or {})["metrics"].items() if value is not None}
    return ExportedEvaluation(
        id=str(evaluation.pk),
        address=address,
        planner=planner.name,
        model=planner.model_name,
        open_weights=planner.open_weights,
        suite=suite.slug,
        suite_title=suite.title,
        suite_version=suite.version,
        suite_digest=suite.digest,
        conditions=conditions,
        finished=evaluation.finished,
        metrics=exported_metrics(measured, columns=suite.metrics),
        records=list(_records(evaluation, reader=reader)),
        library=str(((evaluation.provenance or {}).get("code") or {}).get("commit") or "unknown"),
        signature=signature,
        verify=verifying_command(address=address, suite=suite.slug, signature=signature),
    )


def _records(evaluation: Evaluation, *, reader: Reader) -> Iterator[ResultRecord]:
    """The records in the suite's order; those that the store has lost, or of another version, are absent."""
    store, withheld = server_store(split=evaluation.split), withheld_from(reader=reader, evaluation=evaluation)
    results = TaskResult.objects.filter(evaluation=evaluation).exclude(record_digest="").order_by("task__position")
    for digest in results.values_list("record_digest", flat=True):
        try:
            yield ResultRecord.model_validate_json(shown_record(digest=digest, store=store, withheld=withheld))
        except (ObjectMissingError, ObjectDamagedError, ValidationError):
            continue
