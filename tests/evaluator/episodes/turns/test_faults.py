"""Injected faults: what planners see of them, and that the right reaction is worth what it was without them."""

import pytest

from evaluator.episodes.turns.faults import NO_ANSWER, NONSENSE, Fault
from evaluator.planners.turns.protocol import TurnResponse
from evaluator.records import Outcome
from evaluator.transcripts import ActionProblem
from tests.evaluator.episodes.turns.toy import Answers, Sums, evaluator


def adding(request, *, order="{0}, {0}"):
    return TurnResponse(actions=f"R{len(request.history) + 1} = Add({order.format(request.task.id)})")


def careless(request):
    """Stops after one action, whatever came of it."""
    return TurnResponse(stop=True) if request.history else adding(request)


def patient(request):
    """Repeats what did not work, or made no sense, three times at most."""
    if not request.history:
        return adding(request)
    (last,) = request.past[-1].results
    worked = any(value.lstrip("-").isdigit() for value in last.outputs.values())
    return TurnResponse(stop=True) if worked or len(request.history) > 3 else adding(request)


def inventive(request):
    """Finds another way to what did not work."""
    if not request.history:
        return adding(request)
    return TurnResponse(stop=True) if request.past[-1].results[0].outputs else adding(request, order="{0}, 0, {0}")


def record(answer, fault, *, environment=None, keys=("4",)):
    held = evaluator(environment=environment).with_fault(fault)
    return next(iter(held.run(planner=Answers(answer), tasks=list(keys))))


@pytest.mark.parametrize(
    ("fault", "answer", "score"),
    [
        (Fault.ONCE, careless, 0.0),
        (Fault.ONCE, patient, 1.0),
        (Fault.ALWAYS, patient, 0.0),
        (Fault.ALWAYS, inventive, 1.0),
        (Fault.LATE, careless, 1.0),
        (Fault.NONSENSE, careless, 0.0),
        (Fault.NONSENSE, patient, 1.0),
    ],
)
def test_who_reacts_rightly_loses_nothing(fault, answer, score):
    found = record(answer, fault)
    assert (found.outcome, found.score) == (Outcome.SCORED, score)


def test_a_call_that_does_not_answer_is_seen_as_such_and_never_runs():
    environment = Sums()
    found = record(careless, Fault.ONCE, environment=environment)
    (action,) = found.transcripts[0].turns[0].actions
    assert (action.problem, action.error, action.outputs) == (ActionProblem.TOOL_ERROR, NO_ANSWER, {})
    assert environment.calls == []


def test_nonsense_takes_the_place_of_the_result():
    found = record(careless, Fault.NONSENSE)
    assert found.transcripts[0].turns[0].actions[0].outputs == {"R1": NONSENSE}
    assert found.transcripts[0].answer == NONSENSE


def test_a_late_answer_uses_up_half_of_the_time_and_nobody_waits_for_it():
    planner = Answers(careless)
    list(evaluator(seconds=100.0).with_fault(Fault.LATE).run(planner=planner, tasks=["4"]))
    first, second = planner.asked
    assert 49 <= first.limits.seconds_left - second.limits.seconds_left <= 51


def test_every_episode_is_hit_by_itself_and_other_runs_are_not():
    plain = evaluator()
    faulty = plain.with_fault(Fault.ONCE)
    keys = ["1", "2", "3", "4"]
    assert {one.score for one in faulty.run(planner=Answers(careless), tasks=keys)} == {0.0}
    assert {one.score for one in faulty.run(planner=Answers(patient), tasks=keys)} == {1.0}
    assert {one.score for one in plain.run(planner=Answers(careless), tasks=keys)} == {1.0}
