"""Every claim of the sentences above a board is right on 200 simulated boards, whose true order is known.

Scores go through the ranking code of the site. The claims are read from the text, and compared with tests, intervals,
ranges of ranks and power that scipy computes from the same scores.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, pairwise
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import optimize, stats

from evaluator.core.suites.base import Column, IntervalMethod
from evaluator.scoring.board_agreement import with_agreement
from evaluator.scoring.board_sentences import plain, sentences
from leaderboard.boards import rank_tests
from leaderboard.boards.ranking import Entry, MetricValue, figures_of, rank_entries, ranked_means, ranked_rows, to_row

SEEDS = range(40)
"""Of each kind of board; those with odd seeds have planners that are equally good."""
LEVEL = 0.05
GAP = (
    r"(?P<least>at least )?(?P<mean>-?[\d.]+) "
    r"\((?P<low>-?[\d.]+) to (?P<high>-?[\d.]+), p (?P<relation>[<=]) (?P<p>[\d.]+)\)"
)


class Pair(NamedTuple):
    """A difference of two planners."""

    mean: float
    low: float
    high: float
    p_value: float
    error: float
    df: float
    units: int


@dataclass(frozen=True)
class Board:
    """A simulated board with its sentences."""

    kind: str
    seed: int
    truth: dict[str, float]
    """True means by planner."""
    method: IntervalMethod
    scores: dict[str, np.ndarray]
    """(tasks, samples) by planner."""
    upper: dict[str, np.ndarray]
    """The same with undecided tasks counted 1."""

    @property
    def are_equal(self) -> bool:
        return len(set(self.truth.values())) == 1

    @cached_property
    def published(self) -> tuple[list[dict[str, Any]], list[str]]:
        """The rows of the board and its sentences, by the site's code."""
        column = Column(
            key="overall", label="Overall", description="", primary=True, interval=self.method,
            undecided="undecided" if self.upper else "",
        )  # fmt: skip
        entries = [
            Entry(
                planner=name, kind="endpoint", owner="ada", evaluation=f"of {name}", outcomes={}, samples=1,
                finished="2026-11-20T10:00:00+00:00", metrics=self._metrics(name),
            )
            for name in self.scores
        ]  # fmt: skip
        tables = {f"of {name}": table.astype(np.float32) for name, table in self.scores.items()}
        upper = {f"of {name}": table.astype(np.float32) for name, table in self.upper.items()} or tables
        suite: Any = SimpleNamespace(ranking_column=column)
        tests = rank_tests.tests_of(
            scores=rank_tests.BoardScores(tables, upper, ["SE"] * self.tasks),
            ranked=ranked_means(entries=entries, metric="overall"),
            suite=suite,
        )
        ranked = rank_entries(entries=entries, metric="overall", ranges=tests.ranges)
        summary = with_agreement(tests.summary, rows=[figures_of(row) for row in ranked], columns=[column])
        rows = [to_row(row, tests=tests.count) for row in ranked]
        shown = ranked_rows(rows=rows, column=column)
        said = sentences(summary=summary, rows=shown)
        return rows, [plain(sentence, rows=shown) for sentence in said]

    def _metrics(self, name: str) -> dict[str, MetricValue]:
        mean = float(self.scores[name].mean())
        metrics = {"overall": MetricValue(mean)}
        if self.upper:
            metrics["undecided"] = MetricValue(float(self.upper[name].mean()) - mean)
        return metrics

    @property
    def tasks(self) -> int:
        return len(next(iter(self.scores.values())))

    @property
    def names(self) -> list[str]:
        """The planners in the order of their ranks, computed here."""
        return sorted(self.scores, key=lambda name: (-round(float(self.scores[name].mean()), 9), name))

    @property
    def text(self) -> str:
        return " ".join(self.published[1])

    @cached_property
    def pairs(self) -> dict[tuple[str, str], Pair]:
        """The difference of each pair of planners, the better one first."""
        return {pair: self._pair(*pair) for pair in combinations(self.names, 2)}

    def _pair(self, one: str, other: str) -> Pair:
        if not self.upper:
            return difference(self.scores[one] - self.scores[other], method=self.method)
        least = difference(self.scores[one] - self.upper[other], method=self.method)
        most = difference(self.upper[one] - self.scores[other], method=self.method)
        nearest = least if least.mean > 0 else most if most.mean < 0 else least._replace(mean=0.0, p_value=1.0)
        return nearest._replace(low=least.low, high=most.high)

    @cached_property
    def adjusted(self) -> dict[tuple[str, str], float]:
        """Holm's adjusted p-values."""
        p_values = {pair: found.p_value for pair, found in self.pairs.items()}
        count = len(p_values)
        adjusted = {}
        for pair, p_value in p_values.items():
            smaller = sorted(other for other in p_values.values() if other <= p_value)
            adjusted[pair] = min(1.0, max((count - place) * other for place, other in enumerate(smaller)))
        return adjusted

    def is_better(self, one: str, other: str) -> bool:
        return self.adjusted[one, other] < LEVEL and self.pairs[one, other].mean > 0

    def differ(self, one: str, other: str) -> bool:
        """Whether either is significantly better. Undecided tasks may put the lower one ahead."""
        return self.adjusted[one, other] < LEVEL and self.pairs[one, other].mean != 0


