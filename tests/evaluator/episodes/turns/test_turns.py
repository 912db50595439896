"""Episodes in turns: what is asked, what is run, what is fed back, and why episodes end."""

import json

import pytest

from evaluator.planners.protocol import PlannerError, PlannerReply, PlannerRequest
from evaluator.planners.turns.protocol import Formulation, Role, TurnRequest, TurnResponse
from evaluator.records import Outcome, Reason, ResultRecord
from evaluator.transcripts import ActionProblem, StopReason
from tests.evaluator.episodes.turns.toy import CALL, Answers, Sums, evaluator


def number(request: TurnRequest) -> str:
    return request.task.id


def twice(request: TurnRequest) -> TurnResponse:
    if request.history:
        return TurnResponse(stop=True)
    return TurnResponse(subgoal="Add it to itself", actions=f"R1 = Add({number(request)}, {number(request)})")


def one(planner: object, key: str = "4", **bounds: float) -> ResultRecord:
    (record,) = evaluator(**bounds).run(planner=planner, tasks=[key])  # type: ignore[arg-type]
    return record


def test_actions_are_run_and_their_results_fed_back():
    planner = Answers(twice)
    record = one(planner)
    assert (record.outcome, record.score) == (Outcome.SCORED, 1.0)
    (transcript,) = record.transcripts
    assert (transcript.stop, transcript.answer, transcript.expected) == (StopReason.STOPPED, "8", "8")
    assert transcript.turns[0].subgoals == ["Add it to itself"]
    assert transcript.turns[0].actions[0].outputs == {"R1": "8"}
    (past,) = planner.asked[1].past
    assert past.feedback == "R1 = 8"
    assert past.results[0].action == "R1 = Add(4, 4)"
    assert record.indicators["turns"] == 2
    assert record.planner is not None
    assert (record.planner.seconds, record.planner.prompt_tokens) == (0.02, 6)


def test_each_request_carries_what_is_left():
    planner = Answers(twice)
    one(planner, turns=7, actions=5)
    first, second = planner.asked
    assert (first.limits.turns_left, first.limits.actions_left) == (7, 5)
    assert (second.limits.turns_left, second.limits.actions_left) == (6, 4)
    assert second.limits.seconds_left < first.limits.seconds_left
    assert first.key != second.key
    assert first.role is Role.JOINT


def test_iterative_planning_and_grounding_take_turns():
    def answer(request: TurnRequest) -> TurnResponse:
        if request.role is Role.GROUND:
            return TurnResponse(text=f"R{len(request.history) + 1} = Add({number(request)}, {number(request)})")
        if request.history:
            return TurnResponse(text="Yes, I will stop planning.")
        return TurnResponse(text="Subgoal 1: Add the number to itself.")

    planner = Answers(answer, formulation=Formulation.ITERATIVE)
    record = one(planner)
    assert [request.role for request in planner.asked] == [Role.PLAN, Role.GROUND, Role.PLAN]
    assert planner.asked[1].subgoals == ["Add the number to itself."]
    assert record.score == 1.0
    assert len(record.transcripts[0].turns[0].received) == 2


def test_one_pass_asks_twice_and_ends():
    def answer(request: TurnRequest) -> TurnResponse:
        if request.role is Role.PLAN:
            return TurnResponse(subgoals=["Add", "Add nothing"])
        return TurnResponse(actions=f"R1 = Add({number(request)}, {number(request)}); R2 = Add(R1, 0)")

    planner = Answers(answer, formulation=Formulation.ONEPASS)
    record = one(planner)
    assert len(planner.asked) == 2
    assert record.transcripts[0].stop is StopReason.COMPLETED
    assert record.score == 1.0


@pytest.mark.parametrize(
    "plan",
    [
        "R1 = Add(4, 4)",
        {"steps": [{"id": "a", "tool": "Add", "inputs": {"one": "4", "other": "4"}, "outputs": {"sum": "a.sum"}}],
         "answers": ["a.sum"]},
        {"steps": [{"id": "b", "tool": "Add", "inputs": {"one": "a.sum", "other": "2"}, "outputs": {"sum": "b.sum"}},
                   {"id": "a", "tool": "Add", "inputs": {"one": "4", "other": "2"}, "outputs": {"sum": "a.sum"}}],
         "answers": ["b.sum"]},
    ],
)  # fmt: skip
def test_a_planner_of_whole_plans_goes_on_working(plan: object):
    class OneShot:
        name = "one-shot"

        def plan(self, request: PlannerRequest) -> PlannerReply:
            del request
            return PlannerReply(plan=plan, call=CALL)

    record = one(OneShot())
    assert record.score == 1.0
    assert record.transcripts[0].stop is StopReason.COMPLETED


