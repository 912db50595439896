"""Training data in LUMOS's formats: real results, and exactly the prompts that the strategies ask."""

import json
import re

import pytest

from evaluator.episodes.base import Setting
from evaluator.execution.engine.store import MemoryStore
from evaluator.lumos.mini.conversion import FORMS, records_of, solve, write_training_data
from evaluator.lumos.mini.groups import GROUPS
from evaluator.lumos.strategies import templates
from evaluator.lumos.training.training import exchanges_of, read_conversations
from evaluator.training.lessons import DataError


@pytest.fixture(scope="module")
def setting():
    store = MemoryStore()
    return Setting(profile="lilliput", open_store=lambda: store)


@pytest.fixture(scope="module")
def solved(setting):
    return {one.group: one for one in solve(setting=setting, count=1, start=4)}


def test_each_group_has_solutions_with_results(solved):
    assert solved.keys() == GROUPS.keys()
    for one in solved.values():
        assert len(one.past) == len(one.gold)
        assert all(result.outputs and not result.error for turn in one.past for result in turn.results)


@pytest.mark.parametrize("group", GROUPS)
def test_the_prompts_of_a_conversation_are_those_that_strategies_ask(group, solved):
    one = solved[group]
    records = records_of(one)
    assert records.keys() == set(FORMS)
    plans = list(exchanges_of(records["plan_iterative"]["messages"]))
    assert [plan.prompt for plan in plans] == [
        templates.plan_prompt(task=one.text, past=one.past[:number]) for number in range(len(one.past) + 1)
    ]
    assert plans[-1].reply == templates.STOP
    grounds = list(exchanges_of(records["ground_iterative"]["messages"]))
    assert [ground.prompt for ground in grounds] == [
        templates.ground_prompt(
            task=one.text, tools=one.tools, past=one.past[:place], subgoals=(turn.subgoal,),
            with_results=group in {"qa", "web", "pictures"},
        )
        for place, turn in enumerate(one.gold)
    ]  # fmt: skip
    assert [ground.reply for ground in grounds] == [turn.actions for turn in one.gold]
    (onetime,) = exchanges_of(records["ground_onetime"]["messages"])
    assert onetime.reply == "; ".join(turn.actions for turn in one.gold)


def test_low_level_subgoals_stand_for_one_action_each(solved):
    one = solved["qa"]
    plans, grounds = (
        list(exchanges_of(records_of(one)[f"{role}_low_level"]["messages"])) for role in ("plan", "ground")
    )
    actions = [action for turn in one.gold for action in turn.actions.split("; ")]
    assert len(actions) > len(one.gold)
    assert [ground.reply for ground in grounds] == actions
    assert len(plans) == len(actions) + 1
    names = [plan.reply.partition(": ")[2] for plan in plans[:-1]]
    assert [name.split()[0] for name in names[:3]] == ["Find", "Find", "Answer"]
    assert not any(re.search(r"\bR[0-9]", name) for name in names)
    results = [result for turn in one.past for result in turn.results]
    assert next(iter(results[2].outputs.values())) in plans[3].prompt


@pytest.mark.parametrize("group", ["maths", "sql", "pictures"])
def test_subgoals_of_one_action_are_low_level_as_they_are(group, solved):
    records = records_of(solved[group])
    assert records["plan_low_level"] == records["plan_iterative"]
    assert records["ground_low_level"] == records["ground_iterative"]


@pytest.mark.full
def test_files_hold_a_conversation_in_each_line(setting, tmp_path):
    written = write_training_data(folder=tmp_path, setting=setting, count=2)
    assert set(written) == set(FORMS)
    for form, count in written.items():
        rows = [json.loads(line) for line in (tmp_path / f"{form}.jsonl").read_text().splitlines()]
        assert len(rows) == count > 5
        assert {row["dataset"] for row in rows} == {f"lumos-mini-{group}" for group in GROUPS}
    only = list(read_conversations(tmp_path / "direct.jsonl", datasets=("lumos-mini-qa",)))
    without = list(read_conversations(tmp_path / "direct.jsonl", without=("lumos-mini-qa",)))
    assert len(only) + len(without) == written["direct"]
    assert all("According to the chronicle" in one.prompt for (one,) in only)


@pytest.mark.parametrize(
    "line",
    ["no JSON", "[]", '{"dataset": "x"}', '{"dataset": "x", "messages": [{"role": "assistant", "content": "a"}]}'],
)
def test_a_line_that_is_no_conversation_is_named(line, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(DataError, match="line 1 is not"):
        list(read_conversations(path))
