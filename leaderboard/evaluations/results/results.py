"""Taking in what workers measured: records into the store, one slim row per task into the database, provenance and
usage into the evaluation.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, inf
from typing import Annotated, Any, Protocol
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb
from pydantic import BaseModel, Field, ValidationError

from evaluator.core import canonical_json
from evaluator.core.records import Outcome, PlannerCall, ResultRecord
from evaluator.core.storable import keepable_text, unkeepable
from evaluator.core.suites.base import Column
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import summary_of
from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import Store
from evaluator.network.secret_header import SecretHeader
from evaluator.scoring.metrics.aggregate import indicators_of_samples, scores_of_samples
from gpu_jobs.redaction import Redactor
from leaderboard.catalog.hidden_data import seeds_to_hide
from leaderboard.catalog.models import Suite
from leaderboard.evaluations import deadlines
from leaderboard.evaluations.causes import find_causes_of
from leaderboard.evaluations.models import Attempt, Evaluation
from leaderboard.evaluations.results.figures import mark_columns
from leaderboard.evaluations.states import NewResult, announce, note_progress
from leaderboard.planners.secret_headers import header_to_hide
from leaderboard.platform.hooks import Hook
from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.platform.secret_keys import known_secrets

_MOST_TOKENS = 2**31 - 1
"""What the column holds."""


class TaskUsage(Protocol):
    """What one task took; None where it is not known. `TaskResult` is one."""

    planning_seconds: float | None
    prompt_tokens: int | None
    completion_tokens: int | None


def usage_fields(call: PlannerCall | None) -> dict[str, Any]:
    """The fields of a task's row, from how its planner was asked; none are known if it was not."""
    if call is None:
        return {}
    return {
        "planning_seconds": call.seconds,
        "prompt_tokens": _counted(call.prompt_tokens),
        "completion_tokens": _counted(call.completion_tokens),
    }


def _counted(tokens: int | None) -> int | None:
    """The number that a planner told, if it can be one: it is the planner's word, and must not cost a result."""
    return tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None


def usage_of(results: Iterable[TaskUsage]) -> dict[str, Any]:
    """Means per task, each over the tasks that it is known of: `{"seconds": {"mean", "tasks"}, "prompt_tokens": ...,
    "completion_tokens": ...}`. What no task tells is left out."""
    found = list(results)
    means = {
        "seconds": _mean([one.planning_seconds for one in found]),
        "prompt_tokens": _mean([one.prompt_tokens for one in found]),
        "completion_tokens": _mean([one.completion_tokens for one in found]),
    }
    return {name: mean for name, mean in means.items() if mean is not None}


def _mean(values: Sequence[float | None]) -> dict[str, float] | None:
    known = [value for value in values if value is not None]
    return {"mean": sum(known) / len(known), "tasks": len(known)} if known else None


_MOST_SECONDS = 10_000_000
_LARGEST_RECORD = 8 * 1024 * 1024
"""Bytes. Of an answer of 1 MiB and eight samples of a hundred steps each there are less than three million."""
_MOST_INDICATORS = 30
_MOST_LABELS, _LONGEST_LABEL = 64, 80
_MOST_STEPS = 1000
"""More than any parser lets pass."""
_SAME_SCORE = 1e-9
"""Sums of the same numbers in another order lie closer."""
_FROM_WORKERS = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})

taken_in: Hook[Sequence[ResultRecord]] = Hook()
"""Called with the records that were new, at the end of the transaction that takes them in."""


class _Step(BaseModel):
    """What pages rely on of a plan's step."""

    id: str
    tool: str
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {}


class _Plan(BaseModel):
    """What pages rely on of a plan."""

    steps: Annotated[list[_Step], Field(max_length=_MOST_STEPS)]
    answers: Annotated[list[str], Field(max_length=_MOST_STEPS)]
    subgoals: list[str] | None = None


class RecordsRefusedError(FieldErrors):
    """Records that do not fit the attempt; nothing was changed. `problems` has a sentence for each, by task."""

    def __init__(self, problems: dict[str, str]) -> None:
        self.problems = problems
        super().__init__({"results": [f"task {task}: {problem}" for task, problem in problems.items()]})


class ObjectsMissingError(ProblemError):
    """Records name artefacts that the store does not have: they are to be sent first. Nothing was changed."""

    code = "objects_missing"

    def __init__(self, digests: list[str]) -> None:
        self.digests = digests
        super().__init__(f"{len(digests)} artefacts are not in the store; send them before the results")

    def facts(self) -> dict[str, Any]:
        return {"missing": self.digests}


