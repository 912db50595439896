"""How long an attempt may go on without progress. Heartbeats say that a worker's process lives, not that it works.

Progress is a new result, or that the worker enters the next phase of its work (`Phase`); none of them comes twice, so
that the deadline of an attempt is bounded whatever its worker says.
"""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models.functions import Now

from evaluator.episodes.turns.environment import Bounds
from gpu_jobs.contract import Phase
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation
from leaderboard.planners.kinds import kind_of

_CALL_TRIES = 4
"""How often a worker calls a planner's address for one answer (`evaluator.planners.endpoint`, `gpu_jobs.planners`)."""
_CALL_PAUSE_SECONDS = 20
"""Between two of these calls, on the average at most."""


def allowances(*, evaluation: Evaluation, tasks: int) -> dict[str, int]:
    """Seconds without progress, by phase, that an attempt at so many tasks is allowed.

    Args:
        evaluation: with its planner.
        tasks: how many the attempt has to run.
    """
    planner = evaluation.submission.planner
    kind = kind_of(planner)
    answer = max(settings.PLAN_SECONDS, kind.answer_seconds)
    if kind.needs_network:
        answer = max(answer, _CALL_TRIES * (planner.timeout_seconds + _CALL_PAUSE_SECONDS))
    found = {
        Phase.PREPARING: settings.PREPARE_SECONDS,
        Phase.PLANNING: settings.PREPARE_SECONDS + tasks * answer,
    }
    if kind.loads_model:
        found |= {Phase.FETCHING: settings.FETCH_SECONDS, Phase.LOADING: settings.LOAD_SECONDS}
        # A canary is one task, and the first answer of a model takes longest: kernels are compiled, weights paged in.
        found[Phase.PLANNING] += settings.LOAD_SECONDS
    executing = tasks * settings.EXECUTE_SECONDS if evaluation.suite.runs_experts else 0
    if evaluation.suite.in_turns:
        # Planners are asked and tools run by turns, within one phase, and a task ends with its last turn.
        found[Phase.PLANNING] += int(Bounds().seconds) + executing
    elif evaluation.suite.runs_experts:
        found[Phase.EXECUTING] = settings.PREPARE_SECONDS + executing
    return {phase.value: int(seconds) for phase, seconds in found.items()}


def note_result(attempt: Attempt) -> None:
    """Give an attempt its full time for the phase that it is in again, because a task has ended."""
    if (seconds := attempt.allowances.get(attempt.phase)) is not None:
        Attempt.objects.filter(pk=attempt.pk).update(stalls_at=Now() + timedelta(seconds=seconds))


def note_waiting(attempt_id: UUID) -> None:
    """Give an attempt its full time again, because the site cannot store what its worker sends."""
    attempt = Attempt.objects.filter(pk=attempt_id, state=AttemptState.LIVE).first()
    if attempt is not None:
        note_result(attempt)


def enter_phase(*, attempt: Attempt, phase: Phase) -> None:
    """Note that the worker of a live attempt has gone on to a phase, which has a time of its own.

    Nothing changes if the attempt is in this phase or a later one, or if the phase is none of this attempt's.
    """
    seconds = attempt.allowances.get(phase)
    if seconds is None or attempt.phase not in phase.before():
        return
    unchanged = Attempt.objects.filter(pk=attempt.pk, state=AttemptState.LIVE, phase=attempt.phase)
    if unchanged.update(phase=phase, stalls_at=Now() + timedelta(seconds=seconds)):
        attempt.phase = phase


def stalled_in_words(*, phase: str, allowed: Mapping[str, int]) -> str:
    """Why an attempt is over whose deadline has passed, as part of a sentence."""
    minutes = max(1, round(allowed.get(phase, 0) / 60))
    doing = f" while it was {Phase(phase).in_words()}" if len(allowed) > 1 and phase in set(Phase) else ""
    return f"it made no progress for {minutes} minute{'' if minutes == 1 else 's'}{doing}"
