"""Causes of scores below the gold score: found from records, stored in rows, counted for filters, and restricted to
what a reader may see.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from django.db.models import QuerySet

from evaluator.core.canonical_json import JsonValue
from evaluator.core.records import FAULT_SCORE, Outcome, Reason, ResultRecord
from evaluator.core.storable import keepable_text
from evaluator.core.suites.base import Suite as LibrarySuite
from evaluator.core.suites.hidden import HIDDEN, suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.scoring.causes.of_records import CauseContext, causes_by_reason, causes_of
from evaluator.scoring.causes.taxonomy import Cause, Finding
from leaderboard.catalog.hidden_data import NoSeedError, seed_of
from leaderboard.catalog.library import RunConditions
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.visibility import Withheld
from leaderboard.platform.lru_cache import SharedCache

GOLD = "gold"
"""The bundled planner whose scores are the gold scores."""
LONGEST_TEXT = 200
"""Maximum length of each text of a stored finding."""
StoredFindings = list[dict[str, JsonValue]]
"""The findings of a task in its row."""
_OF_THE_PLAN = frozenset(
    {
        Cause.MISSING_STEP, Cause.EXTRA_STEP, Cause.WRONG_TOOL, Cause.WRONG_INPUT, Cause.WRONG_ORDER,
        Cause.TYPE_CONFLICT, Cause.WRONG_LITERAL, Cause.WRONG_ANSWERS, Cause.INVENTED_TOOL, Cause.INVENTED_RESOURCE,
        Cause.INVALID,
    }
)  # fmt: skip
"""Causes whose findings quote only the plan. Others may quote an answer, a reply or data."""
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


def read_findings(stored: Sequence[Mapping[str, Any]] | None, *, withheld: Withheld) -> tuple[Finding, ...] | None:
    """The findings of a row that a reader may see, most important first; None if they are not known yet.

    If the plan is withheld, only the causes remain. If gold plans are, findings quote only the planner's own plan.
    Duplicates are dropped, because their number would reveal how many steps a gold plan has.
    """
    if stored is None:
        return None
    visible: dict[Finding, None] = {}
    for item in stored:
        try:
            finding = Finding.from_json(item)
        except (ValueError, KeyError):
            # Written by another release.
            continue
        if withheld.plan:
            finding = Finding(cause=finding.cause)
        elif withheld.gold:
            finding = finding.without_reference()
        if not withheld.plan and withheld.data and finding.cause not in _OF_THE_PLAN:
            finding = replace(finding, wanted=None, given=None, where=None)
        visible[finding] = None
    return tuple(visible)


def _context(*, evaluation: Evaluation, records: Sequence[ResultRecord]) -> CauseContext:
    """The evaluation's suite with the gold scores of the records' tasks."""
    suite = _suite(evaluation)
    if not suite.conditions.experts:
        return CauseContext(suite=suite)
    if evaluation.submission.planner.bundled_name == GOLD:
        own = {record.task: record.score for record in records}
        return CauseContext(suite=suite, gold_scores={task: score for task, score in own.items() if score is not None})
    # Results of self-hosted workers may be made up.
    same = beside(evaluation).filter(submission__planner__bundled_name=GOLD, own_worker_run=None)
    rows = TaskResult.objects.filter(
        evaluation__in=same, task__key__in=[record.task for record in records], outcome=Outcome.SCORED
    )
    scores = rows.order_by("pk").values_list("task__key", "score")
    return CauseContext(suite=suite, gold_scores={task: score for task, score in scores if score is not None})


def beside(evaluation: Evaluation) -> QuerySet[Evaluation]:
    """The evaluations under the conditions of this one, and thus on the same samples."""
    conditions = RunConditions.of(evaluation)._asdict()
    return Evaluation.objects.filter(suite=evaluation.suite, **conditions)


def _suite(evaluation: Evaluation) -> LibrarySuite:
    """The library's suite with the requests of the evaluation's split.

    Raises:
        OtherSuiteError: this release has another version of the suite.
        NoSeedError: the seed of its hidden data is not known.
    """
    try:
        suite = suite_of(evaluation.suite.slug)
    except LookupError as error:
        raise OtherSuiteError(str(error)) from error
    if suite.digest != evaluation.suite.digest:
        raise OtherSuiteError(f"{suite.slug} {evaluation.suite.version} is not the one of this release")
    if evaluation.split != HIDDEN:
        return suite
    seed = seed_of(evaluation)
    make = partial(suite_on_split, suite=suite, split=HIDDEN, hidden_seed=seed)
    return _hidden.get_or_make((suite.digest, seed), make)


_hidden: SharedCache[tuple[str, str], LibrarySuite] = SharedCache(maxsize=4)
"""Suites with hidden requests."""


NOT_FOUND = "not_found_yet"
"""Value of the filter `why` for tasks whose causes are not known."""
RAN = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
"""Outcomes with causes; tasks that never ran have none."""
WHY = "Why below gold"
"""Label of the filter `why`."""
VALUES = (*Cause, NOT_FOUND)
"""Values of the filter in display order."""
_PLACES: Mapping[str, int] = {str(value): place for place, value in enumerate(VALUES)}


class CauseBar(NamedTuple):
    """The tasks with one cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    tasks: int
    share: float
    """Share of the tasks that ran, in (0, 1]."""

    @property
    def percent(self) -> str:
        """The share in whole per cent."""
        return percent(self.share)


