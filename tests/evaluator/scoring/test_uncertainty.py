"""The margins of a row are those of its interval and of simulations, and its sentences answer three questions."""

import numpy as np
import pytest

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.metrics.crossed import fixed_tasks
from evaluator.scoring.metrics.runs import RepeatedScores
from evaluator.scoring.metrics.statistics import wilson
from evaluator.scoring.uncertainty import in_sentences, uncertainty_of

DECLARED = RepeatedScores(is_declared=True)


def column(method: IntervalMethod) -> Column:
    return Column(key="SE", label="SE", description="", interval=method)


def test_judged_plans_have_the_interval_over_requests_and_open_verdicts() -> None:
    lower = np.repeat([1.0, 0.0], 50)[:, None]
    upper = lower.copy()
    upper[50:55] = 1.0
    found = uncertainty_of(
        column=column(IntervalMethod.WILSON), table=lower, upper=upper, strata=["SE"] * 100, repeated=RepeatedScores()
    )
    ends = wilson(successes=50, total=100).ends
    assert found is not None
    assert ends is not None
    assert (found.runs, found.scenes, found.judge) == (None, None, pytest.approx(0.05))
    assert found.requests == pytest.approx((ends[1] - ends[0]) / 2)
    assert in_sentences(found.to_json()) == [
        "The same planner again: unknown, since it was asked once and may answer otherwise.",
        "Other requests of this kind: ± 0.096.",
        "The judge: up to + 0.050, which its open verdicts leave.",
    ]


def test_executed_plans_have_margins_for_requests_and_for_scenes() -> None:
    rng = np.random.default_rng(1)
    table = 0.5 + rng.normal(0.0, 0.2, (60, 1)) + rng.normal(0.0, 0.03, (1, 12))
    table[3] = np.nan
    found = uncertainty_of(
        column=column(IntervalMethod.FIXED_TASKS), table=table, strata=["BERT"] * 60, repeated=DECLARED
    )
    assert found is not None
    assert (found.runs, found.asked, found.judge) == (0, 0, 0.0)
    assert found.requests == pytest.approx(2.0 * 0.2 / 60**0.5, rel=0.25)
    assert found.scenes == fixed_tasks(table[~np.isnan(table).any(axis=1)]).half_width()
    assert in_sentences(found.to_json(), is_fixed=True)[0] == "The same planner again: it answers alike."
    assert in_sentences(found.to_json(), is_fixed=True)[-1] == "The judge: no verdict is open."


def test_tasks_that_were_asked_again_give_the_margin_of_runs_flips_and_passes() -> None:
    rng = np.random.default_rng(2)
    first = (rng.random((2000, 1)) < 0.8).astype(float)
    asked = {str(task): (float(first[task, 0]), *map(float, rng.random(2) < 0.8)) for task in range(400)}
    found = uncertainty_of(
        column=column(IntervalMethod.WILSON), table=first, strata=["SE"] * 2000, repeated=RepeatedScores(asked)
    )
    assert found is not None
    assert found.runs == pytest.approx(1.96 * (0.16 / 2000) ** 0.5, rel=0.1)
    assert found.flips is not None
    assert found.flips.mean == pytest.approx(0.32, abs=0.04)
    assert found.passes is not None
    assert found.passes.mean == pytest.approx(0.512, abs=0.06)
    said = in_sentences(found.to_json())
    assert said[0].startswith("The same planner again: ± 0.01")
    assert said[0].endswith("(400 tasks asked 3 times).")
    assert said[1].startswith("Two runs of a task score differently in 3")


def test_without_a_task_there_is_nothing() -> None:
    nothing = np.full((3, 1), np.nan)
    found = uncertainty_of(
        column=column(IntervalMethod.WILSON), table=nothing, strata=["SE"] * 3, repeated=RepeatedScores()
    )
    assert found is None
