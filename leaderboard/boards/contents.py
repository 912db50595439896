"""The rows of boards in memory: snapshots never change, so that each is read from the database once per process."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from django.contrib.postgres.aggregates import BitXor
from django.db.models import Count, F, Func, IntegerField, Max

from evaluator.metrics.aggregate import with_shown_interval
from leaderboard.boards.models import Snapshot
from leaderboard.boards.ranking import rank_entries, to_row
from leaderboard.boards.scales import scale_of
from leaderboard.boards.selecting import known_facts
from leaderboard.boards.services import entries_of, ranked_evaluations
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.board_of import Conditions
from leaderboard.site.lru_cache import SharedCache

_MOST = 24
"""Boards in memory. The rows of 600 planners with twelve metrics take about 5 MB."""


@dataclass(frozen=True)
class BoardContent:
    """Rows of a board in the order of their ranks, and what is worked out from all of them once."""

    rows: Sequence[Mapping[str, Any]]
    """In the format of `ranking.py`. Shared by all requests: never changed."""
    coverage: Mapping[str, int]

    @cached_property
    def scales(self) -> Mapping[str, tuple[float, float] | None]:
        """For each metric where its bars begin and end, on every page alike."""
        keys = {key for row in self.rows for key in row["metrics"]}
        return {key: scale_of(rows=self.rows, metric=key) for key in keys}

    @cached_property
    def facts(self) -> tuple[str, ...]:
        """The columns besides the metrics that some row has a value for."""
        return known_facts(self.rows)


class AllVersion(NamedTuple):
    """What changes whenever another evaluation is published or one is taken away."""

    count: int
    newest: datetime | None
    members: int | None
    """Of all their ids together: where one goes when another comes, number and time may stay what they were."""


_snapshots: SharedCache[tuple[int, str], BoardContent] = SharedCache(maxsize=_MOST)
_all: SharedCache[tuple[int, Conditions, AllVersion], BoardContent] = SharedCache(maxsize=_MOST // 3)


def contents_of(snapshots: Iterable[Snapshot]) -> dict[int, BoardContent]:
    """The contents of snapshots by primary key: one query for those that this process has not read yet, else none."""
    wanted = {snapshot.pk: snapshot.digest for snapshot in snapshots}
    found = {pk: kept for pk, digest in wanted.items() if (kept := _snapshots.get((pk, digest))) is not None}
    if missing := wanted.keys() - found.keys():
        for pk, content in Snapshot.objects.filter(pk__in=missing).order_by("pk").values_list("pk", "content"):
            found[pk] = BoardContent(rows=tuple(map(_shown, content["rows"])), coverage=content["coverage"])
            _snapshots.put((pk, wanted[pk]), found[pk])
    return found


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as it is shown: snapshots never change, and old ones hold intervals over too few tasks."""
    metrics = {key: value and with_shown_interval(value) for key, value in row["metrics"].items()}
    return {**row, "metrics": metrics}


def content_of(snapshot: Snapshot) -> BoardContent:
    """The content of one snapshot."""
    return contents_of([snapshot])[snapshot.pk]


def all_version(*, suite: Suite, conditions: Conditions) -> AllVersion:
    """The version of `all_content`, in one query that reads no summary."""
    ids = Func(F("pk"), function="uuid_hash", output_field=IntegerField())
    found = ranked_evaluations(suite=suite, conditions=conditions).aggregate(
        count=Count("pk"), newest=Max("finished"), members=BitXor(ids)
    )
    return AllVersion(**found)


def all_content(
    *, suite: Suite, conditions: Conditions, version: AllVersion, coverage: Mapping[str, int]
) -> BoardContent:
    """Every published evaluation of a board, not only the best of each planner, ranked among each other."""
    key = (suite.pk, conditions, version)
    return _all.get_or_make(key, lambda: _all_content(suite=suite, conditions=conditions, coverage=coverage))


def _all_content(*, suite: Suite, conditions: Conditions, coverage: Mapping[str, int]) -> BoardContent:
    evaluations = ranked_evaluations(suite=suite, conditions=conditions).order_by("finished", "pk")
    metric = primary_metric(suite)
    ranked = rank_entries(
        entries=entries_of(evaluations),
        metric=metric["key"],
        higher_is_better=bool(metric.get("higher_is_better", True)),
    )
    return BoardContent(rows=tuple(to_row(row) for row in ranked), coverage=coverage)