class CauseBars(NamedTuple):
    """The causes of an evaluation's tasks, the most frequent first."""

    bars: tuple[CauseBar, ...]
    ran: int
    """Tasks that ran."""
    below: int
    """Tasks with a known cause; a task may have several."""
    at_gold: int
    """Tasks at the gold score."""
    unknown: int
    """Tasks whose causes are not known yet."""


def percent(share: float) -> str:
    """A share as a percentage without decimals; "< 1" if it would round to zero."""
    return f"{100 * share:.0f}" if not 0 < share < 0.005 else "< 1"


def ordered(codes: Iterable[str]) -> tuple[str, ...]:
    """The known causes among the codes, without duplicates, in display order."""
    return tuple(sorted(set(codes) & _PLACES.keys(), key=_PLACES.__getitem__))


def why(*, stored: Sequence[Mapping[str, Any]] | None, outcome: str) -> tuple[str, ...]:
    """The values of the filter `why` of a row, without causes that only other releases know."""
    if stored is not None:
        return ordered(str(item.get("cause")) for item in stored)
    return (NOT_FOUND,) if outcome in RAN else ()


def place_of_cause(value: str) -> int:
    """The position of a value of the filter `why`; unknown values are last."""
    return _PLACES.get(value, len(_PLACES))


def words_of_cause(value: str) -> str:
    """The label of a value of the filter `why`."""
    if value == NOT_FOUND:
        return "Not found yet"
    words = Cause(value).label if value in _PLACES else value
    return words[:1].upper() + words[1:]


def cause_bars(tasks: Iterable[tuple[str, tuple[str, ...]]]) -> CauseBars:
    """Count the causes of tasks.

    Args:
        tasks: outcome of each task, and its values of the filter `why`.
    """
    ran = [codes for outcome, codes in tasks if outcome in RAN]
    counts = Counter(code for codes in ran for code in codes)
    unknown = counts.pop(NOT_FOUND, 0)
    most_frequent = sorted(counts.items(), key=lambda pair: (-pair[1], place_of_cause(pair[0])))
    return CauseBars(
        bars=tuple(
            CauseBar(code, words_of_cause(code), Cause(code).definition, count, count / len(ran))
            for code, count in most_frequent
        ),
        ran=len(ran),
        below=sum(bool(codes) for codes in ran) - unknown,
        at_gold=sum(not codes for codes in ran),
        unknown=unknown,
    )
