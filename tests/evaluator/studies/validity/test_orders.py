"""Regret against the best order of the same tools."""

import pytest

from evaluator.core.plans.model import Plan, Step
from evaluator.core.records import Outcome, ResultRecord, SampleResult
from evaluator.core.suites.registry import suite_of
from evaluator.studies.validity.orders import MOST_ORDERS, chains_of, crossed_regret, measure_regret, orders_of

SUITE = suite_of("openagi")
ALL_DEFECTS = SUITE.task("0").gold
RESTORERS = ("Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization")


def two_defects():
    return next(task for task in SUITE.tasks if task.metric == "ViT" and len(task.degradations) == 2)


def tools(plan):
    return tuple(step.tool for step in plan.steps)


def test_orders_call_the_same_tools_and_the_plans_own_is_the_first():
    orders = orders_of(plan=ALL_DEFECTS, catalogue=SUITE.catalogue)
    assert tools(orders[0]) == RESTORERS
    assert len({tools(order) for order in orders}) == len(orders) == 24
    assert all(sorted(tools(order)) == sorted(RESTORERS) for order in orders)


def test_only_steps_in_a_row_are_reordered():
    captioned = next(task.gold for task in SUITE.tasks if tools(task.gold)[-1] == "Image Captioning"
                     and len(task.gold.steps) == 5)  # fmt: skip
    assert all(tools(order)[-1] == "Image Captioning" for order in orders_of(plan=captioned, catalogue=SUITE.catalogue))
    # A value that is used twice ends a row, and so does another type.
    first, *rest = ALL_DEFECTS.steps
    shared = Plan(steps=ALL_DEFECTS.steps, answers=(*ALL_DEFECTS.answers, *first.outputs.values()))
    chains = chains_of(plan=shared, catalogue=SUITE.catalogue)
    assert [[step.id for step in chain] for chain in chains] == [[step.id for step in rest]]


def test_plans_with_one_order_or_too_many_are_left_out():
    long = tuple(
        Step(id=f"s{n}", tool=RESTORERS[n % 4], inputs={"image": f"s{n - 1}.image" if n else "$image"},
             outputs={"image": f"s{n}.image"}) for n in range(5)
    )  # fmt: skip
    plans = {"0": Plan(steps=long, answers=("s4.image",)), "1": Plan(steps=long[:1], answers=("s0.image",))}
    assert orders_of(plan=plans["0"], catalogue=SUITE.catalogue) == []
    found = measure_regret(suite=SUITE, plans=plans, evaluate=lambda planner, keys: iter(()), samples=2)
    assert found.left_out == {f"more than {MOST_ORDERS} orders": 1, "nothing can be reordered": 1}
    assert (found.tasks, found.regret) == ((), None)


def evaluation(values, *, task):
    """Scores of the samples by the tool that comes first."""

    def evaluate(planner, keys):
        assert keys == [task.key]
        plan = planner.plans[task.key]
        scores = values[plan.steps[0].tool]
        yield ResultRecord(
            suite=SUITE.slug, task=task.key, request=task.text, metric=task.metric, outcome=Outcome.SCORED,
            score=sum(scores) / len(scores),
            samples=[SampleResult(index=n, score=score, inputs={}, reference=None, answer=None, steps=[])
                     for n, score in enumerate(scores)],
        )  # fmt: skip

    return evaluate


def test_regret_is_what_the_best_order_scores_more():
    task = two_defects()
    own, other = tools(task.gold)
    evaluate = evaluation({own: [0.5, 0.6, 0.5, 0.6], other: [0.7, 0.8, 0.7, 0.8]}, task=task)
    found = measure_regret(suite=SUITE, plans={task.key: task.gold}, evaluate=evaluate, samples=4)
    (regret,) = found.tasks
    assert (regret.own, regret.best, regret.worst) == pytest.approx((0.55, 0.75, 0.55))
    assert (regret.tools, regret.best_tools, regret.orders) == ((own, other), (other, own), 2)
    assert regret.regret == pytest.approx(0.2)
    assert found.already_best == 0


def test_equal_orders_are_no_regret():
    task = two_defects()
    own, other = tools(task.gold)
    evaluate = evaluation({own: [0.5, 0.6], other: [0.5, 0.6]}, task=task)
    found = measure_regret(suite=SUITE, plans={task.key: task.gold}, evaluate=evaluate, samples=2)
    assert (found.tasks[0].regret, found.tasks[0].best_tools, found.already_best) == (0.0, (own, other), 1)


def test_an_order_that_was_lucky_on_one_half_is_no_regret():
    # Each order is best on the half that the other one is worst on.
    assert crossed_regret([[0.5] * 4, [0.9, 0.1] * 2]) == pytest.approx((0.4 * -1 + 0.0) / 2)
    assert crossed_regret([[0.5, 0.5], [0.9, 0.7]]) == pytest.approx(0.3)


def test_one_sample_is_too_few():
    with pytest.raises(ValueError, match="at least 2 samples"):
        measure_regret(suite=SUITE, plans={}, evaluate=lambda planner, keys: iter(()), samples=1)
