"""The arithmetic of comparisons, without a database."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.facets import STRUCTURE, Facet
from evaluator.scoring.metrics.aggregate import TaskScore
from evaluator.scoring.metrics.statistics import LEAST_UNITS, unseen_share
from evaluator.scoring.task_comparison import NOBODY, Scores, compare, scores_of, task_differences
from leaderboard.evaluations.results.task_rows import TaskRow
from leaderboard.evaluations.web.compare.comparing import by_group, common_facets

OVERALL = Column(key="overall", label="Overall", description="", primary=True)
IR = Column(key="IR", label="IR", description="", higher_is_better=False, indicator=True, fault=1.0)
STEPS = Column(
    key="length", label="Steps", description="", higher_is_better=False, indicator=True, ordered=False, fault=None
)
NAN = float("nan")
GROUP = Facet(name="group", label="Group", attribute="group")


def make_scores(*values: float, metric: Column = OVERALL, outcomes: tuple[str, ...] = ()) -> Scores:
    known = outcomes or tuple("not_run" if value != value else "scored" for value in values)
    return Scores(outcomes=known, values={metric.key: np.array(values, dtype=np.float64)})


def make_tasks(*groups: tuple[str, ...]) -> list[TaskRow]:
    return [
        TaskRow(key=str(place), position=place, text="", structure="", metric="", pk=place, facets={"group": found})
        for place, found in enumerate(groups)
    ]


def make_result(outcome: Outcome, score: float | None = None, metric: str = "ViT", **indicators: float) -> TaskScore:
    return TaskScore(task="0", metric=metric, outcome=outcome, score=score, indicators=indicators)


def test_undecided_tasks_widen_the_interval_and_weaken_the_test():
    """B is right on 40 tasks of 100 that A does not solve; A is undecided on 30 of these, B on 10 others."""
    column = replace(IR, key="SE", higher_is_better=True, interval=IntervalMethod.WILSON, fault=0.0, undecided="open")

    def scores(right: int, doubts: range) -> Scores:
        results = {
            place: make_result(Outcome.SCORED, SE=float(place < right), open=float(place in doubts))
            for place in range(100)
        }
        return scores_of(metrics=[column], tasks=range(100), results=results)

    first, other = scores(20, range(20, 50)), scores(60, range(60, 70))
    (pair,) = compare(metrics=[column], scores=[first, other])
    (found,) = pair.differences
    assert (found.difference.mean, found.least, found.most) == pytest.approx((0.4, 0.1, 0.5))
    assert (found.wins, found.losses, found.ties, found.undecided) == (10, 0, 50, 40)
    assert found.p_value == pytest.approx(2**-9)
    lowest, highest = scores(50, range(0)), scores(70, range(0))
    (low,), (high,) = (
        compare(metrics=[column], scores=ends)[0].differences
        for ends in ([lowest, other], [scores(20, range(0)), highest])
    )
    assert found.difference.ends == (low.difference.low, high.difference.high)
    assert task_differences(metric=column, scores=[first, other])[0].winner in {"1", NOBODY}
    assert {task.winner for task in task_differences(metric=column, scores=[first, other]) if task.index < 50} == {
        NOBODY
    }
    (group,) = by_group(facet="group", tasks=make_tasks(*[("a",)] * 100), metric=column, scores=[first, other])
    assert group.counts[0][2:] == (10, 0, 50, 40)
    # With A undecided on all 40 tasks the order is open.
    (pair,) = compare(metrics=[column], scores=[scores(20, range(20, 60)), other])
    assert pair.differences[0].p_value == 1.0


VALUES = st.lists(st.one_of(st.sampled_from([0.0, 1.0, NAN]), st.floats(0, 1, width=32)), min_size=1, max_size=25)


@settings(max_examples=50, deadline=None)
@given(
    st.integers(1, 25).flatmap(
        lambda size: st.tuples(*[st.lists(VALUES.map(lambda v: v[0]), min_size=size, max_size=size)] * 2)
    )
)
def test_exchanging_two_evaluations_exchanges_wins_and_losses_and_turns_the_difference(lists):
    one, two = (make_scores(*values) for values in lists)
    (forth,), (back,) = compare(metrics=[OVERALL], scores=[one, two]), compare(metrics=[OVERALL], scores=[two, one])
    assert len(forth.differences) == len(back.differences)
    assert forth.left_out == back.left_out
    for a, b in zip(forth.differences, back.differences, strict=True):
        assert a.difference.mean == pytest.approx(-b.difference.mean, abs=1e-9)
        assert (a.difference.ends is None) == (b.difference.ends is None)
        if a.difference.ends and b.difference.ends:
            assert a.difference.ends == pytest.approx((-b.difference.ends[1], -b.difference.ends[0]), abs=1e-6)
        assert (a.wins, a.losses, a.ties) == (b.losses, b.wins, b.ties)
        assert a.p_value == (None if b.p_value is None else pytest.approx(b.p_value))
        assert a.wins + a.losses + a.ties == a.difference.count


@settings(max_examples=30, deadline=None)
@given(VALUES)
def test_an_evaluation_compared_with_itself_differs_by_0_with_p_1(values):
    scores = make_scores(*values)
    (pair,) = compare(metrics=[OVERALL], scores=[scores, scores])
    for found in pair.differences:
        assert found.difference.mean == 0
        share = unseen_share(found.difference.count)
        assert found.difference.ends == pytest.approx((-share, share))
        assert found.p_value == (None if found.difference.count < LEAST_UNITS else 1)
        assert (found.wins, found.losses) == (0, 0)
    assert not any(task.spread for task in task_differences(metric=OVERALL, scores=[scores, scores]))


def test_by_hand():
    """B is 0.2 better on two of four common tasks and 0.1 worse on one: mean 0.075. Four tasks are too few to test."""
    first = make_scores(0.5, 0.5, 0.5, 0.5, NAN, 0.9)
    other = make_scores(0.7, 0.7, 0.4, 0.5, 0.3, NAN)
    (pair,) = compare(metrics=[OVERALL], scores=[first, other])
    (found,) = pair.differences
    assert found.difference.mean == pytest.approx(0.075)
    assert (found.first_mean, found.other_mean) == pytest.approx((0.5, 0.575))
    assert (found.wins, found.losses, found.ties, found.difference.count) == (2, 1, 1, 4)
    assert found.p_value is None
    assert pair.left_out == {"not_run": 2}


def test_of_a_metric_in_which_lower_is_better_the_lower_wins_and_a_size_has_no_winner():
    for metric, expected, winner in ((IR, (2, 0), "1"), (STEPS, (0, 0), NOBODY)):
        scores = [make_scores(1, 1, 0, metric=metric), make_scores(0, 0, 0, metric=metric)]
        (found,) = compare(metrics=[metric], scores=scores)[0].differences
        assert (found.wins, found.losses) == expected
        assert found.difference.mean == pytest.approx(-2 / 3)
        assert task_differences(metric=metric, scores=scores)[0].winner == winner


def test_with_three_p_values_are_adjusted_by_the_number_compared_with_the_first():
    first = make_scores(*[0.0] * 12)
    better, same = make_scores(*[0.5] * 12), make_scores(*[0.0] * 12)
    one, two = compare(metrics=[OVERALL], scores=[first, better, same])
    assert one.differences[0].p_value == 2**-11
    assert one.differences[0].adjusted == 2 * 2**-11
    assert two.differences[0].adjusted == 1
    (alone,) = compare(metrics=[OVERALL], scores=[first, better])
    assert alone.differences[0].adjusted == alone.differences[0].p_value


def test_metrics_without_a_common_task_are_left_out_and_tasks_by_their_least_expected_reason():
    (pair,) = compare(metrics=[OVERALL], scores=[make_scores(1, NAN), make_scores(NAN, 1)])
    assert (pair.differences, pair.of("overall")) == ((), None)
    first = make_scores(NAN, NAN, NAN, 1, outcomes=("not_run", "infra_fault", "pending", "scored"))
    other = make_scores(NAN, 1, NAN, 1, outcomes=("not_run", "scored", "not_run", "planner_fault"))
    (pair,) = compare(metrics=[OVERALL], scores=[first, other])
    assert pair.left_out == {"infra_fault": 1, "pending": 1, "not_run": 1}


def test_groups_count_a_task_in_each_of_its_groups():
    tasks = make_tasks(("noise", "blur"), ("noise",), ("gray",), ("empty",))
    scores = [make_scores(0.1, 0.5, 0.5, NAN), make_scores(0.4, 0.2, 0.5, 1.0)]
    rows = {row.value: row.counts[0] for row in by_group(facet="group", tasks=tasks, metric=OVERALL, scores=scores)}
    assert list(rows) == ["noise", "blur", "gray"]
    assert rows["noise"][:1] + rows["noise"][2:] == (2, 1, 1, 0, 0)
    assert rows["noise"].difference == pytest.approx(0.0)
    assert rows["blur"][:1] + rows["blur"][2:] == (1, 1, 0, 0, 0)
    assert rows["gray"].ties == 1
    assert common_facets(tasks=tasks, facets=[GROUP, STRUCTURE]) == (GROUP,)
    assert common_facets(tasks=make_tasks(("one",), ("one",)), facets=[GROUP]) == ()


def test_tasks_come_by_how_far_they_lie_apart_then_in_the_suites_order():
    scores = [
        make_scores(0.5, 0.9, 0.5, 0.5, NAN),
        make_scores(0.5, 0.1, 0.4, 0.6, 0.3),
        make_scores(NAN, 0.1, 0.5, 0.4, NAN),
    ]
    found = task_differences(metric=OVERALL, scores=scores)
    assert [task.index for task in found] == [1, 3, 2, 0]
    assert [task.winner for task in found] == ["0", "1", NOBODY, NOBODY]
    assert found[-1].values == (0.5, 0.5, None)


def test_a_planners_fault_is_the_worst_of_each_score_has_no_size_and_other_faults_do_not_count():
    results = {
        0: make_result(Outcome.SCORED, 0.8, IR=0.0, length=3.0),
        1: make_result(Outcome.PLANNER_FAULT, 0.0),
        2: make_result(Outcome.INFRA_FAULT),
    }
    by_kind = [Column(key=name, label=name, description="", metric=name) for name in ("ViT", "BERT")]
    scores = scores_of(metrics=[OVERALL, IR, STEPS, *by_kind], tasks=range(4), results=results)
    assert scores.outcomes == ("scored", "planner_fault", "infra_fault", "pending")
    for key, values in {
        "overall": [0.8, 0.0, NAN, NAN],
        "IR": [0.0, 1.0, NAN, NAN],
        "length": [3.0, NAN, NAN, NAN],
        "ViT": [0.8, 0.0, NAN, NAN],
        "BERT": [NAN] * 4,
    }.items():
        np.testing.assert_array_equal(scores.values[key], values, err_msg=key)


FIXED = replace(OVERALL, interval=IntervalMethod.FIXED_TASKS)


@pytest.mark.parametrize(
    ("alike", "further", "told_apart"),
    [(None, (), True), (True, (), True), (False, (), False), (False, (0.5, 0.5), True)],
)
def test_a_difference_on_a_fixed_list_counts_the_runs_of_planners(alike, further, told_apart):
    """B is 0.05 better on each of 40 tasks and 8 scenes. What a further run says is known from 20 of them."""
    rng, tasks = np.random.default_rng(1), range(40)
    noise = rng.normal(0.0, 0.01, (2, 40, 8))

    def arranged(number, level):
        results = {
            place: TaskScore(
                str(place), "m", Outcome.SCORED, level, samples=tuple(level + noise[number, place]),
                further=tuple(TaskScore(str(place), "m", Outcome.SCORED, one) for one in further if place < 20),
            )
            for place in tasks
        }  # fmt: skip
        return scores_of(metrics=[FIXED], tasks=tasks, results=results, is_deterministic=alike)

    (pair,) = compare(metrics=[FIXED], scores=[arranged(0, 0.45), arranged(1, 0.5)])
    (found,) = pair.differences
    if alike is False and not further:
        assert (found.p_value, found.difference.ends) == (None, None)
    else:
        assert (found.p_value < 0.05) == told_apart, found.p_value
