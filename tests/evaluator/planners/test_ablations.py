import pytest

from evaluator.cli.validity import is_valid
from evaluator.core.plans.checks import check_plan
from evaluator.core.records import Outcome, ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.planners.ablations import Kind, shuffled, variants, without_step
from evaluator.studies.validity.variants import measure_validity

RESTORERS = frozenset({"Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization"})


@pytest.fixture(scope="module")
def suite():
    return suite_of("openagi")


def variants_of(suite, task):
    return list(variants(task=task, catalogue=suite.catalogue, movable=RESTORERS))


def test_every_variant_of_every_task_passes_the_checks_and_differs_from_the_others(suite):
    for task in suite.tasks:
        context = suite.context(task=task, offered=frozenset(suite.catalogue.tools))
        plans = variants_of(suite, task)
        assert plans[0].kind is Kind.GOLD
        assert len({variant.name for variant in plans}) == len(plans)
        assert len({str(variant.plan) for variant in plans}) == len(plans)
        for variant in plans:
            assert not check_plan(plan=variant.plan, context=context), (task.key, variant.name)


def test_a_step_left_out_leaves_the_others_in_place(suite):
    task = next(task for task in suite.tasks if len(task.gold.steps) > 4)
    for step in task.gold.steps:
        shorter = without_step(plan=task.gold, step=step.id, catalogue=suite.catalogue, resources=task.resources)
        if shorter is not None:
            assert list(shorter.tools()) == [other.tool for other in task.gold.steps if other is not step]
    # The type of the last result occurs nowhere else.
    task = next(task for task in suite.tasks if task.gold.tools()[-1] == "Image Classification")
    last = task.gold.steps[-1].id
    assert without_step(plan=task.gold, step=last, catalogue=suite.catalogue, resources=task.resources) is None


def test_shuffling_keeps_the_tools_and_changes_their_order(suite):
    task = next(task for task in suite.tasks if len(task.gold.steps) == 4 and task.metric == "ViT")
    other = shuffled(plan=task.gold, seed="1", movable=RESTORERS)
    assert sorted(other.tools()) == sorted(task.gold.tools())
    assert other.tools() != task.gold.tools()
    assert other == shuffled(plan=task.gold, seed="1", movable=RESTORERS)
    task = next(task for task in suite.tasks if len(task.gold.steps) == 1 and task.metric == "ViT")
    assert shuffled(plan=task.gold, seed="1", movable=RESTORERS) is None


def report(suite, worth):
    """The validity of a score that `worth` computes from the plan."""
    metrics = {task.key: task.metric for task in suite.tasks[:40]}

    def evaluate(planner, keys):
        for key in keys:
            yield ResultRecord(
                suite="openagi", task=key, request="", metric=metrics[key], outcome=Outcome.SCORED,
                score=worth(planner.plans[key]),
            )  # fmt: skip

    return measure_validity(suite=suite, evaluate=evaluate, tasks=list(metrics), samples=1)


def test_a_score_that_counts_steps_in_order_is_valid(suite):
    order = ["Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization"]

    def worth(plan):
        tools = [tool for tool in plan.tools() if tool in order]
        in_order = tools == sorted(tools, key=order.index)
        return len(plan.steps) - (0 if in_order else 0.5)

    result = report(suite, worth)
    assert is_valid(report=result, images=None)
    assert all(row.won == row.tasks for row in result.metrics)


def test_a_score_that_likes_short_plans_is_not(suite):
    result = report(suite, lambda plan: -len(plan.steps))
    assert not is_valid(report=result, images=None)
    assert all(row.won == 0 and row.losses for row in result.metrics)
