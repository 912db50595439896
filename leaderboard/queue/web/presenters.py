"""Template data for the pages of workers."""

from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q

from evaluator.reliability.further_runs import RunsReport, Verdict
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import (
    Attempt,
    AttemptState,
    Evaluation,
    EvaluationReason,
    EvaluationState,
    TaskResult,
)
from leaderboard.evaluations.visibility import is_public
from leaderboard.queue.comparing import LEVEL, WORDS, Finding, Rule, StepDifference, rule_in_words, step_in_words
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


class ShownRun(NamedTuple):
    """One further run."""

    evaluation: str
    number: int
    tasks: int
    state: str
    state_label: str
    reason: str


class RunsPanel(NamedTuple):
    """The runs of an evaluation."""

    sentence: str
    """Empty until it completes."""
    is_contradicted: bool
    shown: tuple[ShownRun, ...]


def runs_panel(evaluation: Evaluation) -> RunsPanel | None:
    """The further runs of a submitted evaluation, in at most one query; None if it has none and says nothing."""
    known = (evaluation.summary or {}).get("runs")
    if not evaluation.is_submitted or (known is None and evaluation.reason != EvaluationReason.ASKED_AGAIN):
        return None
    report = None if known is None else RunsReport.from_json(known)
    has_runs = report is None or report.asked or report.why
    shown = [
        ShownRun(
            evaluation=str(run.pk),
            number=run.repetition,
            tasks=run.tasks_total,
            state=run.state,
            state_label=EvaluationState(run.state).label,
            reason="" if run.state == EvaluationState.COMPLETED else run.reason_text,
        )
        for run in (evaluation.further_runs if has_runs else ())
    ]
    sentence = "" if report is None else report.in_words()
    contradicted = report is not None and report.verdict is Verdict.CONTRADICTED
    return RunsPanel(sentence=sentence, is_contradicted=contradicted, shown=tuple(shown))


class RunOfTask(NamedTuple):
    """How a task ended in one run."""

    evaluation: str
    number: int
    outcome: str
    score: float | None
    plan: str
    is_this: bool


def runs_of_task(*, evaluation: Evaluation, task: Task, shows_plans: bool) -> tuple[RunOfTask, ...]:
    """All runs of a task that was asked again, in one query; empty if it was not.

    Args:
        evaluation: the first or a further run, whose single tasks the reader may see.
        task: the task.
        shows_plans: whether the reader may see its plans.
    """
    report = (evaluation.summary or {}).get("runs") or {}
    if not evaluation.is_further_run and not report.get("asked"):
        return ()
    first = evaluation.member_of_id or evaluation.pk
    runs = Q(evaluation=first) | Q(evaluation__member_of=first, evaluation__is_further_run=True)
    rows = TaskResult.objects.filter(runs, task=task).select_related("evaluation").order_by("evaluation__repetition")
    shown = tuple(
        RunOfTask(
            evaluation=str(row.evaluation_id),
            number=row.evaluation.repetition,
            outcome=row.outcome,
            score=row.score,
            plan=row.plan_summary if shows_plans else "",
            is_this=row.evaluation_id == evaluation.pk,
        )
        for row in rows
    )
    return shown if len(shown) > 1 else ()


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
    rule: str
    """How samples were compared, as a sentence; empty where nothing was executed, and in older verifications."""
    tasks: list[dict[str, Any]]
    """As in `Verification.comparison`, with the finding and the differing step in words. Contradicting tasks come
    first; empty if nothing was compared."""


class VerificationPanel(NamedTuple):
    """All verifications of an evaluation, newest first."""

    is_ranked: bool
    shown: tuple[ShownVerification, ...]
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
        step = task.get("step")
        words = step_in_words(StepDifference(**step)) if step else ""
        tasks.append({**task, "finding": finding, "step": words})
    rule = comparison.get("rule")
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
        rule=rule_in_words(Rule(**rule)) if rule else "",
        tasks=sorted(tasks, key=lambda task: not task["contradicts"]),
    )
