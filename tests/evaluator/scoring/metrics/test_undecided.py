"""Ranges of means over tasks some of which are undecided."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evaluator.core.records import Outcome
from evaluator.core.suites.base import Column, IntervalMethod, companions, shown_columns
from evaluator.scoring.metrics.aggregate import TaskScore, interval_of, metrics_of_runs, summarise_columns
from evaluator.scoring.metrics.paired import pair_tests, rank_ranges
from evaluator.scoring.metrics.statistics import wilson
from evaluator.scoring.metrics.undecided import decider_lines, decider_words, range_text, ranged, undecided_words
from leaderboard.evaluations.results.figures import marks, shares
from tests.rings import usual

SE = Column(key="SE", label="SE", description="", indicator=True, undecided="open", by_rules=("low", "high"))
PARTS = [Column(key=key, label=key, description="", indicator=True, ordered=False) for key in ("open", "low", "high")]
OTHER = Column(key="IR", label="IR", description="", indicator=True)


def metrics(**means: float | None) -> dict[str, dict[str, float | None] | None]:
    return {key: {"mean": mean, "low": 0.1, "high": 0.9, "tasks": 10} for key, mean in means.items()}


@pytest.mark.parametrize(
    ("means", "text", "words"),
    [
        ({"SE": 0.81}, "0.810", ""),
        ({"SE": 0.81, "open": 0.0, "low": 0.81, "high": 0.81}, "0.810", ""),
        ({"SE": 0.81, "open": 0.05, "low": 0.81, "high": 0.86}, "0.810 - 0.860", "5.0 % undecided"),
        ({"SE": 0.83, "open": 0.0, "low": 0.81, "high": 0.86}, "0.830", "0.810 - 0.860 by the rules alone"),
        (
            {"SE": 0.83, "open": 0.02, "low": 0.81, "high": 0.86},
            "0.830 - 0.850",
            "2.0 % undecided, 0.810 - 0.860 by the rules alone",
        ),
    ],
)
def test_a_range_reaches_from_the_mean_over_the_undecided_share(means, text, words):
    value = ranged(metrics=metrics(**means), column=SE)
    assert value is not None
    assert range_text(value).replace("\N{EN DASH}", "-") == text
    assert undecided_words(value).replace("\N{EN DASH}", "-") == words


@pytest.mark.parametrize("found", [{}, {"SE": None}, metrics(SE=None)])
def test_nothing_measured_has_no_range(found):
    assert ranged(metrics=found, column=SE) is None


def test_columns_that_widen_another_one_are_no_columns_of_their_own():
    assert companions([SE, *PARTS, OTHER]) == {"open", "low", "high"}
    assert shown_columns([SE, *PARTS, OTHER]) == (SE, OTHER)
    assert Column.from_json(SE.to_json()) == SE


DECIDED = replace(SE, decided_by={"network": "net", "arbiter": "arb"})


def test_the_rules_decide_what_nobody_else_does():
    found = metrics(SE=0.8, open=0.05, low=0.7, high=1.0, net=0.2, arb=0.125)
    value = ranged(metrics=found, column=DECIDED)
    assert value is not None
    assert value["decided_by"] == pytest.approx({"rules": 0.625, "network": 0.2, "arbiter": 0.125})
    words = "rules 62.5 %, network 20.0 %, arbiter 12.5 %, undecided 5.0 %"
    assert decider_words(value) == words
    assert decider_lines(columns=[DECIDED, *PARTS, OTHER], metrics=found) == [f"SE decided by: {words}"]


@pytest.mark.parametrize("recorded", [{}, {"net": 0.2}, {"net": 0.2, "arb": None}])
def test_who_decided_older_results_is_not_recorded(recorded):
    value = ranged(metrics=metrics(SE=0.8, open=0.05, low=0.7, high=1.0, **recorded), column=DECIDED)
    assert value is not None
    assert decider_words(value) == ""


def test_columns_of_deciders_are_no_columns_of_their_own():
    parts = [Column(key=key, label=key, description="", indicator=True, ordered=False) for key in ("net", "arb")]
    assert shown_columns([DECIDED, *PARTS, *parts, OTHER]) == (DECIDED, OTHER)
    assert Column.from_json(DECIDED.to_json()) == DECIDED
    assert Column.from_json(DECIDED.to_json()).decided_by == DECIDED.decided_by


def test_a_missing_plan_is_decided():
    results = [
        TaskScore(task="1", metric="SE", outcome=Outcome.SCORED, score=0.0, indicators={"SE": 0.0, "open": 1.0}),
        TaskScore(task="2", metric="SE", outcome=Outcome.PLANNER_FAULT, score=0.0),
    ]
    found = summarise_columns(columns=[SE, PARTS[0]], results=results)
    value = ranged(metrics=found["metrics"], column=SE)
    assert value is not None
    assert (value["mean"], value["upper"], value["undecided"]) == (0.0, 0.5, 0.5)


SHARE = Column(
    key="SE", label="SE", description="", indicator=True, interval=IntervalMethod.WILSON, primary=True, undecided="open"
)


def judged(rights: np.ndarray, doubts: np.ndarray) -> list[TaskScore]:
    """Results of tasks: right ones count 1 unless the judge is in doubt."""
    return [
        TaskScore(
            str(place), "SE", Outcome.SCORED, float(right and not doubt),
            {"SE": float(right and not doubt), "open": float(doubt)},
        )
        for place, (right, doubt) in enumerate(zip(rights, doubts, strict=True))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("tasks", "truth", "right_share"),
    usual(list(product([120, 2500], [0.1, 0.5, 0.9], [0.0, 0.5, 1.0])), of=[(120, 0.5, 0.0), (120, 0.5, 1.0)]),
)
def test_the_interval_covers_the_truth_whatever_is_right_about_undecided_tasks(tasks, truth, right_share):
    rng = np.random.default_rng(1)
    # A tenth of all tasks are undecided, of which `right_share` are right, as far as the truth leaves room.
    right_doubt = min(0.1 * right_share, truth)
    wrong_doubt = min(0.1 - 0.1 * right_share, 1 - truth)
    chances = [right_doubt, wrong_doubt, truth - right_doubt, 1 - truth - wrong_doubt]
    draws = 400 if tasks == 120 else 100
    covered = 0
    for right_open, wrong_open, right, _ in rng.multinomial(tasks, chances, size=draws):
        sure, doubt = int(right), int(right_open + wrong_open)
        results = judged(np.arange(tasks) < sure, (np.arange(tasks) >= sure) & (np.arange(tasks) < sure + doubt))
        found = interval_of(column=SHARE, results=results, samples=1)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    # Two standard errors of the simulation below the nominal 95 %.
    assert covered / draws >= 0.95 - 2 * math.sqrt(0.05 * 0.95 / draws)


def test_a_rank_holds_for_every_way_to_settle_undecided_tasks():
    tasks = 200
    rights = np.stack([np.arange(tasks) < count for count in (150, 100, 60, 60)]).astype(float)
    upper = rights.copy()
    # Nothing is known of the fourth.
    upper[1, 100:140] = 1
    upper[3] = 1
    tests = pair_tests(rights[:, :, None], method=IntervalMethod.WILSON, strata=["SE"] * tasks, upper=upper[:, :, None])
    ranges = [(one.low, one.high) for one in rank_ranges(tests) if one]
    # At worst the first is ahead of the second by 150 to 140 on nested tasks, which is certain.
    assert ranges[0] == (1, 2)
    assert ranges[1] == (2, 3)
    assert ranges[2] == (3, 4)
    assert ranges[3] == (1, 4)


def test_settling_the_undecided_never_contradicts_a_rank():
    """Of two planners with 6 % undecided tasks each, whatever these turn out to be."""
    rng = np.random.default_rng(7)
    first, other = (rng.random(400) < share for share in (0.75, 0.6))
    doubts = rng.random((2, 400)) < 0.06
    lower = np.stack([first & ~doubts[0], other & ~doubts[1]]).astype(float)
    upper = np.stack([first | doubts[0], other | doubts[1]]).astype(float)
    worst = pair_tests(lower[:, :, None], method=IntervalMethod.WILSON, strata=[""] * 400, upper=upper[:, :, None])
    for _ in range(20):
        settled = np.where(doubts, rng.random((2, 400)) < rng.random(), lower)
        found = pair_tests(settled[:, :, None], method=IntervalMethod.WILSON, strata=[""] * 400)
        assert found.p_values[0, 1] <= worst.p_values[0, 1]
        assert found.differences[0, 1] >= worst.differences[0, 1] > 0


def test_runs_and_marks_have_the_same_interval():
    results = judged(np.arange(100) < 40, (np.arange(100) >= 40) & (np.arange(100) < 60))
    one = interval_of(column=SHARE, results=results, samples=1)
    assert one is not None
    assert (one.mean, one.low, one.high) == (
        0.4, wilson(successes=40, total=100).low, wilson(successes=60, total=100).high,
    )  # fmt: skip
    mean = metrics_of_runs(columns=[SHARE], runs=[results, results], samples=1)["SE"]
    assert isinstance(mean, dict)
    assert mean["low"] < 0.4 < 0.6 < mean["high"]
    found = shares(
        [marks([replace(SHARE, good="yes")], outcome="scored", indicators=one.indicators) for one in results]
    )
    assert (found[0].interval.low, found[0].interval.high) == (one.low, one.high)


def test_undecided_tasks_belong_to_shares_of_judged_plans():
    with pytest.raises(ValueError, match="SE: only columns of judged plans"):
        Column(key="SE", label="SE", description="", higher_is_better=False, undecided="open")


def test_a_column_that_was_registered_before_has_no_range():
    before = {
        name: value for name, value in OTHER.to_json().items() if name not in {"undecided", "by_rules", "decided_by"}
    }
    assert Column.from_json(before) == OTHER
