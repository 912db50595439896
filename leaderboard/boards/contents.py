"""The rows of boards, cached per process, since snapshots never change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from django.contrib.postgres.aggregates import BitXor
from django.db.models import Count, F, Func, IntegerField, Max

from evaluator.core.signatures.statements import BoardSummary
from leaderboard.boards.drawing.picture import scale_of
from leaderboard.boards.models import Snapshot, read_packed
from leaderboard.boards.ranking import rank_entries, to_row
from leaderboard.boards.selecting import FACETS, known_facts
from leaderboard.boards.services import conditions_of, entries_of, ranked_evaluations
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Conditions
from leaderboard.evaluations.results.filters import Index, index
from leaderboard.platform.lru_cache import Mark, SharedCache

_MOST = 24
"""Number of cached boards. The rows of 600 planners with twelve metrics take about 5 MB."""


@dataclass(frozen=True)
class BoardContent:
    """Rows of a board by rank, and values derived from all of them."""

    rows: Sequence[Mapping[str, Any]]
    """In the format of `ranking.py`. Shared by all requests: do not modify."""
    coverage: Mapping[str, int]
    summary: BoardSummary | None
    """Who leads; None where rows are not one for each planner."""
    mark: Mark = field(default_factory=Mark, compare=False)
    """Identifies these rows in cache keys (`{% kept %}`)."""

    @cached_property
    def scales(self) -> Mapping[str, tuple[float, float] | None]:
        """The range of each metric's bars, the same on every page."""
        keys = {key for row in self.rows for key in row["metrics"]}
        return {key: scale_of(rows=self.rows, metric=key) for key in keys}

    @cached_property
    def ranked(self) -> int:
        """Number of rows with a rank: anchors have none."""
        return sum(row["rank"] is not None for row in self.rows)

    @property
    def document(self) -> dict[str, Any]:
        """The content of the snapshot as JSON values."""
        summary = self.summary and self.summary.model_dump(mode="json")
        return {"rows": list(self.rows), "coverage": dict(self.coverage), "summary": summary}

    @cached_property
    def index(self) -> Index[Mapping[str, Any]]:
        return index(rows=self.rows, facets=FACETS)

    @cached_property
    def facts(self) -> tuple[str, ...]:
        return known_facts(self.rows)


class AllVersion(NamedTuple):
    """Changes whenever an evaluation is published or withdrawn."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nothing calls
    newest: datetime | None
    members: int | None
    """Hash of all ids: if one evaluation replaces another, count and time may stay the same."""

    @property
    def parts(self) -> list[object]:
        """As JSON values, for an ETag."""
        return [self.count, str(self.newest), self.members]


_snapshots: SharedCache[tuple[int, str], BoardContent] = SharedCache(maxsize=_MOST)
_all: SharedCache[tuple[int, Conditions, AllVersion], BoardContent] = SharedCache(maxsize=_MOST // 3)


def contents_of(snapshots: Iterable[Snapshot]) -> dict[int, BoardContent]:
    """The contents of snapshots by primary key: one query for those that are not cached, plus one for each packed
    snapshot if there are several."""
    digests = {snapshot.pk: snapshot.digest for snapshot in snapshots}
    contents = {pk: cached for pk, digest in digests.items() if (cached := _snapshots.get((pk, digest))) is not None}
    if missing := digests.keys() - contents.keys():
        several = Snapshot.objects.filter(pk__in=missing).order_by("pk").values_list("pk", "stored")
        # `read_packed` also reads whole snapshots, so that a single one takes one query.
        for pk, stored in several if len(missing) > 1 else ((pk, None) for pk in missing):
            content = read_packed(pk) if stored is None else stored
            contents[pk] = BoardContent(
                rows=tuple(content["rows"]),
                coverage=content["coverage"],
                summary=BoardSummary.model_validate(content["summary"]),
            )
            _snapshots.put((pk, digests[pk]), contents[pk])
    return contents


def content_of(snapshot: Snapshot) -> BoardContent:
    """The content of one snapshot."""
    return contents_of([snapshot])[snapshot.pk]


def all_version(*, suite: Suite, snapshot: Snapshot) -> AllVersion:
    """The version of `all_content`, in one query that reads no summary."""
    ids = Func(F("pk"), function="uuid_hash", output_field=IntegerField())
    evaluations = ranked_evaluations(suite=suite, conditions=conditions_of(snapshot))
    return AllVersion(**evaluations.aggregate(count=Count("pk"), newest=Max("finished"), members=BitXor(ids)))


def all_content(*, suite: Suite, snapshot: Snapshot, version: AllVersion | None = None) -> BoardContent:
    """Every published evaluation of a snapshot's board, not only one per planner, ranked together.

    Ranks have no ranges: runs of one planner do not compete, and paired tests among all of them would lose power.
    """
    conditions = conditions_of(snapshot)
    key = suite.pk, conditions, version or all_version(suite=suite, snapshot=snapshot)
    coverage = content_of(snapshot).coverage

    def make() -> BoardContent:
        evaluations = ranked_evaluations(suite=suite, conditions=conditions).order_by("finished", "pk")
        metric = primary_metric(suite)
        ranked = rank_entries(
            entries=entries_of(evaluations),
            metric=metric["key"],
            higher_is_better=bool(metric.get("higher_is_better", True)),
        )
        return BoardContent(rows=tuple(to_row(row) for row in ranked), coverage=coverage, summary=None)

    return _all.get_or_make(key, make)
