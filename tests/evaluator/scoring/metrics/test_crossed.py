"""Means over tasks and scenes: against the textbook where there is one, and at the edges."""

import numpy as np
import pytest

from evaluator.core.records import Outcome
from evaluator.core.suites.base import ABSTENTION, Column, IntervalMethod
from evaluator.scoring.metrics.aggregate import TaskScore, summarise_columns
from evaluator.scoring.metrics.crossed import AnchorsError, fixed_tasks, normalised, pooled_strata, sampled_tasks
from evaluator.scoring.metrics.paired import pair_tests, paired_test
from evaluator.scoring.metrics.student import critical_value, two_sided_p


@pytest.mark.parametrize("df", [1, 2.5, 9, 31, 1999])
@pytest.mark.parametrize("t", [0.0, 0.3, 2.0, 12.0])
def test_students_t_is_scipys(df, t):
    from scipy import stats

    assert two_sided_p(t=-t, df=df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-8)
    assert critical_value(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-9)


def test_over_scenes_of_fixed_tasks_it_is_the_t_interval_of_the_scenes_means():
    from scipy import stats

    scores = np.random.default_rng(1).random((20, 12))
    found, means = fixed_tasks(scores), scores.mean(axis=0)
    low, high = stats.t.interval(0.95, 11, means.mean(), stats.sem(means))
    assert found.interval.ends == pytest.approx((low, high))
    assert found.p_value == pytest.approx(stats.ttest_1samp(means, 0).pvalue, abs=2.0**-11)
    assert found.interval.count == 20


def test_what_differs_between_fixed_tasks_does_not_widen_the_interval():
    tasks = np.linspace(0, 1, 30)[:, None]
    assert fixed_tasks(np.repeat(tasks, 12, axis=1)).error == pytest.approx(0, abs=1e-12)
    assert sampled_tasks(np.repeat(tasks, 12, axis=1), strata=["m"] * 30).error > 0.05


def test_what_differs_between_strata_does_not_widen_the_interval():
    scores = np.repeat(np.array([0.2] * 15 + [0.9] * 15)[:, None], 12, axis=1)
    assert sampled_tasks(scores, strata=["a"] * 15 + ["b"] * 15).error == pytest.approx(0, abs=1e-12)
    assert sampled_tasks(scores, strata=["a"] * 30).error > 0.05


def test_strata_of_one_task_are_pooled_since_alone_they_would_show_no_variance():
    """Half of the tasks have a metric of their own: the interval covers the mean over other tasks of these metrics."""
    rng, strata, inside = np.random.default_rng(6), [*(str(task) for task in range(15)), *["m"] * 15], 0
    assert len(set(pooled_strata(strata).tolist())) == 2
    assert len(set(pooled_strata(["a", *["b"] * 3, *["c"] * 2]).tolist())) == 2
    for _ in range(400):
        scores = rng.normal(size=(30, 1)) + rng.normal(0, 0.1, size=(30, 8))
        low, high = sampled_tasks(scores, strata=strata).interval.ends
        inside += low <= 0 <= high
    assert inside >= 370


def test_pairs_of_rows_pool_strata_like_a_single_difference():
    rng, strata = np.random.default_rng(7), ["a", *["b"] * 5, "c"]
    scores = rng.random((2, 7, 6)).astype(np.float32)
    tests = pair_tests(scores, method=IntervalMethod.SAMPLED_TASKS, strata=strata)
    wide = np.round(scores.astype(np.float64), 6)
    found = paired_test(wide[0] - wide[1], method=IntervalMethod.SAMPLED_TASKS, strata=strata)
    assert tests.p_values[0, 1] == pytest.approx(found.p_value)


def test_with_tasks_and_scenes_sampled_the_variances_add():
    rng = np.random.default_rng(2)
    tasks, scenes = rng.normal(size=(50, 1)), rng.normal(size=(1, 40))
    found = sampled_tasks(tasks + scenes, strata=["m"] * 50)
    wanted = tasks.var(ddof=1) / 50 + scenes.var(ddof=1) / 40
    assert found.error**2 == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("shape", "fixed", "sampled"),
    [
        ((50, 4), False, False),
        ((50, 5), True, True),
        ((10, 5), True, True),
        ((5, 5), True, True),
        ((4, 5), True, False),
        ((1, 50), True, False),
    ],
)
def test_five_scenes_are_enough_and_five_tasks_if_they_are_a_sample(shape, fixed, sampled):
    scores = np.random.default_rng(3).random(shape)
    for found, enough in ((fixed_tasks(scores), fixed), (sampled_tasks(scores, strata=["m"] * shape[0]), sampled)):
        assert found.enough is enough
        assert (found.interval.ends is None) == (found.p_value is None) == (not enough)


def test_scores_that_never_vary_have_an_interval_over_tasks_or_scenes():
    """No score of 120 tasks varies over 12 scenes: 3 % of all there are may."""
    found = fixed_tasks(np.ones((120, 12))).interval
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 120), 1.0))
    found = fixed_tasks(np.zeros((4, 12)), bounds=(-1.0, 1.0)).interval
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / 12) - 1, 1 - 0.025 ** (1 / 12)))


