"""What follows when workers are lost: an evaluation that ends or hangs one after the other must not go on with it."""

from datetime import datetime, timedelta
from itertools import pairwise

from django.conf import settings
from django.db.models import Q

from evaluator.core.records import Reason
from leaderboard.evaluations.models import ATTRIBUTABLE, OWN_WORKER, Attempt, AttemptState, Evaluation, Loss
from leaderboard.queue.shards import end_waiting_shards


def others_fell_silent(attempt: Attempt, *, now: datetime) -> bool:
    """Whether other evaluations lost contact with their workers at about the time at which this attempt did.

    Then the site or its network was away, and the tasks have not caused it. Researchers' own workers say nothing: they
    are switched off whenever it suits their owners.
    """
    since = now - timedelta(seconds=2 * settings.LEASE_SECONDS)
    silent_now = Q(state=AttemptState.LIVE, expires_at__lte=now)
    silent_lately = Q(state=AttemptState.LOST, loss__in=[Loss.SILENT, Loss.DISRUPTED], ended_at__gte=since)
    others = Attempt.objects.exclude(shard__evaluation=attempt.shard.evaluation_id).exclude(
        worker__startswith=OWN_WORKER
    )
    # Another evaluation's attempt of the same worker is not another worker.
    return others.filter(silent_now | silent_lately).exclude(worker=attempt.worker).exists()


def lost_workers(evaluation: Evaluation) -> int:
    """How many workers were lost with tasks of this evaluation, in a way that the tasks may have caused.

    Those that fell silent together count once: a site that was away for longer than a lease has lost contact with all
    workers, and those are of this evaluation alone if no other was running.
    """
    lost = Attempt.objects.filter(shard__evaluation=evaluation, state=AttemptState.LOST, loss__in=ATTRIBUTABLE)
    found = list(lost.exclude(worker__startswith=OWN_WORKER).order_by("ended_at").values_list("loss", "ended_at"))
    silent = [at for loss, at in found if loss == Loss.SILENT and at is not None]
    together = timedelta(seconds=settings.LEASE_SECONDS)
    repeated = sum(after - before <= together for before, after in pairwise(silent))
    return len(found) - repeated


def stop_after_losses(evaluation: Evaluation, *, why: str) -> bool:
    """Stop an evaluation that has lost too many workers. False if it goes on.

    Before: the evaluation is locked; it has just lost one, because of `why`, part of a sentence.
    After: its waiting tasks are `infra_fault`, and once the others have ended it waits for its owner. If that resumes
    it, a single further loss stops it again.
    """
    lost = lost_workers(evaluation)
    if lost < settings.LOST_WORKERS:
        return False
    text = f"Not run: this evaluation has lost {lost} workers, the last one because {why}."
    end_waiting_shards(evaluation=evaluation, reason=Reason.WORKER_LOST, text=text)
    return True
