"""The component of the runs: estimates, what is not known, and coverage on fixed lists where few tasks waver."""

import math

import numpy as np
import pytest

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column
from evaluator.scoring.metrics.aggregate import TaskScore, repeated_in_runs, repeated_scores
from evaluator.scoring.metrics.runs import (
    NO_VARIANCE,
    RepeatedScores,
    added,
    flip_rate,
    half_width,
    p_values_with_runs,
    pass_hat,
    run_variance,
)
from evaluator.scoring.metrics.runs import RunVariance as Variance

SCORE = Column(key="score", label="Score", description="")


def score(task: str, value: float, *further: float) -> TaskScore:
    return TaskScore(task, "SE", Outcome.SCORED, value, further=tuple(score(task, other) for other in further))


class TestRepeatedScores:
    def test_a_single_run_of_a_planner_that_may_answer_otherwise_has_no_estimate(self) -> None:
        assert run_variance(RepeatedScores(), tasks=100) is None

    def test_equal_answers_add_no_variance_even_if_another_device_scores_them_otherwise(self) -> None:
        scores = {"a": (1.0, 0.999), "b": (0.5, 0.5)}
        assert run_variance(RepeatedScores(scores, is_deterministic=True), tasks=100) == NO_VARIANCE
        found = run_variance(RepeatedScores(scores), tasks=100)
        assert found is not None
        assert found.variance > 0

    def test_a_deterministic_planner_whose_whole_runs_differ_has_a_variance(self) -> None:
        runs = [[score("a", 1.0), score("b", value)] for value in (0.0, 1.0)]
        steady, wavering = (
            repeated_in_runs(column=SCORE, runs=some, is_deterministic=True) for some in ([runs[0], runs[0]], runs)
        )
        assert run_variance(steady, tasks=2) == NO_VARIANCE
        assert run_variance(wavering, tasks=2) != NO_VARIANCE

    def test_without_a_declaration_steady_answers_to_few_tasks_leave_a_variance(self) -> None:
        few, many = (
            run_variance(RepeatedScores({str(task): (1.0, 1.0, 1.0) for task in range(count)}), tasks=100)
            for count in (5, 500)
        )
        assert few is not None
        assert many is not None
        assert few.variance > 50 * many.variance > 0

    def test_one_score_is_no_further_run(self) -> None:
        with pytest.raises(ValueError, match="at least two"):
            RepeatedScores({"a": (1.0,)})

    def test_the_tasks_asked_again_are_read_from_results(self) -> None:
        results = [score("a", 1.0, 0.0, 1.0), score("b", 0.5), score("c", 0.0, 0.0)]
        found = repeated_scores(column=SCORE, results=results)
        assert found.by_task == {"a": (1.0, 0.0, 1.0), "c": (0.0, 0.0)}

    def test_a_weighted_mean_weighs_further_runs_like_the_first(self) -> None:
        column = Column(key="mean", label="Mean", description="", weights={"x": 0.75, "y": 0.25})
        x = TaskScore("a", "x", Outcome.SCORED, 1.0, further=(TaskScore("a", "x", Outcome.PLANNER_FAULT, None),))
        y = TaskScore("b", "y", Outcome.SCORED, 1.0)
        assert repeated_scores(column=column, results=[x, y]).by_task == {"a": (1.5, 0.0)}