def test_an_action_that_fails_gives_its_error_and_the_episode_goes_on():
    def answer(request: TurnRequest) -> TurnResponse:
        match len(request.history):
            case 0:
                return TurnResponse(actions="R1 = Add(four, 4); R2 = Add(R1, 1); R3 = Sub(1); R4 = Broken(1)")
            case 1:
                return TurnResponse(actions="R1 = Add(4, 4)")
        return TurnResponse(answer="R1")

    planner = Answers(answer)
    record = one(planner)
    assert record.score == 1.0
    problems = [action.problem for action in record.transcripts[0].turns[0].actions]
    assert problems == [
        ActionProblem.BAD_ARGUMENTS, ActionProblem.BAD_REFERENCE, ActionProblem.UNKNOWN_TOOL, ActionProblem.TOOL_ERROR,
    ]  # fmt: skip
    feedback = planner.asked[1].past[0].feedback
    assert "Add takes whole numbers, not 'four, 4'." in feedback
    assert "There is no result R1" in feedback
    assert "secret details" not in feedback


def test_answers_that_cannot_be_read_end_an_episode_after_the_third():
    planner = Answers(lambda request: TurnResponse(actions="nothing of the kind"))
    record = one(planner)
    assert len(planner.asked) == 3
    assert record.transcripts[0].stop is StopReason.UNREADABLE
    assert (record.outcome, record.score) == (Outcome.SCORED, 0.0)
    assert "expected outputs" in planner.asked[1].past[0].error


@pytest.mark.parametrize(
    ("bounds", "stop"),
    [
        ({"turns": 3}, StopReason.TURN_LIMIT),
        ({"actions": 3}, StopReason.ACTION_LIMIT),
        ({"seconds": 0.035}, StopReason.TIME_LIMIT),
    ],
)
def test_limits_end_an_episode(bounds: dict[str, float], stop: StopReason):
    record = one(Answers(lambda request: TurnResponse(actions="R1 = Add(4, 4); R2 = Add(1, 1)")), **bounds)
    assert record.transcripts[0].stop is stop
    assert record.transcripts[0].answer is None
    assert record.score == 0.0


def test_a_planner_that_gives_no_answer_is_told_from_one_that_is_wrong():
    def answer(request: TurnRequest) -> TurnResponse:
        if not request.history:
            return TurnResponse(actions="R1 = Add(4, 4)")
        raise PlannerError(reason=Reason.PLANNER_TIMEOUT, message="It took too long.", call=CALL)

    record = one(Answers(answer))
    assert (record.outcome, record.reason) == (Outcome.PLANNER_FAULT, Reason.PLANNER_TIMEOUT)
    assert record.transcripts[0].stop is StopReason.CALL_FAILED
    assert record.transcripts[0].turns[0].actions[0].outputs == {"R1": "8"}


def test_a_defect_of_a_planner_ends_its_own_episode_only():
    def answer(request: TurnRequest) -> TurnResponse:
        if request.task.id == "3":
            raise ZeroDivisionError("oh")
        return twice(request)

    records = {record.task: record for record in evaluator().run(planner=Answers(answer), tasks=list("123456789"))}
    assert records["3"].outcome is Outcome.INFRA_FAULT
    assert records["9"].outcome is Outcome.NOT_RUN
    assert sum(record.score == 1.0 for record in records.values()) == 7


def test_what_is_ready_in_many_episodes_is_run_together():
    class Batch(Answers):
        def turn_all(self, requests: object) -> list[object]:
            return [self.turn(request) for request in requests]  # type: ignore[attr-defined]

    environment = Sums()
    records = list(evaluator(environment=environment).run(planner=Batch(twice), tasks=list("12345678")))
    assert all(record.score == 1.0 for record in records)
    assert [len(calls) for calls in environment.calls] == [8]


def test_a_request_holds_nothing_of_the_answer():
    planner = Answers(twice)
    one(planner, "7")
    first = json.loads(planner.asked[0].model_dump_json())
    assert "14" not in json.dumps(first["task"]) + json.dumps(first["history"])
    assert "expected" not in json.dumps(first)


@pytest.mark.parametrize(
    "value", [{}, {"stop": False}, {"actions": "R1 = Add(1, 2)", "stop": True}, {"plan": "a", "answer": "b"}]
)
def test_an_answer_says_one_thing(value: dict[str, object]):
    with pytest.raises(ValueError, match="a turn is answered with one of stop, subgoal"):
        TurnResponse.model_validate(value)
