"""Why tasks are below the gold score: found for records, kept in rows, counted for filters and shown as far as a reader
may know it.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from leaderboard.evaluations.gold import Withheld
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.platform.lru_cache import SharedCache

GOLD = "gold"
"""The bundled planner whose scores are the gold scores."""
LONGEST_TEXT = 200
"""Characters kept of each text of a finding."""
Kept = list[dict[str, JsonValue]]
"""The findings of a task as its row keeps them."""
_OF_THE_PLAN = frozenset(
    {
        Cause.MISSING_STEP, Cause.EXTRA_STEP, Cause.WRONG_TOOL, Cause.WRONG_INPUT, Cause.WRONG_ORDER,
        Cause.TYPE_CONFLICT, Cause.WRONG_LITERAL, Cause.WRONG_ANSWERS, Cause.INVENTED_TOOL, Cause.INVENTED_RESOURCE,
        Cause.INVALID,
    }
)  # fmt: skip
"""Causes whose findings quote nothing but the plan. Others may quote an answer, a reply or data."""
_log = logging.getLogger(__name__)


class OtherSuiteError(Exception):
    """This release does not have the suite that the evaluation was made on."""


def find_causes_of(*, evaluation: Evaluation, records: Sequence[ResultRecord]) -> list[Kept | None]:
    """The findings of records of an evaluation, in their order; None, and an entry in the log, where there are none.
    None, too, for perturbed requests.

    Never raises for what a record says: a result counts whether or not its causes are known.
    """
    if evaluation.perturbation:
        # What is right for a changed request may differ from what the suite knows.
        return [None] * len(records)
    explained = [causes_by_reason(record) for record in records]
    context: CauseContext | None = None
    if any(one is None for one in explained):
        try:
            context = _context(evaluation=evaluation, records=records)
        except (OtherSuiteError, NoSeedError) as error:
            _log.warning("no causes found: evaluation %s: %s", evaluation.pk, error)
        except Exception:  # noqa: BLE001 - as below
            _log.exception("no causes found: evaluation %s", evaluation.pk)
    found: list[Kept | None] = []
    for record, by_reason in zip(records, explained, strict=True):
        try:
            causes = causes_of(record, context=context) if by_reason is None and context is not None else by_reason
            found.append(None if causes is None else _kept(causes))
        except Exception:  # noqa: BLE001 - intake must not lose a result to a defect of a rule
            _log.exception("no causes found: evaluation %s, task %s", evaluation.pk, record.task)
            found.append(None)
    return found


def record_of_fault(*, task: Task, suite: str, outcome: Outcome, reason: Reason) -> ResultRecord:
    """The record of a task that the site ended itself, so that it has none in the store."""
    score = FAULT_SCORE if outcome is Outcome.PLANNER_FAULT else None
    return ResultRecord(
        suite=suite, task=task.key, request="", metric=task.metric, outcome=outcome, reason=reason, score=score
    )


def read_findings(kept: Sequence[Mapping[str, Any]] | None, *, withheld: Withheld) -> tuple[Finding, ...] | None:
    """The findings of a row as a reader may see them, the weightiest first; None if not found yet.

    Where the plan is withheld, only the causes are left. Where gold plans are, findings name nothing but the planner's
    own plan. Equal ones become one: their number would tell how many steps a gold plan has.
    """
    if kept is None:
        return None
    return tuple(dict.fromkeys(_shown(finding, withheld=withheld) for finding in _read(kept)))


def _context(*, evaluation: Evaluation, records: Sequence[ResultRecord]) -> CauseContext:
    """What is right on the evaluation's suite, with the gold scores of the records' tasks."""
    suite = _suite(evaluation)
    if not suite.conditions.experts:
        return CauseContext(suite=suite)
    if evaluation.submission.planner.bundled_name == GOLD:
        own = {record.task: record.score for record in records}
        return CauseContext(suite=suite, gold_scores={task: score for task, score in own.items() if score is not None})
    # One measured it on a self-hosted worker may be made up.
    same = beside(evaluation).filter(submission__planner__bundled_name=GOLD, own_worker_run=None)
    rows = TaskResult.objects.filter(
        evaluation__in=same, task__key__in=[record.task for record in records], outcome=Outcome.SCORED
    )
    found = rows.order_by("pk").values_list("task__key", "score")
    return CauseContext(suite=suite, gold_scores={task: score for task, score in found if score is not None})


def beside(evaluation: Evaluation) -> QuerySet[Evaluation]:
    """The evaluations with the conditions of this one, whose scores are about the same samples."""
    conditions = RunConditions.of(evaluation)._asdict()
    return Evaluation.objects.filter(suite=evaluation.suite, **conditions)


def _suite(evaluation: Evaluation) -> LibrarySuite:
    """The suite as the evaluation's planner was asked.

    Raises:
        OtherSuiteError: this release has another one of that name.
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


