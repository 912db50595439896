"""What an agent's calls mean for an open turn, and what it gets back."""

import pytest

from evaluator.core.planner import OfferedTool, offered_tools
from evaluator.core.suites.base import Suite
from evaluator.core.turns import ActionResult, PastTurn, TurnRequest, first_turn
from evaluator.planners.agents.calls import CallRefusedError, response_to, result_in, task_text
from evaluator.planners.agents.tools import LONGEST_ARGUMENT, agent_tools
from tests.evaluator.episodes.turns import toy

TOOLS = agent_tools(offered_tools(toy.TOOLS))


def request(*turns: PastTurn, turns_left: int = 16) -> TurnRequest:
    """The first task of the toy suite after some turns."""
    suite: Suite = toy.suite()
    task = suite.tasks[0]
    first = first_turn(suite=suite, task=task, context=suite.context(task=task, offered=frozenset(toy.TOOLS.tools)))
    limits = first.limits.model_copy(update={"turns_left": turns_left, "actions_left": 64})
    return first.model_copy(update={"history": [turn.model_dump() for turn in turns], "limits": limits})


def past(action: str, *, index: int = 1, outputs: dict[str, str] | None = None, error: str = "") -> PastTurn:
    feedback = error or "\n".join(f"{name} = {text}" for name, text in (outputs or {}).items())
    result = ActionResult(action=action, outputs=outputs or {}, error=error)
    return PastTurn(index=index, subgoals=[], results=[result], feedback=feedback)


def test_tools_have_typed_schemas_from_the_signatures() -> None:
    assert list(TOOLS) == ["next_task", "submit_answer", "progress", "Add", "Repeat", "Broken"]
    schema = TOOLS["Add"].schema
    assert schema["required"] == ["one", "other"]
    assert schema["additionalProperties"] is False
    assert TOOLS["next_task"].schema["properties"] == {}


def test_names_that_mcp_does_not_take_are_changed_and_stay_unique() -> None:
    offered = [
        OfferedTool(name=name, description="", inputs={"image": "image"}, outputs={"text": "text"})
        for name in ("Image Captioning", "image-captioning", "Image.Captioning", "next_task", "Bild…")
    ]
    assert list(agent_tools(offered))[3:] == [
        "Image_Captioning", "image-captioning", "Image_Captioning_2", "next_task_2", "Bild",
    ]  # fmt: skip
    assert agent_tools(offered)["next_task_2"].calls == offered[3]


def test_a_call_of_a_tool_is_a_turn_of_one_step_and_its_result_gets_the_next_name() -> None:
    response = response_to(request=request(), tool=TOOLS["Add"], arguments={"one": "1", "other": 2})
    assert response.steps == [
        {"id": "s1", "tool": "Add", "inputs": {"one": "1", "other": "2"}, "outputs": {"sum": "R1"}}
    ]
    # A failed action has used up its name.
    later = request(past("R1 = Add(1, 2)", outputs={"R1": "3"}), past("R2, R3 = Add(x)", index=2, error="No."))
    response = response_to(request=later, tool=TOOLS["Add"], arguments={"one": "R1", "other": "1"})
    assert response.steps is not None
    assert response.steps[0]["outputs"] == {"sum": "R4"}


def test_submitting_is_the_answer_of_the_task() -> None:
    assert response_to(request=request(), tool=TOOLS["submit_answer"], arguments={"answer": "R1"}).answer == "R1"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, 'Add needs "one"; it takes "one", "other".'),
        ({"one": "1"}, 'Add needs "other"'),
        ({"one": "1", "other": "2", "third": "3"}, 'Add has no argument "third"; it takes "one", "other".'),
        ({"one": None, "other": "2"}, 'Add: "one" must be a text.'),
        ({"one": True, "other": "2"}, 'Add: "one" must be a text.'),
        ({"one": ["1"], "other": "2"}, 'Add: "one" must be a text.'),
        ({"one": "\x00", "other": "2"}, "cannot be kept"),
        ({"one": "\ud800", "other": "2"}, "cannot be kept"),
        ({"one": "1" * (LONGEST_ARGUMENT + 1), "other": "2"}, "at most 65536 are read"),
    ],
)
def test_wrong_arguments_get_a_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(CallRefusedError) as raised:
        response_to(request=request(), tool=TOOLS["Add"], arguments=arguments)
    assert sentence in str(raised.value)


def test_a_task_is_given_with_its_limits_and_again_with_its_history() -> None:
    text = task_text(request(), tools=TOOLS)
    assert "What is twice 1?" in text
    assert "15 times" in text
    again = task_text(request(past("R1 = Add(1, 1)", outputs={"R1": "2"}), turns_left=2), tools=TOOLS)
    assert "1. R1 = Add(1, 1)\n   R1 = 2" in again
    assert "these tools once and then" in again
    assert "no more" in task_text(request(turns_left=1), tools=TOOLS)


def test_the_result_of_a_call_is_in_the_request_that_follows() -> None:
    good = result_in(request(past("R1 = Add(1, 1)", outputs={"R1": "2"})))
    assert (good.text, good.is_error) == ("R1 = 2", False)
    bad = result_in(request(past("R1 = Add(x, 1)", error="Add takes whole numbers."), turns_left=3))
    assert bad.is_error
    assert "Add takes whole numbers." in bad.text
    assert "2 times" in bad.text
