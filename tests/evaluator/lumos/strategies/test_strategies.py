"""LUMOS's strategies on word problems, with scripted models; and their conversations as released code writes them."""

import json

import pytest

from evaluator.core.planner import OfferedTool
from evaluator.core.suites.registry import suite_of
from evaluator.core.transcripts import StopReason
from evaluator.core.turns import ActionResult, BatchTurnPlanner, Formulation, PastTurn
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.lumos.strategies.templates import ground_prompt, integrated_prompt, plan_prompt
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.registry import PlannerNameError, split_roles, strategies

SLUG = "lumos-mini"
TASK = "maths/0"
"""Greta has 9 cakes, and shares them equally among 3 friends."""


def script(folder, name, *rows):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps({"pattern": pattern, "text": text}) + "\n" for pattern, text in rows))
    return f"scripted:{path}"


def run(name):
    store = MemoryStore()
    setting = Setting(profile="lilliput", open_store=lambda: store)
    suite = suite_of(SLUG)
    planner = planner_named(name=name, suite=suite)
    (record,) = episode_of(SLUG).evaluator(suite=suite, setting=setting).run(planner=planner, tasks=[TASK])
    return planner, record


STOPS = ("The executed result for Subgoal 1", "Yes, I will stop planning.")
PLANS = ("Please provide", "Subgoal 1: Divide the cakes.")
GROUNDS = ("Please ground", "R1 = Calculator(9 / 3)")


def test_iterative_plans_grounds_and_stops(tmp_path):
    _, record = run(f"lumos/iterative:{script(tmp_path, 'both', STOPS, GROUNDS, PLANS)}")
    (transcript,) = record.transcripts
    assert (record.score, transcript.stop, transcript.answer) == (1.0, StopReason.STOPPED, "3")
    assert transcript.turns[0].subgoals == ["Divide the cakes."]
    assert transcript.formulation == Formulation.ITERATIVE


def test_one_pass_plans_everything_and_grounds_everything(tmp_path):
    plan = ("Please provide", "Subgoal 1: Divide the cakes.; Subgoal 2: Take it once.")
    ground = ("Subgoals to be grounded: Subgoal 1", "R1 = Calculator(9 / 3); Output = Calculator(R1 * 1)")
    _, record = run(f"lumos/onepass:{script(tmp_path, 'both', ground, plan)}")
    assert record.score == 1.0
    assert record.transcripts[0].turns[0].subgoals == ["Divide the cakes.", "Take it once."]


def test_the_grounding_module_may_be_another_model(tmp_path):
    planner, record = run(
        f"lumos/iterative:{script(tmp_path, 'plan', STOPS, PLANS)},ground={script(tmp_path, 'ground', GROUNDS)}"
    )
    assert isinstance(planner, BatchTurnPlanner)
    assert record.score == 1.0
    identity = planner.identity()
    assert identity["roles"]["ground"] != identity["language_model"]


def test_with_a_model_for_each_role_no_other_is_named(tmp_path):
    plan, ground = script(tmp_path, "plan", STOPS, PLANS), script(tmp_path, "ground", GROUNDS)
    planner, record = run(f"lumos/iterative:plan={plan},ground={ground}")
    assert record.score == 1.0
    assert planner.identity()["language_model"] != planner.identity()["roles"]["ground"]
    assert record.planner.roles.keys() == {"plan", "ground"}
    assert sum(usage.calls for usage in record.planner.roles.values()) == 3


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("lumos/iterative:ground=b", "plan"),
        ("lumos/onepass:plan=b", "ground"),
        ("controlllm/greedy:assess=b", "decompose"),
    ],
)
def test_where_a_call_would_have_no_model_the_name_is_refused(name, lacking):
    entry = strategies()[name.partition(":")[0]]
    with pytest.raises(PlannerNameError, match=f"name a model for the calls of {lacking}"):
        split_roles(name, roles=entry.role_names)


def test_integrated_gives_subgoal_and_actions_together(tmp_path):
    first = ("Please provide", "Subgoal 1: Divide. Actions: R1 = Calculator(9 / 3)")
    _, record = run(f"lumos/integrated:{script(tmp_path, 'one', STOPS, first)}")
    assert record.score == 1.0
    assert record.transcripts[0].turns[0].subgoals == ["Divide."]


@pytest.mark.parametrize(
    ("strategy", "reply", "score"),
    [
        ("chain-of-thought", "Nine divided by three is 3. The answer is 3.", 1.0),
        ("chain-of-thought", "Nine divided by three.", 0.0),
        ("direct", "3", 1.0),
        ("direct", "four", 0.0),
    ],
)
def test_the_baselines_answer_without_tools(strategy, reply, score, tmp_path):
    _, record = run(f"lumos/{strategy}:{script(tmp_path, 'one', ('Task', reply))}")
    assert (record.score, record.transcripts[0].stop) == (score, StopReason.ANSWERED)


