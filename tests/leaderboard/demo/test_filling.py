"""What the demo puts on the boards of all suites."""

import io

import pytest
from rich.console import Console

from evaluator.planners.bundled import BUNDLED, each_once
from evaluator.suites.registry import suite_of
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.services import register_suite
from leaderboard.demo import filling
from leaderboard.evaluations.models import Evaluation
from leaderboard.planners.data import NAME
from tests.leaderboard.planning import REAL


@pytest.mark.parametrize(
    "suite", ["openagi", "toolmini", "toolworld", "lumos-mini", "openagi-turns", "toolworld-turns"]
)
def test_two_strategies_join_the_anchors(suite):
    found = filling.strategies_of(suite)
    assert len(set(found)) == filling.STRATEGIES
    assert not BUNDLED.keys() & set(found)


def test_where_all_planners_are_anchors_there_is_no_strategy():
    assert filling.strategies_of("arc-mini") == []
    assert {"identity", "arc-search"} < set(each_once("arc-mini"))


@pytest.mark.django_db
def test_every_suite_takes_what_fills_its_board(settings, launcher):
    """As the demo does it, with the longest names of strategies."""
    settings.EVALUATOR = REAL
    for slug in ("lumos-mini", "arc-mini", "toolworld"):
        register_suite(suite_of(slug))
    filling.fill_boards(Console(file=io.StringIO(), width=200))
    names = set(Evaluation.objects.values_list("submission__planner__name", flat=True))
    assert "lumos/iterative" in names
    assert all(len(name) <= NAME.longest for name in names)


@pytest.mark.django_db
def test_boards_without_execution_come_first_and_then_the_smallest(settings, launcher):
    settings.EVALUATOR = REAL
    for slug in ("toolworld", "toolmini-abstain", "toolmini"):
        register_suite(suite_of(slug))
    filling.fill_boards(Console(file=io.StringIO(), width=200))
    slugs = Evaluation.objects.order_by("created").values_list("suite__slug", flat=True)
    assert list(dict.fromkeys(slugs)) == ["toolmini", "toolmini-abstain", "toolworld"]


@pytest.mark.django_db
class TestFilling:
    @pytest.fixture(autouse=True)
    def suites(self, settings, launcher):
        settings.EVALUATOR = REAL
        for slug in ("openagi", "toolmini"):
            register_suite(suite_of(slug))

    def fill(self) -> str:
        output = io.StringIO()
        filling.fill_boards(Console(file=output, width=200))
        return output.getvalue()

    def test_each_suite_gets_them_once(self):
        said = self.fill()
        found = list(Evaluation.objects.order_by("created").values_list("suite__slug", "submission__planner__name"))
        wanted = [
            (suite, name)
            for suite in ("toolmini", "openagi")
            for name in (*each_once(suite), *filling.strategies_of(suite))
        ]
        assert found == wanted
        assert f"{len(wanted)} further evaluations" in said
        self.fill()
        assert Evaluation.objects.count() == len(wanted)

    def test_a_suite_that_is_not_ready_is_named_and_left_out(self, monkeypatch):
        submit = filling.submit_anchors

        def refuse(*, suite, names):
            if suite == "toolmini":
                raise NotReadyError(suite=suite, why="no model")
            return submit(suite=suite, names=names)

        monkeypatch.setattr(filling, "submit_anchors", refuse)
        assert "toolmini is left out" in self.fill()
        assert set(Evaluation.objects.values_list("suite__slug", flat=True)) == {"openagi"}
