"""Sites with something to lose, and their commands."""

from io import StringIO
from pathlib import Path

from django.core.management import call_command
from django.utils import timezone

from evaluator.execution.experts.weights import file_digest
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import CheckpointUpload
from leaderboard.queue.workers.finishing import deliver
from tests.leaderboard.factories import make_evaluation, make_lease, make_record, make_suite, make_user


def run(command: str, *arguments: object) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(command, *arguments, stdout=out, stderr=out)
    return out.getvalue()


def delivered_record() -> str:
    """The digest of one record of a result, which is in the public store."""
    evaluation = make_evaluation(state=EvaluationState.LAUNCHING, suite=make_suite(slug="kept", runnable=1))
    lease = make_lease(evaluation)
    records = [make_record(task, suite="kept") for task in lease.tasks]
    deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split=""))
    return TaskResult.objects.exclude(record_digest="").values_list("record_digest", flat=True).get()


def uploaded_checkpoint(file: Path, content: bytes = b"weights") -> str:
    """The digest of one that somebody has uploaded."""
    file.write_bytes(content)
    digest = file_digest(file)
    checkpoint_store().take(path=file, digest=digest)
    CheckpointUpload.objects.create(
        owner=make_user(), digest=digest, bytes=len(content), architecture="t5", parameters=1, weights_bytes=4,
        wanted_at=timezone.now(),
    )  # fmt: skip
    return digest
