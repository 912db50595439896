"""Context of the evaluation page: progress, metrics, failures, tasks, and visibility."""

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
from leaderboard.evaluations.visibility import (
    Reader,
    is_public,
    may_act,
    shows_parts,
    withheld_from,
    withholds_tasks,
    words_of,
)
from leaderboard.evaluations.web.line_plot import LinePlot, turn_plot
from leaderboard.platform.health import QUEUE, STORAGE, Code, current_health
from leaderboard.platform.lru_cache import Mark, SharedCache
from leaderboard.queue.place import Place, WaitsFor, place_of
from leaderboard.submissions.web.forms import ChangeVisibilityForm

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


def latest_results(evaluation_id: UUID) -> list[NewResult]:
    """The tasks that ended last, the latest first, without tasks that cannot run."""
    ended = TaskResult.objects.filter(evaluation=evaluation_id).exclude(outcome=Outcome.NOT_RUN)
    columns = ended.order_by("-updated", "-task__position").values_list("task__key", "outcome", "score")
    return [NewResult(task=task, outcome=outcome, score=score) for task, outcome, score in columns[:LATEST]]


TASKS_PER_PAGE = 50
OUTCOME_ORDER = ("scored", "planner_fault", "infra_fault", "not_run", "cancelled", PENDING)
_CACHED = 32
"""Number of evaluations whose tasks are cached; 2,500 tasks take about 3 MB."""


class Heading(NamedTuple):
    """A sortable heading of the task table."""

    key: str
    label: str
    sorted: str
    link: str


class MetricCard(NamedTuple):
    """One metric of the suite with this evaluation's value, if any."""

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
    """(outcome, count) in the order of `OUTCOME_ORDER`."""
    is_moving: bool
    latest: tuple[TaskRow, ...] = ()
    """While it moves: the tasks that ended last, the latest first."""
    waiting: str = ""
    """While it waits: its place in the queue, and why."""


class Gathered(NamedTuple):
    """Everything that is computed from all tasks of an evaluation, before filters."""

    version: Hashable
    """Version of the results."""
    mark: Mark
    """Identifies it in cache keys (`{% kept %}`)."""
    tasks: Tasks
    failures: tuple[FailureGroup, ...]
    breakdowns: tuple[Breakdown[ShareRow], ...]
    score_breakdowns: tuple[Breakdown[ScoreRow], ...]
    episodes: EpisodeLines | None
    """For suites in turns."""
    causes: CauseBars
    total: int
    """Number of tasks, including unlisted ones."""
    done: int
    """Number of tasks that have ended, without those that were left out."""
    counts: tuple[tuple[str, int], ...]
    """(outcome, count) in the order of `OUTCOME_ORDER`."""
    latest: tuple[TaskRow, ...]
    """The tasks that ended last, the latest first."""


class EpisodesPart(NamedTuple):
    """The episodes of a suite in turns."""

    lines: EpisodeLines
    plot: LinePlot | None
    gained: str
    """Heading of the sums of scores."""
    digits: int
    """Decimals of these sums."""
    has_samples: bool
    """Whether a task has several episodes."""


class EvaluationPage(NamedTuple):
    """Context of the page without the evaluation itself."""

    mark: Mark
    """Identifies everything computed from all tasks in cache keys (`{% kept %}`)."""
    progress: Progress
    metrics: tuple[MetricCard, ...]
    failures: tuple[FailureGroup, ...]
    selection: Selection
    page: "Page[TaskRow]"
    headings: tuple[Heading, ...]
    provenance: list[tuple[str, str]]
    has_results: bool
    breakdowns: tuple[Breakdown[ShareRow], ...]
    """For suites that judge plans: the indicators by level and by group."""
    score_breakdowns: tuple[Breakdown[ScoreRow], ...]
    """For suites that execute plans: the mean score by kind of task."""
    episodes: EpisodesPart | None
    """For suites in turns, unless it is withheld."""
    causes: CauseBars

    @property
    def first_filters(self) -> list[Filter]:
        """The filters that are always visible."""
        return [each for each in self.selection.filters if each.section == FIRST]

    @property
    def indicator_filters(self) -> list[Filter]:
        return [each for each in self.selection.filters if each.section == INDICATORS]

    @property
    def further_filters(self) -> list[Filter]:
        return [each for each in self.selection.filters if not each.section]

    @property
    def further_are_set(self) -> bool:
        return any(each.is_set for each in self.further_filters)


