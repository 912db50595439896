"""The same planners on both forms of a suite: with whole plans, and step by step."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from evaluator.core.suites.registry import whole_plans_of
from evaluator.scoring.task_comparison import MetricDifference, Scores, compare, scores_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.stored_rows import facts_of
from leaderboard.evaluations.results.task_rows import TaskRow
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.evaluations.visibility import on_boards
from leaderboard.platform.lru_cache import SharedCache

MOST = 12
"""Maximum number of planners, those evaluated last first."""
_MOST_READ = 400
"""Number of the latest evaluations that are searched for pairs."""


class Forms(NamedTuple):
    """Both forms of a suite; None for a form that this site does not have."""

    whole: Suite | None
    """Asks planners for whole plans."""
    steps: Suite | None
    """Lets planners act step by step."""


class BothForms(NamedTuple):
    """One planner, evaluated on both forms under the same conditions."""

    whole: Evaluation
    steps: Evaluation
    difference: MetricDifference | None
    """Step by step minus whole plan, in the column that the board ranks by; None if no task has a score in both."""


def forms_of(suite: Suite) -> Forms:
    """Both forms of the suite; neither if it has only one form."""
    steps = suite.step_by_step_form
    if not steps:
        return Forms(whole=None, steps=None)
    whole = whole_plans_of(steps)
    suites = {form.slug: form for form in Suite.objects.filter(slug__in=(whole, steps), current=True)}
    return Forms(whole=suites.get(whole), steps=suites.get(steps))


def both_forms(forms: Forms) -> tuple[BothForms, ...]:
    """The planners on boards in both forms, with the latest pair of evaluations of each: four queries."""
    whole, steps = forms
    if whole is None or steps is None:
        return ()
    pairs = _pairs(whole=whole, steps=steps)
    key = tuple(evaluation.pk for pair in pairs for evaluation in pair)
    # Completed evaluations never change.
    differences = _known.get_or_make(key, lambda: _differences(pairs=pairs, whole=whole, steps=steps))
    return tuple(BothForms(*pair, difference) for pair, difference in zip(pairs, differences, strict=True))


def _pairs(*, whole: Suite, steps: Suite) -> list[tuple[Evaluation, Evaluation]]:
    """The latest two evaluations of each planner under equal conditions, one of each suite."""
    verified = Q(own_worker_run=None) | Q(own_worker_run__verified_by__isnull=False)
    rows = (
        Evaluation.objects.filter(on_boards(), verified, suite__in=(whole, steps), state=EvaluationState.COMPLETED)
        .select_related("submission__planner__owner", "own_worker_run")
        .order_by("-finished", "pk")[:_MOST_READ]
    )
    latest: dict[tuple[object, ...], dict[int, Evaluation]] = {}
    for row in rows:
        # Profiles are compared by name, because their digests cover the rules of the suite.
        conditions = row.profile, row.split, row.samples, row.data_digest, row.device_class
        latest.setdefault((row.submission.planner_id, *conditions), {}).setdefault(row.suite_id, row)
    pairs: dict[object, tuple[Evaluation, Evaluation]] = {}
    for (planner, *_), by_suite in latest.items():
        if len(by_suite) == 2:
            pairs.setdefault(planner, (by_suite[whole.pk], by_suite[steps.pk]))
    return list(pairs.values())[:MOST]


def _differences(
    *, pairs: Sequence[tuple[Evaluation, Evaluation]], whole: Suite, steps: Suite
) -> tuple[MetricDifference | None, ...]:
    metric = whole.ranking_column
    tasks = facts_of(whole, shows_gold=False)
    by_key = {task.key: task for task in tasks}
    strata = [task.metric for task in tasks]

    def scores(evaluations: Sequence[Evaluation], own_tasks: Iterable[TaskRow]) -> list[Scores]:
        """In the order of the tasks of whole plans: tasks have the same keys in both forms."""
        own = {task.pk: task for task in own_tasks}
        pks = [evaluation.pk for evaluation in evaluations]
        packed = packed_scores(evaluations=pks, tasks={pk: (task.key, task.metric) for pk, task in own.items()})
        results = [{by_key[own[task].key].pk: result for task, result in packed[pk].items()} for pk in pks]
        return [scores_of(metrics=[metric], tasks=[task.pk for task in tasks], results=result) for result in results]

    whole_scores = scores([whole for whole, _ in pairs], tasks)
    steps_scores = scores([steps for _, steps in pairs], facts_of(steps, shows_gold=False))
    return tuple(
        compare(metrics=[metric], scores=both, strata=strata)[0].of(metric.key)
        for both in zip(whole_scores, steps_scores, strict=True)
    )


_known: SharedCache[tuple[UUID, ...], tuple[MetricDifference | None, ...]] = SharedCache(maxsize=16)
