"""Where an evaluation that no board shows would stand. The arithmetic is pure; nothing of it is ever published."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from leaderboard.boards.contents import content_of
from leaderboard.boards.ranking import Entry, rank_entries, read_metrics
from leaderboard.boards.services import conditions_of_board, entry_of, latest_snapshot, primary_metric
from leaderboard.evaluations.models import Evaluation, EvaluationState


class Standing(NamedTuple):
    """A place among the other planners of a snapshot."""

    rank: int | None
    """None without a value for the metric that the board is ranked by."""
    rank_low: int | None
    rank_high: int | None
    planners: int
    """This one among them."""
    snapshot: int
    """Its number."""


def standing_of(evaluation: Evaluation) -> Standing | None:
    """Where a completed evaluation would stand on the newest snapshot of its board, in at most two queries; None if it
    is not completed or nothing is published there."""
    if evaluation.state != EvaluationState.COMPLETED or evaluation.verifies_id is not None:
        return None
    snapshot = latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))
    if snapshot is None:
        return None
    metric = primary_metric(evaluation.suite)
    return standing_among(
        entry=entry_of(evaluation),
        rows=content_of(snapshot).rows,
        metric=metric["key"],
        higher_is_better=bool(metric.get("higher_is_better", True)),
        snapshot=snapshot.number,
    )


def standing_among(
    *, entry: Entry, rows: Sequence[Mapping[str, Any]], metric: str, higher_is_better: bool, snapshot: int
) -> Standing:
    """The place of an entry among rows of a snapshot; the row of the same planner makes room for it."""
    others = [_entry(row) for row in rows if (row["owner"], row["planner"]) != (entry.owner, entry.planner)]
    ranked = rank_entries(entries=[*others, entry], metric=metric, higher_is_better=higher_is_better)
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
    )
