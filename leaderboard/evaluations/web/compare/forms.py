"""The same planners on both forms of a suite: with whole plans, and step by step."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from evaluator.core.suites.base import Column
from evaluator.core.suites.registry import whole_plans_of
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.results.task_rows import TaskRow, facts_of
from leaderboard.evaluations.results.task_scores import packed_scores
from leaderboard.evaluations.visibility import on_boards
from leaderboard.evaluations.web.compare.comparing import MetricDifference, Pair, Scores, compare, scores_of
from leaderboard.platform.lru_cache import SharedCache

MOST = 12
"""Most planners that are compared, those evaluated last first."""
_MOST_READ = 400
"""Evaluations among which the pairs are looked for."""


class Forms(NamedTuple):
    """Both forms of a suite."""

    whole: Suite | None
    """Where planners are asked for whole plans; None if this site does not have it."""
    steps: Suite | None
    """Where they act step by step."""


class BothForms(NamedTuple):
    """One planner, evaluated on both forms under the same conditions."""

    whole: Evaluation
    steps: Evaluation
    difference: MetricDifference | None
    """Step by step less whole plan, in the column that the board ranks by; None if no task has a score in both."""


def forms_of(suite: Suite) -> Forms:
    """Both forms of a suite that is one of them; without any where it has but one form."""
    steps = suite.step_by_step_form
    if not steps:
        return Forms(whole=None, steps=None)
    whole = whole_plans_of(steps)
    found = {one.slug: one for one in Suite.objects.filter(slug__in=(whole, steps), current=True)}
    return Forms(whole=found.get(whole), steps=found.get(steps))


def both_forms(forms: Forms) -> tuple[BothForms, ...]:
    """The planners that boards may show in both forms, with the latest pair of evaluations of each: four queries."""
    if forms.whole is None or forms.steps is None:
        return ()
    pairs = _pairs(whole=forms.whole, steps=forms.steps)
    key = tuple(one.pk for pair in pairs for one in pair)
    # Completed evaluations never change.
    make = partial(_differences, pairs=pairs, whole=forms.whole, steps=forms.steps)
    differences = _known.get_or_make(key, make)
    return tuple(BothForms(*pair, difference) for pair, difference in zip(pairs, differences, strict=True))


def _pairs(*, whole: Suite, steps: Suite) -> list[tuple[Evaluation, Evaluation]]:
    """For each planner the latest two evaluations with equal conditions, one of each suite."""
    verified = Q(own_worker_run=None) | Q(own_worker_run__verified_by__isnull=False)
    rows = (
        Evaluation.objects.filter(on_boards(), verified, suite__in=(whole, steps), state=EvaluationState.COMPLETED)
        .select_related("submission__planner__owner", "own_worker_run")
        .order_by("-finished", "pk")[:_MOST_READ]
    )
    latest: dict[tuple[object, ...], dict[int, Evaluation]] = {}
    for one in rows:
        # Profiles have the same name; their digests have the rules of the suites in them.
        conditions = one.profile, one.split, one.samples, one.season_id, one.data_digest
        latest.setdefault((one.submission.planner_id, *conditions), {}).setdefault(one.suite_id, one)
    found: dict[int, tuple[Evaluation, Evaluation]] = {}
    for (planner, *_), by_suite in latest.items():
        if len(by_suite) == 2 and isinstance(planner, int):
            found.setdefault(planner, (by_suite[whole.pk], by_suite[steps.pk]))
    return list(found.values())[:MOST]


def _differences(
    *, pairs: Sequence[tuple[Evaluation, Evaluation]], whole: Suite, steps: Suite
) -> tuple[MetricDifference | None, ...]:
    metric = whole.ranking_column
    # Figures over all tasks, whose facets nobody is shown here.
    tasks = facts_of(whole, shows_gold=False)
    by_key = {task.key: task for task in tasks}
    own = _scores(pks=[one.pk for one, _ in pairs], tasks=tasks, named=by_key, metric=metric)
    its_tasks = facts_of(steps, shows_gold=False)
    theirs = _scores(pks=[other.pk for _, other in pairs], tasks=its_tasks, named=by_key, metric=metric)
    strata = [task.metric for task in tasks]
    return tuple(_difference(own[one.pk], theirs[two.pk], metric=metric, strata=strata) for one, two in pairs)


def _scores(
    *, pks: Sequence[UUID], tasks: Iterable[TaskRow], named: dict[str, TaskRow], metric: Column
) -> dict[UUID, Scores]:
    """The scores of evaluations of one form, in the order of the tasks of whole plans, which have the same keys."""
    known = {task.pk: task for task in tasks}
    found = packed_scores(evaluations=pks, tasks={pk: (task.key, task.metric) for pk, task in known.items()})
    ordered = tuple(named.values())
    return {
        pk: scores_of(
            metrics=[metric],
            tasks=ordered,
            results={named[known[task].key].pk: result for task, result in found[pk].items()},
        )
        for pk in pks
    }


def _difference(first: Scores, other: Scores, *, metric: Column, strata: Sequence[str]) -> MetricDifference | None:
    pair: Pair
    (pair,) = compare(metrics=[metric], scores=[first, other], strata=strata)
    return pair.of(metric.key)


_known: SharedCache[tuple[UUID, ...], tuple[MetricDifference | None, ...]] = SharedCache(maxsize=16)
