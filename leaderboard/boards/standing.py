"""The place that an unpublished evaluation would have on its board. Never published."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from evaluator.scoring.metrics.paired import RankRange
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.rank_tests import scores_of, tests_of
from leaderboard.boards.ranking import Entry, rank_entries, read_metrics, read_runs, runs_of
from leaderboard.boards.services import entry_of, latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Conditions, Evaluation, EvaluationState, conditions_of_board
from leaderboard.evaluations.visibility import OF_EVALUATION, Reader, acted_on_by, public_now, words_of
from leaderboard.platform.lru_cache import SharedCache

MOST_UNPUBLISHED = 20
MOST_TESTED = 5_000_000
"""Scores of a board up to which the ranks of an unpublished evaluation are tested: about two seconds of reading."""


class Standing(NamedTuple):
    """A place among the other planners of a snapshot."""

    rank: int | None
    """None without a value for the metric that the board is ranked by."""
    rank_low: int | None
    """None, as is `rank_high`, where the ranks were not tested."""
    rank_high: int | None
    planners: int
    """This one among them."""
    snapshot: int
    """Its number."""


def standing_of(evaluation: Evaluation) -> Standing | None:
    """The place of a completed evaluation on the newest snapshot of its board, in at most three queries and those that
    read scores; None if it is not completed or there is no snapshot."""
    if evaluation.state != EvaluationState.COMPLETED or not evaluation.is_submitted:
        return None
    snapshot = latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))
    return None if snapshot is None else _standing(evaluation=evaluation, snapshot=snapshot)


_standings: SharedCache[tuple[UUID, int, str], Standing] = SharedCache(maxsize=1000)


def _standing(*, evaluation: Evaluation, snapshot: Snapshot) -> Standing:
    # Neither a snapshot nor what a completed evaluation measured ever changes.
    key = evaluation.pk, snapshot.pk, snapshot.digest
    return _standings.get_or_make(key, lambda: _make_standing(evaluation=evaluation, snapshot=snapshot))


def _make_standing(*, evaluation: Evaluation, snapshot: Snapshot) -> Standing:
    metric = primary_metric(evaluation.suite)
    entry, rows = entry_of(evaluation), content_of(snapshot).rows
    others = others_of(entry=entry, rows=rows)
    return standing_among(
        entry=entry,
        others=others,
        metric=metric["key"],
        higher_is_better=bool(metric.get("higher_is_better", True)),
        snapshot=snapshot.number,
        ranges=_ranges(entry=entry, others=others, evaluation=evaluation),
    )


def _ranges(*, entry: Entry, others: Sequence[Entry], evaluation: Evaluation) -> Mapping[str, RankRange]:
    """The ranks that paired tests leave open; none on boards that are too large to be tested for one reader."""
    suite = evaluation.suite
    key = primary_metric(suite)["key"]
    runs = {one.evaluation: runs_of(one) for one in [*others, entry] if key in one.metrics}
    values = evaluation.tasks_total * evaluation.samples * sum(map(len, runs.values()))
    if values > MOST_TESTED:
        return {}
    return tests_of(scores=scores_of(runs=runs, suite=suite, samples=evaluation.samples), suite=suite).ranges


def unpublished(*, suite: Suite, conditions: Conditions | None, reader: Reader) -> list[Evaluation]:
    """The reader's completed evaluations under these conditions that are not public, the newest first, in one query."""
    if reader.pk is None:
        return []
    own = Evaluation.objects.filter(acted_on_by(reader, prefix=OF_EVALUATION), ~public_now(prefix=OF_EVALUATION))
    found = own.filter(suite=suite, state=EvaluationState.COMPLETED)
    if conditions is not None:
        found = found.filter(**conditions._asdict())
    related = "suite", "submission__planner__owner", "submission__team", "own_worker_run"
    return list(found.select_related(*related).order_by("-finished", "pk")[:MOST_UNPUBLISHED])


def unpublished_rows(*, evaluations: Sequence[Evaluation], snapshot: Snapshot | None) -> list[dict[str, Any]]:
    """These evaluations with their places on a snapshot of their board, as JSON values for the page's ETag."""
    return [_unpublished_row(evaluation=one, snapshot=snapshot) for one in evaluations]


def _unpublished_row(*, evaluation: Evaluation, snapshot: Snapshot | None) -> dict[str, Any]:
    metric = primary_metric(evaluation.suite)
    standing = None if snapshot is None else _standing(evaluation=evaluation, snapshot=snapshot)
    measured = (evaluation.summary or {}).get("metrics", {})
    return {
        "id": str(evaluation.pk),
        "planner": evaluation.submission.planner.name,
        "seen": words_of(evaluation.submission),
        "metric": metric["label"],
        "value": ranged(metrics=measured, column=evaluation.suite.ranking_column),
        "standing": None if standing is None else standing._asdict(),
        "finished": "" if evaluation.finished is None else evaluation.finished.isoformat(timespec="seconds"),
    }


def others_of(*, entry: Entry, rows: Sequence[Mapping[str, Any]]) -> list[Entry]:
    """The rows that an entry would stand among; the row of the same planner makes room for it."""
    return [_entry(row) for row in rows if (row["owner"], row["planner"]) != (entry.owner, entry.planner)]


def standing_among(
    *,
    entry: Entry,
    others: Sequence[Entry],
    metric: str,
    higher_is_better: bool,
    snapshot: int,
    ranges: Mapping[str, RankRange],
) -> Standing:
    """The place of an entry among others, with the range of ranks that was found for it."""
    ranked = rank_entries(entries=[*others, entry], metric=metric, higher_is_better=higher_is_better, ranges=ranges)
    own = next(one for one in ranked if one.entry.evaluation == entry.evaluation)
    return Standing(own.rank, own.rank_low, own.rank_high, len(ranked), snapshot)


def _entry(row: Mapping[str, Any]) -> Entry:
    return Entry(
        planner=row["planner"],
        kind=row["kind"],
        owner=row["owner"],
        evaluation=row["evaluation"],
        metrics=read_metrics(row),
        outcomes=row["outcomes"],
        finished=row["finished"],
        samples=row["samples"],
        runs=read_runs(row),
    )