@pytest.mark.parametrize("strategy", ["iterative", "onepass", "integrated"])
def test_a_model_that_says_something_else_ends_the_episode_with_what_was_expected(strategy, tmp_path):
    _, record = run(f"lumos/{strategy}:{script(tmp_path, 'one', ('', 'I would rather not.'))}")
    (transcript,) = record.transcripts
    assert (record.score, transcript.stop) == (0.0, StopReason.UNREADABLE)
    assert "The answer cannot be read" in transcript.turns[0].error


@pytest.mark.parametrize(
    ("name", "model", "roles"),
    [
        ("lumos/iterative:dir:a,ground=dir:b", "dir:a", {"ground": "dir:b"}),
        ("lumos/iterative:chat:https://h/v1#m,x=1", "chat:https://h/v1#m,x=1", {}),
        ("lumos/iterative:dir:a,b", "dir:a,b", {}),
        ("rules", None, {}),
    ],
)
def test_models_of_roles_follow_the_model(name, model, roles):
    assert split_roles(name, roles=("ground",)) == (model, roles)


def test_strategies_in_turns_understand_suites_in_turns_only():
    entry = strategies()["lumos/iterative"]
    assert entry.understands(SLUG)
    assert not entry.understands("toolmini")
    with pytest.raises(PlannerNameError, match="does not understand requests of toolmini"):
        planner_named(name="lumos/iterative:dir:x", suite=suite_of("toolmini"))


@pytest.mark.parametrize("name", ["lumos/iterative:dir:a,ground=", "lumos/iterative:dir:a,ground=b,ground=c"])
def test_a_role_has_one_model(name):
    with pytest.raises(PlannerNameError, match="give the role ground one model"):
        split_roles(name, roles=("ground",))


REQUEST = "Natalia sold 48 clips. How many are left?"
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
    assert plan_prompt(task=REQUEST, past=()) == (
        "<|user|>\nPlease provide a reasonable subgoal-based plan to solve the given task.\n"
        "Task: Natalia sold 48 clips. How many are left?; Initial Environment Description: None.\n<|assistant|>\n"
    )


def test_later_planning_turns_tell_the_bare_result_and_ask_whether_to_stop():
    assert plan_prompt(task=REQUEST, past=[FIRST, FAILED]) == (
        plan_prompt(task=REQUEST, past=())
        + "Subgoal 1: Calculate half.\n<|user|>\nThe executed result for Subgoal 1 is 24. Should we stop planning?"
        "\n<|assistant|>\nNo, I will keep planning. Subgoal 2: Count them.\n<|user|>\n"
        "The executed result for Subgoal 2 is Count needs list.. Should we stop planning?\n<|assistant|>\n"
    )


def test_the_first_grounding_turn():
    assert ground_prompt(task=REQUEST, tools=TOOLS, past=(), subgoals=["Calculate half."], with_results=False) == (
        f"<|user|>\n{INTERFACE}Subgoal to be grounded: Subgoal 1: Calculate half.\n<|assistant|>\n"
    )


def test_all_subgoals_of_a_one_pass_plan_are_grounded_together():
    prompt = ground_prompt(task=REQUEST, tools=TOOLS, past=(), subgoals=["Halve.", "Count."], with_results=False)
    assert prompt.endswith("Subgoals to be grounded: Subgoal 1: Halve.; Subgoal 2: Count.\n<|assistant|>\n")


def test_later_grounding_turns_repeat_the_actions_and_tell_results_only_where_asked():
    exact = ground_prompt(task=REQUEST, tools=TOOLS, past=[FIRST], subgoals=["Count them."], with_results=False)
    assert exact == (
        f"<|user|>\n{INTERFACE}Subgoal to be grounded: Subgoal 1: Calculate half.\n<|assistant|>\n"
        "R1 = Calculator(48 / 2)\n<|user|>\nSubgoal to be grounded: Subgoal 2: Count them.\n<|assistant|>\n"
    )
    told = ground_prompt(task=REQUEST, tools=TOOLS, past=[FIRST], subgoals=["Count them."], with_results=True)
    assert told.endswith(
        "Subgoal to be grounded: Subgoal 2: Count them. The grounding could be based on the following results: "
        "The execution result for Subgoal 1 is 24.\n<|assistant|>\n"
    )


def test_integrated_turns_show_subgoals_with_their_actions():
    prompt = integrated_prompt(task=REQUEST, tools=TOOLS, past=[FIRST])
    assert "Subgoal 1: Calculate half. Actions: R1 = Calculator(48 / 2)\n<|user|>\nThe executed result" in prompt