def difference(values: np.ndarray, *, method: IntervalMethod) -> Pair:
    """The paired test of (tasks, samples) differences."""
    if method is IntervalMethod.SAMPLED_TASKS:
        return crossed(values)
    mean = float(values.mean())
    units = values.mean(axis=0) if method is IntervalMethod.FIXED_TASKS else values.mean(axis=1)
    error = float(stats.sem(units))
    if error == 0:
        return Pair(mean, mean, mean, 1.0, 0.0, len(units) - 1, len(units))
    test = stats.ttest_1samp(units, 0.0)
    low, high = test.confidence_interval(0.95)
    p_value = float(test.pvalue)
    if method is IntervalMethod.WILSON:
        more, less = int((units > 0).sum()), int((units < 0).sum())
        p_value = float(stats.binomtest(more, more + less).pvalue)
    return Pair(mean, float(low), float(high), p_value, error, len(units) - 1, len(units))


def crossed(values: np.ndarray) -> Pair:
    """Tasks and scenes are both samples: the mean squares of a two-way table without replication."""
    tasks, scenes = values.shape
    mean = float(values.mean())
    by_task, by_scene = values.mean(axis=1) - mean, values.mean(axis=0) - mean
    rest = values - mean - by_task[:, None] - by_scene[None, :]
    of_tasks, of_scenes = scenes * (by_task**2).sum() / (tasks - 1), tasks * (by_scene**2).sum() / (scenes - 1)
    of_rest = (rest**2).sum() / ((tasks - 1) * (scenes - 1))
    variance = max(of_tasks + of_scenes - of_rest, of_tasks, of_scenes) / values.size
    df = (of_tasks + of_scenes) ** 2 / (of_tasks**2 / (tasks - 1) + of_scenes**2 / (scenes - 1))
    error, units = math.sqrt(variance), min(tasks, scenes)
    half = float(stats.t.ppf(0.975, df)) * error
    p_value = 2 * float(stats.t.sf(abs(mean) / error, df))
    return Pair(mean, mean - half, mean + half, p_value, error, df, units)


def detectable(pair: Pair, *, level: float) -> float:
    """The true difference that the two-sided test of a pair detects with a chance of 80 %."""
    critical = float(stats.t.ppf(1 - level / 2, pair.df))
    shift = optimize.brentq(lambda shift: stats.nct.sf(critical, pair.df, shift) - 0.8, 0.1, 3 * critical + 5)
    return float(shift) * pair.error


