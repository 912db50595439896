"""The profile of a planner, from records made by hand."""

import numpy as np
import pytest

from evaluator.core.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.reliability.profile import profile_of
from evaluator.reliability.robustness import ratio_of_means

BINARY = Column(key="right", label="Right", description="", primary=True, interval=IntervalMethod.WILSON)
GRADED = Column(key="overall", label="Score", description="", primary=True, interval=IntervalMethod.FIXED_TASKS)
STEP = {"id": "s1", "tool": "a", "inputs": {"image": "$image"}, "outputs": {"image": "x"}}
PLAN = {"steps": [STEP], "answers": ["x"], "subgoals": None}
OTHER = {"steps": [{**STEP, "tool": "b"}], "answers": ["x"], "subgoals": None}


def record(task, score, *, plan=PLAN, confidence=None, tokens=None):
    return ResultRecord(
        suite="toy", task=task, request="", metric="m", outcome=Outcome.SCORED, score=score, plan=plan,
        planner=PlannerCall(seconds=1.0, completion_tokens=tokens, confidence=confidence),
    )  # fmt: skip


def run(*scores, **kept):
    return {str(number): record(str(number), score, **kept) for number, score in enumerate(scores)}


def broken(task):
    return record(task, 0.0).model_copy(
        update={"outcome": Outcome.INFRA_FAULT, "reason": Reason.ENDPOINT_UNAVAILABLE, "score": None}
    )


def not_run(task):
    return record(task, None).model_copy(update={"outcome": Outcome.NOT_RUN, "reason": Reason.NOT_PERTURBED})


def test_successes_of_all_runs_make_pass_hat_k_and_outcome_consistency():
    result = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0, 0.0), run(1.0, 0.0, 0.0)])
    assert (result.runs, result.tasks, result.success) == (2, 3, "Right is 1.")
    assert result.success_rate.mean == pytest.approx(0.5)
    # Both runs succeed on the first task only.
    assert result.pass_hat[2].mean == pytest.approx(1 / 3)
    # Tasks: 1, -1 and 1.
    assert result.outcomes.mean == pytest.approx(1 / 3)
    assert not result.never_succeeds


def test_a_planner_that_never_succeeds_is_said_to_and_its_intervals_have_a_width():
    result = profile_of(column=BINARY, plain_runs=[run(*[0.0] * 20)] * 3)
    assert result.never_succeeds
    assert (result.outcomes.mean, result.success_rate.mean) == (1.0, 0.0)
    # 17 % of all tasks may be otherwise without one among 20; such a task may have an estimate of -1/2 in three runs.
    assert (result.outcomes.low, result.outcomes.high) == pytest.approx((1 - 1.5 * 0.1684, 1.0), abs=1e-4)
    assert result.success_rate.high == pytest.approx(0.1611, abs=1e-4)
    for one in (result.equal_plans, result.resources["steps"], *result.pass_hat.values()):
        assert one.low < one.high


def test_every_run_of_a_task_counts_and_tasks_with_one_run_are_left_out_of_consistency_and_counted():
    short = {task: one for task, one in run(1.0, 0.0, 1.0).items() if task != "2"}
    result = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0, 1.0), short, {"0": short["0"]}])
    assert (result.tasks, result.once, result.outcomes.count) == (3, 1, 2)
    assert result.outcomes.mean == pytest.approx((1 - 1) / 2)
    assert {k: one.count for k, one in result.pass_hat.items()} == {1: 3, 2: 2, 3: 1}
    assert result.success_rate.mean == pytest.approx((1 + 0.5 + 1) / 3)


def test_graded_scores_are_compared_with_the_gold_plans_on_the_same_samples():
    gold = run(0.8, 0.9, 0.5)
    result = profile_of(column=GRADED, plain_runs=[run(0.795, 0.7, 0.6)], gold=gold)
    assert result.success_rate.mean == pytest.approx(2 / 3)
    assert "gold plan" in result.success


def test_plans_and_resources_are_compared_between_runs():
    plain = [run(1.0, 1.0, tokens=100), run(1.0, 1.0, tokens=100, plan=OTHER)]
    result = profile_of(column=BINARY, plain_runs=plain)
    assert result.equal_plans.mean == 0.0
    assert result.resources["tokens"].mean == 1.0
    assert profile_of(column=BINARY, plain_runs=[run(1.0)]).outcomes is None


