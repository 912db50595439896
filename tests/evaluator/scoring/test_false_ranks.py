"""How often boards tell equal planners apart, and whether they still find a better one: runs of one stochastic planner
on a fixed list, undecided tasks, and a planner that is five points better among twenty. Figures in docs/validity.md are
those of `--full`."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.board_summary import summarise
from evaluator.scoring.metrics.paired import (
    LEVEL,
    PairTests,
    RankRange,
    adjusted_p_values,
    pair_tests,
    paired_test,
    rank_ranges,
)  # fmt: skip
from evaluator.scoring.metrics.runs import RepeatedScores

ROWS = 20
RUNS = 3
STRATA = ["BERT"] * 185
Values = NDArray[np.float64]


def are_told_apart(tests: PairTests) -> bool:
    count = len(tests.differences)
    return any(found is not None and found != RankRange(1, count) for found in rank_ranges(tests))


def most_false(boards: int) -> float:
    """What at most 5 % of boards are in a simulation, with two standard errors."""
    return 0.05 + 2 * (0.05 * 0.95 / boards) ** 0.5


def asked_again(
    rng: np.random.Generator, *, first: Values, chances: Values, height: Values, share: int = 10
) -> RepeatedScores:
    """A random tenth of the tasks, asked three times; `height` is what a right answer scores."""
    asked = rng.choice(len(first), max(len(first) // share, 2), replace=False)
    further = [(rng.random(len(asked)) < chances[asked]) * height[asked] for _ in range(RUNS - 1)]
    rows = zip(asked.tolist(), zip(first[asked], *further, strict=True), strict=True)
    return RepeatedScores({str(task): tuple(map(float, scores)) for task, scores in rows})


class TestRunsOfOnePlannerOnAFixedList:
    """185 tasks of which a share wavers, the others are right with a chance of 0.8; 16 scenes move all scores."""

    TASKS, SCENES = 185, 16

    def scores(
        self, rng: np.random.Generator, *, wavering: float, chance: float, rows: int = ROWS
    ) -> tuple[Values, list[RepeatedScores]]:
        tasks, scenes = self.TASKS, self.SCENES
        steady = (rng.random(tasks) < 0.8).astype(float)
        chances = np.where(rng.random(tasks) < wavering, chance, steady)
        height = rng.uniform(0.7, 1.0, tasks)
        effects = rng.normal(0.0, 0.03, (tasks, scenes)) + rng.normal(0.0, 0.01, (1, scenes))
        right = rng.random((rows, tasks)) < chances
        scores = np.clip(right[:, :, None] * (height[:, None] + effects), 0.0, 1.0)
        repeated = [asked_again(rng, first=row * height, chances=chances, height=height) for row in right]
        return scores, repeated

    @pytest.mark.parametrize(("wavering", "chance"), [(0.02, 0.5), (0.1, 0.5), (0.3, 0.9), (1.0, 0.9), (1.0, 0.98)])
    def test_false_ranks_are_rare(self, wavering: float, chance: float, full: bool) -> None:
        rng, boards = np.random.default_rng(1), 1000 if full else 40
        wrong = 0
        for _ in range(boards):
            scores, runs = self.scores(rng, wavering=wavering, chance=chance)
            tests = pair_tests(scores, method=IntervalMethod.FIXED_TASKS, strata=STRATA, repeated=runs)
            wrong += are_told_apart(tests)
        assert wrong / boards <= most_false(boards)

    def test_without_the_runs_every_board_is_wrong(self) -> None:
        """The error that the component of the runs mends."""
        rng, wrong = np.random.default_rng(1), 0
        for _ in range(10):
            scores, _ = self.scores(rng, wavering=0.1, chance=0.5)
            wrong += are_told_apart(pair_tests(scores, method=IntervalMethod.FIXED_TASKS, strata=STRATA))
        assert wrong == 10

    def test_single_runs_of_a_planner_that_may_answer_otherwise_are_not_ranked(self) -> None:
        scores, _ = self.scores(np.random.default_rng(1), wavering=0.1, chance=0.5, rows=3)
        runs = [RepeatedScores(), RepeatedScores(is_deterministic=True), RepeatedScores(is_deterministic=True)]
        scores[2] *= 0.5
        tests = pair_tests(scores, method=IntervalMethod.FIXED_TASKS, strata=STRATA, repeated=runs)
        assert rank_ranges(tests) == [None, RankRange(1, 2), RankRange(2, 3)]
        summary = summarise(
            scores, means=scores.mean(axis=(1, 2)).tolist(), tests=tests, method=IntervalMethod.FIXED_TASKS,
            strata=STRATA, repeated=runs,
        )  # fmt: skip
        assert summary.lead is not None
        assert (summary.lead.p_value, summary.lead.low, summary.lead.high) == (None, None, None)

    def test_tests_of_whole_boards_are_those_of_single_pairs(self) -> None:
        scores, runs = self.scores(np.random.default_rng(4), wavering=0.3, chance=0.8, rows=6)
        runs[2] = RepeatedScores(is_deterministic=True)
        tests = pair_tests(scores, method=IntervalMethod.FIXED_TASKS, strata=STRATA, repeated=runs)
        rounded = np.round(scores, 6)
        for one, other in combinations(range(6), 2):
            pair = paired_test(
                rounded[one] - rounded[other], method=IntervalMethod.FIXED_TASKS, strata=STRATA,
                repeated=(runs[one], runs[other]),
            )  # fmt: skip
            assert tests.p_values[one, other] == pytest.approx(pair.p_value, rel=1e-6)
            assert tests.p_values[other, one] == pytest.approx(pair.p_value, rel=1e-6)


class TestUndecidedTasks:
    """Equal planners on judged plans; the judge is undecided on none of the first planner's and 10 % of the last's."""

    TASKS = 300

    @pytest.mark.parametrize("graded", [False, True], ids=["shares", "graded"])
    @pytest.mark.parametrize("rows", [2, 8, 20])
    @pytest.mark.parametrize("of", ["any", "right", "wrong"])
    def test_false_ranks_are_rare_whatever_the_judge_leaves_open(
        self, graded: bool, rows: int, of: str, full: bool
    ) -> None:
        rng, boards, wrong = np.random.default_rng(2), 1000 if full else 25, 0
        method = IntervalMethod.BOOTSTRAP if graded else IntervalMethod.WILSON
        for _ in range(boards):
            right = rng.random((rows, self.TASKS)) < rng.beta(4, 1, self.TASKS)
            share = np.linspace(0.0, 0.1, rows)[:, None]
            can = {"any": np.ones_like(right), "right": right, "wrong": ~right}[of]
            is_open = (rng.random(right.shape) < share / can.mean()) & can
            values = right * rng.uniform(0.6, 1.0, right.shape) if graded else right.astype(float)
            lower, upper = np.where(is_open, 0.0, values), np.where(is_open, 1.0, values)
            tests = pair_tests(lower[:, :, None], method=method, strata=["SE"] * self.TASKS, upper=upper[:, :, None])
            wrong += are_told_apart(tests)
        assert wrong / boards <= most_false(boards)


class TestABetterPlanner:
    """Nineteen planners that are right in 80 % of 300 tasks, and one that is right in the same and 5 % more."""

    TASKS, SCENES = 300, 16

    def found(self, *, noise: float, is_deterministic: bool, boards: int) -> tuple[float, float]:
        """How often the better one is told apart from another, and boards on which equal ones are."""
        rng, found, wrong = np.random.default_rng(3), 0.0, 0
        places = np.random.default_rng(4).permutation(self.TASKS) / self.TASKS
        chances = np.repeat((places < 0.8)[None], ROWS, axis=0).astype(float)
        chances[0] = places < 0.85
        chances *= 1 - noise
        for _ in range(boards):
            first = (rng.random(chances.shape) < chances).astype(float)
            effects = rng.normal(0.0, 0.03, (self.TASKS, self.SCENES)) + rng.normal(0.0, 0.01, (1, self.SCENES))
            scores = first[:, :, None] * (0.85 + effects)
            height = np.full(self.TASKS, 0.85)
            runs = [
                RepeatedScores(is_deterministic=True)
                if is_deterministic
                else asked_again(rng, first=own * height, chances=chance, height=height)
                for own, chance in zip(first, chances, strict=True)
            ]
            tests = pair_tests(
                scores, method=IntervalMethod.FIXED_TASKS, strata=["BERT"] * self.TASKS, repeated=runs
            )  # fmt: skip
            adjusted = adjusted_p_values(tests.p_values)
            found += float(((adjusted[0, 1:] < LEVEL) & (tests.differences[0, 1:] > 0)).mean())
            wrong += bool((adjusted[1:, 1:] < LEVEL)[np.triu_indices(ROWS - 1, k=1)].any())
        return found / boards, wrong / boards

    @pytest.mark.parametrize("is_deterministic", [True, False])
    def test_is_found_among_planners_that_answer_alike(self, is_deterministic: bool, full: bool) -> None:
        found, wrong = self.found(noise=0.0, is_deterministic=is_deterministic, boards=300 if full else 15)
        assert found >= 0.91
        assert wrong == 0.0

    @pytest.mark.parametrize(("noise", "least"), [(0.005, 0.7), (0.01, 0.45), (0.02, 0.2)])
    def test_is_found_less_often_the_more_planners_waver(self, noise: float, least: float, full: bool) -> None:
        boards = 300 if full else 15
        found, wrong = self.found(noise=noise, is_deterministic=False, boards=boards)
        assert found >= least
        assert wrong <= most_false(boards)


def test_gold_and_empty_plans_are_told_apart_on_ten_scenes() -> None:
    """Eight planners are 28 pairs: a p-value of at least 1 / 512 would tell nothing apart."""
    rng = np.random.default_rng(5)
    means = np.array([0.9, 0.8, 0.8, 0.75, 0.7, 0.7, 0.6, 0.17])[:, None, None]
    scores = means + rng.normal(0.0, 0.01, (8, 1, 10)) + rng.normal(0.0, 0.05, (8, 185, 10))
    declared = [RepeatedScores(is_deterministic=True)] * 8
    found = rank_ranges(pair_tests(scores, method=IntervalMethod.FIXED_TASKS, strata=STRATA, repeated=declared))
    assert found[0] == RankRange(1, 1)
    assert found[-1] == RankRange(8, 8)