def _kept(findings: Iterable[Finding]) -> Kept:
    return [
        {name: keepable_text(str(text))[:LONGEST_TEXT] for name, text in finding.to_json().items()}
        for finding in findings
    ]


def _read(kept: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    """The findings that this release knows; others were written by another one."""
    for one in kept:
        try:
            yield Finding.from_json(one)
        except (ValueError, KeyError):
            continue


def _shown(finding: Finding, *, withheld: Withheld) -> Finding:
    if withheld.plan:
        return Finding(cause=finding.cause)
    shown = finding.without_reference() if withheld.gold else finding
    if withheld.data and finding.cause not in _OF_THE_PLAN:
        return replace(shown, wanted=None, given=None, where=None)
    return shown


NOT_FOUND = "not_found_yet"
"""Value of the filter `why` for tasks whose causes are not known."""
RAN = frozenset({Outcome.SCORED, Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT})
"""Outcomes that have causes; tasks that never ran have none."""
WHY = "Why below gold"
"""Label of the filter `why`."""
VALUES = (*Cause, NOT_FOUND)
"""Values of the filter, in the order in which they are listed."""
_PLACES: Mapping[str, int] = {str(value): place for place, value in enumerate(VALUES)}


class CauseBar(NamedTuple):
    """The tasks with one cause."""

    cause: str
    """The value of the filter `why`."""
    label: str
    definition: str
    tasks: int
    share: float
    """Of the tasks that ran, in (0, 1]."""

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
    """Those with a known cause; a task may have several."""
    at_gold: int
    """Those at the gold score."""
    unknown: int
    """Those whose causes are not found yet."""


def percent(share: float) -> str:
    """A share in whole per cent; a share that would round to zero reads as less than one."""
    return f"{100 * share:.0f}" if not 0 < share < 0.005 else "< 1"


def codes_of(kept: Sequence[Mapping[str, Any]] | None) -> tuple[str, ...] | None:
    """The causes of a row, each once, in the order in which they are listed; None if not found yet.

    Causes that this release does not know are left out: another one wrote them.
    """
    if kept is None:
        return None
    return ordered(str(one.get("cause")) for one in kept)


def ordered(codes: Iterable[str]) -> tuple[str, ...]:
    """Known causes, each once, in the order in which they are listed."""
    return tuple(sorted(set(codes) & _PLACES.keys(), key=_PLACES.__getitem__))


def why(*, kept: Sequence[Mapping[str, Any]] | None, outcome: str) -> tuple[str, ...]:
    """The values of the filter `why` of a row."""
    codes = codes_of(kept)
    if codes is not None:
        return codes
    return (NOT_FOUND,) if outcome in RAN else ()


def place_of_cause(value: str) -> int:
    """The place of a value of the filter `why`; what is no cause is last."""
    return _PLACES.get(value, len(_PLACES))


def words_of_cause(value: str) -> str:
    """A value of the filter `why` as people read it."""
    if value == NOT_FOUND:
        return "Not found yet"
    words = Cause(value).label if value in _PLACES else value
    return words[:1].upper() + words[1:]


def cause_bars(tasks: Iterable[tuple[str, tuple[str, ...]]]) -> CauseBars:
    """Count the causes of tasks.

    Args:
        tasks: of each its outcome, and its values of the filter `why`.
    """
    ran = [codes for outcome, codes in tasks if outcome in RAN]
    counts = Counter(code for codes in ran for code in codes)
    unknown = counts.pop(NOT_FOUND, 0)
    found = sorted(counts.items(), key=lambda pair: (-pair[1], place_of_cause(pair[0])))
    return CauseBars(
        bars=tuple(
            CauseBar(code, words_of_cause(code), Cause(code).definition, count, count / len(ran))
            for code, count in found
        ),
        ran=len(ran),
        below=sum(bool(codes) for codes in ran) - unknown,
        at_gold=sum(not codes for codes in ran),
        unknown=unknown,
    )
