"""The filter engine, without a database."""

import pytest

from leaderboard.evaluations.results.filters import (
    Facet,
    Parameter,
    day,
    in_words,
    index,
    one_of,
    read,
    select,
    sort_by,
    whole_number,
    written,
)
from leaderboard.platform.problems import FieldErrors

COLOUR: Facet[dict] = Facet("colour", "Colour", lambda row: row["colour"])
SHAPE: Facet[dict] = Facet("shape", "Shape", lambda row: row["shape"], known=("round", "square"), sort_key=str)
ROWS = [
    {"colour": ["red"], "shape": ["square"]},
    {"colour": ["red", "blue"], "shape": ["oval"]},
    {"colour": [], "shape": ["a_star"]},
]
INDEX = index(rows=ROWS, facets=[COLOUR, SHAPE])


def counts(filters, name: str) -> list[tuple[str, int]]:
    (found,) = [one for one in filters if one.name == name]
    return [(choice.value, choice.count) for choice in found.choices]


def test_a_count_is_over_what_the_other_filters_leave_or_alone_over_all_rows():
    found = select(indexed=INDEX, chosen={"colour": "red"})
    assert found.rows == ROWS[:2]
    assert counts(found.filters, "colour") == [("red", 2), ("blue", 1)]
    assert counts(found.filters, "shape") == [("round", 0), ("square", 1), ("a_star", 0), ("oval", 1)]
    found = select(indexed=INDEX, chosen={"colour": "blue"}, counts_all=True)
    assert found.rows == ROWS[1:2]
    assert counts(found.filters, "shape") == [("round", 0), ("square", 1), ("a_star", 1), ("oval", 1)]
    found = select(indexed=INDEX, chosen={"colour": "pink"})
    assert found.rows == []
    assert [choice.value for choice in found.filters[0].choices if choice.chosen] == ["pink"], "it can be taken away"


def test_other_conditions_leave_only_the_values_of_their_rows():
    found = select(indexed=INDEX, chosen={}, within=INDEX.at([0, 2]))
    assert found.rows == [ROWS[0], ROWS[2]]
    assert "colour" not in [one.name for one in found.filters], "one value alone tells nothing apart"
    assert counts(found.filters, "shape") == [("round", 0), ("square", 1), ("a_star", 1)]


PARAMETERS = (
    Parameter("size", one_of(["small", "large"])),
    Parameter("since", day, default="always"),
    Parameter("count", whole_number, default=3),
    Parameter("kind", one_of(lambda: ["a", "b"]), is_kept=True),
)


def test_a_query_string_is_read_into_typed_values():
    found = read(
        parameters={"size": "large", "since": "2026-11-20", "count": "7", "kind": "", "more": "x"}, declared=PARAMETERS
    )
    assert found.checked() == {"size": "large", "since": "2026-11-20", "count": 7, "kind": ""}
    assert read(parameters={}, declared=PARAMETERS).checked()["since"] == "always"


def test_every_problem_names_its_parameter_and_what_it_can_be():
    found = read(parameters={"size": "huge", "since": "today", "count": "²", "kind": "c"}, declared=PARAMETERS)
    assert dict(found.values) == {"size": "", "since": "always", "count": 3, "kind": "c"}
    with pytest.raises(FieldErrors) as caught:
        found.checked()
    assert caught.value.errors == {
        "size": ["'huge' is none of: small, large."],
        "since": ["'today' is not a day such as 2026-11-20."],
        "count": ["'²' is not a whole number."],
        "kind": ["'c' is none of: a, b."],
    }
    declared = [Parameter("suite", one_of(["a"]), is_required=True)]
    assert read(parameters={}, declared=declared).problems == {"suite": ["'' is none of: a."]}

    def known() -> list[str]:
        raise AssertionError("known values are not asked for in vain")

    assert read(parameters={"kind": ""}, declared=[Parameter("kind", one_of(known))]).problems == {}


def test_rows_without_a_value_come_last_in_both_directions():
    rows = [("a", 2), ("b", None), ("c", 1), ("d", 2)]
    assert [name for name, _ in sort_by(rows=rows, key=lambda row: row[1])] == ["c", "a", "d", "b"]
    assert [name for name, _ in sort_by(rows=rows, key=lambda row: row[1], descending=True)] == ["a", "d", "c", "b"]


def test_addresses_are_written_as_they_are_read_and_codes_in_words():
    assert written([("q", "a b&c"), ("e", "1"), ("e", "2")]) == "?q=a+b%26c&e=1&e=2"
    assert written([]) == ""
    words = {"invalid_plan": "Invalid plan", "qa": "QA", "x → y": "X → y", "": ""}
    assert {code: in_words(code) for code in words} == words
