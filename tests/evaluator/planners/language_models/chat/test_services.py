"""Evaluations and calls against five services, each with and without streams."""

import json
import os
from functools import cache
from statistics import fmean

import pytest

from evaluator.core.language_model import FailureKind, GenerateCall, Message, ToolDefinition
from evaluator.core.planner import PlannerRequest
from evaluator.core.plans.model import plan_to_json
from evaluator.core.strategy import Conversation, Draft
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.base import Setting, episode_of
from evaluator.network.secret_header import SecretHeader
from evaluator.network.transient import Backoff
from evaluator.planners.driving import StrategyPlanner
from evaluator.planners.language_models.chat.model import KEY_VARIABLE, ChatModel, ChatSettings
from evaluator.planners.language_models.chat.parameters import KnownParameters, Parameters
from evaluator.planners.named import planner_named
from tests.fakes import chat_services
from tests.fakes.strategies import FakeStrategy, generate

KINDS = ("old-chat", "reasoning-chat", "responses", "messages", "gateway")
SUITE = suite_of("toolmini")
GOLD = {task.key: json.dumps(plan_to_json(task.gold), ensure_ascii=False) for task in SUITE.tasks}
TOKENS = {
    "old-chat": (90, 30, 0, 0), "reasoning-chat": (90, 830, 64, 800), "responses": (90, 30, 64, 20),
    "messages": (85, 30, 70, 0),
}  # fmt: skip


def model(service, **settings):
    settings = {"allow_private": True, "tries": 10, "try_seconds": 10.0, **settings}
    return ChatModel(
        ChatSettings(url=service.url, model="m-1", **settings),
        key=lambda: None,
        backoff=Backoff(first=0.01, longest=0.1),
    )


def asks_for_a_plan(request: PlannerRequest) -> Conversation:
    system = Message(role="system", content="Answer with a plan.")
    prompt = Message(role="user", content=f"key={request.task.id}\n{request.task.request}")
    call = GenerateCall(messages=(system, prompt), max_tokens=512, temperature=0.7, top_p=0.9, seed=3, stop=("\n###",))
    (answer,) = yield [call]
    return Draft(plan=answer.text)


def gold_of(prompt: str) -> str:
    key = next(line for line in prompt.splitlines() if "key=" in line).partition("key=")[2]
    return f"{GOLD[key]}\n### and more that no service should have written"


def records_of(planner, tasks=(*GOLD,)):
    return [*episode_of("toolmini").evaluator(suite=SUITE, setting=Setting()).run(planner=planner, tasks=tasks)]


def scores_of(planner):
    records = records_of(planner)
    return {record.task: (record.outcome, record.score, record.indicators) for record in records}


@cache
def scores_of_bare_plans():
    return scores_of(planner_named(name="gold", suite=SUITE))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gold_plans_score_through_every_service_as_bare_plans(kind, streamed):
    with chat_services.serving(kind, gold_of) as service:
        chat = model(service, streamed=streamed)
        planner = StrategyPlanner(strategy=FakeStrategy(asks_for_a_plan), model=chat)
        scores = scores_of(planner)
        planner.close()
    assert scores == scores_of_bare_plans()
    assert fmean(score for _, score, _ in scores.values()) == 1.0
    assert chat.progress()["failed"] == 0
    assert (chat.progress()["retried"] > 0) == (kind == "gateway")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_are_counted_in_every_form(kind, streamed):
    with chat_services.serving(kind, lambda prompt: "a plan") as service:
        chat = model(service, streamed=streamed, reasons=kind == "reasoning-chat")
        answer = chat.answer([generate("x", temperature=1.0)])[0]
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.reasoning_tokens) == TOKENS[kind]
    assert (answer.text, answer.truncated) == ("a plan", False)
    assert chat.identity()["token_counts"] == "reported by the endpoint"


def test_refused_parameters_are_found_once_and_shown():
    call = generate("x", max_tokens=40, temperature=0.5, top_p=0.9, seed=3, stop=("\n",))
    with chat_services.serving("reasoning-chat", lambda prompt: "a plan\nmore") as service:
        chat = model(service)
        first, second = chat.answer([call])[0], chat.answer([call])[0]
    assert (first.text, second.text, first.usage) == ("a plan", "a plan", second.usage)
    assert len(service.requests) <= 7
    assert service.requests[-1] == service.requests[-2] == {
        "model": "m-1", "messages": [{"role": "user", "content": "x"}], "max_completion_tokens": 16_384,
    }  # fmt: skip
    assert chat.identity()["parameters"] == chat.progress()["parameters"] == {
        "left_out": ["seed", "stop", "temperature", "top_p"], "renamed": {"max_tokens": "max_completion_tokens"},
        "reasons": True, "most_tokens": "at least 16384",
    }  # fmt: skip
    assert chat.progress()["retried"] == chat.progress()["failed"] == 0


