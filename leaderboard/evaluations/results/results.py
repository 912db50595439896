"""Intake of workers' results: records into the store, one row per task into the database, provenance and usage into the
evaluation.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from django.db import connection
from django.db.models import F
from psycopg.types.json import Jsonb

from evaluator.core import canonical_json
from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import Outcome, Reason, ResultRecord
from evaluator.core.storable import keepable_text, unkeepable
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import Store
from evaluator.network.secret_header import SecretHeader
from evaluator.scoring.metrics.aggregate import indicators_of_samples, scores_of_samples
from evaluator.scoring.readability import keys_of
from gpu_jobs.redaction import Redactor
from leaderboard.catalog.hidden_data import seeds_to_hide
from leaderboard.evaluations import deadlines
from leaderboard.evaluations.finding_causes import find_causes_of
from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.evaluations.results.figures import arbiter_words
from leaderboard.evaluations.results.records import (
    episodes_of,
    plan_summary,
    problem_of,
    role_usage,
    seconds_of,
    usage_fields,
)
from leaderboard.evaluations.states import NewResult, announce, note_progress
from leaderboard.planners.secret_headers import addresses_to_hide, headers_to_hide
from leaderboard.platform.hooks import Hook
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.platform.secret_keys import known_secrets


class TaskUsage(Protocol):
    """Usage of one task, such as a `TaskResult`; None if unknown."""

    planning_seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None


def usage_of(results: Iterable[TaskUsage]) -> dict[str, Any]:
    """Means per task over the tasks with a value: `{"seconds": {"mean", "tasks"}, "prompt_tokens": ...,
    "completion_tokens": ...}`, without fields that no task has. Cached tokens, if any, are 0 for tasks that have only
    prompt tokens."""
    tasks = list(results)
    has_cached = any(task.cached_tokens for task in tasks)
    values: dict[str, list[float | None]] = {
        "seconds": [task.planning_seconds for task in tasks],
        "prompt_tokens": [task.prompt_tokens for task in tasks],
        "completion_tokens": [task.completion_tokens for task in tasks],
        "cached_tokens": [task.cached_tokens or 0 for task in tasks if has_cached and task.prompt_tokens is not None],
    }
    known = {name: [value for value in column if value is not None] for name, column in values.items()}
    return {name: {"mean": sum(column) / len(column), "tasks": len(column)} for name, column in known.items() if column}


def usage_by_role(results: Iterable[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Means per task of the calls, seconds and tokens of each role, over the tasks on which the planner called a role.
    A role without calls on a task counts 0; tokens that nobody reports are absent."""
    tasks = [roles for roles in results if roles]
    sums: dict[str, dict[str, float]] = {}
    for roles in tasks:
        for role, usage in roles.items():
            own = sums.setdefault(role, {})
            for name, value in usage.items():
                own[name] = own.get(name, 0.0) + value
    return {
        role: {name: value / len(tasks) for name, value in sorted(own.items())} for role, own in sorted(sums.items())
    }


_LARGEST_RECORD = 8 * 1024 * 1024
"""Bytes. An answer of 1 MiB and eight samples of a hundred steps each take less than three million."""
_FROM_WORKERS = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})

taken_in: Hook[Sequence[ResultRecord]] = Hook()
"""Called with the new records at the end of their transaction."""


class RecordsRefusedError(FieldErrors):
    """Invalid records; nothing was changed. `problems` has a sentence for each by task."""

    def __init__(self, problems: dict[str, str]) -> None:
        self.problems = problems
        super().__init__({"results": [f"task {task}: {problem}" for task, problem in problems.items()]})


class ObjectsMissingError(ProblemError):
    """Records refer to artefacts that the store does not have and that must be sent first. Nothing was changed."""

    code = "objects_missing"

    def __init__(self, digests: list[str]) -> None:
        self.digests = digests
        super().__init__(f"{len(digests)} artefacts are not in the store; send them before the results")

    def facts(self) -> dict[str, Any]:
        return {"missing": self.digests}


def count_steps_of(*, attempt: Attempt, records: Sequence[ResultRecord]) -> None:
    """Count the steps of records unless they come from a self-hosted worker, which could make up names of metrics."""
    if not attempt.is_by_own_worker:
        taken_in.call(records)


