"""What all harnesses share: requests, scores of what a model wrote, and episodes that tool calls drive."""

import json

import anyio
import pytest

from evaluator.core.plans.model import plan_to_json
from evaluator.core.records import Outcome, Reason
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.interop.harnesses.hosted_suite import MOST_REFUSED, HostedOptions, HostedSuite, means_of
from tests.fakes.scripted_chat import gold_model

SUITE = "toolmini"
TURNS = "lumos-shop"


@pytest.fixture(scope="module")
def judged():
    return HostedSuite(HostedOptions(suite=SUITE))


def record_of(hosted, task, said):
    return anyio.run(lambda: hosted.record_of(task=task, said=said))


def test_a_plan_scores_as_evaluate_scores_it(judged):
    task = suite_of(SUITE).tasks[0]
    plan = json.dumps(plan_to_json(task.gold))
    record = record_of(judged, task.key, [(plan, ())])
    assert (record.outcome, record.score, record.plan_received) == (Outcome.SCORED, 1.0, plan)


def test_a_plan_of_tool_calls_scores_as_one_in_json(judged):
    task = suite_of(SUITE).tasks[0]
    places = {name: f"call_{n}" for n, step in enumerate(task.gold.steps, 1) for name in step.outputs.values()}
    calls = [
        (step.tool, {name: places.get(value, value) for name, value in step.inputs.items()}) for step in task.gold.steps
    ]
    asked = judged.prompt(task, native=True)
    assert {name for name, _ in calls} <= {tool.name for tool in asked.tools}
    assert record_of(judged, task.key, [("", calls)]).score == 1.0


def test_prose_is_a_fault_of_the_planner(judged):
    record = record_of(judged, suite_of(SUITE).tasks[0].key, [("I would rather not.", ())])
    assert (record.outcome, record.reason, record.score) == (Outcome.PLANNER_FAULT, Reason.UNPARSABLE_PLAN, 0.0)
    facts = judged.facts(record)
    assert facts["plan"] is None
    assert facts["causes"]


def test_the_prompt_has_the_request_and_no_gold_plan(judged):
    task = suite_of(SUITE).tasks[0]
    text = "\n".join(message.content for message in judged.prompt(task, native=False).messages)
    assert task.text in text
    assert json.dumps(plan_to_json(task.gold)) not in text


def test_means_have_the_intervals_of_a_board_and_of_epochs_the_first_counts(judged):
    tasks = suite_of(SUITE).tasks[:12]
    right = [record_of(judged, task.key, [(json.dumps(plan_to_json(task.gold)), ())]) for task in tasks]
    wrong = [record_of(judged, task.key, [("no", ())]) for task in tasks]
    once = means_of([judged.facts(record) for record in (*right[:6], *wrong[6:])])
    assert once["SE"] == 0.5
    assert once["SE.low"] < 0.5 < once["SE.high"]
    twice = means_of([judged.facts(record) for record in (*right, *wrong)])
    assert twice["SE"] == 1.0
    assert means_of([]) == {}


def test_tasks_that_no_planner_can_run_are_left_out(judged):
    episode, suite = episode_of(SUITE), suite_of(SUITE)
    left_out = episode.not_run(suite=suite, setting=Setting())
    assert {task.key for task in judged.tasks} == {task.key for task in suite.tasks} - set(left_out)


def test_a_profile_that_is_not_there_is_an_error():
    with pytest.raises(SettingError, match="nowhere"):
        HostedSuite(HostedOptions(suite="openagi", profile="nowhere"))


def test_a_task_in_turns_has_one_data_point():
    assert HostedSuite(HostedOptions(suite=TURNS)).samples == 1
    with pytest.raises(SettingError, match="asked in turns"):
        HostedSuite(HostedOptions(suite=TURNS, samples=2))


class TestTurns:
    @pytest.fixture(scope="class")
    def hosted(self):
        return HostedSuite(HostedOptions(suite=TURNS))

    def test_each_call_is_an_action_and_the_same_messages_score_the_same(self, hosted):
        key = hosted.tasks[0].key
        said = []

        async def play():
            async with hosted.opened(key) as episodes:
                text = await episodes.begin()
                assert hosted.tasks[0].text in text
                tool = next(name for name in hosted.tools(key) if name != "submit_answer")
                arguments = dict.fromkeys(hosted.tools(key)[tool].schema["required"], "x")
                said.append(("", [(tool, arguments), (tool, json.dumps(arguments))]))
                results = await episodes.take(said[-1])
                assert len(results) == 2
                said.append(("nothing fits", ()))
                await episodes.take(said[-1])
                assert not episodes.is_open
                assert await episodes.begin() is None
                return episodes.record()

        played = anyio.run(play)
        again = record_of(hosted, key, said)
        assert len(played.transcripts[0].turns) == 3
        assert again.score == played.score
        assert [turn.received for turn in again.transcripts[0].turns] == [
            turn.received for turn in played.transcripts[0].turns
        ]

    def test_calls_that_fit_no_tool_cost_no_turn_until_there_are_too_many(self, hosted):
        key = hosted.tasks[0].key

        async def play():
            async with hosted.opened(key) as episodes:
                await episodes.begin()
                bad = [("no_such_tool", {}), ("submit_answer", "no JSON"), ("submit_answer", "[1]")]
                results = await episodes.take(("", bad))
                assert all(result.is_error for result in results)
                assert "There is no tool" in results[0].text
                assert "no JSON object" in results[1].text
                for _ in range(MOST_REFUSED - len(bad)):
                    await episodes.take(("", bad[:1]))
                assert episodes.is_open
                while episodes.is_open:
                    await episodes.take(("", bad[:1]))
                await episodes.begin()
                return episodes.record()

        assert anyio.run(play).score == 0.0

    def test_messages_that_end_early_are_an_empty_answer(self, hosted):
        assert record_of(hosted, hosted.tasks[0].key, [("", ())]).score == 0.0

    def test_leaving_early_ends_the_evaluation_and_frees_the_evaluator(self, hosted):
        async def leave():
            async with hosted.opened(hosted.tasks[0].key) as episodes:
                await episodes.begin()

        anyio.run(leave)
        assert record_of(hosted, hosted.tasks[0].key, [("x", ())]).outcome is Outcome.SCORED


def test_the_scripted_model_of_these_tests_knows_the_gold_plans(judged):
    model = gold_model(judged.suite)
    task = judged.tasks[0]
    asked = [{"role": one.role, "content": one.content} for one in judged.prompt(task, native=False).messages]
    assert record_of(judged, task.key, [(model(asked), ())]).score == 1.0
