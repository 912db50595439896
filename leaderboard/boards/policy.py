"""Which runs of a planner its row shows, as the operator's policy says: the latest, or the mean of all. Never the best:
the best of ten runs of a worse planner beats one run of a better one."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import stdev
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, FloatField, Max, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import MD5, Cast, Concat

from evaluator.scoring.metrics.aggregate import metrics_of_runs
from leaderboard.boards.ranking import Entry, Runs, read_metrics
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.task_scores import packed_scores


class BoardPolicy(StrEnum):
    """What a row shows of several runs of one planner."""

    LATEST = "latest"
    MEAN = "mean"


def policy() -> BoardPolicy:
    """The operator's choice."""
    return BoardPolicy(settings.BOARD_POLICY)


def shown_runs(*, evaluations: QuerySet[Evaluation], metric: str) -> dict[UUID, Runs]:
    """The latest run of each planner, with what is known of all runs of its version, in one query.

    Versions of a planner are one family, of which the one that ended last is shown.

    Args:
        evaluations: those that may be ranked on one board.
        metric: key of the metric that it ranks by.
    """
    versions = (
        evaluations.order_by()
        .values("submission__planner", "submission__version")
        .annotate(
            ids=ArrayAgg("pk", order_by=(F("finished").desc(nulls_last=True), F("pk").desc())),
            means=ArrayAgg(Cast(KT(f"summary__metrics__{metric}__mean"), FloatField()), default=[]),
            last=Max("finished"),
            different=Count(MD5(Concat(KT("summary__metrics"), KT("summary__outcomes"))), distinct=True),
        )
        .order_by("submission__planner", F("last").asc(nulls_first=True), "submission__version")
        .values_list("submission__planner", "ids", "means", "different")
    )
    latest = {planner: (ids, means, different) for planner, ids, means, different in versions}
    return {ids[0]: _runs(ids=ids, means=means, different=different) for ids, means, different in latest.values()}


def _runs(*, ids: Sequence[UUID], means: Sequence[float | None], different: int) -> Runs:
    chosen, known = policy(), [mean for mean in means if mean is not None]
    is_mean = chosen is BoardPolicy.MEAN and len(ids) > 1
    return Runs(
        policy=chosen.value,
        count=len(ids),
        sd=stdev(known) if len(known) > 1 else None,
        low=min(known, default=None),
        high=max(known, default=None),
        identical=len(ids) > 1 and different == 1,
        evaluations=tuple(str(pk) for pk in reversed(ids)) if is_mean else (),
    )


def with_means(*, entries: Sequence[Entry], suite: Suite, samples: int) -> list[Entry]:
    """Entries with the means over their runs, where the policy says so."""
    if not any(entry.runs and entry.runs.evaluations for entry in entries):
        return list(entries)
    rows = Task.objects.filter(suite=suite).values_list("pk", "key", "metric")
    tasks = {pk: (key, metric) for pk, key, metric in rows}
    return [_with_mean(entry=entry, suite=suite, samples=samples, tasks=tasks) for entry in entries]


def _with_mean(*, entry: Entry, suite: Suite, samples: int, tasks: Mapping[int, tuple[str, str]]) -> Entry:
    if entry.runs is None or not entry.runs.evaluations:
        return entry
    results = packed_scores(evaluations=[UUID(pk) for pk in entry.runs.evaluations], tasks=tasks)
    found: dict[str, Any] = {
        "metrics": metrics_of_runs(
            columns=suite.columns, runs=[list(run.values()) for run in results.values()], samples=samples
        )
    }
    return entry._replace(metrics=read_metrics(found))
