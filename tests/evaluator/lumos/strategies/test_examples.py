"""Solved tasks in prompts: of training splits, with real results, whole conversations before the task.

After a change of tools or generators:

    WRITE_EXAMPLES=1 ./planarena test tests/evaluator/lumos/strategies/test_examples.py
"""

import json
import os

import pytest

from evaluator.core.planner import Expected, RequestedTask
from evaluator.core.turns import Formulation, Limits, Role, TurnRequest
from evaluator.episodes.base import Setting
from evaluator.execution.engine.store import MemoryStore
from evaluator.lumos.mini.conversion import solve
from evaluator.lumos.mini.groups import GROUPS
from evaluator.lumos.strategies.examples import FILE, MOST, examples_for
from evaluator.lumos.strategies.strategy import Integrated, Iterative, OnePass
from evaluator.lumos.strategies.templates import ASSISTANT, STOP, USER
from evaluator.planners.strategies.registry import PlannerNameError, named_strategy

LIMITS = Limits(
    turns=9, turns_left=9, actions=9, actions_left=9, seconds=1.0, seconds_left=1.0, feedback_characters=100
)


@pytest.fixture(scope="module")
def solved():
    store = MemoryStore()
    return list(solve(setting=Setting(profile="lilliput", open_store=lambda: store), count=MOST))


def request(solved, *, role, subgoals=(), past=()):
    task = RequestedTask(id="x", request="Do it.", resources={})
    return TurnRequest(
        suite="x", task=task, expects=Expected(type="text"), tools=list(solved.tools), key="x", history=list(past),
        formulation=Formulation.ITERATIVE, role=role, subgoals=list(subgoals), limits=LIMITS,
    )  # fmt: skip


def test_examples_are_solved_tasks_of_the_training_split(solved):
    sets = [
        {
            "tools": list(GROUPS[group].tools),
            "examples": [
                {"task": one.text, "turns": [turn.model_dump() for turn in one.past]}
                for one in solved
                if one.group == group
            ],
        }
        for group in GROUPS
    ]
    assert all(len(one["examples"]) == MOST for one in sets)
    if os.environ.get("WRITE_EXAMPLES"):
        FILE.write_text(json.dumps(sets, ensure_ascii=False, indent=1) + "\n")
    assert json.loads(FILE.read_text()) == sets


@pytest.mark.parametrize("shots", range(MOST + 1))
def test_a_planning_prompt_shows_whole_conversations_first(shots, solved):
    asked = request(solved[0], role=Role.PLAN)
    *shown, last = Iterative(option=f"shots={shots}").prompt(asked).split(f"{STOP}\n")
    assert last == Iterative().prompt(asked)
    assert len(shown) == shots
    for text, example in zip(shown, examples_for([tool.name for tool in asked.tools], count=shots), strict=True):
        assert text.startswith(USER)
        assert text.endswith(ASSISTANT)
        assert example.task in text
        assert all(subgoal in text for turn in example.turns for subgoal in turn.subgoals)


def test_a_grounding_prompt_shows_the_actions_of_each_subgoal(solved):
    asked = request(solved[0], role=Role.GROUND, subgoals=["Add."])
    prompt = Iterative(option="shots=2").prompt(asked)
    assert prompt.endswith("\n" + Iterative().prompt(asked))
    for example in examples_for([tool.name for tool in asked.tools], count=2):
        for turn in example.turns:
            assert f"{turn.subgoals[0]}{ASSISTANT}{turn.results[0].action}\n" in prompt


def test_one_pass_examples_name_all_subgoals_and_actions_at_once(solved):
    one = next(one for one in solved if one.group == "qa")
    plan = OnePass(option="shots=1").prompt(request(one, role=Role.PLAN))
    ground = OnePass(option="shots=1").prompt(request(one, role=Role.GROUND, subgoals=["Look.", "Answer."]))
    (example,) = examples_for([tool.name for tool in one.tools], count=1)
    subgoals = "; ".join(f"Subgoal {place}: {turn.subgoals[0]}" for place, turn in enumerate(example.turns, start=1))
    actions = "; ".join(result.action for turn in example.turns for result in turn.results)
    assert f"{ASSISTANT}{subgoals}\n{USER}" in plan
    assert f"Subgoals to be grounded: {subgoals}{ASSISTANT}{actions}\n{USER}" in ground


def test_integrated_examples_have_subgoals_with_their_actions(solved):
    asked = request(solved[0], role=Role.JOINT)
    prompt = Integrated(option="shots=1").prompt(asked)
    (example,) = examples_for([tool.name for tool in asked.tools], count=1)
    first = example.turns[0]
    assert f"Subgoal 1: {first.subgoals[0]} Actions: {first.results[0].action}" in prompt
    assert prompt.endswith(f"{STOP}\n{Integrated().prompt(asked)}")


def test_tools_without_examples_have_none():
    assert examples_for(["Colorization"], count=3) == ()
    assert len(examples_for(["QA", "KnowledgeQuery", "ParagraphRetrieve", "Calculator"], count=3)) == 3


def test_the_option_is_part_of_the_name():
    assert named_strategy("lumos/iterative@shots=2:dir:x").full_name == "lumos/iterative@shots=2"
    with pytest.raises(PlannerNameError, match="shots is '4': it must be a whole number from 0 to 3"):
        named_strategy("lumos/onepass@shots=4:dir:x")
    with pytest.raises(PlannerNameError, match="has no option"):
        named_strategy("lumos/direct@shots=2:dir:x")
