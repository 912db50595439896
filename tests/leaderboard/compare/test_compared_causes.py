"""Causes of evaluations side by side."""

import pytest
from django.test import Client

from leaderboard.compare.causes import cause_table
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import REAL, make_clumsy_evaluation
from tests.leaderboard.site.api.helpers import ApiClient


def test_causes_are_counted_over_the_tasks_for_which_both_are_known():
    first = [("wrong_tool",), ("wrong_tool", "missing_step"), (), None, ("timeout",)]
    other = [("wrong_tool",), ("missing_step",), ("extra_step",), ("extra_step",), None]
    table = cause_table([first, other])
    assert table.common == (3,)
    rows = {row.cause: row.counts[0] for row in table.rows}
    assert list(rows) == ["missing_step", "extra_step", "wrong_tool"]
    assert [(one.first, one.tasks, one.both, one.difference, one.shown) for one in rows.values()] == [
        (1, 1, 1, 0, "0"),
        (0, 1, 0, 1, "+1"),
        (2, 1, 1, -1, "\N{MINUS SIGN}1"),
    ]
    assert (rows["wrong_tool"].fewer, rows["wrong_tool"].more) == (1, 0)


def test_every_evaluation_is_counted_against_the_first():
    table = cause_table([[("timeout",)], [()], [("timeout",)]])
    assert [count.difference for count in table.rows[0].counts] == [-1, 0]


@pytest.mark.django_db
@pytest.mark.usefixtures("own_store")
class TestPage:
    @pytest.fixture
    def ids(self, settings) -> list[str]:
        settings.EVALUATOR = REAL
        one = make_clumsy_evaluation(user=make_user("one"))
        mistakes = {"image_detection/0": "nothing", "QA/0": "nothing"}
        return [str(one.pk), str(make_clumsy_evaluation(user=make_user("two"), mistakes=mistakes).pk)]

    def test_page_and_api_have_a_table_whose_causes_filter_the_tasks(self, client: Client, ids: list[str]):
        html = client.get("/compare/", {"e": ids}).content.decode()
        part = html[html.index('id="causes"') : html.index('id="results"')]
        assert "Abstained" in part
        assert "Tasks compared" in part
        filtered = client.get("/compare/", {"e": ids, "why": "unreadable"}).content.decode()
        assert filtered.count('class="task-key"') == 1
        assert "count_object/0" in filtered
        (pair,) = ApiClient().get("compare/", e=ids).json()["comparisons"]
        found = {one["cause"]: (one["first"], one["tasks"], one["both"], one["difference"]) for one in pair["causes"]}
        assert found == {
            "invented_resource": (1, 0, 0, -1), "abstained": (1, 2, 1, 1), "unreadable": (1, 0, 0, -1),
        }  # fmt: skip
