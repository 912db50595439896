"""The evaluations of a comparison: conditions, and the scores of their tasks."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, Func, JSONField, Value

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import Facet
from evaluator.scoring.metrics.aggregate import TaskScore
from evaluator.scoring.task_comparison import Pair, Scores, compare, scores_of
from evaluator.scoring.uncertainty import is_deterministic
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.hidden_data import NAME_OF_DATA, when_public
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, conditions_of_board
from leaderboard.evaluations.results.further_scores import with_further
from leaderboard.evaluations.results.stored_rows import facts_of
from leaderboard.evaluations.results.task_rows import TaskRow
from leaderboard.evaluations.results.task_scores import causes_version, packed_scores_and_causes
from leaderboard.evaluations.states import FINAL
from leaderboard.evaluations.visibility import RELATED, Reader, sees_gold, shows_parts, visible_runs
from leaderboard.evaluations.web.compare.comparing import Causes, common_facets
from leaderboard.platform.lru_cache import SharedCache

MOST = 6
"""Maximum number of evaluations in one comparison."""
MOST_OFFERED = 12
"""Maximum number of board rows to choose from."""
LETTERS = "ABCDEF"


class NotComparableError(Exception):
    """The evaluations cannot be compared; `problems` has a sentence for each reason."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        super().__init__(" ".join(problems))


class Comparison(NamedTuple):
    """The result of a comparison."""

    metrics: tuple[Column, ...]
    tasks: tuple[TaskRow, ...]
    """In the suite's order, without results."""
    facets: tuple[Facet, ...]
    """Facets with more than one value."""
    scores: tuple[Scores, ...]
    pairs: tuple[Pair, ...]
    causes: tuple[Causes, ...]


def read_ids(texts: Sequence[str]) -> list[UUID]:
    """Parse the ids of a query string and drop duplicates.

    Raises:
        NotComparableError: an id is malformed, or there are too many.
    """
    ids: dict[UUID, None] = {}
    problems = []
    for text in texts:
        try:
            ids[UUID(text)] = None
        except ValueError:
            problems.append(f"“{text[:60]}” is not the id of an evaluation; an id looks like {UUID(int=0)}.")
    if len(ids) > MOST:
        problems.append(f"These are {len(ids)} evaluations; at most {MOST} can be compared at once.")
    if problems:
        raise NotComparableError(problems)
    return list(ids)


def read_evaluations(ids: Sequence[UUID], *, reader: Reader) -> list[Evaluation]:
    """The evaluations in the order of their ids.

    Raises:
        NotComparableError: an evaluation is invisible to this reader, has not ended or is a verification, or their
            conditions differ; the sentences name the differences.
    """
    related = *RELATED, "submission__planner__owner", "submission__team", "own_worker_run"
    visible = visible_runs(reader).select_related(*related).in_bulk(ids)
    problems = [f"There is no evaluation {pk}." for pk in ids if pk not in visible]
    evaluations = [visible[pk] for pk in ids if pk in visible]
    problems += [problem for evaluation in evaluations if (problem := _problem(evaluation))]
    problems += differing_conditions(evaluations)
    problems += [
        f"{evaluation.submission.planner.name} has not completed. {when_public(evaluation)}"
        for evaluation in evaluations
        if not shows_parts(reader=reader, of=evaluation)
    ]
    if problems:
        raise NotComparableError(problems)
    return evaluations


def differing_conditions(evaluations: Sequence[Evaluation], *, names: Sequence[str] = LETTERS) -> list[str]:
    """The conditions in which the evaluations differ, with their values.

    Args:
        names: of the evaluations in these sentences.
    """
    problems = []
    for condition, value in _CONDITIONS:
        values = [value(evaluation) for evaluation in evaluations]
        if len(set(values)) > 1:
            listed = ", ".join(f"{name}: {text}" for name, text in zip(names, values, strict=False))
            problems.append(f"They differ in the {condition} ({listed}).")
            if condition == "suite":
                break
    return problems


def comparison_of(evaluations: Sequence[Evaluation]) -> Comparison:
    """Compare at least two evaluations from `read_evaluations`: three queries, and one if the result is cached."""
    suite = evaluations[0].suite
    # Cached for all readers, so without facets that only operators may see.
    shows_gold = sees_gold(reader=None, suite=suite, split=evaluations[0].split)
    pks = tuple(evaluation.pk for evaluation in evaluations)
    make = partial(_comparison, pks=pks, suite=suite, shows_gold=shows_gold)
    if all(evaluation.state in FINAL for evaluation in evaluations):
        # The results of final evaluations never change, but their causes may be found later.
        return _comparisons.get_or_make((pks, shows_gold, causes_version(pks)), make)
    return make()