def true_means(seed: int, *, step: float) -> dict[str, float]:
    """Of four to seven planners, whose names say nothing of their order."""
    rng = np.random.default_rng([1, seed])
    count = int(rng.integers(4, 8))
    means = np.full(count, 0.6) if seed % 2 else 0.8 - np.cumsum(rng.choice([0.0, step, 2 * step], count))
    return dict(zip(rng.permutation([f"P{number}" for number in range(count)]).tolist(), means.tolist(), strict=True))


def shares(truth: dict[str, float], *, rng: np.random.Generator, tasks: int) -> dict[str, np.ndarray]:
    """0 or 1 by task, with difficulties that all planners share."""
    difficulty = rng.normal(size=tasks)
    return {
        name: (stats.norm.cdf(0.7 * difficulty + math.sqrt(1 - 0.49) * rng.normal(size=tasks)) < mean)
        .astype(float)[:, None]
        for name, mean in truth.items()
    }  # fmt: skip


def grades(truth: dict[str, float], *, rng: np.random.Generator, tasks: int, scenes: int) -> dict[str, np.ndarray]:
    """Graded scores with effects of tasks and scenes that all planners share."""
    shared = rng.normal(0.0, 0.03, (tasks, 1)) + rng.normal(0.0, 0.02, (1, scenes))
    tables = {}
    for name, mean in truth.items():
        # A single scene that suits a planner would make it better.
        own = rng.normal(0.0, 0.02 if scenes > 1 else 0.0, (1, scenes)) + rng.normal(0.0, 0.03, (tasks, scenes))
        tables[name] = np.round(mean + shared + own, 6)
    return tables


def judged(seed: int) -> Board:
    truth = true_means(seed, step=0.08)
    scores = shares(truth, rng=np.random.default_rng([2, seed]), tasks=200)
    return Board("judged", seed, truth, IntervalMethod.WILSON, scores, {})


def graded(seed: int) -> Board:
    truth = true_means(seed, step=0.008)
    scores = grades(truth, rng=np.random.default_rng([3, seed]), tasks=60, scenes=1)
    return Board("graded", seed, truth, IntervalMethod.BOOTSTRAP, scores, {})


def executed(seed: int) -> Board:
    truth = true_means(seed, step=0.02)
    scores = grades(truth, rng=np.random.default_rng([4, seed]), tasks=20, scenes=12)
    return Board("executed", seed, truth, IntervalMethod.FIXED_TASKS, scores, {})


def sampled(seed: int) -> Board:
    truth = true_means(seed, step=0.02)
    rng = np.random.default_rng([5, seed])
    scores = {
        name: np.round(table + rng.normal(0.0, 0.05, (len(table), 1)), 6)
        for name, table in grades(truth, rng=rng, tasks=30, scenes=12).items()
    }
    return Board("sampled", seed, truth, IntervalMethod.SAMPLED_TASKS, scores, {})


def undecided(seed: int) -> Board:
    truth = true_means(seed, step=0.12)
    rng = np.random.default_rng([6, seed])
    right = shares(truth, rng=rng, tasks=200)
    hidden = {name: rng.random(table.shape) < 0.04 for name, table in right.items()}
    scores = {name: np.where(hidden[name], 0.0, table) for name, table in right.items()}
    upper = {name: np.where(hidden[name], 1.0, table) for name, table in right.items()}
    return Board("undecided", seed, truth, IntervalMethod.WILSON, scores, upper)


KINDS: tuple[Callable[[int], Board], ...] = (judged, graded, executed, sampled, undecided)


@cache
def boards() -> list[Board]:
    return [kind(seed) for kind in KINDS for seed in SEEDS]


def each(pattern: str) -> Iterator[tuple[Board, re.Match[str]]]:
    """Every place where a board says something."""
    found = [(board, match) for board in boards() for match in re.finditer(pattern, board.text)]
    assert len(found) >= 10, pattern
    yield from found


def leaders(board: Board) -> list[str]:
    best = round(float(board.scores[board.names[0]].mean()), 9)
    return [name for name in board.names if round(float(board.scores[name].mean()), 9) == best]


