"""Tasks and progress of stored evaluations for their pages: read from the database, cached until a result changes, and
without what readers may not see.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from evaluator.core.records import Outcome
from evaluator.core.suites.hidden import LEAST_SHOWN, asked_name
from evaluator.scoring.causes.costs import Costs
from leaderboard.catalog.hidden_data import NoSeedError, seed_of
from leaderboard.evaluations.causes import cause_bars
from leaderboard.evaluations.finding_causes import gold_results
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.breakdowns import FailureGroup
from leaderboard.evaluations.results.stored_rows import task_rows
from leaderboard.evaluations.results.task_rows import Selection, TaskRow, index, select
from leaderboard.evaluations.results.task_scores import causes_version
from leaderboard.evaluations.states import FINAL, LATEST, NewResult, describe
from leaderboard.evaluations.visibility import shows_parts, withheld_from, withholds_tasks
from leaderboard.evaluations.web.explained import costs_of_faults, sealed
from leaderboard.evaluations.web.presenters import (
    EvaluationPage,
    Gathered,
    Progress,
    gathered_from,
    metric_places,
    page_of,
)
from leaderboard.platform.health import QUEUE, STORAGE, Code, current_health
from leaderboard.platform.lru_cache import Mark, SharedCache
from leaderboard.queue.place import Place, WaitsFor, place_of

MOVING = frozenset(
    {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.RUNNING, EvaluationState.AGGREGATING}
)


def progress(evaluation: Evaluation) -> dict[str, Any]:
    """The state of an evaluation, with the tasks that ended last and its place in the queue."""
    return {
        **describe(evaluation.pk),
        "results": [] if withholds_tasks(reader=None, of=evaluation) else latest_results(evaluation.pk),
        "waiting": waiting_sentence(evaluation=evaluation, place=place_of(evaluation)),
    }


def waiting_sentence(*, evaluation: Evaluation, place: Place | None) -> str:
    """Why an evaluation at a place of the queue waits; empty if it does not."""
    if evaluation.state not in MOVING:
        return place.sentence if place else ""
    findings = {finding.code: finding.sentence for finding in current_health()}
    blockers = STORAGE if evaluation.state == EvaluationState.RUNNING else STORAGE | QUEUE
    for code, sentence in findings.items():
        if code in blockers:
            return sentence
    if place is None:
        return ""
    # Evaluations behind others wait for a worker, too.
    behind = place.waits_for in {WaitsFor.SHARE, WaitsFor.TURN, WaitsFor.FREE_WORKER}
    return f"{place.sentence} {findings.get(Code.NO_WORKERS, '') if behind else ''}".strip()


def latest_rows(rows: Sequence[TaskRow]) -> tuple[TaskRow, ...]:
    """The rows of `latest_results`."""
    ran = [row for row in rows if row.ended is not None and row.outcome != Outcome.NOT_RUN]
    return tuple(sorted(ran, key=lambda row: (row.ended, row.position), reverse=True)[:LATEST])


def latest_results(evaluation_id: UUID) -> list[NewResult]:
    """The tasks that ended last, the latest first, without tasks that cannot run."""
    ended = TaskResult.objects.filter(evaluation=evaluation_id).exclude(outcome=Outcome.NOT_RUN)
    columns = ended.order_by("-updated", "-task__position").values_list("task__key", "outcome", "score")
    return [NewResult(task=task, outcome=outcome, score=score) for task, outcome, score in columns[:LATEST]]


_CACHED = 32
"""Number of evaluations whose tasks are cached; 2,500 tasks take about 3 MB."""
_gathered: SharedCache[tuple[UUID, bool], Gathered] = SharedCache(maxsize=_CACHED)
"""Keyed by evaluation, and whether it was read with `results_version`."""
_selections: SharedCache[tuple[Mark, frozenset[tuple[str, str]]], Selection] = SharedCache(maxsize=2 * _CACHED)
"""Keyed by the gathered tasks and the query string."""


def evaluation_page(
    *, evaluation: Evaluation, parameters: Mapping[str, str], board: Sequence[Mapping[str, Any]] = ()
) -> EvaluationPage:
    """Assemble the page of an evaluation that was read `with_open_shards`: a query for the results and, if experts
    execute the plans, one for those of gold plans; everything else in memory.

    Args:
        evaluation: to be shown.
        parameters: the query string.
        board: rows of the latest snapshot of its board, if it has a rank there.
    """
    gathered = gather(evaluation)
    key = gathered.mark, frozenset(parameters.items())
    selection = _selections.get_or_make(key, lambda: select(tasks=gathered.tasks, parameters=parameters))
    is_moving = evaluation.state in MOVING
    progress = Progress(
        done=gathered.done,
        total=gathered.total,
        counts=gathered.counts,
        is_moving=is_moving,
        latest=gathered.latest if is_moving else (),
        waiting=waiting_sentence(evaluation=evaluation, place=place_of(evaluation)),
    )
    return page_of(
        gathered,
        selection=selection,
        progress=progress,
        suite=evaluation.suite,
        summary=evaluation.summary or {},
        provenance=evaluation.provenance or {},
        parameters=parameters,
        places=metric_places(rows=board, evaluation=str(evaluation.pk), suite=evaluation.suite),
    )


def gather(evaluation: Evaluation) -> Gathered:
    """The tasks with everything computed from all of them. Reading the evaluation `with_results_version` saves a query.

    Cached until a result changes: live pages reload often, and computing intervals takes most of the time.
    """
    rows = None
    is_sealed = withholds_tasks(reader=None, of=evaluation)
    is_known, known = hasattr(evaluation, "results_version"), getattr(evaluation, "results_version", None)
    version: Hashable
    if evaluation.state not in FINAL and not is_known:
        rows = task_rows(evaluation)
        version = is_sealed, hash(tuple((row.ended, row.outcome, row.score, row.why) for row in rows))
    else:
        withheld = withheld_from(reader=None, evaluation=evaluation)
        results = tuple(known or ()) if is_known else causes_version([evaluation.pk])
        version = evaluation.state, withheld, results
    key = evaluation.pk, is_known
    gathered = _gathered.get(key)
    if gathered is None or gathered.version != version:
        rows = task_rows(evaluation) if rows is None else rows
        gathered = gathered_from(
            rows,
            suite=evaluation.suite,
            samples=evaluation.samples,
            gold=gold_results(evaluation) if any(row.main for row in rows) else {},
            latest=latest_rows(rows),
            version=version,
        )
        faults = costs_of_faults(rows, column=evaluation.suite.ranking_column)
        if evaluation.perturbation or evaluation.verifies_id:
            gathered = gathered._replace(costs=faults)
        gathered = _without_single_tasks(gathered, evaluation=evaluation, faults=faults) if is_sealed else gathered
        _gathered.put(key, gathered)
    return gathered


def _without_single_tasks(gathered: Gathered, *, evaluation: Evaluation, faults: Costs) -> Gathered:
    """Remove everything that reveals the result of a single task: tasks, groups of fewer tasks than a season shows, and
    all groups and causes unless the evaluation has completed.

    Sentences about faults remain, because the owner has to correct them, and name tasks by the ids in requests.
    """
    shows = shows_parts(reader=None, of=evaluation)
    scores = [
        part._replace(rows=tuple(row for row in part.rows if row.interval.count >= LEAST_SHOWN))
        for part in gathered.score_breakdowns
    ]
    shares = [
        part._replace(rows=tuple(row for row in part.rows if row.count >= LEAST_SHOWN)) for part in gathered.breakdowns
    ]
    name_of = _names_in_requests(evaluation)
    return gathered._replace(
        tasks=index(rows=(), suite=evaluation.suite.facets),
        failures=_renamed(gathered.failures, name_of=name_of),
        score_breakdowns=tuple(part for part in scores if part.rows) if shows else (),
        breakdowns=tuple(part for part in shares if part.rows) if shows else (),
        episodes=gathered.episodes if shows else None,
        causes=gathered.causes if shows else cause_bars(()),
        costs=sealed(gathered.costs if shows else faults, faults=faults, name_of=name_of),
        latest=(),
    )


def _names_in_requests(evaluation: Evaluation) -> Callable[[str], str | None]:
    """The function that gives the id of a task in requests; None if it cannot be computed."""
    try:
        return partial(asked_name, suite=evaluation.suite.slug, seed=seed_of(evaluation))
    except NoSeedError:
        return lambda _: None


def _renamed(groups: Sequence[FailureGroup], *, name_of: Callable[[str], str | None]) -> tuple[FailureGroup, ...]:
    return tuple(
        group._replace(
            causes=tuple(
                cause._replace(examples=tuple(name for key in cause.examples if (name := name_of(key))))
                for cause in group.causes
            )
        )
        for group in groups
    )