def best_of_board(evaluation: Evaluation) -> list[Mapping[str, Any]]:
    """The first rows of the evaluation's board except its own, in one query that reads no other rows."""
    first = Func(
        F("stored"), Value(f"$.rows[0 to {MOST_OFFERED}]"), function="jsonb_path_query_array",
        template="%(function)s(%(expressions)s::jsonpath)", output_field=JSONField(),
    )  # fmt: skip
    rows = (
        Snapshot.objects.filter(suite=evaluation.suite_id, **conditions_of_board(evaluation)._asdict())
        .order_by("-number")
        .values_list(first, flat=True)
        .first()
    )
    return best_of_rows(rows=rows or (), evaluation=evaluation)


def best_of_rows(*, rows: Sequence[Mapping[str, Any]], evaluation: Evaluation) -> list[Mapping[str, Any]]:
    """The first rows of a board except the evaluation's own."""
    return [row for row in rows[: MOST_OFFERED + 1] if row["evaluation"] != str(evaluation.pk)][:MOST_OFFERED]


def can_be_compared(evaluation: Evaluation) -> bool:
    """Whether it was submitted, and has ended or waits for its owner."""
    return not _problem(evaluation)


_CONDITIONS: Sequence[tuple[str, Callable[[Evaluation], str]]] = (
    ("suite", lambda evaluation: f"{evaluation.suite.title} version {evaluation.suite.version}"),
    ("suite digest", lambda evaluation: evaluation.suite.digest[:12]),
    (
        "profile",
        lambda evaluation: (
            f"{evaluation.profile} {evaluation.profile_digest[:12]}"
            if evaluation.suite.runs_experts
            else f"rules {evaluation.profile_digest[:12]}"
        ),
    ),
    ("split", lambda evaluation: evaluation.split),
    NAME_OF_DATA,
    ("digest of the data", lambda evaluation: evaluation.data_digest[:12] or "not recorded"),
    ("number of samples per task", lambda evaluation: str(evaluation.samples)),
    ("class of devices", lambda evaluation: evaluation.device_class or "CPU"),
)


def _problem(evaluation: Evaluation) -> str:
    if evaluation.verifies_id is not None:
        return f"Evaluation {evaluation.pk} is a verification of another one and runs only a sample of the tasks."
    if evaluation.is_further_run:
        return f"Evaluation {evaluation.pk} is a further run of another one, on some of the tasks."
    if evaluation.member_of_id is not None:
        return f"Evaluation {evaluation.pk} is part of a reliability profile."
    if evaluation.state not in FINAL and evaluation.state != EvaluationState.ON_HOLD:
        name = evaluation.submission.planner.name
        return f"The evaluation of {name} has not ended ({evaluation.get_state_display().lower()}): compare it later."
    return ""


def _comparison(*, pks: Sequence[UUID], suite: Suite, shows_gold: bool) -> Comparison:
    tasks = facts_of(suite, shows_gold=shows_gold)
    results = packed_scores_and_causes(evaluations=pks, tasks={task.pk: (task.key, task.metric) for task in tasks})
    # A weighted mean of metrics has no values per task.
    metrics = tuple(column for column in suite.columns if not column.weights)
    by_task: Mapping[UUID, Mapping[int, TaskScore]] = {pk: results[pk][0] for pk in pks}
    alike: Mapping[UUID, bool] = {}
    if any(metric.interval is IntervalMethod.FIXED_TASKS for metric in metrics):
        by_task, alike = _with_runs(by_task)
    places = [task.pk for task in tasks]
    scores = tuple(
        scores_of(metrics=metrics, tasks=places, results=by_task[pk], is_deterministic=alike.get(pk)) for pk in pks
    )  # fmt: skip
    return Comparison(
        metrics=metrics,
        tasks=tasks,
        facets=common_facets(tasks=tasks, facets=suite.facets.named(suite.facets.comparisons)),
        scores=scores,
        pairs=compare(metrics=metrics, scores=scores, strata=[task.metric for task in tasks]),
        causes=tuple([results[pk][1].get(task.pk) for task in tasks] for pk in pks),
    )


def _with_runs(
    results: Mapping[UUID, Mapping[int, TaskScore]],
) -> tuple[dict[UUID, Mapping[int, TaskScore]], dict[UUID, bool]]:
    """Results with those of further runs; and by evaluation, if it is recorded, whether its planner is declared to
    answer alike and did. Two queries."""
    reports = dict(Evaluation.runs.filter(pk__in=list(results)).values_list("pk", "summary__runs"))
    alike = {pk: is_deterministic(report) for pk, report in reports.items() if report}
    if not alike:
        return dict(results), {}
    further = with_further({pk: list(by_task.values()) for pk, by_task in results.items()})
    return {pk: dict(zip(by_task, further[pk], strict=True)) for pk, by_task in results.items()}, alike


_comparisons: SharedCache[tuple[tuple[UUID, ...], bool, tuple[int, int | None]], Comparison] = SharedCache(maxsize=16)
