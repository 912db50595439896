"""Native tools and JSON plans through services: evaluations get the scores of the bare plans."""

import json
import random
from functools import cache

import pytest

from evaluator.core.planner import request_for
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.episodes.judgement import all_tools
from evaluator.network.transient import Backoff
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.named import planner_named
from evaluator.planners.strategies.json_plan import JsonPlan
from evaluator.planners.strategies.native_tools import Definitions, NativeTools
from evaluator.planners.trials import ChatTrialSettings
from evaluator.planners.trials.chat import try_chat
from evaluator.planners.trials.trial import Verdict, small_task
from tests.evaluator.planners.strategies.native import calls_of
from tests.evaluator.planners.strategies.test_json_plan import written
from tests.evaluator.planners.strategies.test_native_tools import ANSWERS_THAT_OTHER_STEPS_TAKE
from tests.fakes import chat_services
from tests.fakes.tool_services import TOOL_SERVICES, Written, serving_tools

SUITE = suite_of("toolmini")


def task_of(prompt, *, suite=SUITE):
    (task,) = [task for task in suite.tasks if prompt.startswith(f"{task.text}\n\nGiven:")]
    return task


def gold_calls(prompt, *, suite=SUITE):
    task = task_of(prompt, suite=suite)
    tools = Definitions.of(request_for(suite=suite, task=task, context=all_tools(suite=suite, task=task)))
    calls = calls_of(task.gold, tools=tools, rng=random.Random(task.key))
    return Written(calls=[(call.name, call.arguments) for call in calls], text="I call the tools.")


def model(url, **settings):
    settings = ChatSettings(url=url, model="m-1", allow_private=True, tries=4, try_seconds=10.0, **settings)
    return ChatModel(settings, key=lambda: None, backoff=Backoff(first=0.01, longest=0.1))


def scores_of(planner):
    tasks = [task.key for task in SUITE.tasks]
    records = episode_of("toolmini").evaluator(suite=SUITE, setting=Setting()).run(planner=planner, tasks=tasks)
    return {record.task: (record.outcome, record.score, record.indicators) for record in records}


@cache
def scores_of_bare_plans():
    return scores_of(planner_named(name="gold", suite=SUITE))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", TOOL_SERVICES)
def test_gold_plans_as_calls_of_a_service_score_as_bare_plans(kind, streamed):
    with serving_tools(kind, gold_calls) as service:
        planner = StrategyPlanner(strategy=NativeTools(), model=model(service.url, streamed=streamed))
        scores = scores_of(planner)
        planner.close()
    assert len(service.requests) == len(SUITE.tasks)
    below = {task for task, score in scores.items() if score != scores_of_bare_plans()[task]}
    assert below <= ANSWERS_THAT_OTHER_STEPS_TAKE["toolmini"]


@pytest.mark.parametrize("kind", ["old-chat", "reasoning-chat", "responses", "messages", "gateway"])
def test_gold_plans_as_json_score_as_bare_plans_whether_or_not_a_service_keeps_to_schemas(kind):
    def gold_json(prompt):
        asked = [task for task in SUITE.tasks if f"{task.text}\n\nGiven:" in prompt]
        return json.dumps(written(max(asked, key=lambda task: len(task.text)).gold))

    with chat_services.serving(kind, gold_json) as service:
        planner = StrategyPlanner(strategy=JsonPlan(), model=model(service.url))
        scores = scores_of(planner)
        planner.close()
    assert scores == scores_of_bare_plans()
    first = service.requests[0]
    assert "json_schema" in json.dumps([first.get(name) for name in ("response_format", "text", "output_config")])


@pytest.mark.parametrize("kind", TOOL_SERVICES)
def test_a_test_call_shows_calls_and_the_plan(kind):
    for slug in ("toolmini", "openagi"):
        suite = suite_of(slug)
        with serving_tools(kind, lambda prompt, suite=suite: gold_calls(prompt, suite=suite)) as service:
            trial = try_chat(suite=suite, settings=settings_of(service.url))
        assert (trial.verdict, trial.problem) == (Verdict.REFERENCE, "")
        assert trial.answer.startswith("I call the tools.\n{")
        assert [step["tool"] for step in trial.plan["steps"]] == list(small_task(suite).gold.tools())


def test_a_test_call_without_calls_says_that_the_plan_is_empty():
    with serving_tools("chat", lambda prompt: Written()) as service:
        trial = try_chat(suite=SUITE, settings=settings_of(service.url))
    assert trial.verdict is Verdict.EMPTY
    with serving_tools("chat", lambda prompt: Written(calls=[("image_captioning", '{"image":')])) as service:
        trial = try_chat(suite=SUITE, settings=settings_of(service.url))
    assert trial.verdict is Verdict.UNREADABLE
    assert "call 1" in trial.problem


def settings_of(url):
    return ChatTrialSettings(url=url, model="m-1", strategy="native-tools", timeout_seconds=10, allow_private=True)
