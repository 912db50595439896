"""The rank that an unpublished evaluation would have on its board. Never published."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from evaluator.scoring.metrics.paired import RankRange
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.contents import content_of
from leaderboard.boards.models import Snapshot
from leaderboard.boards.rank_tests import scores_of, tests_of
from leaderboard.boards.ranking import Entry, rank_entries, ranked_means, read_metrics, read_runs, runs_of
from leaderboard.boards.services import deterministic_rows, entry_of, latest_snapshot, ranked_evaluations
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Conditions, Evaluation, EvaluationState, conditions_of_board
from leaderboard.evaluations.visibility import OF_EVALUATION, Reader, acted_on_by, public_now, words_of
from leaderboard.platform.lru_cache import SharedCache

MOST_UNPUBLISHED = 20
MOST_TESTED = 5_000_000
"""Number of scores on a board up to which the ranks of an unpublished evaluation are tested: reading them takes about
two seconds."""


class Standing(NamedTuple):
    """A rank among the other planners of a snapshot."""

    rank: int | None
    """None without a value for the board's primary metric."""
    rank_low: int | None
    """None, as is `rank_high`, if the ranks were not tested."""
    rank_high: int | None
    planners: int
    """Number of planners, including this one."""
    snapshot: int
    """Number of the snapshot."""


def standing_of(evaluation: Evaluation) -> Standing | None:
    """The standing of a completed evaluation on the newest snapshot of its board, in at most three queries besides
    those that read scores; None if it is not completed or there is no snapshot."""
    if evaluation.state != EvaluationState.COMPLETED or not evaluation.is_submitted:
        return None
    snapshot = latest_snapshot(suite=evaluation.suite, conditions=conditions_of_board(evaluation))
    return None if snapshot is None else _standing(evaluation=evaluation, snapshot=snapshot)


_standings: SharedCache[tuple[UUID, int, str], Standing] = SharedCache(maxsize=1000)


def _standing(*, evaluation: Evaluation, snapshot: Snapshot) -> Standing:
    def make() -> Standing:
        metric = primary_metric(evaluation.suite)
        entry = entry_of(evaluation)
        others = others_of(entry=entry, rows=content_of(snapshot).rows)
        return standing_among(
            entry=entry,
            others=others,
            metric=metric["key"],
            higher_is_better=bool(metric.get("higher_is_better", True)),
            snapshot=snapshot.number,
            ranges=_ranges(entries=[*others, entry], evaluation=evaluation),
        )

    # Snapshots and the results of completed evaluations never change.
    return _standings.get_or_make((evaluation.pk, snapshot.pk, snapshot.digest), make)


def _ranges(*, entries: Sequence[Entry], evaluation: Evaluation) -> Mapping[str, RankRange]:
    """Ranges of ranks by paired tests; empty on boards that are too large to test for a single reader."""
    suite = evaluation.suite
    metric = primary_metric(suite)
    key, better = metric["key"], bool(metric.get("higher_is_better", True))
    means = ranked_means(entries=entries, metric=key, higher_is_better=better)
    runs = {entry.evaluation: runs_of(entry) for entry in entries if entry.evaluation in means}
    values = evaluation.tasks_total * evaluation.samples * sum(map(len, runs.values()))
    if values > MOST_TESTED:
        return {}
    scores = scores_of(runs=runs, suite=suite, samples=evaluation.samples, alike=deterministic_rows(entries))
    return tests_of(scores=scores, ranked=means, suite=suite).ranges


def unpublished(*, suite: Suite, conditions: Conditions | None, reader: Reader) -> list[Evaluation]:
    """The reader's non-public completed evaluations under these conditions, newest first, in one query."""
    if reader.pk is None:
        return []
    own = Evaluation.objects.filter(acted_on_by(reader, prefix=OF_EVALUATION), ~public_now(prefix=OF_EVALUATION))
    own = own.filter(suite=suite, state=EvaluationState.COMPLETED)
    if conditions is not None:
        own = own.filter(**conditions._asdict())
    related = "suite", "submission__planner__owner", "submission__team", "own_worker_run"
    return list(own.select_related(*related).order_by("-finished", "pk")[:MOST_UNPUBLISHED])


def own_published(*, suite: Suite, conditions: Conditions, reader: Reader) -> list[str]:
    """Ids of the published evaluations under these conditions that the reader may act on, in one query."""
    if reader.pk is None:
        return []
    own = ranked_evaluations(suite=suite, conditions=conditions).filter(acted_on_by(reader, prefix=OF_EVALUATION))
    return [str(pk) for pk in own.order_by("pk").values_list("pk", flat=True)]


def unpublished_rows(*, evaluations: Sequence[Evaluation], snapshot: Snapshot | None) -> list[dict[str, Any]]:
    """These evaluations with their standings on a snapshot of their board, as JSON values for the page's ETag."""
    return [_unpublished_row(evaluation=evaluation, snapshot=snapshot) for evaluation in evaluations]


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
    """The rows that an entry is ranked among: all but that of the same planner, which it replaces."""
    return [
        Entry(
            planner=row["planner"],
            kind=row["kind"],
            owner=row["owner"],
            evaluation=row["evaluation"],
            metrics=read_metrics(row),
            outcomes=row["outcomes"],
            finished=row["finished"],
            samples=row["samples"],
            strategy=row.get("strategy", ""),
            runs=read_runs(row),
            asked=row.get("asked") or {},
        )
        for row in rows
        if (row["owner"], row["planner"]) != (entry.owner, entry.planner)
    ]


def standing_among(
    *,
    entry: Entry,
    others: Sequence[Entry],
    metric: str,
    higher_is_better: bool,
    snapshot: int,
    ranges: Mapping[str, RankRange],
) -> Standing:
    """The standing of an entry among others. `ranges` are those of paired tests, by evaluation."""
    ranked = rank_entries(entries=[*others, entry], metric=metric, higher_is_better=higher_is_better, ranges=ranges)
    own = next(other for other in ranked if other.entry.evaluation == entry.evaluation)
    planners = sum(not other.entry.is_anchor for other in ranked)
    return Standing(own.rank, own.rank_low, own.rank_high, planners, snapshot)