def check_gap(board: Board, match: re.Match[str], *, one: str, other: str) -> None:
    """The difference, its interval and its p-value are those of the pair, as precisely as they are printed."""
    pair, p_value = board.pairs[one, other], board.adjusted[one, other]
    for name in ("mean", "low", "high"):
        digits = len(match[name].partition(".")[2])
        assert float(match[name]) == pytest.approx(getattr(pair, name), abs=0.5 * 10**-digits + 1e-6), (board, name)
    if match["relation"] == "<":
        assert p_value < float(match["p"]) == 0.001
    else:
        digits = len(match["p"].partition(".")[2])
        assert float(match["p"]) == pytest.approx(p_value, abs=0.5 * 10**-digits + 1e-9), board
    assert bool(match["least"]) == bool(board.upper)


def test_there_are_200_boards_of_all_kinds() -> None:
    assert len(boards()) == 200
    assert sum(board.are_equal for board in boards()) == 100


def test_the_first_sentence_names_the_rows_with_rank_1() -> None:
    for board in boards():
        rows, said = board.published
        expected = leaders(board)
        assert {row["planner"] for row in rows if row["rank"] == 1} == set(expected), board
        subject = re.match(r"(.+?) (?:leads|is best|share the best score) \((\d\.\d{3})", said[0])
        assert subject is not None, said
        assert float(subject[2]) == pytest.approx(float(board.scores[expected[0]].mean()), abs=0.0005 + 1e-9)
        names = set(re.findall(r"P\d", subject[1]))
        others = re.search(r"and (\d+) others", subject[1])
        assert names <= set(expected)
        assert len(names) + int(others[1] if others else 0) == len(expected), (said, expected)


def test_a_planner_is_called_best_exactly_if_it_is_significantly_better_than_the_next() -> None:
    for board in boards():
        best, *rest = board.names
        if len(leaders(board)) == 1:
            assert (f"{best} is best" in board.text) == board.is_better(best, rest[0]), (board.kind, board.seed)


def test_better_than_is_said_of_the_highest_row_that_is_significantly_worse() -> None:
    for board, match in each(rf"(?P<one>It|P\d) is better than (?P<other>P\d)(?: \(rank (?P<rank>\d+)\))? by {GAP}"):
        best, *rest = board.names
        expected = next(name for name in rest if name not in leaders(board) and board.is_better(best, name))
        assert match["other"] == expected, (board.kind, board.seed, board.text)
        assert board.adjusted[best, expected] < LEVEL
        check_gap(board, match, one=best, other=expected)
        better = sum(board.scores[name].mean() > board.scores[expected].mean() + 1e-9 for name in board.names)
        assert match["rank"] in {None, str(better + 1)}
        assert match["rank"] or f"{best} is best" in board.text or len(leaders(board)) > 1


def test_boards_with_a_significantly_worse_row_say_so() -> None:
    for board in boards():
        best, *rest = board.names
        is_clear = any(board.is_better(best, name) for name in rest if name not in leaders(board))
        assert ("better than" in board.text) == is_clear, (board.kind, board.seed, board.text)


def test_a_lead_that_may_be_chance_is_not_significant() -> None:
    for board, match in each(rf"(?P<one>P\d) leads \([^)]*\), but its lead over (?P<other>P\d) may be chance: {GAP}"):
        assert [match["one"], match["other"]] == board.names[:2]
        assert board.adjusted[match["one"], match["other"]] >= LEVEL
        check_gap(board, match, one=match["one"], other=match["other"])


def test_a_lead_that_undecided_tasks_decide_has_no_order() -> None:
    for board, match in each(r"(P\d) leads \([^)]*\), but the undecided tasks could put (P\d) ahead"):
        assert board.kind == "undecided"
        least = board.scores[match[1]].mean() - board.upper[match[2]].mean()
        assert least <= 1e-9, (board.seed, board.text)


