"""The margins of a row are those of its interval and of simulations, and its sentences answer three questions."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.judge_errors import judge_errors
from evaluator.scoring.metrics.crossed import fixed_tasks
from evaluator.scoring.metrics.runs import RepeatedScores
from evaluator.scoring.metrics.statistics import wilson
from evaluator.scoring.uncertainty import in_sentences, uncertainty_of

DETERMINISTIC = RepeatedScores(is_deterministic=True)


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
    assert found.requests == pytest.approx((ends[1] - ends[0]) / 2), "around one half it is symmetric"
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
        column=column(IntervalMethod.FIXED_TASKS), table=table, strata=["BERT"] * 60, repeated=DETERMINISTIC
    )
    assert found is not None
    assert (found.runs, found.asked, found.judge) == (0, 0, 0.0)
    assert found.requests == pytest.approx(2.0 * 0.2 / 60**0.5, rel=0.25)
    assert found.scenes == pytest.approx(fixed_tasks(table[~np.isnan(table).any(axis=1)]).half_width())
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
    assert said[0].endswith("(400 tasks asked at least 3 times).")
    assert said[1].startswith("Two runs of a task score differently in 3")


def test_the_runs_vary_no_more_than_the_requests_that_were_each_answered_in_a_run() -> None:
    """A tenth of 120 tasks was asked again, and all waver: their estimate alone would be wider."""
    scores = np.repeat([1.0, 0.0], [80, 40])[:, None]
    asked = {str(task): (1.0, 0.0, 1.0) for task in range(12)}
    found = uncertainty_of(
        column=column(IntervalMethod.WILSON), table=scores, strata=["SE"] * 120, repeated=RepeatedScores(asked)
    )
    assert found is not None
    assert found.runs == found.requests


def test_without_a_task_there_is_nothing() -> None:
    nothing = np.full((3, 1), np.nan)
    found = uncertainty_of(
        column=column(IntervalMethod.WILSON), table=nothing, strata=["SE"] * 3, repeated=RepeatedScores()
    )
    assert found is None


@pytest.mark.parametrize("method", [IntervalMethod.WILSON, IntervalMethod.FIXED_TASKS])
def test_tasks_that_all_score_alike_leave_a_margin(method: IntervalMethod) -> None:
    """60 successes in 60 tasks: other requests may succeed in 94 % (Clopper and Pearson; by Wilson's interval too)."""
    found = uncertainty_of(
        column=column(method),
        table=np.ones((60, 8 if method.over_scenes else 1)),
        strata=["SE"] * 60,
        repeated=DETERMINISTIC,
    )
    assert found is not None
    assert found.requests == pytest.approx(0.06, abs=0.001)
    assert (found.scenes is not None) == method.over_scenes
    assert found.scenes != 0


def test_margins_near_a_bound_reach_to_the_farther_end() -> None:
    """The true share is within the margin about as often as the interval says, which half its width would not be."""
    rng, share, tasks, inside, halves = np.random.default_rng(4), 0.955, 60, 0, 0
    for _ in range(1000):
        scores = (rng.random((tasks, 1)) < share).astype(float)
        found = uncertainty_of(
            column=column(IntervalMethod.WILSON), table=scores, strata=["SE"] * tasks, repeated=DETERMINISTIC
        )
        low, high = wilson(successes=int(scores.sum()), total=tasks).ends or (0.0, 1.0)
        assert found is not None
        assert found.requests is not None
        inside += abs(scores.mean() - share) <= found.requests
        halves += abs(scores.mean() - share) <= (high - low) / 2
    assert inside >= 940
    assert halves < 930


def test_what_the_judges_network_decided_comes_with_its_measured_errors() -> None:
    margins = {"runs": 0, "asked": 8, "times": 2, "requests": None, "scenes": None, "judge": 0.0, "flips": None}
    said = in_sentences(margins, by_network=0.08)
    assert said[0] == "The same planner again: it answers alike (8 tasks asked at least twice)."
    assert said[-1].startswith("The judge's network decided 8.0 % of the tasks. Of hidden texts")
    errors = judge_errors()
    for rate in errors:
        assert 0 <= rate.low <= rate.mean <= rate.high <= 1
        assert str(rate) in said[-1]
    assert in_sentences(margins)[-1] == "The judge: no verdict is open."


def test_a_card_without_measured_errors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("| all | 66.6 % (0.6228 to 0.7065) |")
    with pytest.raises(ValueError, match="no table"):
        judge_errors(tmp_path)
