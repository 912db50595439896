"""Replies that are meant to do harm: each gets a sentence in the transcript, soon, and the worker lives."""

import random

import pytest
from pydantic import ValidationError

from evaluator.core.records import Outcome, Reason
from evaluator.core.turns import Formulation, TurnRequest, TurnResponse
from tests.evaluator.episodes.turns.toy import Answers, evaluator

MIB = 1 << 20
PIECES = (
    "R1", "R10", " = ", "=", "Add", "(", ")", "[", "]", "{", "}", "'", '"', ";", "; ", ",", "\n", "Output",
    "R2, R3", " ", "é", "\x00", "Subgoal 1: ", "Yes, I will stop planning.", "No, I will keep planning. ", "Repeat",
    "4", "-", "SELECT * FROM t", "\\", "\u202e",
)  # fmt: skip


def run(reply: object, *, formulation: Formulation = Formulation.INTEGRATED):
    response = TurnResponse.model_validate(reply)
    (record,) = evaluator().run(planner=Answers(lambda request: response, formulation=formulation), tasks=["4"])
    return record


def step(name: str, *, takes: str) -> dict[str, object]:
    return {"id": name, "tool": "Add", "inputs": {"one": takes}, "outputs": {"x": f"{name}.x"}}


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ({"actions": "R1 = Add(1, 1); " * (MIB // 16)}, "at most"),
        ({"actions": "R1 = Add(" + "(" * (MIB - 20)}, "more than 1000 deep"),
        ({"actions": "(" * MIB}, "expected outputs"),
        ({"actions": "R1 = Add('" + "\\'" * (MIB // 2 - 20)}, "never closed"),
        ({"text": "x" * (2 * MIB)}, "1048576"),
        ({"subgoals": [f"Do {number}" for number in range(1000)]}, "there are 1000, and at most 64 are read"),
        ({"subgoal": "x" * MIB}, "and at most 65536 are read"),
        ({"answer": "x" * MIB}, "and at most 65536 are read"),
        ({"steps": [step("a", takes="b.x"), step("b", takes="a.x")]}, "waits for its own result"),
        ({"plan": {"steps": [step("a", takes="a.x")], "answers": []}}, "waits for its own result"),
        ({"steps": [{}] * 2000}, "steps"),
    ],
)  # fmt: skip
def test_what_is_too_much_gets_a_sentence(reply: object, says: str):
    record = run(reply)
    (transcript,) = record.transcripts
    is_read = any(turn.actions for turn in transcript.turns)
    assert record.outcome is (Outcome.SCORED if is_read else Outcome.PLANNER_FAULT)
    assert record.score == 0.0
    assert any(says in turn.error for turn in transcript.turns), transcript.turns[0].error
    assert len(record.model_dump_json()) < MIB


def test_a_planner_that_plans_for_ever_reaches_a_limit():
    record = run({"subgoal": "Think."}, formulation=Formulation.INTEGRATED)
    assert len(record.transcripts[0].turns) == 16
    many = run({"actions": "; ".join(f"R{number} = Add(1, 1)" for number in range(1, 100))})
    assert len(many.transcripts[0].turns[0].actions) == 64


def fuzzed(rng: random.Random) -> dict[str, object]:
    text = "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 40)))
    steps = [{rng.choice(("id", "tool", "inputs", "outputs")): rng.choice((text, {text: text}, None, 3))}]
    return {
        rng.choice(("actions", "text", "subgoal", "answer", "plan", "steps", "subgoals", "stop")): rng.choice(
            (text, text, text, steps, [text], True, None, {"steps": steps, "answers": [text]})
        )
    }


def test_no_reply_makes_an_exception(*, full):
    rng = random.Random(7)
    replies: list[TurnResponse] = []
    while len(replies) < (4000 if full else 400):
        try:
            replies.append(TurnResponse.model_validate(fuzzed(rng)))
        except ValidationError:
            continue
    left = iter(replies)

    def answer(request: TurnRequest) -> TurnResponse:
        return next(left, TurnResponse(stop=True))

    formulations = list(Formulation)
    ran = 0
    while left.__length_hint__() > 0:
        planner = Answers(answer, formulation=formulations[ran % 3])
        for record in evaluator().run(planner=planner, tasks=list("12345678")):
            assert record.reason in (None, Reason.ABSTAINED, Reason.UNPARSABLE_PLAN), record.reason_text
        ran += 1
    assert ran > 1


def test_what_an_episode_holds_is_bounded():
    record = run({"actions": "; ".join(f"R{number} = Repeat({'x' * 9})" for number in range(1, 60))})
    (transcript,) = record.transcripts
    first = transcript.turns[0].actions
    assert [action.problem is None for action in first[:23]] == [True] * 22 + [False]
    assert "more than 1000000 characters; ask for less" in first[22].error


def test_what_later_requests_repeat_is_bounded():
    planner = Answers(lambda request: TurnResponse(subgoals=["x" * 60_000] * 16))
    list(evaluator().run(planner=planner, tasks=["4"]))
    last = planner.asked[-1]
    assert len(last.history) == 15
    assert len(last.model_dump_json()) < 15 * 5000
    wrong = Answers(lambda request: TurnResponse(actions="R1 = " + "y" * 900_000))
    list(evaluator().run(planner=wrong, tasks=["4"]))
    assert len(wrong.asked[-1].model_dump_json()) < 3 * 10_000
