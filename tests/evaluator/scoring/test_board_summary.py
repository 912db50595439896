"""The summary of a board has the coverage and power that it states, and each kind of board has its sentences.
`test_simulated_boards.py` checks every claim of the sentences."""

import numpy as np
import pytest

from evaluator.core.signatures.statements import BoardSummary, Gap
from evaluator.core.suites.base import IntervalMethod
from evaluator.scoring.board_sentences import RankedRow, plain, sentences
from evaluator.scoring.board_summary import is_real, summarise
from evaluator.scoring.metrics.paired import pair_tests

TASKS = 300


def judged(shares: list[float], *, seed: int, tasks: int = TASKS) -> tuple[np.ndarray, list[float]]:
    """Independent scores of 0 or 1 of planners with these true shares, in the order of their means; and the shares."""
    rng = np.random.default_rng(seed)
    scores = (rng.random((len(shares), tasks, 1)) < np.array(shares)[:, None, None]).astype(np.float32)
    order = np.argsort(-scores.mean(axis=(1, 2)), kind="stable")
    return scores[order], [shares[row] for row in order]


def executed(shifts: list[float], *, seed: int, tasks: int = 40, scenes: int = 12) -> np.ndarray:
    """Graded scores of planners whose true means differ by these shifts, on a fixed list of tasks."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, 0.05, (len(shifts), 1, scenes)) + rng.normal(0.0, 0.02, (len(shifts), tasks, scenes))
    scores = (0.5 + np.array(shifts)[:, None, None] + noise).astype(np.float32)
    return scores[np.argsort(-scores.mean(axis=(1, 2)), kind="stable")]


def summary_of(
    scores: np.ndarray, *, upper: np.ndarray | None = None, method: IntervalMethod = IntervalMethod.WILSON
) -> BoardSummary:
    strata = ["SE"] * scores.shape[1]
    tests = pair_tests(scores, method=method, strata=strata, upper=upper)
    means = [float(mean) for mean in scores.mean(axis=(1, 2), dtype=np.float64)]
    return summarise(scores, means=means, tests=tests, method=method, strata=strata, upper=upper)


def ranked(*means: float, names: str = "ABCDEFGHIJ", **facts: float) -> list[RankedRow]:
    ranks = [1 + sum(other > mean for other in means) for mean in means]
    return [
        RankedRow(name=name, rank=rank, mean=mean, **facts)
        for name, rank, mean in zip(names, ranks, means, strict=False)
    ]


def text_of(
    scores: np.ndarray, *, upper: np.ndarray | None = None, method: IntervalMethod = IntervalMethod.WILSON
) -> str:
    rows = ranked(*scores.mean(axis=(1, 2)).tolist())
    said = sentences(summary=summary_of(scores, upper=upper, method=method), rows=rows)
    return " ".join(plain(sentence, rows=rows) for sentence in said)


def with_share(count: int, tasks: int = TASKS) -> np.ndarray:
    """Scores of a planner that solves the first `count` tasks."""
    return (np.arange(tasks) < count).astype(np.float32)[:, None]


class TestSimulatedBoards:
    def test_intervals_of_the_lead_contain_the_true_difference(self) -> None:
        # The pair is chosen in advance here: that of the first two of a board is biased by the choice.
        inside = 0
        for seed in range(200):
            scores, truth = judged([0.9, 0.5], seed=seed)
            lead = summary_of(scores).lead
            assert lead is not None
            assert lead.low is not None
            assert lead.high is not None
            inside += lead.low <= truth[0] - truth[1] <= lead.high
        assert inside >= 180

    def test_a_difference_as_large_as_the_resolution_is_found_in_four_of_five_boards(self) -> None:
        resolution = np.median([summary_of(judged([0.5, 0.5, 0.5], seed=seed)[0]).resolution for seed in range(20)])
        found = 0
        for seed in range(200):
            lead = summary_of(judged([0.5 + resolution / 2, 0.5 - resolution / 2], seed=seed)[0]).lead
            # Two planners are one pair: the level is three times that of a board of three.
            found += lead is not None and lead.p_value is not None and lead.p_value < 0.05 / 3
        assert 140 <= found <= 180

    def test_the_resolution_of_an_executed_board_is_found_in_four_of_five_boards(self) -> None:
        method = IntervalMethod.FIXED_TASKS
        summaries = [summary_of(executed([0.0, 0.0], seed=seed), method=method) for seed in range(40)]
        resolution = float(np.median([summary.resolution for summary in summaries]))
        found = 0
        for seed in range(200):
            lead = summary_of(executed([resolution, 0.0], seed=seed), method=method).lead
            found += lead is not None and is_real(lead)
        assert 140 <= found <= 185

    def test_a_board_whose_p_values_cannot_be_small_enough_states_no_resolution(self) -> None:
        # McNemar's p-value over 7 tasks is at least 1 / 64: 10 pairs need 0.005.
        scores = judged([0.9, 0.7, 0.5, 0.3, 0.1], seed=1, tasks=7)[0]
        assert (summary_of(scores).resolution, summary_of(scores).clear_lead) == (None, None)
        assert summary_of(scores[[0, -1]]).resolution is not None

    def test_with_as_many_tasks_as_it_says_a_board_finds_two_points(self) -> None:
        needed = [summary_of(judged([0.9, 0.9, 0.9], seed=seed)[0]).needed for seed in range(20)]
        counts = [one.count for one in needed if one is not None and one.unit == "tasks"]
        assert len(counts) == 20
        found = 0
        for seed in range(100):
            lead = summary_of(judged([0.91, 0.89], seed=seed, tasks=int(np.median(counts)))[0]).lead
            found += lead is not None and lead.p_value is not None and lead.p_value < 0.05 / 3
        assert 65 <= found <= 92

    def test_a_fixed_list_says_how_many_scenes_would_find_two_points(self) -> None:
        summary = summary_of(executed([0.2, 0.1, 0.0], seed=1), method=IntervalMethod.FIXED_TASKS)
        assert summary.needed is not None
        assert summary.needed.unit == "scenes"
        more = executed([0.02, 0.0], seed=2, scenes=summary.needed.count)
        assert summary_of(more, method=IntervalMethod.FIXED_TASKS).needed is None


class TestSentences:
    def test_a_clear_winner(self) -> None:
        scores = np.stack([with_share(270), with_share(213), with_share(100)])
        assert text_of(scores) == (
            "A is best (0.900). It is better than B by 0.19 (0.15 to 0.23, p < .001). "
            "This board can tell 9 points apart; 2 points would take about 5,200 tasks."
        )

    def test_a_lead_that_may_be_chance(self) -> None:
        scores, _ = judged([0.62, 0.6, 0.58, 0.3], seed=3)
        said = text_of(scores)
        assert said.startswith("A leads (0.623), but its lead over B may be chance: 0.01 (-0.07 to 0.09, p = 1.00).")
        assert "It is better than D (rank 4) by 0.3" in said
        assert "Ranks 1 to 3 cannot be told apart." in said

    def test_equal_leaders(self) -> None:
        scores = np.stack([with_share(200), with_share(200), with_share(100)])
        assert text_of(scores).startswith("A and B share the best score (0.667). A is better than C by 0.33 (")

    def test_one_planner(self) -> None:
        rows = ranked(0.9, low=0.85, high=0.94)
        [said] = sentences(summary=summary_of(with_share(270)[None]), rows=rows)
        assert plain(said, rows=rows) == "A is the only ranked planner (0.900; 95 % interval 0.850 to 0.940)."

    def test_no_planner(self) -> None:
        assert sentences(summary=BoardSummary(leaders=0), rows=[]) == [("No planner is ranked yet.",)]

    def test_too_few_tasks_for_a_test(self) -> None:
        scores = np.stack([with_share(5, 6), with_share(3, 6)])[:, :4] * 0.9
        assert text_of(scores, method=IntervalMethod.BOOTSTRAP) == (
            "A has the best score (0.900), but too few tasks or scenes were measured to compare planners."
        )

    def test_a_lead_that_depends_on_undecided_tasks_says_so(self) -> None:
        lower, upper = (np.stack([with_share(200), with_share(other)]) for other in (190, 260))
        rows = ranked(2 / 3, 19 / 30, upper=0.9)
        first = plain(sentences(summary=summary_of(lower, upper=upper), rows=rows)[0], rows=rows)
        assert first.endswith("), but the undecided tasks could put B ahead.")

    def test_the_difference_of_rows_with_undecided_tasks_is_the_smallest_possible_one(self) -> None:
        lower, upper = (np.stack([with_share(270), with_share(other)]) for other in (190, 213))
        rows = [*ranked(0.9), RankedRow(name="B", rank=2, mean=0.633, upper=0.71)]
        said = sentences(summary=summary_of(lower, upper=upper), rows=rows)
        assert plain(said[1], rows=rows) == "It is better than B by at least 0.19 (0.15 to 0.32, p < .001)."

    def test_a_leader_that_is_behind_on_common_tasks_is_not_put_down_to_undecided_ones(self) -> None:
        summary = BoardSummary(leaders=1, lead=Gap(first=0, second=1, mean=-0.1, low=-0.2, high=0.0, p_value=0.06))
        rows = ranked(0.8, 0.7)
        assert [plain(said, rows=rows) for said in sentences(summary=summary, rows=rows)] == [
            "A leads (0.800), but is not ahead of B on the tasks they share."
        ]

    @pytest.mark.parametrize(
        ("mean", "upper", "words"),
        [(0.4, 0.5, "0.400, up to 0.500 if the undecided are right"), (0.4, 0.4, "0.400"), (0.4, None, "0.400")],
    )
    def test_undecided_tasks_are_told_in_words(self, mean: float, upper: float | None, words: str) -> None:
        rows = [RankedRow(name="A", rank=1, mean=mean, upper=upper, low=0.3, high=0.6)]
        [said] = sentences(summary=BoardSummary(leaders=1), rows=rows)
        assert plain(said, rows=rows) == f"A is the only ranked planner ({words}; 95 % interval 0.300 to 0.600)."
