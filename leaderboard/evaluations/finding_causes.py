"""Causes of scores below the gold score: found from records by the evaluation's suite, and stored in rows."""

import logging
from collections.abc import Sequence
from functools import partial

from django.db.models import QuerySet

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import FAULT_SCORE, Outcome, Reason, ResultRecord
from evaluator.core.storable import keepable_text
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.hidden import HIDDEN, suite_on_split
from evaluator.core.suites.registry import suite_with_digest
from evaluator.scoring.causes.of_records import CauseContext, causes_by_reason, causes_of
from evaluator.scoring.metrics.aggregate import TaskScore
from leaderboard.catalog.hidden_data import NoSeedError, hidden_seed_of, seed_of
from leaderboard.catalog.library import RunConditions
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.platform.lru_cache import SharedCache

GOLD = "gold"
"""The bundled planner whose scores are the gold scores."""
LONGEST_TEXT = 200
"""Maximum length of each text of a stored finding."""
StoredFindings = list[dict[str, JsonValue]]
"""The findings of a task in its row."""
_log = logging.getLogger(__name__)


class OtherSuiteError(Exception):
    """This release does not have the evaluation's version of the suite."""


def find_causes_of(*, evaluation: Evaluation, records: Sequence[ResultRecord]) -> list[StoredFindings | None]:
    """The findings of records of an evaluation, in order; None for perturbed requests and, with a log entry, on errors.

    Never raises because of a record's contents: a result counts whether or not its causes are known.
    """
    if evaluation.perturbation:
        # The suite does not know the right plan of a changed request.
        return [None] * len(records)
    explained = [causes_by_reason(record) for record in records]
    context: CauseContext | None = None
    if None in explained:
        try:
            context = _context(evaluation=evaluation, records=records)
        except (OtherSuiteError, NoSeedError) as error:
            _log.warning("no causes found: evaluation %s: %s", evaluation.pk, error)
        except Exception:  # noqa: BLE001 - as below
            _log.exception("no causes found: evaluation %s", evaluation.pk)
    stored: list[StoredFindings | None] = []
    for record, by_reason in zip(records, explained, strict=True):
        try:
            causes = causes_of(record, context=context) if by_reason is None and context is not None else by_reason
            findings: StoredFindings | None = (
                None
                if causes is None
                else [
                    {name: keepable_text(str(text))[:LONGEST_TEXT] for name, text in finding.to_json().items()}
                    for finding in causes
                ]
            )
            stored.append(findings)
        except Exception:  # noqa: BLE001 - intake must not lose a result to a defect of a rule
            _log.exception("no causes found: evaluation %s, task %s", evaluation.pk, record.task)
            stored.append(None)
    return stored


def record_of_fault(*, task: Task, suite: str, outcome: Outcome, reason: Reason) -> ResultRecord:
    """The record of a task that the site ended itself; the store has none."""
    score = FAULT_SCORE if outcome is Outcome.PLANNER_FAULT else None
    return ResultRecord(
        suite=suite, task=task.key, request="", metric=task.metric, outcome=outcome, reason=reason, score=score
    )


def _context(*, evaluation: Evaluation, records: Sequence[ResultRecord]) -> CauseContext:
    """The evaluation's suite with the gold scores of the records' tasks."""
    suite = _suite(evaluation)
    if not suite.conditions.experts:
        return CauseContext(suite=suite)
    if evaluation.submission.planner.bundled_name == GOLD:
        own = {record.task: record.score for record in records}
        return CauseContext(suite=suite, gold_scores={task: score for task, score in own.items() if score is not None})
    rows = _of_gold(evaluation).filter(task__key__in=[record.task for record in records])
    scores = rows.order_by("pk").values_list("task__key", "score")
    return CauseContext(suite=suite, gold_scores={task: score for task, score in scores if score is not None})


def gold_results(evaluation: Evaluation) -> dict[str, TaskScore]:
    """The results of the gold plans under the conditions of an evaluation, by task; empty if plans are judged or the
    requests are perturbed."""
    if not evaluation.suite.runs_experts or evaluation.perturbation:
        return {}
    columns = "task__key", "task__metric", "score", "sample_scores"
    return {
        key: TaskScore(task=key, metric=metric, outcome=Outcome.SCORED, score=score, samples=tuple(samples))
        for key, metric, score, samples in _of_gold(evaluation).order_by("pk").values_list(*columns)
    }


def _of_gold(evaluation: Evaluation) -> QuerySet[TaskResult]:
    # Results of self-hosted workers may be made up.
    same = beside(evaluation).filter(submission__planner__bundled_name=GOLD, own_worker_run=None)
    return TaskResult.objects.filter(evaluation__in=same, outcome=Outcome.SCORED)


def beside(evaluation: Evaluation) -> QuerySet[Evaluation]:
    """The evaluations under the conditions of this one, and thus on the same samples."""
    conditions = RunConditions.of(evaluation)._asdict()
    if evaluation.state != EvaluationState.COMPLETED:
        # Not known yet.
        del conditions["device_class"]
    return Evaluation.objects.filter(suite=evaluation.suite, **conditions)


def _suite(evaluation: Evaluation) -> LibrarySuite:
    """The library's suite with the requests of the evaluation's split.

    Raises:
        OtherSuiteError: this release has another version of the suite.
        NoSeedError: the seed of its hidden data is not known.
    """
    try:
        suite = suite_with_digest(evaluation.suite.slug, evaluation.suite.digest)
    except LookupError as error:
        raise OtherSuiteError(str(error)) from error
    if evaluation.split != HIDDEN:
        return suite
    return _hidden.get_or_make((suite.digest, seed_of(evaluation)), partial(_hidden_suite, suite, evaluation))


def _hidden_suite(suite: LibrarySuite, evaluation: Evaluation) -> LibrarySuite:
    hidden = hidden_seed_of(evaluation)
    return suite_on_split(suite=suite, split=HIDDEN, hidden_seed=hidden.secret, sealed=hidden.sealed)


_hidden: SharedCache[tuple[str, str], LibrarySuite] = SharedCache(maxsize=4)
"""Suites with hidden requests."""