_gathered: SharedCache[tuple[UUID, bool], Gathered] = SharedCache(maxsize=_CACHED)
"""Keyed by evaluation, and whether it was read with `results_version`."""
_selections: SharedCache[tuple[Mark, frozenset[tuple[str, str]]], Selection] = SharedCache(maxsize=2 * _CACHED)
"""Keyed by the gathered tasks and the query string."""


def evaluation_page(*, evaluation: Evaluation, parameters: Mapping[str, str]) -> EvaluationPage:
    """Assemble the page of an evaluation that was read `with_open_shards`: one query for the results, everything else
    in memory."""
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
        gathered = _gather(evaluation, rows=task_rows(evaluation) if rows is None else rows, version=version)
        gathered = _without_single_tasks(gathered, evaluation=evaluation) if is_sealed else gathered
        _gathered.put(key, gathered)
    return gathered


def _gather(evaluation: Evaluation, *, rows: Sequence[TaskRow], version: Hashable) -> Gathered:
    suite = evaluation.suite
    counted = Counter(row.outcome for row in rows)
    # Groups show marks if plans are judged, and for suites in turns unless scores are graded.
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


def _without_single_tasks(gathered: Gathered, *, evaluation: Evaluation) -> Gathered:
    """Remove everything that reveals the result of a single task: tasks, groups with too few tasks for an interval, and
    all groups and causes unless the evaluation has completed.

    Sentences about faults remain, because the owner has to correct them, and name tasks by the ids in requests.
    """
    shows = shows_parts(reader=None, of=evaluation)
    scores = [
        part._replace(rows=tuple(row for row in part.rows if row.interval.count >= LEAST_VALUES))
        for part in gathered.score_breakdowns
    ]
    shares = [
        part._replace(rows=tuple(row for row in part.rows if row.count >= LEAST_VALUES)) for part in gathered.breakdowns
    ]
    return gathered._replace(
        tasks=index(rows=(), suite=evaluation.suite.facets),
        failures=_named_as_asked(gathered.failures, evaluation=evaluation),
        score_breakdowns=tuple(part for part in scores if part.rows) if shows else (),
        breakdowns=tuple(part for part in shares if part.rows) if shows else (),
        episodes=gathered.episodes if shows else None,
        causes=gathered.causes if shows else cause_bars(()),
        latest=(),
    )


def _named_as_asked(groups: Sequence[FailureGroup], *, evaluation: Evaluation) -> tuple[FailureGroup, ...]:
    try:
        seed = seed_of(evaluation)
    except NoSeedError:
        names: Callable[[str], str | None] = lambda _: None  # noqa: E731 - the ids cannot be computed
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


def latest_rows(rows: Sequence[TaskRow]) -> tuple[TaskRow, ...]:
    """The rows of `latest_results`."""
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
    order = read_sort(sort)
    measured = ("marks", "Indicators") if shows_marks else ("score", "Score")
    labels = (("task", "Task"), ("outcome", "Outcome"), measured, ("seconds", "Time"))
    return tuple(
        Heading(key, label, order.direction(key), order.link(key, ascends=key in {"task", "outcome"}))
        for key, label in labels
    )


def flatten(value: Mapping[str, Any], *, prefix: str = "") -> list[tuple[str, str]]:
    """Nested provenance as (name, value) pairs, in order."""
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
    """The visibility, such as `private`; empty if it is public."""
    readers: str
    until: datetime | None
    """End of the embargo."""
    stays_public: bool
    suites: int
    """Number of suites of the submission."""
    standing: Standing | None
    """The rank that it would have, unless it is public."""
    form: ChangeVisibilityForm | None
    """None for readers who may not change it."""


def with_siblings(evaluations: QuerySet[Evaluation]) -> QuerySet[Evaluation]:
    """Annotate evaluations with `siblings`: how many evaluations the submission has, and how many of them were ever
    ranked. None for an evaluation that was not submitted."""
    own = Evaluation.objects.filter(submission=OuterRef("submission")).order_by().values("submission")
    packed = Func(Count("pk"), Count("first_ranked"), function="jsonb_build_array", output_field=JSONField())
    return evaluations.annotate(siblings=Subquery(own.annotate(siblings=packed).values("siblings")))


def visibility_panel(*, evaluation: Evaluation, reader: Reader) -> VisibilityPanel | None:
    """The panel for a reader who sees the evaluation; None if there is nothing to say or change.

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
    """Prevent caching unless the submission is public."""
    if submission.visibility != Visibility.PUBLIC:
        patch_cache_control(response, private=True, no_store=True)
    return response
