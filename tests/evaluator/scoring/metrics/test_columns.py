"""Columns that are weighted means of metrics, count only some tasks, or have a value for each sample."""

import math
from dataclasses import replace

import numpy as np
import pytest

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.core.suites.reference_rows import reference_tables
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.suite import PAPERS_OVERALL
from evaluator.scoring.metrics.aggregate import TaskScore, counted, counted_by_sample, summarise_columns
from evaluator.scoring.metrics.statistics import unseen_share

SCENES = 12
RNG = np.random.default_rng(7)


def scored(task, metric, samples, **more):
    return TaskScore(task, metric, Outcome.SCORED, float(np.mean(samples)), samples=tuple(samples), **more)


RESULTS = [
    *(scored(f"b{number}", "BERT", RNG.random(SCENES)) for number in range(20)),
    *(scored(f"v{number}", "ViT", RNG.random(SCENES)) for number in range(5)),
    *(scored(f"c{number}", "CLIP", RNG.random(SCENES)) for number in range(3)),
    TaskScore("fault", "BERT", Outcome.PLANNER_FAULT, 0.0),
    TaskScore("lost", "ViT", Outcome.INFRA_FAULT, None),
]


def summary(column, results=RESULTS, samples=SCENES):
    return summarise_columns(columns=[column], results=results, samples=samples)["metrics"].get(column.key)


def scenes_of(metric):
    rows = [one.samples or (0.0,) * SCENES for one in RESULTS if one.metric == metric and one.score is not None]
    return np.array(rows)


def test_the_weighted_mean_is_that_of_the_metrics_means_and_its_interval_that_of_the_scenes():
    from scipy import stats

    found = summary(PAPERS_OVERALL)
    by_scene = sum(
        weight * scenes_of(metric).mean(axis=0)
        for metric, weight in (("BERT", 10 / 14), ("ViT", 3 / 14), ("CLIP", 1 / 14))
    )
    low, high = stats.t.interval(0.95, SCENES - 1, by_scene.mean(), stats.sem(by_scene))
    assert found == {"mean": pytest.approx(by_scene.mean()), "low": pytest.approx(low), "high": pytest.approx(high),
                     "tasks": 29}  # fmt: skip


def test_over_sampled_tasks_the_variances_of_the_metrics_add_with_the_squares_of_their_weights():
    # Constant over scenes, so that only the tasks differ.
    flat = [scored(f"{metric}{n}", metric, [value] * SCENES)
            for metric, values in (("BERT", RNG.random(30)), ("ViT", RNG.random(15)), ("CLIP", RNG.random(12)))
            for n, value in enumerate(values)]  # fmt: skip
    found = summary(replace(PAPERS_OVERALL, interval=IntervalMethod.SAMPLED_TASKS), flat)
    variance = sum(
        weight**2 * np.var([one.score for one in flat if one.metric == metric], ddof=1) / count
        for metric, weight, count in (("BERT", 10 / 14, 30), ("ViT", 3 / 14, 15), ("CLIP", 1 / 14, 12))
    )
    half = (found["high"] - found["low"]) / 2
    assert 1.95 < half / math.sqrt(variance) < 2.1


def test_without_a_task_of_one_metric_there_is_no_weighted_mean():
    without = [one for one in RESULTS if one.metric != "CLIP"]
    assert summary(PAPERS_OVERALL, without) is None
    assert counted(column=PAPERS_OVERALL, results=without) == [None] * len(without)


def test_metrics_that_it_does_not_name_do_not_count():
    more = [*RESULTS, scored("s", "several", [1.0] * SCENES)]
    assert summary(PAPERS_OVERALL, more) == summary(PAPERS_OVERALL)


ONLY = Column(
    key="closed", label="", description="", indicator=True, tasks=("a", "b", "c"), interval=IntervalMethod.FIXED_TASKS
)


def test_only_the_named_tasks_count_and_a_fault_of_them_counts_zero():
    from scipy import stats

    rows = RNG.integers(0, 2, (2, SCENES)).astype(float)
    results = [
        scored("a", "BERT", [0.9] * SCENES, indicators={"closed": float(rows[0].mean())},
               sample_indicators={"closed": tuple(rows[0])}),
        TaskScore("b", "BERT", Outcome.PLANNER_FAULT, 0.0),
        scored("c", "BERT", [0.9] * SCENES, indicators={"closed": float(rows[1].mean())},
               sample_indicators={"closed": tuple(rows[1])}),
        TaskScore("open", "BERT", Outcome.PLANNER_FAULT, 0.0),
        scored("without", "BERT", [0.9] * SCENES),
    ]  # fmt: skip
    assert counted_by_sample(column=ONLY, results=results, samples=SCENES) == [
        tuple(rows[0]), (0.0,) * SCENES, tuple(rows[1]), None, None
    ]  # fmt: skip
    by_scene = rows.sum(axis=0) / 3
    low, high = stats.t.interval(0.95, SCENES - 1, by_scene.mean(), stats.sem(by_scene))
    found = summary(ONLY, results)
    assert (found["mean"], found["low"], found["high"]) == pytest.approx((by_scene.mean(), low, high))
    assert found["tasks"] == 3


def test_an_indicator_of_the_plan_is_the_same_on_every_scene():
    column = replace(ONLY, key="exact", tasks=())
    results = [scored(str(n), "BERT", RNG.random(SCENES), indicators={"exact": float(n % 2)}) for n in range(4)]
    found = summary(column, results)
    # Nothing varies over the scenes.
    half = 0.5 * unseen_share(SCENES)
    assert (found["low"], found["mean"], found["high"]) == pytest.approx((0.5 - half, 0.5, 0.5 + half))


REPRODUCED = {
    "GPT-3.5-turbo, few-shot", "LLaMA-7b, few-shot", "Flan-T5-Large, few-shot", "Flan-T5-Large, RLTF",
}  # fmt: skip
OTHERWISE = {"GPT-3.5-turbo, zero-shot": (0.1889, 0.2284), "Flan-T5-Large, fine-tuning": (0.2398, 0.1957)}
"""The weighted mean, and what the paper prints."""


RELEASED_TEST = (2, 3, 10, 15, 20, 35, 45, 55, 65, 70, 70, 90, 106, 107)
"""The requests that the notebooks released with the paper test; one of them twice."""


def test_the_weights_are_the_metrics_of_the_requests_that_the_released_notebooks_test():
    metrics = [suite_of("openagi").task(str(number)).metric for number in RELEASED_TEST]
    assert {metric: metrics.count(metric) / 14 for metric in set(metrics)} == PAPERS_OVERALL.weights


def test_the_weights_reproduce_four_of_the_papers_six_overall_figures():
    table = reference_tables("openagi")[0]
    found = {}
    for row in table.rows:
        figures = dict(row.figures)
        if any(figures.values()):
            mean = sum(weight * figures[metric] for metric, weight in PAPERS_OVERALL.weights.items())
            found[row.name] = (mean, figures["overall"])
    assert set(found) == REPRODUCED | set(OTHERWISE)
    for name in REPRODUCED:
        assert found[name][0] == pytest.approx(found[name][1], abs=1.01e-4)
    for name, (mean, printed) in OTHERWISE.items():
        assert found[name] == pytest.approx((mean, printed), abs=5e-5)
        assert abs(mean - printed) > 0.03
