"""The versions of a planner over time on each board, and what each version changed.

A version is a planner with the name of a version that its submitter gave (`Submission.version`); its runs under the
conditions of one board form one point, as on the board (`policy.py`). Versions under different conditions are in
different histories and are never compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.conf import settings

from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.aggregate import interval_of_table
from evaluator.scoring.metrics.runs import RepeatedScores
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.anchors import GOLD
from leaderboard.boards.eligible import published
from leaderboard.boards.policy import BoardPolicy
from leaderboard.boards.rank_tests import SuiteRuns, Table, both_tables_of, mean_of
from leaderboard.boards.task_values import facts_of_suites
from leaderboard.boards.versions import Change, Ends, change_between
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Conditions, Evaluation, conditions_of_board
from leaderboard.platform.lru_cache import SharedCache

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Version(NamedTuple):
    """The completed runs of one version under the conditions of one board."""

    name: str
    """As its submitter named it; empty without a name."""
    runs: tuple[Evaluation, ...]
    """The latest first."""

    @property
    def latest(self) -> Evaluation:
        return self.runs[0]

    @property
    def counted(self) -> tuple[Evaluation, ...]:
        """The runs that its row on a board would show: the latest, or all, by the operator's policy."""
        return self.runs if BoardPolicy(settings.BOARD_POLICY) is BoardPolicy.MEAN else self.runs[:1]


Board = tuple[int, Conditions]
"""Primary key of the suite, and the conditions."""


class History(NamedTuple):
    """The versions of a planner on one board."""

    planner: int
    """Primary key."""
    suite: Suite
    conditions: Conditions
    versions: tuple[Version, ...]
    """In the order in which their last runs finished."""

    @property
    def board(self) -> Board:
        return self.suite.pk, self.conditions


def histories_of(evaluations: Iterable[Evaluation]) -> list[History]:
    """Group completed evaluations by planner and board.

    Args:
        evaluations: with their suites and submissions, in any order.

    Returns:
        By slug of the suite; of several histories of a suite, the one with the latest run first.
    """
    groups: dict[tuple[int, int, Conditions], dict[str, list[Evaluation]]] = {}
    for evaluation in sorted(evaluations, key=_when, reverse=True):
        key = evaluation.submission.planner_id, evaluation.suite_id, conditions_of_board(evaluation)
        groups.setdefault(key, {}).setdefault(evaluation.submission.version, []).append(evaluation)
    histories = []
    for (planner, _, conditions), by_name in groups.items():
        versions = [Version(name, tuple(runs)) for name, runs in by_name.items()]
        histories.append(History(planner, versions[0].latest.suite, conditions, tuple(reversed(versions))))
    # The groups of a suite are in the order of their latest runs, which a stable sort keeps.
    return sorted(histories, key=lambda history: history.suite.slug)


def _when(evaluation: Evaluation) -> tuple[datetime, UUID]:
    return evaluation.finished or _LONG_AGO, evaluation.pk


class Measured(NamedTuple):
    """A version's value in its board's primary metric, and what the version changed."""

    value: Mapping[str, Any] | None
    """From `undecided.ranged`; None if no task counts."""
    change: Change | None
    """Against the version before it; None for the first version."""


_Key = tuple[tuple[UUID, ...], tuple[UUID, ...], UUID | None]
"""The counted runs of a version, those of the version before it, and the run of `gold`."""
_measured: SharedCache[_Key, Measured] = SharedCache(maxsize=4000)


def measure(histories: Sequence[History], *, gold: Mapping[Board, UUID], most: int) -> list[tuple[Measured, ...]]:
    """Measure the last versions of each history. Takes at most two queries, for tasks and scores that are not cached,
    since the results of completed evaluations never change.

    Args:
        histories: of any planners and suites.
        gold: `gold_runs` of their suites.
        most: number of versions of each history, the last ones.
    """
    keys = [_keys(history, gold=gold.get(history.board))[-most:] for history in histories]
    found = {key: cached for of in keys for key in of if (cached := _measured.get(key)) is not None}
    missing = [
        (history, unknown)
        for history, of in zip(histories, keys, strict=True)
        if (unknown := [key for key in of if key not in found])
    ]
    if missing:
        facts = facts_of_suites(history.suite for history, _ in missing)
        runs = [
            SuiteRuns(
                column=history.suite.ranking_column,
                samples=history.conditions.samples,
                tasks=[(fact.pk, fact.key, fact.metric) for fact in facts[history.suite.pk]],
                evaluations=list({pk for key in unknown for pk in _evaluations(key)}),
            )
            for history, unknown in missing
        ]
        tables = both_tables_of(runs)
        for of, (_, unknown) in zip(runs, missing, strict=True):
            for key in unknown:
                found[key] = _measure(key, of=of, tables=tables)
                _measured.put(key, found[key])
    return [
        tuple(_with_value(found[key], version) for key, version in zip(of, history.versions[-most:], strict=True))
        for history, of in zip(histories, keys, strict=True)
    ]