def count_steps_of(*, attempt: Attempt, records: Sequence[ResultRecord]) -> None:
    """Count the steps of records, but of own workers none: each name that they make up would be a metric for ever."""
    if not attempt.is_by_own_worker:
        taken_in.call(records)


def take_in(
    *, attempt: Attempt, records: Sequence[ResultRecord], store: Store, credential: str = "", is_last: bool = False
) -> list[ResultRecord]:
    """`deliver` for an attempt that came from `locked_attempt`, without counting the steps of the records that were
    new: these are returned.

    Args:
        attempt: whose results they are.
        records: the results.
        store: has their artefacts.
        credential: the attempt's, which must be in no record.
        is_last: whether the attempt ends with them, so that its deadline for progress means nothing any more, and what
            ends it tells those who listen.

    Raises:
        RecordsRefusedError: a record is not of this attempt's tasks or contradicts itself.
        ObjectsMissingError: an artefact is missing.
    """
    shard = attempt.shard
    evaluation = shard.evaluation
    url = evaluation.submission.planner.endpoint_url
    header = header_to_hide(evaluation.submission.planner)
    # Its worker has done so, too; a model that reached the site's own secrets would tell them in a plan.
    redactor = Redactor(secrets=[*known_secrets(), *seeds_to_hide(evaluation), credential])
    records = [without_secret(record=redactor.in_record(record), header=header) for record in records]
    records = [without_address(record=record, url=url) for record in records]
    _check(records=records, evaluation=evaluation, tasks=frozenset(shard.task_keys))
    _refuse_missing_objects(records=records, store=store)
    kept = store.put_all([_artefact(record) for record in records])
    digests = dict(zip((record.task for record in records), kept, strict=True))
    new = _insert(attempt=attempt, evaluation=evaluation, records=records, digests=digests)
    if new and not is_last:
        deadlines.note_result(attempt)
        note_new_results(evaluation_id=evaluation.pk, records=new)
    return new


def note_new_results(*, evaluation_id: UUID, records: Sequence[ResultRecord]) -> None:
    """Give the evaluation its full time again, and tell those who listen about its new results."""
    if records:
        note_progress(evaluation_id)
        announce(evaluation_id=evaluation_id, results=new_results(records))


def new_results(records: Sequence[ResultRecord]) -> list[NewResult]:
    """New results as events tell them."""
    return [NewResult(task=record.task, outcome=record.outcome, score=record.score) for record in records]


def _check(*, records: Sequence[ResultRecord], evaluation: Evaluation, tasks: frozenset[str]) -> None:
    suite = evaluation.suite
    problems: dict[str, str] = {}
    seen: set[str] = set()
    for record in records:
        measured = record.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}
        if record.suite != suite.slug:
            problems[record.task] = f"the record is of suite {record.suite!r}, the attempt of {suite.slug!r}"
        elif record.task not in tasks:
            problems[record.task] = "is not one of the attempt's tasks"
        elif record.task in seen:
            problems[record.task] = "comes twice in one delivery"
        elif record.outcome not in _FROM_WORKERS:
            problems[record.task] = f"outcome {record.outcome} cannot come from a worker"
        elif measured != (record.score is not None):
            wanted = "needs a score" if measured else "must not have a score"
            problems[record.task] = f"outcome {record.outcome} {wanted}"
        elif record.outcome is not Outcome.SCORED and record.reason is None:
            problems[record.task] = f"outcome {record.outcome} needs a reason"
        elif (
            problem := _problem_of_figures(record=record, suite=suite)
            or _problem_of_shape(record, evaluation)
            or _problem_of_samples(record)
        ):
            problems[record.task] = problem
        seen.add(record.task)
    if problems:
        raise RecordsRefusedError(problems)


def _problem_of_figures(*, record: ResultRecord, suite: Suite) -> str:
    """What no measurement gives, as a sentence: one such figure would outweigh all others in a mean."""
    further = [answer.score for sample in record.samples for answer in sample.further]
    for score in (record.score, *(sample.score for sample in record.samples), *further):
        if score is not None and not -1 <= score <= 1:
            return f"a score is {score}; scores are in [-1, 1]"
    if problem := _problem_of_usage(record):
        return problem
    if record.outcome is not Outcome.SCORED:
        return ""
    marks = mark_columns(suite.columns)
    wrong = [one.key for one in marks if not 0 <= record.indicators.get(one.key, -1) <= 1]
    if wrong:
        return f"a judged plan needs {', '.join(wrong)} in [0, 1]"
    return _problem_of_indicators(record=record, columns=suite.columns)


