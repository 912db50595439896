"""The first lines of a board, and the comparisons that they link to. No database access."""

from urllib.parse import parse_qs, urlsplit

import pytest

from evaluator.core.signatures.statements import BoardSummary, Gap
from leaderboard.boards.contents import BoardContent
from leaderboard.boards.web.presenters import LONG_ANSWER, Part, answer_of, comparison_links, is_long, typeset
from leaderboard.catalog.models import Suite
from tests.leaderboard.boards.rows import METRICS, row

SUITE = Suite(slug="openagi", title="OpenAGI", version="1", digest="5" * 64, metrics=METRICS)


def board(ranked: int, *, summary: BoardSummary | None = None) -> BoardContent:
    """A board of planners P1, P2 ... with an anchor before them."""
    rows = [row("gold", overall=1.0, rank=None, evaluation="gold")]
    rows += [row(f"P{n}", overall=1 - n / 10, rank=n, evaluation=f"e{n}") for n in range(1, ranked + 1)]
    return BoardContent(rows=rows, coverage={"run": 1, "total": 1}, summary=summary)


def links(content: BoardContent, **reader) -> dict[str, list[str]]:
    """The evaluations of each comparison by the link's text."""
    found = comparison_links(suite=SUITE, content=content, **reader)
    return {link.label: parse_qs(urlsplit(link.address).query)["e"] for link in found}


@pytest.mark.parametrize(
    ("ranked", "expected"),
    [
        (0, {}),
        (1, {}),
        (2, {"Compare the top two": ["e1", "e2"]}),
        (7, {"Compare the top five": ["e1", "e2", "e3", "e4", "e5"]}),
    ],
)
def test_the_first_ranked_planners_are_one_click_from_their_comparison(ranked: int, expected: dict[str, list[str]]):
    assert links(board(ranked)) == expected


def test_a_readers_best_evaluation_is_one_click_from_the_best():
    assert links(board(7), own={"e6", "e4"})["Compare mine with the best"] == ["e4", "e1"]


def test_a_reader_who_leads_is_compared_with_the_next():
    assert links(board(7), own={"e1", "e2"})["Compare mine with the next best"] == ["e1", "e3"]


def test_unpublished_evaluations_of_the_reader_count():
    unpublished = [
        {"id": "low", "value": {"mean": 0.1}},
        {"id": "high", "value": {"mean": 0.55}},
        {"id": "x", "value": None},
    ]
    found = links(board(7), own={"e6"}, unpublished=unpublished)
    assert found["Compare mine with the best"] == ["high", "e1"]


def test_readers_without_an_evaluation_or_without_others_get_no_such_link():
    assert list(links(board(3), own=set())) == ["Compare the top three"]
    assert list(links(board(2), own={"e1", "e2"})) == ["Compare the top two"]
    assert list(links(board(3), own={"gold"})) == ["Compare the top three"]


def test_negative_numbers_have_a_minus_sign():
    minus = "\N{MINUS SIGN}"
    assert typeset("0.01 (-0.07 to -0.01), sub-task 3-4") == f"0.01 ({minus}0.07 to {minus}0.01), sub-task 3-4"


def test_p_values_and_percentages_stay_on_one_line():
    assert typeset("by 0.19 (0.11 to 0.27, p < .001)") == "by 0.19 (0.11 to 0.27, p\u00a0<\u00a0.001)"
    assert typeset("p = .03; 95 % interval") == "p\u00a0=\u00a0.03; 95\u00a0% interval"


def test_the_first_lines_link_the_planners_that_they_name():
    gap = Gap(first=0, second=1, mean=0.1, low=0.05, high=0.15, p_value=0.0001)
    content = board(2, summary=BoardSummary(leaders=1, lead=gap, clear_lead=gap))
    parts = [part for sentence in answer_of(suite=SUITE, content=content) for part in sentence]
    assert [(part.text, part.evaluation) for part in parts if part.evaluation] == [("P1", "e1"), ("P2", "e2")]
    assert "".join(part.text for part in parts) == (
        "P1 is best (0.900).It is better than P2 by 0.10 (0.05 to 0.15, p\u00a0<\u00a0.001)."
    )


def test_an_answer_of_long_names_is_set_small():
    name = Part("n" * (LONG_ANSWER // 2), "e1")
    assert not is_long([[name], [name]])
    assert is_long([[name, Part(" leads.", "")], [name]])