def take_in(
    *, attempt: Attempt, records: Sequence[ResultRecord], store: Store, credential: str = "", is_last: bool = False
) -> list[ResultRecord]:
    """Store the results of an attempt from `locked_attempt`, and return the new records. Does not count their steps.

    Args:
        attempt: of the results.
        records: the results.
        store: has their artefacts.
        credential: of the attempt, to be removed from the records.
        is_last: whether the attempt ends with them: then the caller announces them, and no deadline is extended.

    Raises:
        RecordsRefusedError: a record is not of this attempt's tasks or is inconsistent.
        ObjectsMissingError: an artefact is missing.
    """
    shard = attempt.shard
    evaluation = shard.evaluation
    planner = evaluation.submission.planner
    headers, addresses = headers_to_hide(planner), addresses_to_hide(planner)
    # The worker has redacted them, too, but a model that obtained the site's secrets could leak them in a plan.
    redactor = Redactor(secrets=[*known_secrets(), *seeds_to_hide(evaluation), credential])
    records = [without_secrets(record=redactor.in_record(record), headers=headers) for record in records]
    records = [without_addresses(record=record, addresses=addresses) for record in records]
    _check(records=records, evaluation=evaluation, tasks=frozenset(shard.task_keys))
    if missing := store.lacking(sorted({artefact.digest for record in records for artefact in record.artefacts()})):
        raise ObjectsMissingError(missing)
    digests = store.put_all([_artefact(record) for record in records])
    by_task = {record.task: digest for record, digest in zip(records, digests, strict=True)}
    new = _insert(attempt=attempt, evaluation=evaluation, records=records, digests=by_task)
    if missing_now := sum(_is_missing(record, evaluation=evaluation) for record in new):
        Evaluation.runs.filter(pk=evaluation.pk).update(
            tasks_not_run=F("tasks_not_run") + missing_now, tasks_missing=F("tasks_missing") + missing_now
        )
    if new and not is_last:
        deadlines.note_result(attempt)
        note_new_results(evaluation_id=evaluation.pk, records=new)
    return new


def note_new_results(*, evaluation_id: UUID, records: Sequence[ResultRecord]) -> None:
    """Restart the evaluation's deadline, and announce its new results."""
    if records:
        note_progress(evaluation_id)
        announce(evaluation_id=evaluation_id, results=new_results(records))


def new_results(records: Sequence[ResultRecord]) -> list[NewResult]:
    """Results for an event."""
    return [NewResult(task=record.task, outcome=record.outcome, score=record.score) for record in records]


def _check(*, records: Sequence[ResultRecord], evaluation: Evaluation, tasks: frozenset[str]) -> None:
    suite = evaluation.suite
    problems: dict[str, str] = {}
    seen: set[str] = set()
    for record in records:
        if record.suite != suite.slug:
            problems[record.task] = f"the record is of suite {record.suite!r}, the attempt of {suite.slug!r}"
        elif record.task not in tasks:
            problems[record.task] = "is not one of the attempt's tasks"
        elif record.task in seen:
            problems[record.task] = "comes twice in one delivery"
        elif record.outcome not in _FROM_WORKERS and not _is_missing(record, evaluation=evaluation):
            problems[record.task] = f"outcome {record.outcome} cannot come from a worker"
        elif problem := problem_of(record, suite=suite, samples=evaluation.samples):
            problems[record.task] = problem
        seen.add(record.task)
    if problems:
        raise RecordsRefusedError(problems)


def _is_missing(record: ResultRecord, *, evaluation: Evaluation) -> bool:
    """Whether the run whose answers are scored again has none that fits the task."""
    is_left_out = (record.outcome, record.reason) == (Outcome.NOT_RUN, Reason.NOT_IN_RUN)
    return is_left_out and evaluation.submission.is_regrade


def _artefact(record: ResultRecord) -> Artefact:
    try:
        data = canonical_json.dumps(record.model_dump(mode="json")).encode()
    except ValueError as error:
        raise RecordsRefusedError({record.task: f"holds a number or text that cannot be stored ({error})"}) from error
    if len(data) > _LARGEST_RECORD:
        raise RecordsRefusedError({record.task: f"has {len(data)} bytes; a record has at most {_LARGEST_RECORD}"})
    return Artefact(data=data, media_type=MediaType.TEXT)


