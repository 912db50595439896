"""Deadlines for the progress of attempts. Heartbeats show that a worker's process is alive, not that it works.

Progress is a new result or the next phase of the work (`Phase`). Neither can be repeated, so the lifetime of an attempt
is bounded whatever its worker reports.
"""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from evaluator.episodes.turns.environment import Bounds
from gpu_jobs.contract import Phase
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation
from leaderboard.planners import roles

_CALL_TRIES = 4
"""A worker's tries per call of a planner's endpoint (`evaluator.planners.endpoint`, `gpu_jobs.planners`)."""
_CALL_PAUSE_SECONDS = 20
"""Upper bound of the mean pause between tries."""


def allowances(*, evaluation: Evaluation, tasks: int) -> dict[str, int]:
    """Seconds that an attempt may spend in each phase without progress.

    Args:
        evaluation: with its planner.
        tasks: number of tasks of the attempt.
    """
    planner = evaluation.submission.planner
    kinds = list(roles.kinds_of(planner))
    answer = max(settings.PLAN_SECONDS, *(kind.answer_seconds for kind in kinds))
    if any(kind.needs_network for kind in kinds):
        answer = max(answer, _CALL_TRIES * (roles.longest_timeout(planner) + _CALL_PAUSE_SECONDS))
    seconds = {
        Phase.PREPARING: settings.PREPARE_SECONDS,
        Phase.PLANNING: settings.PREPARE_SECONDS + tasks * answer,
    }
    if any(kind.loads_model for kind in kinds):
        seconds |= {Phase.FETCHING: settings.FETCH_SECONDS, Phase.LOADING: settings.LOAD_SECONDS}
        # The first answer of a model, perhaps to a canary, takes longest: kernels are compiled, weights paged in.
        seconds[Phase.PLANNING] += settings.LOAD_SECONDS
    executing = tasks * settings.EXECUTE_SECONDS if evaluation.suite.runs_experts else 0
    if evaluation.suite.in_turns:
        # Planning and execution alternate within one phase, and a task ends with its last turn.
        seconds[Phase.PLANNING] += int(Bounds().seconds) + executing
    elif evaluation.suite.runs_experts:
        seconds[Phase.EXECUTING] = settings.PREPARE_SECONDS + executing
    return {phase.value: int(allowed) for phase, allowed in seconds.items()}


def note_result(attempt: Attempt) -> None:
    """Restart the deadline of an attempt's phase, because a task has ended."""
    if (seconds := attempt.allowances.get(attempt.phase)) is not None:
        Attempt.objects.filter(pk=attempt.pk).update(stalls_at=Now() + timedelta(seconds=seconds))


def note_waiting(attempt_id: UUID) -> None:
    """Restart the deadline of a live attempt, because the site cannot store its worker's results."""
    attempt = Attempt.objects.filter(pk=attempt_id, state=AttemptState.LIVE).first()
    if attempt is not None:
        note_result(attempt)


def enter_phase(*, attempt: Attempt, phase: Phase) -> None:
    """Move a live attempt on to a phase with its own deadline.

    Has no effect if the attempt is in this phase or a later one, or does not have this phase.
    """
    seconds = attempt.allowances.get(phase)
    if seconds is None or attempt.phase not in phase.before():
        return
    unchanged = Attempt.objects.filter(pk=attempt.pk, state=AttemptState.LIVE, phase=attempt.phase)
    if unchanged.update(phase=phase, stalls_at=Now() + timedelta(seconds=seconds)):
        attempt.phase = phase


def stalled_in_words(*, phase: str, allowed: Mapping[str, int]) -> str:
    """Why an attempt was ended at its deadline, as part of a sentence."""
    minutes = max(1, round(allowed.get(phase, 0) / 60))
    doing = f" while it was {Phase(phase).in_words()}" if len(allowed) > 1 and phase in set(Phase) else ""
    return f"it made no progress for {minutes} minute{'' if minutes == 1 else 's'}{doing}"
