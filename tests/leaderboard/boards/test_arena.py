"""All boards side by side, without a database."""

from typing import Any

from leaderboard.boards.arena import Arena, Selection, arena_of, read_selection, select_planners
from leaderboard.boards.contents import BoardContent
from leaderboard.catalog.models import Suite
from tests.leaderboard.boards.rows import METRICS, row, usage


def suite(pk: int, **fields: Any) -> Suite:
    return Suite(pk=pk, slug=f"suite-{pk}", title=f"Suite {pk}", metrics=METRICS, **fields)


def arena(*boards: list[dict[str, Any]]) -> Arena:
    contents = (BoardContent(rows=tuple(rows), coverage={}, summary=None) for rows in boards)
    return arena_of((suite(number), content) for number, content in enumerate(contents, start=1))


def own(name: str, **fields: Any) -> dict[str, Any]:
    return row(name, **{"kind": "endpoint", **fields})


def anchor(name: str, **fields: Any) -> dict[str, Any]:
    return row(**{"planner": name, "kind": "bundled", "strategy": name, "rank": None, **fields})


def names(found: Arena, **selection: Any) -> list[str]:
    return [line.name[1] for line in select_planners(arena=found, selection=Selection(**selection)).planners]


def test_a_planner_is_one_line_and_planners_of_two_owners_are_two():
    found = arena([own("x"), own("x", owner="bea")], [own("x")])
    assert [(line.name, sorted(line.rows)) for line in found.planners] == [(("ada", "x"), [1, 2]), (("bea", "x"), [1])]


def test_anchors_are_no_planners_and_one_line_for_each_strategy():
    later = "2026-11-21T10:00:00+00:00"
    found = arena(
        [own("x"), anchor("gold", overall=0.9), anchor("gold", owner="bea", overall=0.8, finished=later)],
        [anchor("gold"), anchor("no-op"), own("x")],
    )
    assert [line.name[1] for line in found.planners] == ["x"]
    assert [(line.name[1], sorted(line.rows)) for line in found.anchors] == [("gold", [1, 2]), ("no-op", [2])]
    assert found.anchors[0].rows[1]["owner"] == "bea", "the latest run"


def test_suites_without_planners_have_no_column_unless_there_is_no_planner():
    found = arena([own("x"), anchor("no-op")], [anchor("gold")], [])
    assert [one.pk for one in found.suites] == [1]
    assert [line.name[1] for line in found.anchors] == ["no-op"]
    assert [one.pk for one in arena([], [anchor("gold")]).suites] == [2]
    assert arena().suites == ()


def test_a_suite_sorts_by_its_score_and_planners_without_one_come_last():
    found = arena([own("low", overall=0.1), own("none", overall=None), own("high", overall=0.9)], [own("other")])
    assert names(found, sort="-suite-1") == ["high", "low", "none", "other"]
    assert names(found, sort="suite-1") == ["low", "high", "none", "other"]
    assert names(found, sort="planner") == ["high", "low", "none", "other"]


def test_the_usual_order_is_that_of_the_suite_with_most_ranked_planners():
    found = arena([own("a")], [own("a", overall=0.2), own("b", overall=0.7)])
    assert names(found) == names(found, sort="unknown") == ["b", "a"]
    selected = select_planners(arena=found, selection=Selection())
    assert selected.sort.direction("suite-2") == "descending"


def test_the_view_of_costs_sorts_by_cost_with_the_cheapest_first():
    def priced(usd: float) -> dict[str, Any]:
        return {"cost": {"usd": usd, "prompt_price": 1.0, "completion_price": 1.0}, **usage(1.0)}

    found = arena([own("expensive", **priced(2.0)), own("cheap", **priced(0.1)), own("unknown")])
    assert names(found, view="cost") == ["cheap", "expensive", "unknown"]
    assert names(found, view="cost", sort="-suite-1") == ["expensive", "cheap", "unknown"]


def test_kind_and_size_filter_planners_and_not_ranks():
    found = arena([own("x", parameters=7 * 10**9), own("y", kind="chat", parameters=10**8), own("z")])
    assert names(found, kind="chat") == ["y"]
    assert names(found, size="medium") == ["x"]
    assert names(found, kind="chat", size="medium") == []
    filters = select_planners(arena=found, selection=Selection(kind="chat")).filters
    assert {(one.name, choice.value, choice.count) for one in filters for choice in one.choices} == {
        ("kind", "endpoint", 2), ("kind", "chat", 1), ("size", "none", 1), ("size", "small", 1), ("size", "medium", 1),
    }  # fmt: skip


def test_ranks_across_suites_leave_anchors_and_unranked_rows_out():
    boards = [[own("x"), own("y", rank=2, rank_low=2, rank_high=2), anchor("gold"), own("z", rank=None)] for _ in "ab"]
    found = arena(*boards)
    assert found.across is not None
    assert {line.name[1] for line in found.planners if line.key in found.across.ranks} == {"x", "y"}
    assert names(found, across="1", sort="across") == ["x", "y", "z"]
    assert names(found, across="1", sort="-across") == ["y", "x", "z"]


def test_unknown_parameters_are_ignored():
    class Query(dict[str, str]):
        def getlist(self, name: str, /) -> list[str]:
            return [self[name]]

        def lists(self) -> list[tuple[str, list[str]]]:
            return [(name, [text]) for name, text in self.items()]

    assert read_selection(Query(view="nonsense", size="giant", across="2", reference="show", page="x")) == Selection(
        page="x"
    )
    assert read_selection(Query(view="cost", kind="chat", across="1")).chosen == {"kind": "chat"}
