"""Episodes in turns: what is asked, run and fed back, why they end, injected faults, and going on after a kill."""

import json
from pathlib import Path

import pytest

from evaluator.core.planner import PlannerError, PlannerReply, PlannerRequest
from evaluator.core.records import Outcome, Reason, ResultRecord, without_timings
from evaluator.core.transcripts import ActionProblem, StopReason
from evaluator.core.turns import Formulation, Role, TurnReply, TurnRequest, TurnResponse
from evaluator.episodes.turns.environment import Bounds
from evaluator.episodes.turns.evaluator import TurnEvaluator
from evaluator.episodes.turns.faults import NO_ANSWER, NONSENSE, Fault
from evaluator.execution.engine.store import LocalStore
from tests.evaluator.episodes.turns.toy import CALL, Answers, Sums, evaluator, suite


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


def test_requests_hold_the_remaining_limits_and_nothing_of_the_answer():
    planner = Answers(twice)
    one(planner, "7", turns=7, actions=5)
    first, second = planner.asked
    sent = json.loads(first.model_dump_json())
    assert "14" not in json.dumps(sent["task"]) + json.dumps(sent["history"])
    assert "expected" not in json.dumps(sent)
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


def test_what_can_be_read_before_an_error_is_run():
    def answer(request: TurnRequest) -> TurnResponse:
        return TurnResponse(answer="R1") if request.history else TurnResponse(actions="R1 = Add(4, 4); R2 = Add((1, 2)")

    planner = Answers(answer)
    assert one(planner).score == 1.0
    assert "cannot be read: line 1, column" in planner.asked[1].past[0].feedback


def test_answers_that_cannot_be_read_end_an_episode_after_the_third():
    planner = Answers(lambda request: TurnResponse(actions="nothing of the kind"))
    record = one(planner)
    assert len(planner.asked) == 3
    assert record.transcripts[0].stop is StopReason.UNREADABLE
    assert (record.reason, record.score) == (Reason.UNPARSABLE_PLAN, 0.0)
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


@pytest.mark.parametrize(
    "value", [{}, {"stop": False}, {"actions": "R1 = Add(1, 2)", "stop": True}, {"plan": "a", "answer": "b"}]
)
def test_an_answer_says_one_thing(value: dict[str, object]):
    with pytest.raises(ValueError, match="a turn is answered with one of stop, subgoal"):
        TurnResponse.model_validate(value)


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


def record(answer, fault, *, environment=None):
    faulty = evaluator(environment=environment).with_fault(fault)
    return next(iter(faulty.run(planner=Answers(answer), tasks=["4"])))


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
def test_planners_that_handle_faults_lose_nothing(fault, answer, score):
    result = record(answer, fault)
    assert (result.outcome, result.score) == (Outcome.SCORED, score)


def test_faulty_calls_fail_without_running_or_return_nonsense():
    environment = Sums()
    (action,) = record(careless, Fault.ONCE, environment=environment).transcripts[0].turns[0].actions
    assert (action.problem, action.error, action.outputs) == (ActionProblem.TOOL_ERROR, NO_ANSWER, {})
    assert environment.calls == []
    (transcript,) = record(careless, Fault.NONSENSE).transcripts
    assert (transcript.turns[0].actions[0].outputs, transcript.answer) == ({"R1": NONSENSE}, NONSENSE)


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


TASKS = list("12345678")


class KilledError(BaseException):
    """Ends a run wherever it is."""


def slowly(request: TurnRequest) -> TurnResponse:
    """Four turns: the number is added to a result three times."""
    turn = len(request.history)
    if turn == 3:
        return TurnResponse(answer="R1")
    return TurnResponse(actions=f"R{turn + 1} = Add({request.task.id}, {request.task.id if turn == 0 else '0'})")


def journalled(folder: Path) -> TurnEvaluator:
    return TurnEvaluator(
        suite=suite(), environment=Sums(), bounds=Bounds(), open_journal=lambda: LocalStore(folder / "store")
    )


class Mortal(Answers):
    """Answers together, and is killed before a round."""

    rounds = 99

    def turn_all(self, requests: list[TurnRequest]) -> list[TurnReply]:
        if self.rounds == 0:
            raise KilledError
        self.rounds -= 1
        return [self.turn(request) for request in requests]


@pytest.mark.parametrize("rounds", range(4))
def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path: Path, rounds: int):
    whole = list(journalled(tmp_path / "other").run(planner=Mortal(slowly), tasks=TASKS, run="a"))
    first, second = Mortal(slowly), Mortal(slowly)
    first.rounds = rounds
    with pytest.raises(KilledError):
        list(journalled(tmp_path).run(planner=first, tasks=TASKS, run="a"))
    again = list(journalled(tmp_path).run(planner=second, tasks=TASKS, run="a"))
    assert len(first.asked) == rounds * 8
    assert len(second.asked) == (4 - rounds) * 8
    asked = [request.key for request in (*first.asked, *second.asked)]
    assert len(asked) == len(set(asked))
    assert list(map(without_timings, again)) == list(map(without_timings, whole))


def test_a_damaged_journal_costs_a_call_and_nothing_else(tmp_path: Path):
    list(journalled(tmp_path).run(planner=Mortal(slowly), tasks=["4"], run="a"))
    for path in (tmp_path / "store" / "objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"{}")
    again = Mortal(slowly)
    (record,) = journalled(tmp_path).run(planner=again, tasks=["4"], run="a")
    assert (record.score, len(again.asked)) == (1.0, 4)


def test_another_run_gets_no_answers_of_the_first(tmp_path: Path):
    first, second, unnamed = Mortal(slowly), Mortal(slowly), Mortal(slowly)
    list(journalled(tmp_path).run(planner=first, tasks=TASKS, run="a"))
    list(journalled(tmp_path).run(planner=second, tasks=TASKS, run="b"))
    list(journalled(tmp_path).run(planner=unnamed, tasks=TASKS))
    assert len(first.asked) == len(second.asked) == len(unnamed.asked) == 32
    assert len({request.key for one in (first, second, unnamed) for request in one.asked}) == 96
