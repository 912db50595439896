"""Which rows and columns an address asks for, without a database."""

import pytest
from django.http import QueryDict

from leaderboard.boards.selecting import (
    PER_PAGE,
    Selection,
    facets,
    known_facts,
    read_selection,
    select_rows,
    usual_columns,
)
from tests.leaderboard.boards.rows import row, usage

KEYS = ["overall", "IR"]


def chosen(query: str, rows: list, reader: str = "") -> list[str]:
    found = select_rows(rows=rows, selection=read_selection(QueryDict(query)), metrics=KEYS, reader=reader)
    return [one["planner"] for one in found]


ROWS = [
    row("gold", overall=0.9),
    row("Quick", overall=0.7, owner="bea", team="Plan Lab", kind="endpoint", parameters=7 * 10**9, open_weights=True),
    row(
        "slow",
        overall=0.8,
        strategy="controlllm/adaptive",
        finished="2026-10-01T23:59:00+00:00",
        model_name="Qwen3-8B",
        cost={"usd": 0.5},
        **usage(9.0, 40.0),
    ),
    row(
        "closed",
        overall=None,
        owner="bea",
        parameters=10**9 - 1,
        open_weights=False,
        cost={"usd": 0.1},
        **usage(0.1, 900.0),
    ),
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=endpoint", ["Quick"]),
        ("strategy=controlllm/adaptive", ["slow"]),
        ("size=medium", ["Quick"]),
        ("size=small", ["closed"]),
        ("size=none", ["gold", "slow"]),
        ("weights=open", ["Quick"]),
        ("weights=closed", ["closed"]),
        ("since=2026-10-02", ["gold", "Quick", "closed"]),
        ("until=2026-10-01", ["slow"]),
        ("q=QUICK", ["Quick"]),
        ("q=lab", ["Quick"]),
        ("q=adaptive ada", ["slow"]),
        ("q=bea&kind=bundled", ["closed"]),
        ("q=nobody", []),
        ("model=Qwen3-8B", ["slow"]),
        ("q=qwen3", ["slow"]),
        ("sort=cost", ["closed", "slow", "gold", "Quick"]),
        ("sort=-cost", ["slow", "closed", "gold", "Quick"]),
        ("size=gigantic&since=yesterday&sort=none", ["gold", "Quick", "slow", "closed"]),
    ],
)
def test_filters_leave_the_rows_that_have_everything(query, expected):
    assert chosen(query, ROWS) == expected


def test_own_rows_are_those_of_who_reads():
    assert chosen("own=1", ROWS, reader="bea") == ["Quick", "closed"]
    assert chosen("own=1", ROWS) == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sort=-overall", ["gold", "slow", "Quick", "closed"]),
        ("sort=overall", ["Quick", "slow", "gold", "closed"]),
        ("sort=seconds", ["closed", "slow", "gold", "Quick"]),
        ("sort=-tokens", ["closed", "slow", "gold", "Quick"]),
        ("sort=parameters", ["closed", "Quick", "gold", "slow"]),
        ("sort=-parameters", ["Quick", "closed", "gold", "slow"]),
    ],
)
def test_rows_without_a_value_come_last_in_both_directions(query, expected):
    assert chosen(query, ROWS) == expected


def test_a_page_size_that_is_not_offered_is_ignored():
    assert read_selection(QueryDict("per_page=100000")).per_page == PER_PAGE
    assert read_selection(QueryDict("per_page=20")).per_page == 20


def test_only_facts_that_some_row_has_are_columns():
    assert usual_columns(facts=known_facts([row()]), metrics=KEYS) == ("overall", "IR", "tasks", "finished")
    assert usual_columns(facts=known_facts(ROWS), metrics=["overall"]) == (
        "overall", "parameters", "weights", "tokens", "cost", "seconds", "tasks", "finished",
    )  # fmt: skip


def test_a_filter_that_could_change_nothing_is_not_offered():
    labels = {"bundled": "Bundled", "endpoint": "Endpoint"}
    assert facets(rows=[row("a"), row("b")], selection=Selection(), kinds=labels) == ()
    found = {facet.name: facet for facet in facets(rows=ROWS, selection=Selection(kind="bundled"), kinds=labels)}
    assert [(one.label, one.count, one.chosen) for one in found["kind"].options] == [
        ("Bundled", 3, True),
        ("Endpoint", 1, False),
    ]
    assert set(found) == {"kind", "size", "weights"}
