"""What the evaluation page shows, ready for its template: progress, metrics, failures, tasks, and who sees it."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Count, Func, JSONField, OuterRef, QuerySet, Subquery
from django.http import HttpResponse
from django.utils.cache import patch_cache_control

from evaluator.core.records import Outcome
from evaluator.core.suites.base import IntervalMethod, Panel
from evaluator.core.suites.hidden import asked_name
from evaluator.scoring.metrics.statistics import LEAST_VALUES
from evaluator.scoring.metrics.undecided import ranged
from leaderboard.boards.standing import Standing, standing_of
from leaderboard.catalog.hidden_data import NoSeedError, seed_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.causes import CauseBars, cause_bars
from leaderboard.evaluations.gold import shows_parts, withheld_from, withholds_tasks
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, TaskResult, Visibility
from leaderboard.evaluations.results.breakdowns import (
    Breakdown,
    EpisodeLines,
    FailureGroup,
    ScoreRow,
    ShareRow,
    episode_lines,
    failures,
    score_breakdowns,
    share_breakdowns,
)
from leaderboard.evaluations.results.filters import Filter
from leaderboard.evaluations.results.task_rows import (
    FIRST,
    INDICATORS,
    PENDING,
    Selection,
    TaskRow,
    Tasks,
    index,
    read_sort,
    select,
    task_rows,
)
from leaderboard.evaluations.results.task_scores import causes_version
from leaderboard.evaluations.states import FINAL, LATEST, NewResult, describe
from leaderboard.evaluations.visibility import Reader, is_public, may_act, words_of
from leaderboard.evaluations.web.line_plot import LinePlot, turn_plot
from leaderboard.platform.health import QUEUE, STORAGE, Code, current_health
from leaderboard.platform.lru_cache import Mark, SharedCache
from leaderboard.queue.place import Place, WaitsFor, place_of
from leaderboard.submissions.web.forms import ChangeVisibilityForm

MOVING = frozenset(
    {EvaluationState.QUEUED, EvaluationState.LAUNCHING, EvaluationState.RUNNING, EvaluationState.AGGREGATING}
)


def progress(evaluation: Evaluation) -> dict[str, Any]:
    """Where an evaluation stands, with the tasks that ended last and its place in the queue."""
    return {
        **describe(evaluation.pk),
        "results": [] if withholds_tasks(reader=None, of=evaluation) else latest_results(evaluation.pk),
        "waiting": waiting_sentence(evaluation=evaluation, place=place_of(evaluation)),
    }


def waiting_sentence(*, evaluation: Evaluation, place: Place | None) -> str:
    """What an evaluation at a place of the queue waits for; empty if for nothing."""
    if evaluation.state not in MOVING:
        return place.sentence if place else ""
    findings = {finding.code: finding.sentence for finding in current_health()}
    hindering = STORAGE if evaluation.state == EvaluationState.RUNNING else STORAGE | QUEUE
    for code, sentence in findings.items():
        if code in hindering:
            return sentence
    if place is None:
        return ""
    # Whoever waits for others is told too that nobody works.
    behind = place.waits_for in {WaitsFor.SHARE, WaitsFor.TURN, WaitsFor.FREE_WORKER}
    return f"{place.sentence} {findings.get(Code.NO_WORKERS, '') if behind else ''}".strip()


def latest_results(evaluation_id: UUID) -> list[NewResult]:
    """The tasks that ended last, the last one first. Tasks that cannot run had ended before anything began."""
    ended = TaskResult.objects.filter(evaluation=evaluation_id).exclude(outcome=Outcome.NOT_RUN)
    columns = ended.order_by("-updated", "-task__position").values_list("task__key", "outcome", "score")
    return [NewResult(task=task, outcome=outcome, score=score) for task, outcome, score in columns[:LATEST]]


TASKS_PER_PAGE = 50
OUTCOME_ORDER = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled", PENDING)
_KEPT = 32
"""Evaluations whose tasks are kept in memory; one of 2,500 tasks takes some 3 MB."""


class Heading(NamedTuple):
    """One sortable heading of the task table."""

    key: str
    label: str
    sorted: str
    link: str


class MetricCard(NamedTuple):
    """One metric of the suite with this evaluation's value, if it has one."""

    label: str
    description: str
    is_primary: bool
    higher_is_better: bool
    is_size: bool
    """Whether it is a size of plans, which has no best value."""
    value: Mapping[str, Any] | None