class TestRunVariance:
    def test_many_tasks_give_the_variance_of_the_mean(self) -> None:
        rng = np.random.default_rng(1)
        scores = {str(task): tuple((rng.random(3) < 0.5).astype(float)) for task in range(4000)}
        found = run_variance(RepeatedScores(scores), tasks=200)
        assert found is not None
        assert found.variance == pytest.approx(0.25 / 200, rel=0.02)
        assert found.df > 1000

    def test_means_of_several_runs_vary_less(self) -> None:
        scores = {"a": (1.0, 0.0, 0.5, 0.25), "b": (0.0, 0.0, 0.0, 1.0)}
        one, four = (run_variance(RepeatedScores(scores, shown=shown), tasks=2) for shown in (1, 4))
        assert one is not None
        assert four is not None
        assert four.variance == pytest.approx(one.variance / 4)

    def test_variances_are_added_with_satterthwaites_degrees_of_freedom(self) -> None:
        assert added([NO_VARIANCE, NO_VARIANCE]) == NO_VARIANCE
        assert added([Variance(2.0, 10.0), NO_VARIANCE]) == Variance(2.0, 10.0)
        assert added([Variance(1.0, 4.0), Variance(1.0, 4.0)]) == Variance(2.0, 8.0)
        assert math.isinf(added([Variance(1.0, math.inf)]).df)

    @pytest.mark.parametrize(("wavering", "chance"), [(0.01, 0.5), (0.1, 0.5), (1.0, 0.9), (1.0, 0.98), (0.5, 0.5)])
    def test_an_interval_covers_the_mean_over_all_runs(self, wavering: float, chance: float, full: bool) -> None:
        """A fixed list of 185 tasks, of which a share wavers; 18 are asked three times."""
        rng, tasks, repetitions = np.random.default_rng(2), 185, 4000 if full else 600
        errors, found = [], []
        for _ in range(repetitions):
            steady = (rng.random(tasks) < 0.8).astype(float)
            chances = np.where(rng.random(tasks) < wavering, chance, steady)
            first = (rng.random(tasks) < chances).astype(float)
            asked = rng.choice(tasks, 18, replace=False)
            runs = [first[asked], *((rng.random(18) < chances[asked]).astype(float) for _ in range(2))]
            by_task = {str(task): tuple(own) for task, own in zip(asked, zip(*runs, strict=True), strict=True)}
            variance = run_variance(RepeatedScores(by_task), tasks=tasks)
            assert variance is not None
            found.append(variance)
            errors.append(first.mean() - chances.mean())
        p_values = p_values_with_runs(
            mean=np.array(errors),
            variance=np.zeros(repetitions),
            df=np.ones(repetitions),
            runs=np.array([one.variance for one in found]),
            runs_df=np.array([one.df for one in found]),
        )
        assert (p_values >= 0.05).mean() >= 0.93

    @pytest.mark.parametrize("shape", [1.0, 4.0, 300.0])
    def test_p_values_are_those_of_simulated_variances(self, shape: float) -> None:
        rng = np.random.default_rng(5)
        scenes = 2e-4 * rng.chisquare(15, 200_000) / 15
        runs = rng.gamma(shape, 3e-4 / shape, 200_000)
        # The estimated variance over scenes varies in t; that by the runs is what is not known.
        means = rng.normal(size=200_000) * np.sqrt(2e-4 + runs)
        t = np.abs(means) / np.sqrt(scenes + runs)
        half = half_width(variance=2e-4, df=15.0, runs=Variance(3e-4, 2 * shape))
        assert half == pytest.approx(np.quantile(t, 0.95) * math.sqrt(5e-4), rel=0.08)
        at_ends = p_values_with_runs(
            mean=np.array([half]),
            variance=np.array([2e-4]),
            df=np.array([15.0]),
            runs=np.array([3e-4]),
            runs_df=np.array([2 * shape]),
        )
        assert at_ends == pytest.approx([0.05], abs=1e-6)


class TestFlipsAndPasses:
    def test_estimates_do_not_depend_on_the_number_of_runs(self) -> None:
        rng = np.random.default_rng(3)
        for runs in (2, 3, 8):
            scores = {str(task): tuple((rng.random(runs) < 0.8).astype(float)) for task in range(3000)}
            repeated = RepeatedScores(scores)
            flips, both = flip_rate(repeated), pass_hat(repeated, k=2)
            assert flips is not None
            assert both is not None
            assert flips.mean == pytest.approx(2 * 0.8 * 0.2, abs=0.02)
            assert both.mean == pytest.approx(0.8**2, abs=0.02)
            assert flips.ends is not None

    def test_graded_scores_flip_but_pass_nothing(self) -> None:
        repeated = RepeatedScores({"a": (0.5, 0.7), "b": (0.4, 0.4)})
        flips = flip_rate(repeated)
        assert flips is not None
        assert flips.mean == 0.5
        assert pass_hat(repeated, k=1) is None

    def test_without_further_runs_there_are_none(self) -> None:
        assert flip_rate(RepeatedScores()) is None
        assert pass_hat(RepeatedScores({"a": (1.0, 1.0)}), k=3) is None
