"""Which rows and columns an address asks for, without a database."""

import pytest
from django.http import QueryDict

from leaderboard.boards.selecting import (
    FACETS,
    known_facts,
    read_selection,
    select_rows,
    tidied,
    usual_columns,
)
from leaderboard.evaluations.results.filters import index
from leaderboard.planners.models import PlannerKind
from leaderboard.platform.problems import FieldErrors
from tests.leaderboard.boards.rows import row, usage

KEYS = ["overall", "IR"]


def chosen(query: str, rows: list, reader: str = "") -> list[str]:
    return [one["planner"] for one in select(query, rows=rows, reader=reader).rows]


def select(query: str, *, rows: list, reader: str = ""):
    """The rows and filters that a query string asks for."""
    indexed = index(rows=rows, facets=FACETS)
    return select_rows(indexed=indexed, selection=read_selection(QueryDict(query)), metrics=KEYS, reader=reader)


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


SELECTED = {
    "kind=endpoint": ["Quick"],
    "kind=plans": [],
    "strategy=controlllm/adaptive": ["slow"],
    "size=medium": ["Quick"],
    "size=small": ["closed"],
    "size=none": ["gold", "slow"],
    "weights=open": ["Quick"],
    "weights=closed": ["closed"],
    "since=2026-10-02": ["gold", "Quick", "closed"],
    "until=2026-10-01": ["slow"],
    "q=QUICK": ["Quick"],
    "q=lab": ["Quick"],
    "q=adaptive ada": ["slow"],
    "q=bea&kind=bundled": ["closed"],
    "q=nobody": [],
    "model=Qwen3-8B": ["slow"],
    "q=qwen3": ["slow"],
    "size=gigantic&since=yesterday&sort=none": ["gold", "Quick", "slow", "closed"],
    # Rows without a value come last in both directions.
    "sort=cost": ["closed", "slow", "gold", "Quick"],
    "sort=-cost": ["slow", "closed", "gold", "Quick"],
    "sort=-overall": ["gold", "slow", "Quick", "closed"],
    "sort=overall": ["Quick", "slow", "gold", "closed"],
    "sort=seconds": ["closed", "slow", "gold", "Quick"],
    "sort=-tokens": ["closed", "slow", "gold", "Quick"],
    "sort=parameters": ["closed", "Quick", "gold", "slow"],
    "sort=-parameters": ["Quick", "closed", "gold", "slow"],
}


def test_filters_leave_the_rows_that_have_everything_in_the_order_that_is_asked_for():
    assert {query: chosen(query, ROWS) for query in SELECTED} == SELECTED
    assert chosen("own=1", ROWS, reader="bea") == ["Quick", "closed"]
    assert chosen("own=1", ROWS) == []


def test_only_facts_that_some_row_has_are_columns():
    assert known_facts([row()]) == ("tasks", "finished")
    assert known_facts(ROWS) == (
        "strategy", "model_name", "parameters", "weights", "tokens", "cost", "seconds", "tasks", "finished",
    )  # fmt: skip
    assert "readable" in known_facts([row(readable={"mean": 0.5, "low": 0.1, "high": 0.9, "tasks": 4})])


def test_rows_are_sorted_by_the_share_of_readable_replies():
    rows = [row("prose", readable={"mean": 0.5}), row("old"), row("json", readable={"mean": 1.0})]
    assert chosen("sort=-readable", rows) == ["json", "prose", "old"]


def test_the_suite_s_default_columns_and_one_cost_are_shown_at_most_five():
    many = [{"key": key} for key in "abcdefgh"]
    assert usual_columns(facts=(), metrics=many) == ("a", "b", "c", "d", "e")
    assert usual_columns(facts=("seconds", "cost"), metrics=many[:3]) == ("a", "b", "c", "cost")
    declared = [{"key": "a", "is_default": True}, {"key": "b"}, {"key": "c", "is_default": True}]
    assert usual_columns(facts=("seconds",), metrics=declared) == ("a", "c", "seconds")


def test_a_filter_that_could_change_nothing_is_not_offered():
    assert select("", rows=[row("a"), row("b")]).filters == ()
    found = {one.name: one for one in select("kind=bundled", rows=ROWS).filters}
    assert [(one.words, one.count, one.chosen) for one in found["kind"].choices] == [
        ("Bundled with PlanArena", 3, True),
        ("HTTP endpoint", 1, False),
    ], "counts are over the whole board"
    assert set(found) == {"kind", "size", "weights"}


def test_a_strict_reader_hears_the_parameter_and_what_it_can_be():
    for query, sentence in (
        ("size=gigantic", "'gigantic' is none of: none, small, medium, large, huge."),
        ("weights=x", "'x' is none of: open, closed."),
        ("since=yesterday", "'yesterday' is not a day such as 2026-11-20."),
        ("kind=ufo", f"'ufo' is none of: {', '.join(PlannerKind.values)}."),
        ("kind=endpont", f"'endpont' is none of: {', '.join(PlannerKind.values)}. Did you mean 'endpoint'?"),
        ("per_page=7", "Give one of 20, 50, 100."),
        ("page=0", "Give the number of a page, from 1."),
        ("own=2", "'2' is none of: 1."),
    ):
        with pytest.raises(FieldErrors) as caught:
            read_selection(QueryDict(query), metrics=KEYS, strict=True)
        assert caught.value.errors == {query.partition("=")[0]: [sentence]}


def test_a_strict_reader_hears_what_can_be_sorted_by():
    with pytest.raises(FieldErrors) as caught:
        read_selection(QueryDict("sort=-weights"), metrics=KEYS, strict=True)
    (sentence,) = caught.value.errors["sort"]
    assert sentence.startswith("'-weights' is none of: IR, cost, finished,")
    assert read_selection(QueryDict("sort=-IR"), metrics=KEYS, strict=True).sort == "-IR"


def test_an_address_from_the_form_is_written_without_what_was_not_chosen():
    tidy = {
        "q=gold&kind=": None,
        "usual_columns=a+b&column=b&column=a&q=&kind=bundled": "?kind=bundled",
        "usual_columns=a+b&column=a&sort=rank": "?column=a&sort=rank",
        "usual_columns=a&column=a&q=": "",
    }
    assert {query: tidied(QueryDict(query)) for query in tidy} == tidy