def _problem_of_indicators(*, record: ResultRecord, columns: Sequence[Column]) -> str:
    """Which indicator no measurement gives, as a sentence."""
    for column in columns:
        value = record.indicators.get(column.key) if column.indicator else None
        if value is None:
            continue
        by_sample = indicators_of_samples(record).get(column.key, [])
        high = inf if column.high is None else column.high
        if wrong := [one for one in (value, *by_sample) if not column.low <= one <= high]:
            return f"its {column.key} is {wrong[0]}; it is from {column.low:g} to {high:g}"
        if by_sample and abs(fsum(by_sample) / len(by_sample) - value) > _SAME_SCORE:
            return f"its {column.key} is {value}, which is not the mean of its samples"
        if column.undecided and value > 0 and record.indicators.get(column.undecided, 0.0) > 0:
            return f"its {column.key} is {value}, although it is {column.undecided}: it counts 0 then"
    return ""


def _problem_of_samples(record: ResultRecord) -> str:
    """Why the samples do not add up to the score, as a sentence: boards compute means and intervals from the samples,
    and compare those with the same number."""
    if record.outcome is not Outcome.SCORED:
        return ""
    if sorted(sample.index for sample in record.samples) != list(range(len(record.samples))):
        return "its samples are not numbered from 0, each once"
    scores = scores_of_samples(record)
    mean = fsum(scores) / len(scores) if scores else record.score
    if record.score is None or mean is None or abs(mean - record.score) > _SAME_SCORE:
        return f"its score is {record.score}; the mean of its samples is {mean}"
    return ""


def _problem_of_shape(record: ResultRecord, evaluation: Evaluation) -> str:
    """What no evaluator makes, and the pages could not show, as a sentence."""
    if record.plan is not None:
        try:
            _Plan.model_validate(record.plan)
        except ValidationError as error:
            first = error.errors()[0]
            return f"`plan` is no plan/1: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    if len(record.indicators) > _MOST_INDICATORS or any(len(name) > 40 for name in record.indicators):
        return f"it has more than {_MOST_INDICATORS} indicators, or one with a name of more than 40 characters"
    if len(record.samples) > evaluation.samples:
        return f"it has {len(record.samples)} samples; the evaluation has {evaluation.samples}"
    if any(len(sample.steps) > _MOST_STEPS for sample in record.samples):
        return f"a sample has more than {_MOST_STEPS} steps"
    return ""


def _problem_of_usage(record: ResultRecord) -> str:
    """What nothing can take, as a sentence."""
    steps = [step.seconds for sample in record.samples for step in sample.steps]
    for seconds in [*steps, record.planner.seconds if record.planner else 0.0]:
        if not 0 <= seconds <= _MOST_SECONDS:
            return f"something took {seconds} seconds; these are from 0 to {_MOST_SECONDS}"
    return ""


def _refuse_missing_objects(*, records: Sequence[ResultRecord], store: Store) -> None:
    digests = {artefact.digest for record in records for artefact in record.artefacts()}
    if missing := store.lacking(sorted(digests)):
        raise ObjectsMissingError(missing)


def _artefact(record: ResultRecord) -> Artefact:
    try:
        data = canonical_json.dumps(record.model_dump(mode="json")).encode()
    except ValueError as error:
        raise RecordsRefusedError({record.task: f"holds a number or text that cannot be kept ({error})"}) from error
    if len(data) > _LARGEST_RECORD:
        raise RecordsRefusedError({record.task: f"has {len(data)} bytes; a record has at most {_LARGEST_RECORD}"})
    return Artefact(data=data, media_type=MediaType.TEXT)


