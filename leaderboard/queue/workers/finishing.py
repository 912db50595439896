"""Results of an attempt, and its completion in one transaction with the last results and log lines."""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from django.db import transaction

from evaluator.core.records import ResultRecord
from evaluator.execution.engine.store import Store
from gpu_jobs.contract import FinishRequest
from leaderboard.evaluations.models import AttemptState
from leaderboard.evaluations.results.results import count_steps_of, note_worker_of, take_in
from leaderboard.queue.leasing import leases
from leaderboard.queue.leasing.evaluation_locks import AttemptEndedError, locked_attempt
from leaderboard.queue.workers import logs


def finish(*, attempt_id: UUID, last: FinishRequest, store: Store, credential: str) -> None:
    """Store the last results of an attempt and complete it.

    Before: the attempt is live, or this is a repetition of an earlier call.
    After: it is `completed` and everything is stored. Repeating the call changes nothing.

    Args:
        attempt_id: the attempt.
        last: the last results, log lines and provenance.
        store: has the artefacts of the results.
        credential: the attempt's, which is removed from everything that is stored.

    Raises:
        AttemptEndedError: the attempt has ended in another way; nothing changed.
        RecordsRefusedError, ObjectsMissingError: as `results.deliver`; nothing changed.
        IncompleteError: tasks have no result; nothing changed.
    """
    try:
        with transaction.atomic():
            attempt = locked_attempt(attempt_id)
            evaluation = attempt.shard.evaluation
            if last.log.lines:
                # After a gap the lines are lost, but not the results.
                with suppress(logs.GapError):
                    logs.append_to(
                        attempt_id=attempt.pk,
                        evaluation=evaluation,
                        log=last.log,
                        credential=credential,
                        known=logs.log_of(attempt),
                    )
            provenance = logs.redactor_of(evaluation, credential=credential).in_json(last.provenance)
            note_worker_of(evaluation=evaluation, provenance=provenance)
            new: Sequence[ResultRecord] = ()
            if last.results:
                new = take_in(attempt=attempt, records=last.results, store=store, credential=credential, is_last=True)
            leases.complete_locked(attempt, delivered=new)
            # Last, since concurrent transactions wait for this row until the commit.
            count_steps_of(attempt=attempt, records=new)
    except AttemptEndedError as error:
        # A completed attempt has all its results.
        if error.state != AttemptState.COMPLETED:
            raise


def deliver(*, attempt_id: UUID, records: Sequence[ResultRecord], store: Store, credential: str = "") -> int:
    """Store results of some tasks of an attempt, and return the number of new ones.

    Before: the attempt is live; the artefacts that the records name are in the store.
    After: each task has a result and its record is in the store. Existing results are kept, so that repeating the call
    changes nothing.

    Raises:
        AttemptEndedError: the attempt is not live; nothing changed.
        RecordsRefusedError: a record is not of this attempt's tasks or contradicts itself.
        ObjectsMissingError: an artefact is missing.
    """
    with transaction.atomic():
        attempt = locked_attempt(attempt_id)
        new = take_in(attempt=attempt, records=records, store=store, credential=credential)
        # Last, since concurrent transactions wait for this row until the commit.
        count_steps_of(attempt=attempt, records=new)
    return len(new)
