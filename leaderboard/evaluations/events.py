"""What happens to evaluations, told to whoever listens: PostgreSQL's NOTIFY, sent with the commit.

Data of one event, as the page receives it:

    {"state", "state_label", "reason_text", "done", "total", "outcomes": {outcome: count},
     "results": [{"task", "outcome", "score"}]}      # results that are new with this event

Who cannot have the events asks for `GET /evaluations/<id>/progress/`: the same object with the last few results, and
under `waiting` a sentence on the evaluation's place in the queue, or nothing.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from django.db import connection

from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.unfinished import LEFT_OUT

CHANNEL = "planarena_evaluations"
_RESULTS_PER_EVENT = 40
"""PostgreSQL refuses payloads of 8,000 bytes; a result takes up to 125."""
LATEST = 5
"""How many of the tasks that ended last a page shows while it waits for more."""
_LONGEST_TEXT = 1600
"""Bytes of the reason as JSON, where a character takes up to twelve: a worker's or planner's words may be in it."""


_STANDS = """
SELECT state, reason_text, tasks_total, (
    SELECT json_build_object('outcomes', coalesce(json_object_agg(outcome, count), '{}'), 'left', sum(left_out))::text
    FROM (SELECT outcome, count(*),
                 count(*) FILTER (WHERE outcome = 'cancelled' OR outcome = 'not_run' AND reason = ANY(%s)) AS left_out
          FROM evaluations_taskresult WHERE evaluation_id = e.id GROUP BY outcome) counted
) FROM evaluations_evaluation e WHERE id = %s
"""


class NewResult(TypedDict):
    """One result, as an event tells it."""

    task: str
    outcome: str
    score: float | None


def describe(evaluation_id: UUID) -> dict[str, Any]:
    """Where an evaluation stands, without single results."""
    # One query, and written down: this is asked with every change.
    with connection.cursor() as cursor:
        cursor.execute(_STANDS, [sorted(LEFT_OUT), evaluation_id])
        row = cursor.fetchone()
    if row is None:
        raise Evaluation.DoesNotExist
    state, reason_text, total, counted = row
    counts = json.loads(counted)
    outcomes: dict[str, int] = dict(sorted(counts["outcomes"].items()))
    return {
        "state": state,
        "state_label": str(EvaluationState(state).label),
        "reason_text": _cut(reason_text),
        # Without those that were left out (`unfinished.NEVER_RAN`).
        "done": sum(outcomes.values()) - (counts["left"] or 0),
        "total": total,
        "outcomes": outcomes,
    }


def _cut(text: str) -> str:
    """As much of the text as an event has room for."""
    kept = text[:400]
    while len(json.dumps(kept)) > _LONGEST_TEXT:
        kept = kept[: len(kept) * 3 // 4]
    return kept


def snapshot(evaluation_id: UUID) -> dict[str, Any]:
    """Where an evaluation stands, with all results so far, as they came in: what a listener receives first."""
    results = TaskResult.objects.filter(evaluation=evaluation_id).order_by("updated", "task__position")
    return {
        **describe(evaluation_id),
        "results": [
            NewResult(task=task, outcome=outcome, score=score)
            for task, outcome, score in results.values_list("task__key", "outcome", "score")
        ],
    }


def announce(*, evaluation_id: UUID, results: Sequence[NewResult] = ()) -> None:
    """Tell all listeners where the evaluation stands now. Nothing is told if the transaction is rolled back."""
    state = describe(evaluation_id)
    for start in range(0, max(len(results), 1), _RESULTS_PER_EVENT):
        _notify(evaluation_id, event={**state, "results": list(results[start : start + _RESULTS_PER_EVENT])})


class Notification(NamedTuple):
    """An SQL expression that tells all listeners something, within any statement of the transaction."""

    sql: str
    parameters: dict[str, Any]


_NOTIFY = """
(SELECT pg_notify(%(channel)s, jsonb_build_object('evaluation', %(told)s::text, 'event', %(event)s::jsonb
        || jsonb_build_object('outcomes', coalesce(jsonb_object_agg(outcome, of_outcome), '{}'),
                              'done', coalesce(sum(of_outcome - left_out), 0)))::text)
 FROM (SELECT outcome, count(*) AS of_outcome,
              count(*) FILTER (WHERE outcome = 'cancelled' OR outcome = 'not_run' AND reason = ANY(%(never)s))
              AS left_out
       FROM evaluations_taskresult WHERE evaluation_id = %(told)s GROUP BY outcome) counted)
"""


def fits_one_event(results: Sequence[NewResult]) -> bool:
    """Whether `notification` has room for these."""
    return len(results) <= _RESULTS_PER_EVENT


def notification(*, evaluation: Evaluation, results: Sequence[NewResult]) -> Notification:
    """`announce` of an evaluation that is locked and was read after that, as a part of another statement. It counts the
    results that earlier statements have inserted."""
    event = {
        "state": evaluation.state,
        "state_label": str(EvaluationState(evaluation.state).label),
        "reason_text": _cut(evaluation.reason_text),
        "total": evaluation.tasks_total,
        "results": list(results),
    }
    parameters = {"channel": CHANNEL, "told": evaluation.pk, "event": json.dumps(event), "never": sorted(LEFT_OUT)}
    return Notification(_NOTIFY, parameters)


def ask_anew(evaluation_id: UUID) -> None:
    """Have every listener ask for the whole state again, and thereby whether it still may: who sees it has changed."""
    _notify(evaluation_id, event={})


def _notify(evaluation_id: UUID, *, event: dict[str, Any]) -> None:
    payload = json.dumps({"evaluation": str(evaluation_id), "event": event}, separators=(",", ":"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])