def test_parameters_are_known_to_later_planners_with_the_same_settings_and_account():
    known = KnownParameters()
    call = generate("x", max_tokens=40, temperature=0.5, top_p=0.9, seed=3, stop=("\n",))

    def requests_of(service, *, account=None, **settings):
        before = len(service.requests)
        header = None if account is None else SecretHeader("Authorization", account)
        settings = ChatSettings(url=service.url, model="m-1", allow_private=True, **settings)
        (answer,) = ChatModel(settings, key=lambda: None, header=header, known=known).answer([call])
        assert answer.text == "a plan"
        return len(service.requests) - before

    with chat_services.serving("reasoning-chat", lambda prompt: "a plan") as service:
        assert requests_of(service) > 3
        assert requests_of(service) == 1
        assert requests_of(service, account="Bearer one-account") > 3
        assert requests_of(service, account="Bearer one-account") == 1
        assert requests_of(service, most_tokens=2000) > 3


def test_parameters_are_found_again_after_a_while():
    known = KnownParameters(seconds=0.0)
    assert known.of("m", new=Parameters) is not known.of("m", new=Parameters)
    few = KnownParameters(models=1)
    first = few.of("a", new=Parameters)
    assert few.of("a", new=Parameters) is first
    few.of("b", new=Parameters)
    assert few.of("a", new=Parameters) is not first


def test_declared_parameters_are_sent_as_declared():
    with chat_services.serving("reasoning-chat", lambda prompt: "a plan") as service:
        chat = model(service, reasons=True, most_tokens=2000, reasoning_effort="low")
        assert chat.answer([generate("x", temperature=1.0)])[0].text == "a plan"
    assert service.requests[-1]["max_completion_tokens"] == 2000
    assert service.requests[-1]["reasoning_effort"] == "low"
    identity = chat.identity()
    assert (identity["reasoning_effort"], identity["parameters"]["most_tokens"]) == ("low", 2000)


def test_reasoning_that_uses_up_a_declared_limit_is_an_empty_truncated_answer():
    with chat_services.serving("reasoning-chat", lambda prompt: "a plan") as service:
        answer = model(service, most_tokens=300).answer([generate("x", temperature=1.0)])[0]
    assert (answer.text, answer.truncated, answer.usage.reasoning_tokens) == ("", True, 300)


def test_neither_the_environment_nor_a_package_adds_to_a_request(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
                 "OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BASE_URL"):  # fmt: skip
        monkeypatch.setenv(name, "X-Leaked: environment")
    monkeypatch.setenv(KEY_VARIABLE, "the-key")
    expected = {"Host", "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "User-Agent"}
    for kind, own in (("old-chat", {"Authorization"}), ("messages", {"x-api-key", "anthropic-version"})):
        with chat_services.serving(kind, lambda prompt: "a plan") as service:
            settings = ChatSettings(url=service.url, model="m-1", allow_private=True, tries=1)
            assert ChatModel(settings).answer([generate("x")])[0].text == "a plan"
        assert set(service.headers[0]) == expected | own
        assert service.headers[0]["User-Agent"] == "planarena"
        assert "environment" not in repr([service.headers, service.requests])
    assert os.environ["OPENAI_API_KEY"]


TOOL = ToolDefinition(name="denoise", description="Remove noise", parameters={"type": "object", "properties": {}})


def test_a_failure_has_the_sentence_of_the_service():
    with chat_services.serving("old-chat", lambda prompt: "") as service:
        failure = model(service).answer([generate("x", tools=(TOOL,))])[0]
    assert failure.kind is FailureKind.REFUSED
    assert "HTTP 422" in failure.message


def test_records_have_cached_and_reasoning_tokens_apart_where_a_service_reports_them():
    calls = []
    for kind in ("reasoning-chat", "old-chat"):
        with chat_services.serving(kind, gold_of) as service:
            planner = StrategyPlanner(strategy=FakeStrategy(asks_for_a_plan), model=model(service, reasons=True))
            (record,) = records_of(planner, tasks=list(GOLD)[:1])
            planner.close()
        calls.append(record.model_dump(mode="json")["planner"])
    assert (calls[0]["completion_tokens"], calls[0]["reasoning_tokens"], calls[0]["cached_tokens"]) == (830, 800, 64)
    assert not {"reasoning_tokens", "cached_tokens"} & set(calls[1])
