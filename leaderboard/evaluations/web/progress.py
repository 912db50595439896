"""How far an evaluation is: what pages ask for that receive no events."""

from typing import Any
from uuid import UUID

from evaluator.core.records import Outcome
from leaderboard.evaluations.events import LATEST, NewResult, describe
from leaderboard.evaluations.gold import withholds_tasks
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.platform.health import QUEUE, STORAGE, Code, current_health
from leaderboard.queue.place import Place, WaitsFor, place_of

MOVING = frozenset(
    {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.RUNNING, EvaluationState.AGGREGATING}
)


def progress(evaluation: Evaluation) -> dict[str, Any]:
    """Where an evaluation stands, with the tasks that ended last and its place in the queue."""
    return {
        **describe(evaluation.pk),
        "results": [] if withholds_tasks(reader=None, of=evaluation) else latest_results(evaluation.pk),
        "waiting": waiting_sentence(evaluation=evaluation, place=place_of(evaluation)),
    }


def waiting_sentence(*, evaluation: Evaluation, place: Place | None) -> str:
    """What an evaluation at a place of the queue waits for; empty if for nothing."""
    if evaluation.state not in MOVING:
        return place.sentence if place else ""
    findings = {finding.code: finding.sentence for finding in current_health()}
    hindering = STORAGE if evaluation.state == EvaluationState.RUNNING else STORAGE | QUEUE
    for code, sentence in findings.items():
        if code in hindering:
            return sentence
    if place is None:
        return ""
    # Whoever waits for others is told too that nobody works.
    behind = place.waits_for in {WaitsFor.SHARE, WaitsFor.TURN, WaitsFor.FREE_WORKER}
    return f"{place.sentence} {findings.get(Code.NO_WORKERS, '') if behind else ''}".strip()


def latest_results(evaluation_id: UUID) -> list[NewResult]:
    """The tasks that ended last, the last one first. Tasks that cannot run had ended before anything began."""
    ended = TaskResult.objects.filter(evaluation=evaluation_id).exclude(outcome=Outcome.NOT_RUN)
    columns = ended.order_by("-updated", "-task__position").values_list("task__key", "outcome", "score")
    return [NewResult(task=task, outcome=outcome, score=score) for task, outcome, score in columns[:LATEST]]