def test_differences_that_never_vary_are_as_sure_as_a_sign_test():
    assert fixed_tasks(np.full((3, 12), 0.1)).p_value == 2.0**-11
    assert fixed_tasks(np.zeros((3, 12))).p_value == 1.0


def results(*, samples: int) -> list[TaskScore]:
    scored = [
        TaskScore(
            str(task), "BERT", Outcome.SCORED, 0.5, samples=tuple(0.4 + 0.2 * (scene % 2) for scene in range(samples))
        )
        for task in range(3)
    ]
    return [*scored, TaskScore("fault", "BERT", Outcome.PLANNER_FAULT, 0.0), TaskScore("x", "", Outcome.NOT_RUN, None)]


COLUMN = Column(key="overall", label="", description="", interval=IntervalMethod.FIXED_TASKS)


def test_a_summary_counts_a_fault_the_same_on_every_scene():
    from scipy import stats

    found = summarise_columns(columns=[COLUMN], results=results(samples=12), samples=12)["metrics"]["overall"]
    assert (found["mean"], found["tasks"]) == (pytest.approx(0.375), 4)
    half = stats.t.ppf(0.975, 11) * 0.75 * 0.1 * np.sqrt(12 / 11) / np.sqrt(12)
    assert found["high"] - found["mean"] == pytest.approx(half)


@pytest.mark.parametrize("samples", [4, 12])
def test_too_few_scenes_or_another_number_of_them_give_no_interval(samples):
    found = summarise_columns(columns=[COLUMN], results=results(samples=4), samples=samples)["metrics"]["overall"]
    assert (found["mean"], found["low"], found["high"]) == (pytest.approx(0.375, abs=0.02), None, None)


def test_a_planner_whose_plans_all_fail_has_an_interval_of_some_width():
    faults = [TaskScore(str(task), "BERT", Outcome.PLANNER_FAULT, 0.0) for task in range(3)]
    found = summarise_columns(columns=[COLUMN], results=faults, samples=32)["metrics"]["overall"]
    assert (found["low"], found["mean"], found["high"]) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 32)))


def test_an_abstention_counts_the_same_on_every_scene():
    abstained = TaskScore("none", ABSTENTION, Outcome.SCORED, 1.0)
    found = summarise_columns(columns=[COLUMN], results=[*results(samples=12), abstained], samples=12)
    assert found["metrics"]["overall"]["mean"] == pytest.approx(0.5)
    assert found["metrics"]["overall"]["low"] is not None


STRATA = ["a"] * 6 + ["b"] * 10
METHODS = [IntervalMethod.FIXED_TASKS, IntervalMethod.SAMPLED_TASKS]


def tables(scenes: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A planner, gold plans and doing nothing: 0.5, about 0.8 and about 0.2."""
    rng = np.random.default_rng(1)
    shape = (len(STRATA), scenes)
    return rng.normal(0.5, 0.1, shape), rng.normal(0.8, 0.05, shape), rng.normal(0.2, 0.05, shape)


@pytest.mark.parametrize("method", METHODS)
def test_the_anchors_are_1_and_0_exactly(method):
    _, gold, floor = tables()
    for scores, expected in ((gold, 1), (floor, 0)):
        found = normalised(scores=scores, gold=gold, floor=floor, method=method, strata=STRATA)
        assert (found.mean, found.low, found.high) == pytest.approx((expected, expected, expected), abs=1e-12)


def test_by_hand_over_ten_scenes():
    """Room is 0.5 on every scene; the planner is 0.1 or 0.3 above the floor on five scenes each: ratio 0.4, standard
    deviation of the ratio over scenes 0.21082, its error 0.066667, and Student's t with 9 degrees of freedom 2.2622."""
    floor = np.zeros((4, 10))
    scores = np.tile([0.1, 0.3], 5)[None, :] + floor
    found = normalised(scores=scores, gold=floor + 0.5, floor=floor, method=METHODS[0], strata=["a"] * 4)
    assert (found.mean, found.low, found.high) == pytest.approx((0.4, 0.4 - 0.15081, 0.4 + 0.15081), abs=1e-5)


def test_over_fewer_than_five_scenes_there_is_no_interval():
    scores, gold, floor = tables(4)
    found = normalised(scores=scores, gold=gold, floor=floor, method=METHODS[0], strata=STRATA)
    assert (found.ends, found.count) == (None, 16)


def test_only_tasks_that_count_in_all_three_are_compared():
    scores, gold, floor = tables()
    scores[0], gold[1], floor[2] = np.nan, np.nan, np.nan
    found = normalised(scores=scores, gold=gold, floor=floor, method=METHODS[1], strata=STRATA)
    rest = normalised(scores=scores[3:], gold=gold[3:], floor=floor[3:], method=METHODS[1], strata=STRATA[3:])
    assert found == rest


def test_anchors_without_room_say_so():
    scores, gold, floor = tables()
    with pytest.raises(AnchorsError, match="no better than doing nothing"):
        normalised(scores=scores, gold=floor, floor=gold, method=METHODS[0], strata=STRATA)
    with pytest.raises(AnchorsError, match="no task in common"):
        normalised(scores=scores * np.nan, gold=gold, floor=floor, method=METHODS[0], strata=STRATA)
