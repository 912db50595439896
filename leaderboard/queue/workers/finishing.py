"""Results of an attempt, and its end in one transaction: last results, last lines of the log, completion."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import Store
from gpu_jobs.contract import FinishRequest, LogLines
from leaderboard.evaluations.models import Attempt, AttemptState
from leaderboard.evaluations.results.results import count_steps_of, note_worker_of, take_in
from leaderboard.queue.leasing import leases
from leaderboard.queue.leasing.evaluation_locks import AttemptEndedError, locked_attempt
from leaderboard.queue.workers import logs


def finish(*, attempt_id: UUID, last: FinishRequest, store: Store, credential: str) -> None:
    """Take in the last results of an attempt and end it.

    Before: the attempt is live, or this very call has come before and its answer was lost.
    After: it is `completed` and everything is kept. Sending it again changes nothing.

    Args:
        attempt_id: which.
        last: all that is left to say of it.
        store: has the artefacts of the results.
        credential: the attempt's, which must be in nothing that is kept.

    Raises:
        AttemptEndedError: the attempt has ended in another way; nothing changed.
        RecordsRefusedError, ObjectsMissingError: as `results.deliver`; nothing changed.
        IncompleteError: tasks have no result; nothing changed.
    """
    try:
        with transaction.atomic():
            _finish(attempt_id=attempt_id, last=last, store=store, credential=credential)
    except AttemptEndedError as error:
        # Completed is only what had all its results, and whatever else came with them.
        if error.state != AttemptState.COMPLETED:
            raise


def _finish(*, attempt_id: UUID, last: FinishRequest, store: Store, credential: str) -> None:
    attempt = locked_attempt(attempt_id)
    evaluation = attempt.shard.evaluation
    if last.log.lines:
        _keep_lines(attempt=attempt, log=last.log, credential=credential)
    provenance = logs.redactor_of(evaluation, credential=credential).in_json(last.provenance)
    note_worker_of(evaluation=evaluation, provenance=provenance)
    new: Sequence[ResultRecord] = ()
    if last.results:
        new = take_in(attempt=attempt, records=last.results, store=store, credential=credential, is_last=True)
    leases.complete_locked(attempt, delivered=new)
    # The last of all, since others wait for it until the commit.
    count_steps_of(attempt=attempt, records=new)


def _keep_lines(*, attempt: Attempt, log: LogLines, credential: str) -> None:
    evaluation, known = attempt.shard.evaluation, logs.log_of(attempt)
    try:
        logs.append_to(attempt_id=attempt.pk, evaluation=evaluation, log=log, credential=credential, known=known)
    except logs.GapError:
        # Earlier lines were refused: a log is no reason to lose the work that it tells of.
        return


def deliver(*, attempt_id: UUID, records: Sequence[ResultRecord], store: Store, credential: str = "") -> int:
    """Take in the results of some tasks of an attempt and return how many of them were new.

    Before: the attempt is live; the artefacts that the records name are in the store.
    After: each task has a result and its record is in the store. A task that had a result keeps it, so that a second
    delivery changes nothing.

    Raises:
        AttemptEndedError: the attempt is not live; nothing changed.
        RecordsRefusedError: a record is not of this attempt's tasks or contradicts itself.
        ObjectsMissingError: an artefact is missing.
    """
    with transaction.atomic():
        attempt = locked_attempt(attempt_id)
        new = take_in(attempt=attempt, records=records, store=store, credential=credential)
        # The last of all, since others wait for it until the commit.
        count_steps_of(attempt=attempt, records=new)
    return len(new)