def _with_value(measured: Measured, version: Version) -> Measured:
    """A single run has its value in its summary."""
    if len(version.counted) > 1:
        return measured
    metrics = (version.latest.summary or {}).get("metrics") or {}
    return measured._replace(value=ranged(metrics=metrics, column=version.latest.suite.ranking_column))


def _keys(history: History, *, gold: UUID | None) -> list[_Key]:
    runs = [tuple(run.pk for run in version.counted) for version in history.versions]
    return [(own, before, gold) for own, before in zip(runs, [(), *runs], strict=False)]


def _evaluations(key: _Key) -> Iterable[UUID]:
    own, before, gold = key
    return (*own, *before, *([gold] if gold else []))


def _measure(key: _Key, *, of: SuiteRuns, tables: Mapping[UUID, tuple[Table, Table]]) -> Measured:
    own, before, gold = key
    strata = [metric for *_, metric in of.tasks]
    values = _mean(own, tables=tables)
    change = None
    if before:
        means = None if gold is None else np.asarray(tables[gold][0], dtype=np.float64).mean(axis=1)
        earlier = _mean(before, tables=tables)
        change = change_between(before=earlier, after=values, column=of.column, strata=strata, gold=means)
    if len(own) < 2:
        return Measured(None, change)
    runs = [tables[pk][0] for pk in own]
    return Measured(_value_of_runs(values, runs=runs, column=of.column, strata=strata), change)


def _value_of_runs(
    values: Ends, *, runs: Sequence[Table], column: Column, strata: Sequence[str]
) -> Mapping[str, Any] | None:
    """The value of a version whose runs are averaged, as its row on a board has it."""
    known = ~np.isnan(values.lower).any(axis=1)
    if not known.any():
        return None
    by_run = np.stack([table.astype(np.float64).mean(axis=1) for table in runs], axis=1)[known]
    by_task = {str(place): tuple(own) for place, own in enumerate(by_run.tolist())}
    lower, upper = values.lower[known], values.upper[known]
    share = float((upper - lower).mean())
    interval = interval_of_table(
        column=column,
        table=lower,
        strata=np.asarray(strata, dtype=object)[known].tolist(),
        repeated=RepeatedScores(by_task, shown=len(runs), bounds=column.bounds),
        upper=upper if share else None,
    )
    value = {"mean": interval.mean, "low": interval.low, "high": interval.high, "tasks": interval.count}
    return {**value, "undecided": share, "upper": interval.mean + share} if share else value


def _mean(runs: Iterable[UUID], *, tables: Mapping[UUID, tuple[Table, Table]]) -> Ends:
    """The values of a version: the mean over its counted runs."""
    ends = zip(*(tables[pk] for pk in runs), strict=True)
    return Ends(*(np.asarray(mean_of(tables), dtype=np.float64) for tables in ends))


def gold_runs(histories: Iterable[History]) -> dict[Board, UUID]:
    """The latest published run of the bundled planner `gold` on each board of the suites of these histories, in one
    query."""
    suites = {history.suite.pk for history in histories}
    runs = published().filter(suite__in=suites, submission__planner__bundled_name=GOLD)
    rows = runs.order_by("finished", "pk").values_list("suite_id", *Conditions._fields, "pk")
    return {(suite, Conditions(*conditions)): pk for suite, *conditions, pk in rows}


def changes_on_boards(*, suites: Iterable[Suite], evaluations: Iterable[str]) -> dict[str, Change]:
    """What the latest version of planners on boards changed against the version before it, over published runs.

    Args:
        suites: of these evaluations.
        evaluations: ids of the evaluations that rows of boards name.

    Returns:
        By evaluation; without those whose planner has no earlier version on the same board. Four queries at most.
    """
    by_key = {suite.pk: suite for suite in suites}
    named = set(evaluations)
    planners = Evaluation.objects.filter(pk__in=named).values("submission__planner")
    runs = published().filter(suite__in=by_key, submission__planner__in=planners).select_related("submission")
    fields = ("finished", "summary", "suite_id", *Conditions._fields, "submission__version", "submission__planner_id")
    found = list(runs.only(*fields))
    for run in found:
        run.suite = by_key[run.suite_id]
    histories = [
        history
        for history in histories_of(found)
        if len(history.versions) > 1 and str(history.versions[-1].latest.pk) in named
    ]
    if not histories:
        return {}
    measured = measure(histories, gold=gold_runs(histories), most=1)
    return {
        str(history.versions[-1].latest.pk): one.change
        for history, (one,) in zip(histories, measured, strict=True)
        if one.change is not None
    }
