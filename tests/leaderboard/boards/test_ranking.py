"""The ranking, without a database."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.boards.ranking import (
    Entry,
    MetricValue,
    best_per_planner,
    rank_entries,
    read_metrics,
    sort_rows,
    to_row,
)


def entry(name: str, value: MetricValue | float | None, *, finished: str = "2026-01-01T00:00:00+00:00", **fields):
    metrics = {} if value is None else {"overall": value if isinstance(value, MetricValue) else MetricValue(value)}
    values = {"kind": "bundled", "owner": "ada", "evaluation": name, "outcomes": {"scored": 3}, "samples": 8}
    return Entry(planner=name, metrics=metrics, finished=finished, **values | fields)


def ranks(*entries: Entry, **options) -> list[tuple[str, int | None]]:
    ranked = rank_entries(entries=entries, metric="overall", **options)
    return [(row.entry.planner, row.rank) for row in ranked]


def test_the_highest_mean_comes_first():
    assert ranks(entry("low", 0.1), entry("high", 0.9)) == [("high", 1), ("low", 2)]


def test_equal_means_share_a_rank_and_the_next_rank_is_skipped():
    found = ranks(entry("a", 0.9), entry("b", 0.5), entry("c", 0.5), entry("d", 0.1))
    assert found == [("a", 1), ("b", 2), ("c", 2), ("d", 4)]


def test_among_equals_the_one_that_finished_first_stands_first():
    late = entry("late", 0.5, finished="2026-01-02T00:00:00+00:00")
    assert [name for name, _ in ranks(late, entry("early", 0.5))] == ["early", "late"]


def test_a_row_without_the_metric_comes_last_and_has_no_rank():
    assert ranks(entry("none", None), entry("zero", 0.0)) == [("zero", 1), ("none", None)]


def test_a_metric_where_lower_is_better_ranks_the_other_way_round():
    assert ranks(entry("slow", 9.0), entry("fast", 1.0), higher_is_better=False) == [("fast", 1), ("slow", 2)]


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_overlapping_intervals_leave_ranks_open(higher_is_better):
    spread = [("a", 0.9, 0.8, 1.0), ("b", 0.75, 0.7, 0.85), ("c", 0.2, 0.1, 0.3)]
    if not higher_is_better:
        spread = [(name, -mean, -high, -low) for name, mean, low, high in spread]
    entries = [entry(name, MetricValue(mean, low, high)) for name, mean, low, high in spread]
    found = rank_entries(entries=entries, metric="overall", higher_is_better=higher_is_better)
    assert [(row.rank, row.rank_low, row.rank_high) for row in found] == [(1, 1, 2), (2, 1, 2), (3, 3, 3)]


def test_no_entries_give_no_ranks():
    assert rank_entries(entries=[], metric="overall") == []


VALUES = st.tuples(st.integers(0, 20), st.integers(0, 5), st.integers(0, 5)).map(
    lambda parts: MetricValue(parts[0] / 20, (parts[0] - parts[1]) / 20, (parts[0] + parts[2]) / 20)
)


@given(st.lists(VALUES, max_size=12), st.booleans())
def test_ranks_agree_with_counting_who_is_better(values, higher_is_better):
    entries = [entry(f"p{number}", value) for number, value in enumerate(values)]
    found = rank_entries(entries=entries, metric="overall", higher_is_better=higher_is_better)

    def better(left: float, right: float) -> bool:
        return left > right if higher_is_better else left < right

    def near(value: MetricValue, *, best: bool) -> float:
        return value.high if best == higher_is_better else value.low

    for row in found:
        own = row.entry.metrics["overall"]
        surely_better = [other for other in values if better(near(other, best=False), near(own, best=True))]
        surely_worse = [other for other in values if better(near(own, best=False), near(other, best=True))]
        assert row.rank == 1 + sum(better(other.mean, own.mean) for other in values)
        assert row.rank_low == 1 + len(surely_better)
        assert row.rank_high == len(values) - len(surely_worse)
        assert row.rank_low <= row.rank <= row.rank_high
    assert all(left.rank <= right.rank for left, right in pairwise(found))


def test_of_a_planners_evaluations_the_best_counts_and_of_equals_the_first():
    first = entry("gold", 0.5, evaluation="first")
    second = entry("gold", 0.5, evaluation="second", finished="2026-01-02T00:00:00+00:00")
    worse = entry("gold", 0.1, evaluation="worse")
    of_another_owner = entry("gold", 0.4, evaluation="other", owner="bea")
    best = best_per_planner(entries=[worse, second, first, of_another_owner], metric="overall")
    assert [one.evaluation for one in best] == ["first", "other"]


def test_metrics_that_nothing_measured_are_left_out():
    summary = {"metrics": {"overall": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 30}, "CLIP": None, "X": {}}}
    assert read_metrics(summary) == {"overall": MetricValue(0.5, 0.4, 0.6, 30)}


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_without_intervals_rows_are_ranked_by_their_means_and_no_rank_is_said_to_be_certain(higher_is_better):
    entries = [entry("a", MetricValue(0.9, tasks=2)), entry("b", MetricValue(0.1, tasks=2))]
    found = rank_entries(entries=entries, metric="overall", higher_is_better=higher_is_better)
    assert [row.entry.planner for row in found] == (["a", "b"] if higher_is_better else ["b", "a"])
    assert [(row.rank, row.rank_low, row.rank_high) for row in found] == [(1, None, None), (2, None, None)]


def test_a_row_without_an_interval_leaves_the_ranks_of_the_others_open():
    few = entry("few", MetricValue(0.99, tasks=3))
    entries = [few, entry("good", MetricValue(0.9, 0.8, 1.0)), entry("bad", MetricValue(0.2, 0.1, 0.3))]
    found = {row.entry.planner: row for row in rank_entries(entries=entries, metric="overall")}
    assert (found["good"].rank_low, found["good"].rank_high) == (1, 2)
    assert (found["bad"].rank_low, found["bad"].rank_high) == (2, 3)


@pytest.mark.parametrize("descending", [True, False])
def test_sorting_keeps_rows_without_a_value_last(descending):
    ranked = rank_entries(entries=[entry("none", None), entry("a", 0.1), entry("b", 0.2)], metric="overall")
    rows = sort_rows(rows=[to_row(row) for row in ranked], key="overall", descending=descending)
    assert [row["planner"] for row in rows] == (["b", "a", "none"] if descending else ["a", "b", "none"])


def test_rows_sort_by_name_whatever_their_case():
    rows = [to_row(row) for row in rank_entries(entries=[entry("b", 1), entry("A", 0)], metric="overall")]
    assert [row["planner"] for row in sort_rows(rows=rows, key="planner", descending=False)] == ["A", "b"]
