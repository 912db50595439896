"""Watching a plan run: the newest executed task, replayed in the recorded order and time of its steps.

Workers report whole tasks, and single steps are only in their records (`SampleResult.steps`), so that a step is seen
once its task has ended. While an evaluation runs, the newest task is that of some seconds ago.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluator.core.records import Outcome, ResultRecord, StepRun
from evaluator.core.suites.hidden import HIDDEN
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.visibility import RELATED, on_boards, visible_evaluations, withheld_from
from leaderboard.evaluations.web.tasks.plan_graph import Graph
from leaderboard.evaluations.web.tasks.task_presenters import drawn_plan
from leaderboard.evaluations.web.visibility_panel import for_readers_of
from leaderboard.platform.http.caching import shareable
from leaderboard.platform.lru_cache import SharedCache

_MOST_EVALUATIONS = 5
"""Number of evaluations among whose tasks the newest is searched."""
_MOST_TRIED = 5
"""Number of tasks that are tried until one has a record with a drawable plan."""
_STATES = (EvaluationState.RUNNING, EvaluationState.AGGREGATING, EvaluationState.ON_HOLD, EvaluationState.COMPLETED)
_MOST_STEPS = 40
_LONGEST_SECONDS = 10.0
"""Duration of a replay, apart from the least duration of its steps."""
_SPEEDS = tuple(digit * 10.0**power for power in range(-2, 5) for digit in (1, 2, 5))
LONGEST_REQUEST = 240


class WatchedStep(NamedTuple):
    """One step of the plan over all samples of the task."""

    node: str
    """Key of its node in the graph."""
    tool: str
    expert: str
    runs: int
    stored: int
    """Runs whose result was already in the store, which took no time."""
    seconds: float
    """Total of the runs."""
    failed: bool


class LiveTask(NamedTuple):
    """An executed task with the order and the times of its steps."""

    evaluation: Evaluation
    key: str
    request: str
    finished: datetime
    is_running: bool
    """Whether its evaluation is running, so that a newer task will follow."""
    planning_seconds: float | None
    """The planner's response time; None if it was not called."""
    steps: tuple[WatchedStep, ...]
    graph: Graph
    score: float | None
    speed: float
    """Recorded seconds per second of the replay."""
    again: str = ""
    """Address of the page with the newest task."""

    @property
    def speed_words(self) -> str:
        """As in `10 times faster`."""
        if self.speed == 1:
            return "at the recorded speed"
        return f"{self.speed:g} times faster" if self.speed > 1 else f"{1 / self.speed:g} times slower"


def latest_results(evaluations: QuerySet[Evaluation]) -> list[TaskResult]:
    """The newest executed tasks of some evaluations, newest first, in two queries. Excludes hidden data for
    every reader."""
    executed = evaluations.filter(state__in=_STATES, suite__conditions__experts=True).exclude(split=HIDDEN)
    # A running evaluation is among the newest, or older than several that were submitted after it.
    running = executed.filter(state=EvaluationState.RUNNING).order_by("-created")
    newest = executed.order_by("-created")
    chosen = running[:_MOST_EVALUATIONS].values_list("pk").union(newest[:_MOST_EVALUATIONS].values_list("pk"), all=True)
    related = "task__suite", *(f"evaluation__{name}" for name in (*RELATED, "submission__planner__owner"))
    results = TaskResult.objects.filter(
        evaluation__in={pk for (pk,) in chosen}, outcome=Outcome.SCORED, plan_summary__gt="", record_digest__gt=""
    )
    return list(results.select_related(*related).order_by("-updated", "pk")[:_MOST_TRIED])


def public_results() -> list[TaskResult]:
    """`latest_results` of the evaluations that everybody sees and no operator has hidden."""
    return latest_results(Evaluation.objects.filter(on_boards()))


def mark_of(results: Sequence[TaskResult]) -> list[Any]:
    """What `live_task` depends on, as JSON values for the ETag of a page."""
    return [[result.pk, result.updated.isoformat(), result.evaluation.state] for result in results]


def live_task(results: Sequence[TaskResult], *, again: str) -> LiveTask | None:
    """The first of these tasks whose plan can be shown to everybody; None without one. Reads its record.

    Args:
        results: of `latest_results`.
        again: address of the page with the newest task.
    """
    for result in results:
        key = result.pk, result.updated, result.evaluation.state
        found = _tasks.get(key) or _read(result)
        if found is not None:
            _tasks.put(key, found)
            return found._replace(again=again)
    return None


_tasks: SharedCache[tuple[int, datetime, str], LiveTask] = SharedCache(maxsize=50)
"""By the row, which its evaluation's state and a repeated task change."""


def _read(result: TaskResult) -> LiveTask | None:
    """The task, or None if not everybody may see its plan, or if there is nothing to draw."""
    withheld = withheld_from(reader=None, evaluation=result.evaluation)
    if withheld.plan or withheld.data or withheld.tasks:
        return None
    record = read_record(digest=result.record_digest, store=server_store(split=result.evaluation.split))
    graph = drawn_plan(task=result.task, record=record) if record is not None else None
    steps = tuple(_steps(record)) if record is not None else ()
    if record is None or graph is None or not 0 < len(steps) <= _MOST_STEPS:
        return None
    planning = record.planner.seconds if record.planner else None
    return LiveTask(
        evaluation=result.evaluation,
        key=result.task.key,
        request=record.request[:LONGEST_REQUEST],
        finished=result.updated,
        is_running=result.evaluation.state == EvaluationState.RUNNING,
        planning_seconds=planning,
        steps=steps,
        graph=graph,
        score=result.score,
        speed=_speed((planning or 0.0) + sum(step.seconds for step in steps)),
    )


def _steps(record: ResultRecord) -> Iterator[WatchedStep]:
    """In the order in which the steps first ran."""
    runs: dict[str, list[StepRun]] = {}
    for sample in record.samples:
        for run in sample.steps:
            runs.setdefault(run.step, []).append(run)
    plan: dict[str, Any] = record.plan if isinstance(record.plan, dict) else {}
    places: dict[str, int] = {}
    for place, step in enumerate(plan.get("steps") or ()):
        places.setdefault(step["id"], place)
    for step, of in runs.items():
        if step in places:
            yield WatchedStep(
                node=f"step:{places[step]}",
                tool=of[0].tool,
                expert=of[0].expert,
                runs=len(of),
                stored=sum(run.cached for run in of),
                seconds=sum(run.seconds for run in of if not run.cached),
                failed=any(run.error for run in of),
            )


def _speed(seconds: float) -> float:
    return next((speed for speed in _SPEEDS if seconds / speed <= _LONGEST_SECONDS), _SPEEDS[-1])


@require_safe
def watch(request: HttpRequest) -> HttpResponse:
    """The newest executed task of all public evaluations."""
    task = live_task(public_results(), again=reverse("evaluations:watch"))
    return shareable(render(request, "evaluations/watch.html", {"live_task": task}))


@require_safe
def watch_evaluation(request: HttpRequest, evaluation_id: UUID) -> HttpResponse:
    """The newest executed task of one evaluation."""
    visible = visible_evaluations(request.user).filter(pk=evaluation_id)
    evaluation = get_object_or_404(visible.select_related(*RELATED))
    task = live_task(latest_results(visible), again=request.path)
    context = {"live_task": task, "evaluation": evaluation}
    return for_readers_of(evaluation.submission, response=render(request, "evaluations/watch.html", context))