_INSERT = """
WITH new AS (
    INSERT INTO evaluations_taskresult (
        evaluation_id, attempt_id, task_id, accepted, updated, outcome, reason, reason_text, score, sample_scores,
        indicators, sample_indicators, episodes, causes, reading, seconds, planning_seconds, prompt_tokens,
        completion_tokens, cached_tokens, role_usage, plan_summary, record_digest
    )
    SELECT %(evaluation)s, %(attempt)s, task.id, false, STATEMENT_TIMESTAMP(), outcome, reason, reason_text, score,
           sample_scores, indicators, sample_indicators, episodes, causes, reading, seconds, planning_seconds,
           prompt_tokens, completion_tokens, cached_tokens, role_usage, plan_summary, record_digest
    FROM jsonb_to_recordset(%(rows)s) AS given (
        place integer, key text, outcome text, reason text, reason_text text, score float8, sample_scores float8[],
        indicators jsonb, sample_indicators jsonb, episodes jsonb, causes jsonb, reading jsonb,
        seconds float8, planning_seconds float8, prompt_tokens integer, completion_tokens integer,
        cached_tokens integer, role_usage jsonb, plan_summary text, record_digest text
    )
    JOIN catalog_task task ON task.suite_id = %(suite)s AND task.key = given.key
    ORDER BY place
    ON CONFLICT (evaluation_id, task_id) DO NOTHING RETURNING task_id
)
SELECT key FROM new JOIN catalog_task task ON task.id = new.task_id
"""


def _insert(
    *, attempt: Attempt, evaluation: Evaluation, records: Sequence[ResultRecord], digests: dict[str, str]
) -> list[ResultRecord]:
    """Insert rows for tasks without one, in this order, and return their records. A constraint of the table ensures
    that the first result of a task is never replaced."""
    causes = find_causes_of(evaluation=evaluation, records=records)
    rows = [
        {
            "place": place,
            "key": record.task,
            "outcome": record.outcome,
            "reason": record.reason or "",
            "reason_text": keepable_text(record.reason_text),
            "score": record.score,
            "sample_scores": list(scores_of_samples(record)),
            "indicators": record.indicators,
            "sample_indicators": indicators_of_samples(record),
            "episodes": episodes_of(record),
            "causes": findings,
            "reading": keys_of(record.tolerated),
            "seconds": seconds_of(record),
            **usage_fields(record.planner),
            "role_usage": role_usage(record.planner),
            "plan_summary": plan_summary(record),
            "record_digest": digests[record.task],
        }
        for place, (record, findings) in enumerate(zip(records, causes, strict=True))
    ]
    parameters: dict[str, Any] = {
        "evaluation": evaluation.pk, "attempt": attempt.pk, "suite": evaluation.suite_id, "rows": Jsonb(rows),
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, parameters)
        new = {key for (key,) in cursor.fetchall()}
    return [record for record in records if record.task in new]


def without_secrets(*, record: ResultRecord, headers: Sequence[SecretHeader]) -> ResultRecord:
    """The record without the secret headers of its planner, in case the worker has not removed them."""
    if not headers:
        return record
    original: JsonValue = record.model_dump(mode="json")
    redacted = original
    for header in headers:
        redacted = header.taken_out_of_json(redacted)
    return record if redacted == original else ResultRecord.model_validate(redacted)


def without_addresses(*, record: ResultRecord, addresses: Sequence[str]) -> ResultRecord:
    """The record without the planner's addresses in its reason: records are public, addresses are not."""
    text = Redactor(addresses=addresses).without_addresses(record.reason_text)
    return record if text == record.reason_text else record.model_copy(update={"reason_text": text})


_LARGEST = 20_000
_MOST_WORKERS = 50


def arbiter_of(evaluation_id: str) -> str:
    """Name and revision of the arbiter that settled undecided pairs of an evaluation; empty without one."""
    provenance = Evaluation.runs.filter(pk=evaluation_id).values_list("provenance", flat=True).first() or {}
    for worker in provenance.get("workers", ()):
        arbiter = worker.get("arbiter") if isinstance(worker, dict) else None
        if isinstance(arbiter, dict) and arbiter.get("name"):
            return arbiter_words(arbiter)
    return ""


def note_worker_of(*, evaluation: Evaluation, provenance: dict[str, Any]) -> None:
    """Add a worker's code, packages and device to its locked evaluation, unless an equal worker is already there.

    Provenance that is too large, cannot be stored, or exceeds the maximum number of workers is dropped, because it must
    not cost a result.
    """
    if not provenance or unkeepable(provenance) or len(canonical_json.dumps(provenance)) > _LARGEST:
        return
    workers = evaluation.provenance.setdefault("workers", [])
    if provenance not in workers and len(workers) < _MOST_WORKERS:
        workers.append(provenance)
        evaluation.save(update_fields=["provenance"])
