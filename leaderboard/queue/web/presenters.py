"""Template data for the pages of workers."""

from datetime import datetime
from typing import Any, NamedTuple

from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState
from leaderboard.evaluations.visibility import is_public
from leaderboard.queue.comparing import LEVEL, SAMPLE_TOLERANCE, WORDS, Finding
from leaderboard.queue.models import Verification, VerificationVerdict
from leaderboard.queue.workers.logs import ShownLine, lines_of


class ShownAttempt(NamedTuple):
    """An attempt with its log."""

    id: str
    shard: int
    number: int
    worker: str
    state: str
    state_label: str
    reason: str
    leased_at: datetime
    ended_at: datetime | None
    cut: bool
    """Whether the log was truncated."""
    lines: list[ShownLine]


def shown_attempt(attempt: Attempt) -> ShownAttempt:
    """Template data of an attempt from `logs.attempts_of`."""
    log = getattr(attempt, "log", None)
    return ShownAttempt(
        id=str(attempt.pk),
        shard=attempt.shard.number,
        number=attempt.number,
        worker=attempt.worker,
        state=attempt.state,
        state_label=AttemptState(attempt.state).label,
        reason=attempt.reason,
        leased_at=attempt.leased_at,
        ended_at=attempt.ended_at,
        cut=log is not None and log.cut,
        lines=lines_of(attempt),
    )


_TONES: dict[str, str] = {
    VerificationVerdict.OPEN: "",
    VerificationVerdict.AGREES: "success",
    VerificationVerdict.DISAGREES: "error",
    VerificationVerdict.UNDECIDED: "",
    VerificationVerdict.IMPOSSIBLE: "warning",
}


class ShownVerification(NamedTuple):
    """One verification."""

    evaluation: str
    """Id of the second evaluation."""
    verdict: str
    tone: str
    detail: str
    created: datetime
    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    """Tasks of the sample."""
    state: str
    state_label: str
    p_value: float | None
    tasks: list[dict[str, Any]]
    """As in `Verification.comparison`, with the finding in words. Contradicting tasks come first; empty if nothing was
    compared."""


class VerificationPanel(NamedTuple):
    """All verifications of an evaluation, newest first."""

    is_ranked: bool
    shown: tuple[ShownVerification, ...]
    tolerance: float
    level: float


def verification_panel(evaluation: Evaluation) -> VerificationPanel | None:
    """The panel of a completed evaluation on a self-hosted worker; None for others."""
    run = getattr(evaluation, "own_worker_run", None)
    if run is None or evaluation.state != EvaluationState.COMPLETED:
        return None
    verifications = Verification.objects.filter(evaluation__verifies=evaluation).select_related("evaluation")
    return VerificationPanel(
        is_ranked=run.verified_by_id is not None and evaluation.hidden_at is None and is_public(evaluation.submission),
        shown=tuple(_shown(verification) for verification in verifications.order_by("-created", "-pk")),
        tolerance=SAMPLE_TOLERANCE,
        level=LEVEL,
    )


def _shown(verification: Verification) -> ShownVerification:
    again = verification.evaluation
    comparison: dict[str, Any] = verification.comparison or {}
    tasks = []
    for task in comparison.get("tasks", []):
        finding = WORDS[Finding(task["finding"])]
        if task["differing"]:
            finding = f"{finding} in {task['differing']} of {task['samples']} samples"
        tasks.append({**task, "finding": finding})
    return ShownVerification(
        evaluation=str(again.pk),
        verdict=VerificationVerdict(verification.verdict).label,
        tone=_TONES[verification.verdict],
        detail=verification.detail[:1].upper() + verification.detail[1:],
        created=verification.created,
        count=len(verification.tasks),
        state=again.state,
        state_label=EvaluationState(again.state).label,
        p_value=comparison.get("p_value"),
        tasks=sorted(tasks, key=lambda task: not task["contradicts"]),
    )
