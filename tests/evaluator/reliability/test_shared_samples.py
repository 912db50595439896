"""Runs on different numbers of data points are compared on those that all have."""

import pytest

from evaluator.core.records import Outcome, PlannerCall, Reason, ResultRecord, SampleResult, StepRun
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.reliability.profile import profile_of
from evaluator.reliability.shared_samples import on_shared_samples, samples_of_further_runs

GRADED = Column(key="overall", label="Score", description="", primary=True, interval=IntervalMethod.FIXED_TASKS)


def sample(index, score, *, error=None, **indicators):
    step = StepRun(
        step="s1", tool="a", expert="e", key="k", inputs={}, outputs={}, cached=False, seconds=0.0, error=error
    )
    return SampleResult(
        index=index, score=score, inputs={}, reference=None, answer=None, steps=[step], indicators=indicators
    )


def record(*scores, task="0", **update):
    samples = [sample(index, score, right=float(score > 0.5)) for index, score in enumerate(scores)]
    return ResultRecord(
        suite="toy", task=task, request="", metric="m", outcome=Outcome.SCORED, samples=samples,
        score=sum(scores) / len(scores), indicators={"exact": 1.0, "right": 0.0}, planner=PlannerCall(seconds=1.0),
    ).model_copy(update=update)  # fmt: skip


@pytest.mark.parametrize(("count", "further"), [(1, 1), (4, 4), (8, 8), (32, 8), (100, 12)])
def test_further_runs_have_an_eighth_of_the_data_points_but_eight_at_least(count, further):
    assert samples_of_further_runs(count) == further


def test_records_are_cut_to_the_first_data_points_that_every_run_has():
    long, short = {"0": record(0.2, 0.4, 0.9, 0.9)}, {"0": record(0.7, 0.5)}
    cut, kept = on_shared_samples([long, short])
    assert kept == short
    assert cut["0"].score == pytest.approx(0.3)
    assert [one.index for one in cut["0"].samples] == [0, 1]
    # That of the plan stays, that of the data points is their mean.
    assert cut["0"].indicators == {"exact": 1.0, "right": 0.0}
    assert on_shared_samples([{"0": record(0.9, 0.1, 0.1)}, short])[0]["0"].indicators["right"] == 0.5


def test_tasks_that_some_run_did_not_execute_are_cut_to_what_the_others_have():
    judged = record(0.0).model_copy(update={"samples": [], "score": 1.0})
    result = on_shared_samples([{"0": record(0.2, 0.4)}, {"0": judged}])
    assert [one["0"].score for one in result] == [pytest.approx(0.3), 1.0]


def test_a_plan_that_fails_only_where_others_did_not_run_has_no_value():
    failing = record(0.0, 0.0).model_copy(
        update={
            "outcome": Outcome.PLANNER_FAULT, "reason": Reason.UNFIT_INPUT, "score": 0.0,
            "samples": [sample(0, None), sample(1, None, error="Too large.")],
        }
    )  # fmt: skip
    long = {"0": failing, "1": record(0.5, 0.5, task="1")}
    result = profile_of(column=GRADED, plain_runs=[long, {"0": record(0.9), "1": record(0.4, task="1")}])
    # It counts with its other run, but not in consistency.
    assert (result.tasks, result.left_out, result.once, result.samples) == (2, 1, 1, 1)
    early = {"0": failing.model_copy(update={"samples": failing.samples[::-1]})}
    early["0"].samples[0].index, early["0"].samples[1].index = 0, 1
    assert on_shared_samples([early, {"0": record(0.9)}])[0]["0"].outcome is Outcome.PLANNER_FAULT


def test_figures_and_gold_scores_are_of_the_shared_data_points():
    # On all four data points the planner is below gold, on the first one it is not.
    plain = [{"0": record(0.8, 0.1, 0.1, 0.1)}, {"0": record(0.8)}]
    gold = {"0": record(0.8, 0.9, 0.9, 0.9)}
    result = profile_of(column=GRADED, plain_runs=plain, perturbed={"framed": {"0": record(0.4)}}, gold=gold)
    assert (result.samples, result.success_rate.mean) == (1, 1.0)
    assert result.robustness[0].ratio.mean == pytest.approx(0.5)
    assert profile_of(column=GRADED, plain_runs=[{"0": record(0.5, samples=[])}]).samples is None