def test_ranks_that_cannot_be_told_apart_are_those_without_a_significant_pair() -> None:
    for board in boards():
        ranks = {row["planner"]: row["rank"] for row in board.published[0]}
        expected, start = [], 0
        for end in range(1, len(board.names) + 1):
            if end == len(board.names) or any(board.differ(name, board.names[end]) for name in board.names[start:end]):
                first, last = ranks[board.names[start]], ranks[board.names[end - 1]]
                expected += [(first, last)] if first != last else []
                start = end
        said = re.search(r"Ranks (.*?) cannot be told apart", board.text)
        spans = re.findall(r"(\d+) to (\d+)", said[1]) if said else []
        assert [(int(first), int(last)) for first, last in spans] == expected, (board.kind, board.seed, board.text)


def test_ranges_of_ranks_count_the_rows_that_are_significantly_better_and_worse() -> None:
    for board in boards():
        beaten_by = dict.fromkeys(board.names, 0)
        beats = dict.fromkeys(board.names, 0)
        for (one, other), pair in board.pairs.items():
            if board.differ(one, other):
                winner, loser = (one, other) if pair.mean > 0 else (other, one)
                beats[winner] += 1
                beaten_by[loser] += 1
        for row in board.published[0]:
            name = row["planner"]
            expected = 1 + beaten_by[name], len(board.names) - beats[name]
            assert (row["rank_low"], row["rank_high"]) == expected, (board.kind, board.seed, name)


def test_the_difference_that_a_board_can_tell_has_a_power_of_four_in_five() -> None:
    for board in boards():
        level = LEVEL / len(board.pairs)
        tested = [
            pair
            for one, other in pairwise(board.names)
            for pair in [difference(board.scores[one] - board.scores[other], method=board.method)]
            if pair.error > 0
        ]
        said = re.search(r"This board can tell ([\d.]+) points? apart", board.text)
        assert (said is not None) == bool(tested), (board.kind, board.seed)
        if said is not None:
            wanted = 100 * median(detectable(pair, level=level) for pair in tested)
            unit = 0.1 if "." in said[1] else 1.0
            # The site adds two quantiles of t, which is up to 8 % below the noncentral distribution.
            assert 0.92 * wanted <= float(said[1]) <= 1.01 * wanted + unit, (board.kind, board.seed, wanted)


def test_planners_that_are_equally_good_are_called_better_on_at_most_5_of_100_boards() -> None:
    equal = [board for board in boards() if board.are_equal]
    wrong = sum(re.search(r"is best|better than", board.text) is not None for board in equal)
    # With a chance of 5 % each, more would come up less than once in a thousand times.
    assert wrong <= int(stats.binom.ppf(0.999, len(equal), LEVEL))
    assert wrong <= LEVEL * len(equal) + 2 * math.sqrt(len(equal) * LEVEL * (1 - LEVEL))


def test_a_planner_that_is_called_better_is_truly_better() -> None:
    told = [
        (board, match[1] if match[1] != "It" else board.names[0], match[2])
        for board, match in each(r"(It|P\d) is better than (P\d)")
        if not board.are_equal
    ]
    wrong = sum(board.truth[one] <= board.truth[other] for board, one, other in told)
    assert len(told) >= 80
    assert wrong <= int(stats.binom.ppf(0.999, len(told), LEVEL))


@pytest.mark.parametrize("scenes", [2, 4])
def test_boards_with_too_few_scenes_claim_no_difference(scenes: int) -> None:
    for seed in range(10):
        truth = true_means(2 * seed, step=0.1)
        scores = grades(truth, rng=np.random.default_rng([7, seed]), tasks=40, scenes=scenes)
        board = Board("few", seed, truth, IntervalMethod.FIXED_TASKS, scores, {})
        if len(leaders(board)) == 1:
            assert board.published[1][0].endswith("but too few tasks or scenes were measured to compare planners.")
        assert re.search(r"is best|better than|\bp [<=]|told apart|can tell", board.text) is None, board.text
        assert all(row["rank_low"] is None for row in board.published[0])