class Progress(NamedTuple):
    """Progress of the tasks."""

    done: int
    total: int
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order in which they are always shown."""
    is_moving: bool
    latest: tuple[TaskRow, ...] = ()
    """While it moves: the tasks that ended last, the last one first."""
    waiting: str = ""
    """While it waits: its place in the queue, and why."""


class Gathered(NamedTuple):
    """Everything that is computed from all tasks of an evaluation, before filters."""

    version: Hashable
    """Of the results: another one when they have changed."""
    mark: Mark
    """Stands for all of it in cache keys (`{% kept %}`)."""
    tasks: Tasks
    failures: tuple[FailureGroup, ...]
    breakdowns: tuple[Breakdown[ShareRow], ...]
    score_breakdowns: tuple[Breakdown[ScoreRow], ...]
    episodes: EpisodeLines | None
    """Of suites in turns."""
    causes: CauseBars
    total: int
    """Tasks that there are, also where none is listed."""
    done: int
    """Tasks that have ended, without those that were left out."""
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order in which they are always shown."""
    latest: tuple[TaskRow, ...]
    """The tasks that ended last, the last one first."""


class EpisodesPart(NamedTuple):
    """How the episodes of a suite in turns went."""

    lines: EpisodeLines
    plot: LinePlot | None
    gained: str
    """Heading of the sums of scores."""
    digits: int
    """Decimals of these sums."""
    has_samples: bool
    """Whether a task has several episodes."""


class EvaluationPage(NamedTuple):
    """Everything on the page besides the evaluation itself."""

    mark: Mark
    """Stands for everything computed from all tasks in cache keys (`{% kept %}`)."""
    progress: Progress
    metrics: tuple[MetricCard, ...]
    failures: tuple[FailureGroup, ...]
    selection: Selection
    page: "Page[TaskRow]"
    headings: tuple[Heading, ...]
    provenance: list[tuple[str, str]]
    has_results: bool
    breakdowns: tuple[Breakdown[ShareRow], ...]
    """Of suites that judge plans: the indicators by level and by group."""
    score_breakdowns: tuple[Breakdown[ScoreRow], ...]
    """Of suites that execute plans: the mean score by kind of task."""
    episodes: EpisodesPart | None
    """Of suites in turns, unless it is withheld."""
    causes: CauseBars

    @property
    def first_filters(self) -> list[Filter]:
        """The filters that are always in view; the indicators and all others follow."""
        return [one for one in self.selection.filters if one.section == FIRST]

    @property
    def indicator_filters(self) -> list[Filter]:
        return [one for one in self.selection.filters if one.section == INDICATORS]

    @property
    def further_filters(self) -> list[Filter]:
        return [one for one in self.selection.filters if not one.section]

    @property
    def further_are_set(self) -> bool:
        return any(one.is_set for one in self.further_filters)


_gathered: SharedCache[tuple[UUID, bool], Gathered] = SharedCache(maxsize=_KEPT)
"""By the evaluation, and whether it was read with `results_version`."""
_selections: SharedCache[tuple[Mark, frozenset[tuple[str, str]]], Selection] = SharedCache(maxsize=2 * _KEPT)
"""By what is selected from and the query string."""


def evaluation_page(*, evaluation: Evaluation, parameters: Mapping[str, str]) -> EvaluationPage:
    """Gather the page of an evaluation that was read `with_open_shards`: one query for the results, everything else in
    memory."""
    gathered = gather(evaluation)
    asked = gathered.mark, frozenset(parameters.items())
    selection = _selections.get_or_make(asked, lambda: select(tasks=gathered.tasks, parameters=parameters))
    progress = _progress(gathered=gathered, evaluation=evaluation)
    return EvaluationPage(
        mark=gathered.mark,
        progress=progress,
        metrics=_metric_cards(suite=evaluation.suite, summary=evaluation.summary or {}),
        failures=gathered.failures,
        selection=selection,
        page=Paginator(selection.rows, TASKS_PER_PAGE).get_page(parameters.get("page")),
        headings=_headings(sort=parameters.get("sort", ""), shows_marks=not evaluation.suite.runs_experts),
        provenance=flatten(evaluation.provenance or {}),
        has_results=progress.done > 0,
        breakdowns=gathered.breakdowns,
        score_breakdowns=gathered.score_breakdowns,
        episodes=_episodes_part(suite=evaluation.suite, lines=gathered.episodes),
        causes=gathered.causes,
    )