_INSERT = """
WITH new AS (
    INSERT INTO evaluations_taskresult (
        evaluation_id, attempt_id, task_id, accepted, updated, outcome, reason, reason_text, score, sample_scores,
        indicators, sample_indicators, episodes, causes, seconds, planning_seconds, prompt_tokens, completion_tokens,
        plan_summary, record_digest
    )
    SELECT %(evaluation)s, %(attempt)s, task.id, false, STATEMENT_TIMESTAMP(), outcome, reason, reason_text, score,
           sample_scores, indicators, sample_indicators, episodes, causes, seconds, planning_seconds, prompt_tokens,
           completion_tokens, plan_summary, record_digest
    FROM jsonb_to_recordset(%(rows)s) AS given (
        place integer, key text, outcome text, reason text, reason_text text, score float8, sample_scores float8[],
        indicators jsonb, sample_indicators jsonb, episodes jsonb, causes jsonb, seconds float8,
        planning_seconds float8, prompt_tokens integer, completion_tokens integer, plan_summary text,
        record_digest text
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
    """Insert the rows of tasks that have none, in this order, and return their records. The first result of a task
    stays: a constraint of the table sees to that, whoever inserts meanwhile."""
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
            "causes": found,
            "seconds": _seconds(record),
            **usage_fields(record.planner),
            "plan_summary": plan_summary(record),
            "record_digest": digests[record.task],
        }
        for place, (record, found) in enumerate(zip(records, causes, strict=True))
    ]
    given: dict[str, Any] = {"evaluation": evaluation.pk, "attempt": attempt.pk, "suite": evaluation.suite_id}
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, given | {"rows": Jsonb(rows)})
        new = {key for (key,) in cursor.fetchall()}
    return [record for record in records if record.task in new]


def without_secret(*, record: ResultRecord, header: SecretHeader | None) -> ResultRecord:
    """The record without the secret header of its planner, which its worker should have taken out already."""
    if header is None:
        return record
    told = record.model_dump(mode="json")
    hidden = header.taken_out_of_json(told)
    return record if hidden == told else ResultRecord.model_validate(hidden)


def without_address(*, record: ResultRecord, url: str) -> ResultRecord:
    """The record without the planner's address in its sentence: records are public, addresses are their owner's."""
    text = Redactor(addresses=[url]).without_addresses(record.reason_text)
    return record if text == record.reason_text else record.model_copy(update={"reason_text": text})


def plan_summary(record: ResultRecord) -> str:
    """Tool names of the parsed plan in order, for tables; cut at 400 characters."""
    steps = record.plan.get("steps") if isinstance(record.plan, dict) else None
    listed = steps if isinstance(steps, list) else []
    names = [str(step.get("tool", "?")) for step in listed if isinstance(step, dict)]
    text = keepable_text(" → ".join(names))
    return text if len(text) <= 400 else text[:399] + "…"


def episodes_of(record: ResultRecord) -> dict[str, Any]:
    """How the episodes of a record went, for its row; empty where it has none."""
    found = summary_of(record.transcripts)
    if found is None:
        return {}
    cleaned = [one.model_copy(update={"tool": keepable_text(one.tool)}) for one in found.problems]
    return found.model_copy(update={"problems": cleaned, "labels": _labels(record)}).model_dump(mode="json")


def _labels(record: ResultRecord) -> dict[str, list[str]]:
    try:
        made = suite_of(record.suite).labels
    except LookupError:
        return {}
    found = {} if made is None else made(record)
    return {name: [keepable_text(value)[:_LONGEST_LABEL] for value in found[name][:_MOST_LABELS]] for name in found}


def _seconds(record: ResultRecord) -> float:
    planning = record.planner.seconds if record.planner else 0.0
    return planning + sum(step.seconds for sample in record.samples for step in sample.steps)


_LARGEST = 20_000
_MOST_WORKERS = 50


def arbiter_of(evaluation_id: str) -> str:
    """Name and revision of the arbiter that settled undecided pairs of an evaluation; empty if there was none."""
    found = Evaluation.runs.filter(pk=evaluation_id).values_list("provenance", flat=True).first() or {}
    for worker in found.get("workers", ()):
        told = worker.get("arbiter") if isinstance(worker, dict) else None
        if isinstance(told, dict) and told.get("name"):
            return arbiter_words(told)
    return ""


def arbiter_words(identity: Mapping[str, Any]) -> str:
    """An arbiter as pages name it: with its commit, the digest of its weights, or the version of its prompt."""
    pinned = identity.get("revision") or identity.get("weights")
    detail = str(pinned)[:12] if pinned else str(identity.get("prompt") or "")
    return f"{identity.get('name', 'an arbiter')}{f' ({detail})' if detail else ''}"


def note_worker_of(*, evaluation: Evaluation, provenance: dict[str, Any]) -> None:
    """Add what a worker says of itself (code, packages, device) to its evaluation, which is locked, once for all equal
    workers.

    A record that is too large or cannot be kept, or one of too many, is left out: provenance must not stop a result.
    """
    if not provenance or unkeepable(provenance) or len(canonical_json.dumps(provenance)) > _LARGEST:
        return
    workers = evaluation.provenance.setdefault("workers", [])
    if provenance not in workers and len(workers) < _MOST_WORKERS:
        workers.append(provenance)
        evaluation.save(update_fields=["provenance"])
