"""Publishing boards and reading what was published."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Max, Q, QuerySet, When
from django.db.models.functions import Greatest, Now

from evaluator.core import canonical_json
from evaluator.core.suites.registry import suites_in_turns
from evaluator.scoring.board_agreement import with_agreement
from evaluator.scoring.readability import Reading
from evaluator.scoring.uncertainty import is_deterministic
from leaderboard.boards.anchors import normalised_scores
from leaderboard.boards.eligible import published
from leaderboard.boards.matrix import evaluations_of, packed_order
from leaderboard.boards.models import Snapshot
from leaderboard.boards.packing import pack_predecessor
from leaderboard.boards.policy import shown_runs, with_means
from leaderboard.boards.rank_tests import scores_of, tests_of, uncertainties_of
from leaderboard.boards.ranking import (
    Entry,
    Prices,
    figures_of,
    rank_entries,
    ranked_means,
    read_metrics,
    runs_of,
    to_row,
)
from leaderboard.boards.signing.services import sign_when_possible, withdraw_rows
from leaderboard.boards.task_values import keep_values
from leaderboard.boards.version_changes import keep_changes
from leaderboard.catalog.hidden_data import present_data
from leaderboard.catalog.library import RunConditions, device_class_of_site, profile_of, samples_of, split_of
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import primary_metric
from leaderboard.evaluations.models import Conditions, Evaluation, EvaluationState, conditions_of_board, lock_board
from leaderboard.evaluations.visibility import Reader, visible_evaluations
from leaderboard.planners import roles
from leaderboard.planners.kinds import KINDS
from leaderboard.queue.publishing import Changed
from leaderboard.reliability.columns import dimensions_of

NOT_SHOWN = ("stored", "packed", "task_order", "signature__envelope", "signature__rows", "signature__salts")
"""Large fields of a snapshot and its signature that pages do not read."""


def publish(evaluation: Evaluation) -> Snapshot | None:
    """Publish the board that a completed evaluation belongs to.

    Post-condition: the newest snapshot of the board has a row for every planner with a completed evaluation that may be
    ranked, by the operator's policy (`policy.py`); None if there never was one. If the rows are unchanged, nothing is
    written. Concurrent calls for a suite are serialised.
    """
    with transaction.atomic():
        lock_board(evaluation.suite.slug)
        return publish_locked(evaluation)


def publish_locked(evaluation: Evaluation) -> Snapshot | None:
    """`publish` for callers that have locked the suite."""
    suite = evaluation.suite
    conditions = conditions_of_board(evaluation)
    content = _content(suite=suite, conditions=conditions)
    digest = canonical_json.digest(content)
    of_board = Snapshot.objects.filter(suite=suite, **conditions._asdict())
    newest = of_board.order_by("-number").first()
    # Also where the rows are the same: the version before one of them may be hidden now.
    keep_changes(suite=suite, rows=content["rows"])
    if newest is not None and newest.digest == digest:
        return newest
    if newest is None and not content["rows"]:
        # An empty board would reveal that something private was run here.
        return None
    last = Snapshot.objects.filter(suite__slug=suite.slug).aggregate(last=Max("number"))["last"]
    evaluations = (pk for row in content["rows"] for pk in (row["evaluation"], *evaluations_of(row)))
    ranked = list(dict.fromkeys(map(UUID, evaluations)))
    keep_values(suite=suite, evaluations=ranked)
    snapshot = Snapshot.objects.create(
        suite=suite,
        number=(last or 0) + 1,
        stored=content,
        digest=digest,
        task_order=packed_order(suite=suite, rows=content["rows"]),
        **RunConditions.of(evaluation)._asdict(),
    )
    if newest is not None:
        withdraw_rows(before=newest, after=snapshot)
    pack_predecessor(snapshot)
    sign_when_possible(snapshot=snapshot)
    Evaluation.runs.filter(pk__in=ranked, first_ranked=None).update(first_ranked=Now())
    return snapshot


def latest_snapshot(*, suite: Suite, conditions: Conditions | None = None) -> Snapshot | None:
    """The newest snapshot of a board; without conditions, of the board that this installation evaluates for. Its
    content is deferred (`contents.py` caches it)."""
    if conditions is not None:
        of_board = Snapshot.objects.filter(suite=suite, **conditions._asdict())
        return of_board.select_related("signature").order_by("-number").defer(*NOT_SHOWN).first()
    return latest_snapshots(suites=[suite]).get(suite.pk)


def latest_snapshots(*, suites: Iterable[Suite]) -> dict[int, Snapshot]:
    """The newest snapshot of each suite by the suite's key, in one query; suites without one are left out. Contents
    are not read with them.

    Boards for the profile, split, samples and devices that this installation evaluates with come before any other, so
    that nobody moves the usual board aside by evaluating under other conditions; of these, those on the present hidden
    data.
    """
    found = list(suites)
    usual = Q(pk__in=[])
    for suite in found:
        conditions = {"profile": profile_of(suite), "split": split_of(suite), "samples": samples_of(suite)}
        usual |= Q(suite=suite, **conditions, device_class=device_class_of_site(suite))
    snapshots = (
        Snapshot.objects.filter(suite__in=found)
        .annotate(preference=Case(When(usual & present_data(), then=0), When(usual, then=1), default=2))
        .order_by("suite", "preference", "-number")
        .distinct("suite")
        .select_related("signature")
        .defer(*NOT_SHOWN)
    )
    return {snapshot.suite_id: snapshot for snapshot in snapshots}


def snapshots_of(slug: str) -> QuerySet[Snapshot]:
    """Every snapshot of a suite, over all its versions and conditions, the newest first. Contents are not read with
    them."""
    snapshots = Snapshot.objects.filter(suite__slug=slug).select_related("suite", "signature")
    return snapshots.defer(*NOT_SHOWN).order_by("-number")


def conditions_of(snapshot: Snapshot) -> Conditions:
    """The conditions that the evaluations of a snapshot share."""
    return conditions_of_board(snapshot)


def unranked(*, suite: Suite, reader: Reader) -> QuerySet[Evaluation]:
    """Unranked evaluations that the reader can see, oldest first: in progress, or waiting for their owner."""
    final = [EvaluationState.COMPLETED, EvaluationState.FAILED, EvaluationState.CANCELLED]
    return (
        visible_evaluations(reader)
        .filter(suite=suite, hidden_at=None)
        .exclude(state__in=final)
        .select_related("submission__planner__owner")
        .order_by("created")
    )


def ranked_evaluations(*, suite: Suite, conditions: Conditions) -> QuerySet[Evaluation]:
    """Every evaluation that may be ranked on a board."""
    return published().filter(suite=suite, **conditions._asdict())


def newest_evaluations(*, suites: Iterable[Suite]) -> QuerySet[Evaluation]:
    """Evaluations published on the boards of these suites under any conditions, newest first, annotated with the time
    of publication as `published`: when they finished, or when they became public if that was later."""
    return (
        published()
        .filter(suite__in=list(suites), finished__isnull=False)
        .annotate(published=Greatest("finished", "submission__public_since"))
        .select_related("suite", "submission__planner__owner")
        .order_by("-published", "pk")
    )


def _content(*, suite: Suite, conditions: Conditions) -> dict[str, Any]:
    metric = primary_metric(suite)
    better = bool(metric.get("higher_is_better", True))
    runs = shown_runs(evaluations=ranked_evaluations(suite=suite, conditions=conditions), metric=metric["key"])
    shown = Evaluation.runs.filter(pk__in=list(runs)).order_by("finished", "pk")
    entries = [entry._replace(runs=runs[UUID(entry.evaluation)]) for entry in entries_of(shown)]
    entries = with_means(entries=entries, suite=suite, samples=conditions.samples)
    tested = {entry.evaluation: runs_of(entry) for entry in entries if metric["key"] in entry.metrics}
    scores = scores_of(runs=tested, suite=suite, samples=conditions.samples, alike=deterministic_rows(entries))
    means = ranked_means(entries=entries, metric=metric["key"], higher_is_better=better)
    tests = tests_of(scores=scores, ranked=means, suite=suite)
    normalised = normalised_scores(entries=entries, scores=scores, suite=suite)
    margins = uncertainties_of(scores=scores, suite=suite)
    entries = [
        entry._replace(normalised=normalised.get(entry.evaluation), uncertainty=margins.get(entry.evaluation))
        for entry in entries
    ]
    ranked = rank_entries(entries=entries, metric=metric["key"], higher_is_better=better, ranges=tests.ranges)
    coverage = {"run": 0, "total": 0}
    # Equal for all evaluations of a board.
    if (first := shown.first()) is not None:
        coverage = {"run": first.tasks_total - first.tasks_not_run, "total": first.tasks_total}
    rows = [to_row(row, tests=tests.count) for row in ranked]
    summary = with_agreement(tests.summary, rows=[figures_of(row) for row in ranked], columns=suite.columns)
    return {"rows": rows, "coverage": coverage, "summary": summary.model_dump(mode="json")}


class _Source(NamedTuple):
    """The source of a row of a board. Field names are lookup paths of the query."""

    pk: UUID
    suite__slug: str
    finished: datetime | None
    state_since: datetime
    samples: int
    summary: Mapping[str, Any]
    own_worker_run: UUID | None
    submission__rerun_of__own_worker_run: UUID | None
    reliability__figures__dimensions: Mapping[str, Any] | None
    submission__team__name: str | None
    submission__version: str
    submission__planner__name: str
    submission__planner__kind: str
    submission__planner__is_imported: bool
    submission__is_regrade: bool
    submission__planner__owner__username: str
    submission__planner__bundled_name: str
    submission__planner__strategy: str
    submission__planner__roles: Mapping[str, Mapping[str, Any]]
    submission__planner__model_name: str
    submission__planner__parameters: int | None
    submission__planner__open_weights: bool | None
    submission__planner__prompt_price: float | None
    submission__planner__completion_price: float | None
    submission__planner__cached_price: float | None


def entries_of(evaluations: QuerySet[Evaluation]) -> list[Entry]:
    """Completed evaluations as entries, in the order of the query. Reads only the needed columns and creates no model
    instances, which would take most of the time for thousands of rows."""
    return [_entry(_Source(*values)) for values in evaluations.values_list(*_Source._fields)]


def entry_of(evaluation: Evaluation) -> Entry:
    """The entry of a single evaluation."""
    return entries_of(Evaluation.runs.filter(pk=evaluation.pk))[0]


def _entry(source: _Source) -> Entry:
    finished = source.finished or source.state_since
    models = source.submission__planner__roles
    return Entry(
        planner=source.submission__planner__name,
        kind=source.submission__planner__kind,
        owner=source.submission__planner__owner__username,
        evaluation=str(source.pk),
        metrics=read_metrics(source.summary),
        outcomes={key: count for key, count in source.summary.get("outcomes", {}).items() if count},
        finished=finished.isoformat(),
        samples=source.samples,
        version=source.submission__version,
        team=source.submission__team__name or "",
        strategy=source.submission__planner__bundled_name or source.submission__planner__strategy,
        usage={name: round(mean["mean"], 6) for name, mean in source.summary.get("usage", {}).items()},
        readable=_readable(source),
        run_by_owner=source.own_worker_run is not None
        or (
            # The plans of a regrade are those of the run before.
            source.submission__is_regrade and source.submission__rerun_of__own_worker_run is not None
        ),
        imported=source.submission__planner__is_imported,
        regraded=source.submission__is_regrade,
        # Nobody verifies the runs of a profile on a self-hosted worker.
        reliability={} if source.own_worker_run else dimensions_of(source.reliability__figures__dimensions),
        asked=_asked(source),
        devices=tuple(source.summary.get("devices", ())),
        model_name=source.submission__planner__model_name,
        parameters=roles.parameters_with(
            models, kind=source.submission__planner__kind, main=source.submission__planner__parameters
        ),
        open_weights=roles.are_open_with(
            models, kind=source.submission__planner__kind, main=source.submission__planner__open_weights
        ),
        roles=roles.model_names(models),
        prices=None
        if models
        else Prices.of(
            prompt=source.submission__planner__prompt_price,
            completion=source.submission__planner__completion_price,
            cached=source.submission__planner__cached_price,
        ),
        declared=KINDS[source.submission__planner__kind].declares,
    )


def deterministic_rows(entries: Iterable[Entry]) -> dict[str, bool] | None:
    """By evaluation, whether its planner is declared to answer alike and did; None if no row says how often its planner
    was asked."""
    asked = {entry.evaluation: entry.asked for entry in entries}
    if not any(asked.values()):
        return None
    return {evaluation: is_deterministic(facts) for evaluation, facts in asked.items()}


_ASKED = ("claim", "verdict", "runs", "tasks", "differing")


def _asked(source: _Source) -> Mapping[str, Any]:
    report = source.summary.get("runs") or {}
    return {name: report[name] for name in _ASKED} if report else {}


def _readable(source: _Source) -> Mapping[str, Any]:
    reading = Reading.from_json(source.summary.get("reading"))
    # The replies of suites in turns are actions, of which a task has many.
    share = None if reading is None or source.suite__slug in suites_in_turns() else reading.share
    return share or {}


def publish_changed(event: Changed) -> None:
    """Publish the boards that the queue has changed, and sign the evaluations it has completed."""
    sign_when_possible(evaluation_ids=event.completed)
    for evaluation in event.boards:
        publish_locked(evaluation)
