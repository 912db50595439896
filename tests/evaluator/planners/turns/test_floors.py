"""Planners that answer without any tool."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from evaluator.core.suites.base import Suite
from evaluator.core.turns import TurnResponse
from evaluator.lumos.mini.draws import Source
from evaluator.lumos.mini.groups import draw_group
from evaluator.lumos.mini.suite import majority
from evaluator.miniature.seeds import Split
from evaluator.planners.turns.floors import LastNumberPlanner, MajorityPlanner
from tests.evaluator.episodes.turns.toy import Answers, evaluator
from tests.evaluator.episodes.turns.toy import suite as toy


def replies(planner: MajorityPlanner | LastNumberPlanner, *, suite: Suite) -> list[TurnResponse]:
    """What a planner answers to the first turn of every task that runs."""
    asked = Answers(lambda _: TurnResponse(stop=True))
    list(evaluator().run(planner=asked, tasks=[task.key for task in suite.tasks]))
    return [planner.turn(request).response for request in asked.asked]


def test_the_last_number_of_the_request_is_the_answer():
    # Episodes run side by side, so tasks are asked in any order.
    assert sorted(reply.answer for reply in replies(LastNumberPlanner(toy()), suite=toy())) == list("12345678")


@pytest.mark.parametrize(
    ("text", "found"),
    [("He has 3 and gets 1,200.50.", "1,200.50"), ("From 7 to -2.5?", "-2.5"), ("None at all", None), ("10,20", "20")],
)
def test_numbers_are_taken_as_they_are_written(text, found):
    asked = Answers(lambda _: TurnResponse(stop=True))
    list(evaluator().run(planner=asked, tasks=["1"]))
    request = asked.asked[0]
    other = request.model_copy(update={"task": request.task.model_copy(update={"request": text})})
    reply = LastNumberPlanner(toy()).turn(other).response
    assert (reply.answer, reply.stop) == (found, found is None)


def test_the_majority_is_that_of_the_tasks_metric_or_nothing():
    known = replace(toy(), majority=lambda: MappingProxyType({"right": "12"}))
    assert {reply.answer for reply in replies(MajorityPlanner(known), suite=known)} == {"12"}
    other = replace(toy(), majority=lambda: MappingProxyType({"another": "12"}))
    assert {reply.stop for reply in replies(MajorityPlanner(other), suite=other)} == {True}
    assert {reply.stop for reply in replies(MajorityPlanner(toy()), suite=toy())} == {True}


def test_the_majority_of_the_small_suite_is_that_of_training_tasks():
    """The same answers whatever is evaluated, and none for answers that are queries or purchases."""
    found = majority()
    assert set(found) == {"maths", "qa", "pictures"}
    training = [task.answer for task in draw_group(group="pictures", source=Source(split=Split.TRAIN), count=300)]
    assert training.count(found["pictures"]) == max(map(training.count, training))
