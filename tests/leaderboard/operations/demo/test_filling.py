"""What the demo puts on the boards of all suites."""

import io

import pytest
from rich.console import Console

from evaluator.core.suites.registry import suite_of
from evaluator.planners.bundled import BUNDLED, each_once
from leaderboard.catalog.library import NotReadyError
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.operations.demo import starting
from leaderboard.operations.management.commands.demo import names_for
from leaderboard.planners.data import NAME
from tests.leaderboard.planning import REAL


def test_without_a_choice_each_board_has_its_anchors_once_and_chosen_ones_are_where_they_are_anchors():
    floors = ["gold-minus-one", "parrot", "ask-everything"]
    for suite, own in (("openagi", []), ("toolmini", floors), ("lumos-mini", ["majority"]), ("svamp", ["last-number"])):
        assert names_for(suite=suite, chosen=()) == ["gold", "random-valid", "no-op", *own] == list(each_once(suite))
    assert names_for(suite="openagi", chosen=["no-op", "parrot"]) == ["no-op"]
    assert names_for(suite="toolmini", chosen=["no-op", "parrot"]) == ["no-op", "parrot"]


def test_two_strategies_join_the_anchors_unless_all_planners_are_anchors():
    for suite in ("openagi", "toolmini", "toolworld", "lumos-mini", "openagi-turns", "toolworld-turns"):
        found = starting.strategies_of(suite)
        assert len(set(found)) == starting.STRATEGIES
        assert not BUNDLED.keys() & set(found)
    assert starting.strategies_of("arc-mini") == []
    assert {"identity", "arc-search"} < set(each_once("arc-mini"))


@pytest.mark.django_db
def test_every_suite_takes_what_fills_its_board_those_without_execution_first_and_then_the_smallest(settings, launcher):
    """As the demo does it, with the longest names of strategies."""
    settings.EVALUATOR = REAL
    for slug in ("toolworld", "toolmini-abstain", "lumos-mini", "toolmini"):
        register_suite(suite_of(slug))
    starting.fill_boards(Console(file=io.StringIO(), width=200))
    names = set(Evaluation.objects.values_list("submission__planner__name", flat=True))
    assert "lumos/iterative" in names
    assert all(len(name) <= NAME.longest for name in names)
    slugs = list(dict.fromkeys(Evaluation.objects.order_by("created").values_list("suite__slug", flat=True)))
    assert [slug for slug in slugs if slug != "lumos-mini"] == ["toolmini", "toolmini-abstain", "toolworld"]


@pytest.mark.django_db
class TestFilling:
    @pytest.fixture(autouse=True)
    def suites(self, settings, launcher):
        settings.EVALUATOR = REAL
        for slug in ("openagi", "toolmini"):
            register_suite(suite_of(slug))

    def fill(self) -> str:
        output = io.StringIO()
        starting.fill_boards(Console(file=output, width=200))
        return output.getvalue()

    def test_each_suite_gets_them_once(self):
        said = self.fill()
        found = list(Evaluation.objects.order_by("created").values_list("suite__slug", "submission__planner__name"))
        wanted = [
            (suite, name)
            for suite in ("toolmini", "openagi")
            for name in (*each_once(suite), *starting.strategies_of(suite))
        ]
        assert found == wanted
        assert f"{len(wanted)} further evaluations" in said
        self.fill()
        assert Evaluation.objects.count() == len(wanted)

    def test_a_suite_that_is_not_ready_is_named_and_left_out(self, monkeypatch):
        submit = starting.submit_anchors

        def refuse(*, suite, names):
            if suite == "toolmini":
                raise NotReadyError(suite=suite, why="no model")
            return submit(suite=suite, names=names)

        monkeypatch.setattr(starting, "submit_anchors", refuse)
        assert "toolmini is left out" in self.fill()
        assert set(Evaluation.objects.values_list("suite__slug", flat=True)) == {"openagi"}