def test_the_ratio_is_of_tasks_that_could_be_perturbed_and_measured():
    perturbed = {**run(1.0, 0.0), "2": broken("2"), "3": not_run("3")}
    result = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0, 1.0, 1.0)], perturbed={"framed": perturbed})
    (one,) = result.robustness
    assert (one.name, one.kind, one.version) == ("framed", "request", 1)
    assert (one.tasks, one.left_out, one.ratio.mean, one.worst) == (2, 1, 0.5, ("1",))


def test_a_ratio_to_nothing_is_not_measured():
    result = profile_of(column=BINARY, plain_runs=[run(0.0)], perturbed={"framed": run(1.0)})
    assert result.robustness[0].ratio is None
    assert (result.robustness_overall, result.robustness_by_kind) == (None, {})


def test_ratios_of_a_kind_and_of_all_pool_the_answers():
    perturbed = {"framed": run(1.0, 0.0), "lower-case": run(1.0), "shuffled-tools": run(0.0, 0.0)}
    result = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0)], perturbed=perturbed)
    assert {kind: one.mean for kind, one in result.robustness_by_kind.items()} == {
        "request": pytest.approx(2 / 3), "tools": 0.0,
    }  # fmt: skip
    assert result.robustness_overall.mean == pytest.approx(2 / 5)
    assert result.dimensions["robustness"] == result.robustness_overall


def test_tasks_that_end_differently_are_named_and_successes_counted():
    result = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0, 0.0), run(1.0, 0.0, 0.0)])
    assert (result.success_counts, result.unsteady) == ((1, 1, 1), ("1",))
    again = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0), run(1.0, 1.0, plan=OTHER)])
    assert (again.success_counts, again.unsteady) == ((0, 0, 2), ("0", "1"))


def test_a_profile_needs_a_plain_run_and_known_perturbations():
    with pytest.raises(ValueError, match="a run"):
        profile_of(column=BINARY, plain_runs=[])
    with pytest.raises(LookupError, match="no perturbation 'shouted'"):
        profile_of(column=BINARY, plain_runs=[run(1.0)], perturbed={"shouted": run(1.0)})


def test_tasks_that_were_not_measured_in_a_run_are_left_out_and_counted():
    result = profile_of(column=BINARY, plain_runs=[run(1.0, 1.0), {**run(1.0, 1.0), "1": broken("1")}])
    assert (result.tasks, result.left_out, result.once, result.success_rate.mean) == (2, 1, 1, 1.0)


def test_confidences_of_all_runs_make_predictability():
    sure, unsure = run(1.0, 1.0, confidence=0.9), run(0.0, 0.0, confidence=0.2)
    result = profile_of(column=BINARY, plain_runs=[sure, unsure]).predictability
    assert (result.answers, result.auroc.mean, result.selective_gain.mean) == (4, 1.0, 1.0)
    assert result.calibration_error.mean == pytest.approx(0.15)
    assert result.auroc.ends is None
    assert result.brier.mean == pytest.approx((0.1**2 + 0.2**2) / 2)
    assert result.overconfident == ("0", "1")
    assert profile_of(column=BINARY, plain_runs=[run(1.0)]).predictability is None
    glance = profile_of(column=BINARY, plain_runs=[sure, unsure]).dimensions
    assert glance["predictability"].mean == pytest.approx(1 - result.brier.mean)


def test_the_interval_of_a_ratio_covers_it_as_often_as_it_says():
    # 200 studies of 100 tasks, in which perturbation costs each success with a chance of 0.3.

    rng, covered = np.random.default_rng(3), 0
    for _ in range(200):
        before = (rng.random(100) < 0.6).astype(float)
        after = before * (rng.random(100) < 0.7)
        result = ratio_of_means(changed=after.tolist(), unchanged=before.tolist())
        covered += result.low <= 0.7 <= result.high
    assert 180 <= covered <= 199


def test_floors_are_those_of_planners_that_tell_no_task_from_another():
    """A planner that succeeds on each task with a chance of 0.7, and says so, is at both floors."""
    rng = np.random.default_rng(1)
    runs = [run(*(rng.random(3000) < 0.7).astype(float), confidence=0.7) for _ in range(3)]
    result = profile_of(column=BINARY, plain_runs=runs)
    assert result.floors["consistency"] == pytest.approx(result.dimensions["consistency"].mean, abs=0.02)
    assert result.floors["predictability"] == pytest.approx(result.dimensions["predictability"].mean, abs=0.01)
    assert result.to_json()["dimensions"]["predictability"]["floor"] == result.floors["predictability"]
    assert "floor" not in result.to_json()["dimensions"]["success"]
