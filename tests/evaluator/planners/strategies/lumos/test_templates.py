"""The conversations of LUMOS's modules, character by character as the released code writes them."""

from evaluator.planners.protocol import OfferedTool
from evaluator.planners.strategies.lumos.templates import (
    ground_prompt,
    integrated_prompt,
    plan_prompt,
)
from evaluator.planners.turns.protocol import ActionResult, PastTurn

TASK = "Natalia sold 48 clips. How many are left?"
TOOLS = [
    OfferedTool(name="Calculator", description="Computes.", inputs={"expression": "text"}, outputs={"value": "text"}),
    OfferedTool(name="Count", description="Counts.", inputs={"list": "text"}, outputs={"value": "text"}),
]
INTERFACE = (
    "Please ground the given subgoal to corresponding executable actions for solving the given task. The grounded "
    "actions must be the one in available action list.\n\nThe available action list is {'Calculator', 'Count'}.\n"
    "{Calculator(expression): Computes.; Count(list): Counts.}\n\nTask: Natalia sold 48 clips. How many are left? \n"
)
FIRST = PastTurn(
    index=1,
    subgoals=["Calculate half."],
    results=[ActionResult(action="R1 = Calculator(48 / 2)", outputs={"R1": "24"})],
    feedback="R1 = 24",
)
FAILED = PastTurn(
    index=2,
    subgoals=["Count them."],
    results=[ActionResult(action="R2 = Count()", error="Count needs list.")],
    feedback="Count needs list.",
)


def test_the_first_planning_turn():
    assert plan_prompt(task=TASK, past=()) == (
        "<|user|>\nPlease provide a reasonable subgoal-based plan to solve the given task.\n"
        "Task: Natalia sold 48 clips. How many are left?; Initial Environment Description: None.\n<|assistant|>\n"
    )


def test_later_planning_turns_tell_the_bare_result_and_ask_whether_to_stop():
    assert plan_prompt(task=TASK, past=[FIRST, FAILED]) == (
        plan_prompt(task=TASK, past=())
        + "Subgoal 1: Calculate half.\n<|user|>\nThe executed result for Subgoal 1 is 24. Should we stop planning?"
        "\n<|assistant|>\nNo, I will keep planning. Subgoal 2: Count them.\n<|user|>\n"
        "The executed result for Subgoal 2 is Count needs list.. Should we stop planning?\n<|assistant|>\n"
    )


def test_the_first_grounding_turn():
    assert ground_prompt(task=TASK, tools=TOOLS, past=(), subgoals=["Calculate half."], with_results=False) == (
        f"<|user|>\n{INTERFACE}Subgoal to be grounded: Subgoal 1: Calculate half.\n<|assistant|>\n"
    )


def test_all_subgoals_of_a_one_pass_plan_are_grounded_together():
    prompt = ground_prompt(task=TASK, tools=TOOLS, past=(), subgoals=["Halve.", "Count."], with_results=False)
    assert prompt.endswith("Subgoals to be grounded: Subgoal 1: Halve.; Subgoal 2: Count.\n<|assistant|>\n")


def test_later_grounding_turns_repeat_the_actions_and_tell_results_only_where_asked():
    exact = ground_prompt(task=TASK, tools=TOOLS, past=[FIRST], subgoals=["Count them."], with_results=False)
    assert exact == (
        f"<|user|>\n{INTERFACE}Subgoal to be grounded: Subgoal 1: Calculate half.\n<|assistant|>\n"
        "R1 = Calculator(48 / 2)\n<|user|>\nSubgoal to be grounded: Subgoal 2: Count them.\n<|assistant|>\n"
    )
    told = ground_prompt(task=TASK, tools=TOOLS, past=[FIRST], subgoals=["Count them."], with_results=True)
    assert told.endswith(
        "Subgoal to be grounded: Subgoal 2: Count them. The grounding could be based on the following results: "
        "The execution result for Subgoal 1 is 24.\n<|assistant|>\n"
    )


def test_integrated_turns_show_subgoals_with_their_actions():
    prompt = integrated_prompt(task=TASK, tools=TOOLS, past=[FIRST])
    assert "Subgoal 1: Calculate half. Actions: R1 = Calculator(48 / 2)\n<|user|>\nThe executed result" in prompt
