"""Suites whose answer is several candidates: whole plans with alternatives, and candidates that are tried in turns."""

import json
from dataclasses import dataclass, replace

import pytest

from evaluator.core.planner import PlannerReply
from evaluator.core.plans.model import PlanSyntaxError
from evaluator.core.plans_file import GivenPlan, GivenPlans
from evaluator.core.records import Outcome, PlannerCall, Reason
from evaluator.core.suites.base import Candidate, Candidates
from evaluator.core.transcripts import StopReason
from evaluator.core.turns import TurnResponse
from evaluator.episodes.turns.environment import Bounds, Made, TurnScore
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.execution.engine.store import LocalStore
from tests.evaluator.episodes.turns import toy
from tests.evaluator.episodes.turns.toy import Answers, Sums


@dataclass(slots=True)
class Guesses(Sums):
    """`Repeat(guess)` tries a guess; an episode is solved by any guess that is twice the task."""

    def _one(self, call):
        if call.tool == "Repeat":
            return Made((f"guess {call.arguments}",))
        return Sums._one(self, call)

    def score(self, *, task, answer, transcript):
        guesses = [] if answer is None else json.loads(answer)
        right = f"guess {2 * int(task.key)}" in guesses
        return TurnScore(score=float(right), indicators={"right": float(right)}, expected=str(guesses))


def read(plan):
    if not isinstance(plan, dict) or "guess" not in plan:
        raise PlanSyntaxError("a plan is {'guess': number}")
    return Candidate("Repeat", str(plan["guess"]))


CANDIDATES = Candidates(
    most=2, tries=3, tools=frozenset({"Repeat"}), read=read, is_one=lambda value: value.startswith("guess ")
)


def run(planner, task="4"):
    suite = replace(toy.suite(), candidates=CANDIDATES)
    evaluator = TurnEvaluator(suite=suite, environment=Guesses(), bounds=Bounds())
    (record,) = evaluator.run(planner=planner, tasks=[task])
    return record


def given(plan, *alternatives):
    return GivenPlans({"4": GivenPlan(plan=plan, alternatives=alternatives)})


def turns(*responses):
    """A planner that gives these answers in turn."""
    left = list(responses)
    return Answers(lambda _: left.pop(0))


def step(guess, name="R1"):
    return {"id": "s1", "tool": "Repeat", "inputs": {"text": guess}, "outputs": {"sum": name}}


def tried(*guesses):
    """A turn for each guess."""
    return [TurnResponse(steps=[step(guess, f"R{place}")]) for place, guess in enumerate(guesses, start=1)]


@pytest.mark.parametrize(
    ("planner", "score", "candidates"),
    [
        (given({"guess": 1}, {"guess": 8}), 1.0, ["guess 1", "guess 8"]),
        # Alternatives beyond the most are left out.
        (given({"guess": 1}, {"guess": 2}, {"guess": 8}), 0.0, ["guess 1", "guess 2"]),
        # A planner names those that count, or means its latest ones.
        (turns(*tried("1", "8"), TurnResponse(answer="R2, R1")), 1.0, ["guess 8", "guess 1"]),
        (turns(*tried("8", "1", "2"), TurnResponse(stop=True)), 0.0, ["guess 2", "guess 1"]),
    ],
)
def test_the_candidates_that_count_stand_in_the_planners_order(planner, score, candidates):
    record = run(planner)
    assert (record.score, record.transcripts[0].expected) == (score, str(candidates))


def test_an_abstention_ends_the_episode_without_a_candidate():
    record = run(given({"plan": None, "reason": "nothing fits"}, {"guess": 8}))
    assert (record.outcome, record.reason, record.score) == (Outcome.PLANNER_FAULT, Reason.ABSTAINED, 0.0)
    assert record.transcripts[0].stop is StopReason.ABSTAINED
    assert record.plan_received == {"plan": None, "reason": "nothing fits"}


def test_an_alternative_that_cannot_be_read_spoils_no_other_and_such_a_plan_ends_the_episode():
    record = run(given({"guess": 8}, {"number": 1}))
    assert record.score == 1.0
    assert "Alternative 1 cannot be read: a plan is {'guess': number}" in record.transcripts[0].turns[0].error
    record = run(given({"number": 8}))
    assert (record.reason, record.score, record.transcripts[0].stop) == (Reason.UNPARSABLE_PLAN, 0.0, "unreadable")
    assert "a plan is {'guess': number}" in record.transcripts[0].turns[0].error


@pytest.mark.parametrize("answer", ["R2", "8", "R1, R3", ""])
def test_an_answer_that_names_no_candidate_is_explained(answer):
    add = TurnResponse(actions="R3 = Add(4, 4)")
    planner = turns(TurnResponse(steps=[step("8")]), add, TurnResponse(answer=answer), TurnResponse(answer="R1"))
    record = run(planner)
    assert record.score == 1.0
    wrong = answer.rpartition(", ")[2]
    (error,) = [turn.error for turn in record.transcripts[0].turns if turn.error]
    assert f"names up to 2 candidates, best first, and {wrong!r} is none; there are: R1." in error


def test_only_so_many_candidates_are_tried():
    record = run(turns(*tried(*"1234"), TurnResponse(answer="R4"), TurnResponse(answer="R1")))
    (refused,) = [run for turn in record.transcripts[0].turns for run in turn.actions if run.problem]
    assert (refused.problem, refused.arguments) == ("too_much", "4")
    assert "All 3 candidates were tried" in refused.error


def test_the_notes_of_a_whole_plan_are_on_the_record_also_after_an_interruption(tmp_path):
    asked = []

    class Noting:
        name = "noting"

        def plan(self, request):
            asked.append(request.task.id)
            return PlannerReply(plan={"guess": 8}, call=PlannerCall(seconds=0.0), notes={"seed": 7})

    suite = replace(toy.suite(), candidates=CANDIDATES)
    for _ in range(2):
        evaluator = TurnEvaluator(
            suite=suite, environment=Guesses(), bounds=Bounds(), open_journal=lambda: LocalStore(tmp_path / "store")
        )
        (record,) = evaluator.run(planner=Noting(), tasks=["4"], run="run")
        assert (record.score, record.planner_notes) == (1.0, {"seed": 7})
    assert asked == ["4"]
