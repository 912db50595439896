"""The ranking, without a database."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from evaluator.planners.bundled import BUNDLED
from evaluator.scoring.board_table import ANCHORS
from evaluator.scoring.metrics.paired import RankRange
from leaderboard.boards.ranking import (
    Entry,
    MetricValue,
    Runs,
    rank_entries,
    ranked_means,
    read_metrics,
    read_runs,
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


def test_equal_means_share_a_rank_and_the_next_rank_is_skipped():
    found = ranks(entry("a", 0.9), entry("b", 0.5), entry("c", 0.5), entry("d", 0.1))
    assert found == [("a", 1), ("b", 2), ("c", 2), ("d", 4)]


def test_among_equals_the_one_that_finished_first_stands_first():
    late = entry("late", 0.5, finished="2026-01-02T00:00:00+00:00")
    assert [name for name, _ in ranks(late, entry("early", 0.5))] == ["early", "late"]


def test_a_row_without_the_metric_comes_last_and_has_no_rank():
    assert ranks(entry("none", None), entry("zero", 0.0)) == [("zero", 1), ("none", None)]


def test_anchors_keep_their_place_without_a_rank_and_take_none_from_others():
    anchors = [entry("gold", 1.0, strategy="gold"), entry("random", 0.45, strategy="random-valid/2")]
    entries = [*anchors, entry("a", 0.9), entry("b", 0.5), entry("c", 0.1), entry("unmeasured", None)]
    found = [("gold", None), ("a", 1), ("b", 2), ("random", None), ("c", 3), ("unmeasured", None)]
    assert ranks(*entries) == found
    assert list(ranked_means(entries=entries, metric="overall")) == ["a", "b", "c"]
    rows = [to_row(row) for row in rank_entries(entries=entries, metric="overall")]
    for descending in (False, True):
        order = [row["planner"] for row in sort_rows(rows=rows, key="rank", descending=descending)]
        names = [name for name, _ in found[:-1]]
        assert order == [*(reversed(names) if descending else names), "unmeasured"]


def test_a_planner_of_its_owner_s_with_the_name_of_an_anchor_is_ranked():
    assert ranks(entry("gold", 1.0, kind="endpoint", strategy="gold")) == [("gold", 1)]


def test_every_bundled_planner_is_an_anchor_but_the_search_and_so_is_the_shortcut_of_keywords():
    assert {name.partition("/")[0] for name in BUNDLED} - {"arc-search"} | {"rules"} == set(ANCHORS)


def test_rows_have_the_ranges_that_tests_left_open():
    ranges = {"a": RankRange(1, 2), "b": RankRange(1, 3)}
    found = rank_entries(entries=[entry("a", 0.9), entry("b", 0.5), entry("c", 0.1)], metric="overall", ranges=ranges)
    assert [(row.rank, row.rank_low, row.rank_high) for row in found] == [(1, 1, 2), (2, 1, 3), (3, None, None)]
    assert [to_row(row, tests=1)["rank_tests"] for row in found] == [1, 1, 1]
    assert "rank_tests" not in to_row(found[0])


@given(st.lists(st.integers(0, 9), max_size=12), st.booleans())
def test_ranks_agree_with_counting_who_is_better(values, higher_is_better):
    entries = [entry(f"p{number}", value / 10) for number, value in enumerate(values)]
    found = rank_entries(entries=entries, metric="overall", higher_is_better=higher_is_better)
    for row in found:
        own = row.entry.metrics["overall"].mean
        assert row.rank == 1 + sum((one.metrics["overall"].mean > own) == higher_is_better for one in entries
                                   if one.metrics["overall"].mean != own)  # fmt: skip
    assert all(left.rank <= right.rank for left, right in pairwise(found))


def test_a_row_tells_its_runs():
    alone, many = Runs(), Runs(policy="mean", count=2, sd=0.1, low=0.4, high=0.6, evaluations=("x", "y"))
    rows = [to_row(one) for one in rank_entries(entries=[entry("a", 0.5, runs=alone), entry("b", 0.4, runs=many)],
                                                metric="overall")]  # fmt: skip
    assert rows[0]["runs"] == {"policy": "latest", "count": 1}
    assert rows[1]["runs"] == {
        "policy": "mean", "count": 2, "sd": 0.1, "low": 0.4, "high": 0.6, "identical": False, "evaluations": ["x", "y"],
    }  # fmt: skip
    assert [read_runs(row) for row in rows] == [alone, many]
    assert read_runs({}) is None
    assert "runs" not in to_row(rank_entries(entries=[entry("a", 0.5)], metric="overall")[0])


def test_metrics_that_nothing_measured_are_left_out():
    summary = {"metrics": {"overall": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 30}, "CLIP": None, "X": {}}}
    assert read_metrics(summary) == {"overall": MetricValue(0.5, 0.4, 0.6, 30)}


def test_sorting_keeps_rows_without_a_value_last_and_names_sort_whatever_their_case():
    ranked = rank_entries(entries=[entry("none", None), entry("A", 0.1), entry("b", 0.2)], metric="overall")
    rows = [to_row(row) for row in ranked]
    for key, descending, order in (
        ("overall", True, ["b", "A", "none"]),
        ("overall", False, ["A", "b", "none"]),
        ("planner", False, ["A", "b", "none"]),
    ):
        assert [row["planner"] for row in sort_rows(rows=rows, key=key, descending=descending)] == order
