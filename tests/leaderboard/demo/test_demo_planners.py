"""Which planners the demo evaluates on which board."""

import pytest

from evaluator.planners.bundled import each_once
from leaderboard.demo.management.commands.demo import names_for

FLOORS = ["gold-minus-one", "parrot", "ask-everything"]


@pytest.mark.parametrize(
    ("suite", "own"), [("openagi", []), ("toolmini", FLOORS), ("lumos-mini", ["majority"]), ("svamp", ["last-number"])]
)
def test_without_a_choice_each_board_has_its_anchors_once(suite, own):
    assert names_for(suite=suite, chosen=()) == ["gold", "random-valid", "no-op", *own] == list(each_once(suite))


def test_chosen_planners_are_evaluated_where_they_are_anchors():
    assert names_for(suite="openagi", chosen=["no-op", "parrot"]) == ["no-op"]
    assert names_for(suite="toolmini", chosen=["no-op", "parrot"]) == ["no-op", "parrot"]