def gather(evaluation: Evaluation) -> Gathered:
    """The tasks with what is computed from all of them. Reading the evaluation `with_results_version` saves a query.

    Cached until a result changes: a reader who watches asks often, and computing intervals takes most of the time.
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
    found = _gathered.get(key)
    if found is None or found.version != version:
        found = _gather(evaluation, rows=task_rows(evaluation) if rows is None else rows, version=version)
        found = _without_single_tasks(found, evaluation=evaluation) if is_sealed else found
        _gathered.put(key, found)
    return found


def _gather(evaluation: Evaluation, *, rows: Sequence[TaskRow], version: Hashable) -> Gathered:
    suite = evaluation.suite
    counted = Counter(row.outcome for row in rows)
    # Tasks are grouped by their marks where plans are judged, and in turns unless scores are graded.
    has_shares = suite.has(Panel.INDICATORS) or (suite.has(Panel.TRANSCRIPT) and not suite.has(Panel.SCORES))
    return Gathered(
        version=version,
        mark=Mark(),
        tasks=index(rows=rows, suite=suite.facets),
        failures=tuple(failures(rows)),
        breakdowns=share_breakdowns(rows=rows, suite=suite.facets) if has_shares else (),
        score_breakdowns=score_breakdowns(
            rows=rows, suite=suite.facets, method=suite.ranking_column.interval, samples=evaluation.samples
        )
        if suite.has(Panel.SCORES)
        else (),
        episodes=episode_lines(rows) if suite.has(Panel.TRANSCRIPT) else None,
        causes=cause_bars((row.outcome, row.why) for row in rows),
        total=len(rows),
        done=sum(row.outcome != PENDING and not row.was_left_out for row in rows),
        counts=tuple((outcome, counted[outcome]) for outcome in OUTCOME_ORDER),
        latest=latest_rows(rows),
    )


def _without_single_tasks(found: Gathered, *, evaluation: Evaluation) -> Gathered:
    """The same without anything from which a reader learns how a task went: no task is listed, groups have as many
    tasks as an interval needs, and of an evaluation that has not completed there are neither groups nor causes.

    Faults keep their sentences, as the owner has to mend them, and name tasks as the planner was asked.
    """
    shows = shows_parts(reader=None, of=evaluation)
    large = [
        part._replace(rows=tuple(row for row in part.rows if row.interval.count >= LEAST_VALUES))
        for part in found.score_breakdowns
    ]
    shares = [
        part._replace(rows=tuple(row for row in part.rows if row.count >= LEAST_VALUES)) for part in found.breakdowns
    ]
    return found._replace(
        tasks=index(rows=(), suite=evaluation.suite.facets),
        failures=_named_as_asked(found.failures, evaluation=evaluation),
        score_breakdowns=tuple(part for part in large if part.rows) if shows else (),
        breakdowns=tuple(part for part in shares if part.rows) if shows else (),
        episodes=found.episodes if shows else None,
        causes=found.causes if shows else cause_bars(()),
        latest=(),
    )


def _named_as_asked(groups: Sequence[FailureGroup], *, evaluation: Evaluation) -> tuple[FailureGroup, ...]:
    try:
        seed = seed_of(evaluation)
    except NoSeedError:
        names: Callable[[str], str | None] = lambda _: None  # noqa: E731 - nobody can compute them
    else:
        names = partial(asked_name, suite=evaluation.suite.slug, seed=seed)
    return tuple(
        group._replace(
            causes=tuple(
                cause._replace(examples=tuple(name for key in cause.examples if (name := names(key))))
                for cause in group.causes
            )
        )
        for group in groups
    )


def _episodes_part(*, suite: Suite, lines: EpisodeLines | None) -> EpisodesPart | None:
    if lines is None:
        return None
    is_share = suite.ranking_column.interval is IntervalMethod.WILSON
    plot = turn_plot(lines, is_share=is_share)
    gained, digits = ("Solved", 0) if is_share else ("Sum of scores", 2)
    has_samples = any(line.episodes != line.tasks for line in lines.stops)
    return EpisodesPart(lines=lines, plot=plot, gained=gained, digits=digits, has_samples=has_samples)


def _progress(*, gathered: Gathered, evaluation: Evaluation) -> Progress:
    is_moving = evaluation.state in MOVING
    return Progress(
        done=gathered.done,
        total=gathered.total,
        counts=gathered.counts,
        is_moving=is_moving,
        latest=gathered.latest if is_moving else (),
        waiting=waiting_sentence(evaluation=evaluation, place=place_of(evaluation)),
    )


def latest_rows(rows: Sequence[TaskRow]) -> tuple[TaskRow, ...]:
    """The tasks that ended last, as `progress.latest_results` has them."""
    ran = [row for row in rows if row.ended is not None and row.outcome != Outcome.NOT_RUN]
    return tuple(sorted(ran, key=lambda row: (row.ended, row.position), reverse=True)[:LATEST])


def _metric_cards(*, suite: Suite, summary: Mapping[str, Any]) -> tuple[MetricCard, ...]:
    measured = summary.get("metrics") or {}
    return tuple(
        MetricCard(
            label=column.label,
            description=column.description,
            is_primary=column.primary,
            higher_is_better=column.higher_is_better,
            is_size=not column.ordered,
            value=ranged(metrics=measured, column=column),
        )
        for column in suite.shown_columns
    )


def _headings(*, sort: str, shows_marks: bool) -> tuple[Heading, ...]:
    asked = read_sort(sort)
    measured = ("marks", "Indicators") if shows_marks else ("score", "Score")
    labels = (("task", "Task"), ("outcome", "Outcome"), measured, ("seconds", "Time"))
    return tuple(
        Heading(key, label, asked.direction(key), asked.link(key, ascends=key in {"task", "outcome"}))
        for key, label in labels
    )


def flatten(value: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested provenance as (name, value) pairs, in its own order."""
    pairs: list[tuple[str, str]] = []
    for key, item in value.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(item, Mapping):
            pairs += flatten(item, prefix=f"{name} / ")
        else:
            pairs.append((name, item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)))
    return pairs


