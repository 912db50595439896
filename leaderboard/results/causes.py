"""Why tasks are below the gold score: found for a record, kept in its row, and shown as far as a reader may know it."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.canonical_json import JsonValue
from evaluator.causes.taxonomy import Cause, Finding
from evaluator.planners.storable import keepable_text
from evaluator.records import Outcome, Reason, ResultRecord
from leaderboard.catalog.models import Task
from leaderboard.evaluations.gold import Withheld
from leaderboard.results.cause_counts import place_of_cause

MOST_FINDINGS = 24
"""Findings kept of a task; a hostile plan may have thousands."""
LONGEST_TEXT = 160
"""Characters kept of each text of a finding."""
_OF_THE_PLAN = frozenset(
    {
        Cause.MISSING_STEP, Cause.EXTRA_STEP, Cause.WRONG_TOOL, Cause.WRONG_INPUT, Cause.WRONG_ORDER,
        Cause.TYPE_CONFLICT, Cause.WRONG_LITERAL, Cause.WRONG_ANSWERS, Cause.INVENTED_TOOL, Cause.INVENTED_RESOURCE,
        Cause.INVALID,
    }
)  # fmt: skip
"""Causes whose findings quote nothing but the plan. Others may quote an answer, a reply or data."""
_log = logging.getLogger(__name__)


def causes_of_record(record: ResultRecord) -> list[dict[str, JsonValue]] | None:
    """The findings of a record as its row keeps them; None, and an entry in the log, if they cannot be found.

    Never raises: a result counts whether or not its causes are known.
    """
    try:
        found = _findings(record)
        return [_storable(finding) for finding in found[:MOST_FINDINGS]]
    except Exception:  # noqa: BLE001 - intake must not lose a result to a defect of a rule
        _log.exception("no causes found: suite %s, task %s", record.suite, record.task)
        return None


def causes_of_fault(*, task: Task, outcome: Outcome, reason: Reason | None) -> list[dict[str, JsonValue]] | None:
    """The same for a task that the site ended itself, without a record; its suite is read with it."""
    score = 0.0 if outcome is Outcome.PLANNER_FAULT else None
    return causes_of_record(
        ResultRecord(
            suite=task.suite.slug,
            task=task.key,
            request="",
            metric=task.metric,
            outcome=outcome,
            reason=reason,
            score=score,
        )
    )


def read_findings(kept: Sequence[Mapping[str, Any]] | None, *, withheld: Withheld) -> tuple[Finding, ...] | None:
    """The findings of a row as a reader may see them, in the order in which causes are listed; None if not found yet.

    Where the plan is withheld, only the causes are left. Where gold plans are, findings name nothing but the planner's
    own plan. Equal ones become one: their number would tell how many steps a gold plan has.
    """
    if kept is None:
        return None
    found = (_shown(finding, withheld=withheld) for finding in _read(kept))
    return tuple(sorted(dict.fromkeys(found), key=lambda finding: place_of_cause(finding.cause)))


def _findings(record: ResultRecord) -> Sequence[Finding]:
    raise NotImplementedError(record.task)


def _storable(finding: Finding) -> dict[str, JsonValue]:
    """The finding with texts that a row can keep."""
    return {name: _cut(keepable_text(str(text))) for name, text in finding.to_json().items()}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


def _read(kept: Iterable[Mapping[str, Any]]) -> Iterable[Finding]:
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
