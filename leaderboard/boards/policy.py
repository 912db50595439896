"""Which runs of a planner its row shows, by the operator's policy: the latest run, or the mean of all. Never the best,
since the best of ten runs of a worse planner beats one run of a better planner."""

from collections.abc import Sequence
from enum import StrEnum
from statistics import stdev
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Case, Count, F, FloatField, Max, QuerySet, When
from django.db.models.fields.json import KT
from django.db.models.functions import MD5, Cast, Concat

from evaluator.scoring.metrics.aggregate import metrics_of_runs
from evaluator.scoring.uncertainty import is_deterministic
from leaderboard.boards.ranking import Entry, Runs, read_metrics
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation
from leaderboard.evaluations.results.task_scores import packed_scores


class BoardPolicy(StrEnum):
    """What a row shows of several runs of one planner."""

    LATEST = "latest"
    MEAN = "mean"


def shown_runs(*, evaluations: QuerySet[Evaluation], metric: str) -> dict[UUID, Runs]:
    """The latest run of each planner, with a summary of all runs of its version, in one query. Of several versions of a
    planner, the one that finished last is shown. A regrade has the place of the run whose plans it scores, whenever it
    was graded.

    Args:
        evaluations: those that may be ranked on one board.
        metric: key of the board's primary metric.
    """
    versions = (
        evaluations.order_by()
        .annotate(
            asked=Case(
                When(submission__is_regrade=True, then=F("submission__rerun_of__finished")), default=F("finished")
            )
        )
        .values("submission__planner", "submission__version")
        .annotate(
            ids=ArrayAgg("pk", order_by=(F("asked").desc(nulls_last=True), F("pk").desc())),
            means=ArrayAgg(Cast(KT(f"summary__metrics__{metric}__mean"), FloatField()), default=[]),
            last=Max("asked"),
            different=Count(MD5(Concat(KT("summary__metrics"), KT("summary__outcomes"))), distinct=True),
        )
        .order_by("submission__planner", F("last").asc(nulls_first=True), "submission__version")
        .values_list("submission__planner", "ids", "means", "different")
    )
    latest = {planner: (ids, means, different) for planner, ids, means, different in versions}
    return {ids[0]: _runs(ids=ids, means=means, different=different) for ids, means, different in latest.values()}


def _runs(*, ids: Sequence[UUID], means: Sequence[float | None], different: int) -> Runs:
    policy, known = BoardPolicy(settings.BOARD_POLICY), [mean for mean in means if mean is not None]
    is_mean = policy is BoardPolicy.MEAN and len(ids) > 1
    return Runs(
        policy=policy.value,
        count=len(ids),
        sd=stdev(known) if len(known) > 1 else None,
        low=min(known, default=None),
        high=max(known, default=None),
        identical=len(ids) > 1 and different == 1,
        evaluations=tuple(str(pk) for pk in reversed(ids)) if is_mean else (),
    )


def with_means(*, entries: Sequence[Entry], suite: Suite, samples: int) -> list[Entry]:
    """Entries with the means over their runs, if the policy asks for them."""
    if not any(entry.runs and entry.runs.evaluations for entry in entries):
        return list(entries)
    rows = Task.objects.filter(suite=suite).values_list("pk", "key", "metric")
    tasks = {pk: (key, metric) for pk, key, metric in rows}
    averaged = []
    for entry in entries:
        if entry.runs is not None and entry.runs.evaluations:
            results = packed_scores(evaluations=[UUID(pk) for pk in entry.runs.evaluations], tasks=tasks)
            runs = [list(run.values()) for run in results.values()]
            metrics = metrics_of_runs(
                columns=suite.columns, runs=runs, samples=samples, is_deterministic=is_deterministic(entry.asked)
            )  # fmt: skip
            entry = entry._replace(metrics=read_metrics({"metrics": metrics}))
        averaged.append(entry)
    return averaged