class VisibilityPanel(NamedTuple):
    """Who sees an evaluation."""

    words: str
    """Such as `private`; empty: everybody."""
    readers: str
    until: datetime | None
    """When the embargo ends."""
    stays_public: bool
    suites: int
    """That were submitted together."""
    standing: Standing | None
    """Where it would stand, of what is not public."""
    form: ChangeVisibilityForm | None
    """For who may change it."""


def with_siblings(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """The same with `siblings`, in the query that reads them: of how many suites an evaluation's submission is, and how
    many of these evaluations were ever ranked. None where it was not submitted."""
    own = Evaluation.objects.filter(submission=OuterRef("submission")).order_by().values("submission")
    packed = Func(Count("pk"), Count("first_ranked"), function="jsonb_build_array", output_field=JSONField())
    return evaluations.annotate(siblings=Subquery(own.annotate(siblings=packed).values("siblings")))


def visibility_panel(*, evaluation: Evaluation, reader: Reader) -> VisibilityPanel | None:
    """What this reader, who sees the evaluation, is told; None where there is nothing to say or change.

    Args:
        evaluation: read `with_siblings`.
    """
    submission = evaluation.submission
    public = is_public(submission)
    acts = may_act(user=reader, submission=submission) and evaluation.is_submitted
    if public and not acts:
        return None
    suites, ranked = evaluation.siblings or (0, 0)  # type: ignore[attr-defined]  # annotated
    stays = acts and public and ranked > 0
    team, submitter = submission.team, submission.submitted_by.username
    chosen = Visibility.PUBLIC if public else submission.visibility
    form = ChangeVisibilityForm(
        initial={"visibility": chosen, "embargo_until": submission.embargo_until}, auto_id="visibility_%s"
    )
    return VisibilityPanel(
        words="" if public else words_of(submission),
        readers=f"{submitter}, the team {team.name} and the operators" if team else f"{submitter} and the operators",
        until=None if public else submission.embargo_until,
        stays_public=stays,
        suites=suites,
        standing=None if public else standing_of(evaluation),
        form=form if acts and not stays else None,
    )


def for_readers_of(submission: Submission, *, response: HttpResponse) -> HttpResponse:
    """The answer, which no browser or proxy keeps unless everybody may see it."""
    if submission.visibility != Visibility.PUBLIC:
        patch_cache_control(response, private=True, no_store=True)
    return response
