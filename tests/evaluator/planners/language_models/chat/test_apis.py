"""The three APIs: calls of tools, schemas, addresses, keys, and what their odd answers mean."""

import json

import pytest

from evaluator.core.language_model import FailureKind, ToolCall, ToolDefinition, Usage
from evaluator.network.secret_header import SecretHeader
from evaluator.network.transient import Backoff
from evaluator.planners.language_models.chat.apis import APIS, address_of, api_of
from evaluator.planners.language_models.chat.apis.base import Options, read_usage
from evaluator.planners.language_models.chat.model import KEY_VARIABLE, ChatModel, ChatSettings
from tests.evaluator.planners.test_endpoint import endpoint as served
from tests.fakes.strategies import generate

SCHEMA = {"type": "object", "properties": {"image": {"type": "string"}}}
TOOLS = (
    ToolDefinition(name="denoise", description="Removes noise", parameters=SCHEMA),
    ToolDefinition(name="caption", description="Describes", parameters=SCHEMA),
)
CALLS = (
    ToolCall(id="c1", name="denoise", arguments='{"image": "é.png"}'),
    ToolCall(id="c2", name="caption", arguments='{"image": "<1>"}'),
)
CHAT_CALLS = [
    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}} for call in CALLS
]
ANSWERS = {
    "chat": {"choices": [{"message": {"content": None, "tool_calls": CHAT_CALLS}, "finish_reason": "tool_calls"}]},
    "responses": {"status": "completed", "output": [
        {"type": "reasoning", "summary": []},
        *({"type": "function_call", "id": "f", "call_id": call.id, "name": call.name, "arguments": call.arguments}
          for call in CALLS),
    ]},
    "messages": {"stop_reason": "tool_use", "content": [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)} for call in CALLS
    ]},
}  # fmt: skip


def delta(part, *, finish=None):
    return {"choices": [{"index": 0, "delta": part, "finish_reason": finish}]}


STREAMS = {
    "chat": [
        delta({"role": "assistant", "content": None}),
        *(event for index, call in enumerate(CALLS) for event in (
            delta({"tool_calls": [{"index": index, "id": call.id, "function": {"name": call.name, "arguments": ""}}]}),
            delta({"tool_calls": [{"index": index, "function": {"arguments": call.arguments[:5]}}]}),
            delta({"tool_calls": [{"index": index, "function": {"arguments": call.arguments[5:]}}]}),
        )),
        delta({}, finish="tool_calls"),
    ],
    "responses": [
        *({"type": "response.output_item.done", "item": item} for item in ANSWERS["responses"]["output"]),
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ],
    "messages": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
        *(event for index, call in enumerate(CALLS) for event in (
            {"type": "content_block_start", "index": index,
             "content_block": {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}},
            {"type": "content_block_delta", "index": index,
             "delta": {"type": "input_json_delta", "partial_json": call.arguments[:4]}},
            {"type": "content_block_delta", "index": index,
             "delta": {"type": "input_json_delta", "partial_json": call.arguments[4:]}},
        )),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ],
}  # fmt: skip


def stream(events):
    return "".join(f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\n" for event in events).encode()


def model(url, *, key=None, header=None, **settings):
    settings = {"allow_private": True, "tries": 2, "try_seconds": 5.0, **settings}
    return ChatModel(
        ChatSettings(url=url, model="m-1", **settings), key=lambda: key, header=header,
        backoff=Backoff(first=0.01, longest=0.1),
    )  # fmt: skip


def asked(body, *, api="chat", call=None, status=200, **options):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with served((status, content), path="/v1") as (url, seen):
        answer = model(url, api=api, **options).answer([call or generate("x")])[0]
    return answer, seen


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_parallel_calls_of_tools_arrive_in_order(api, is_streamed):
    body = stream(STREAMS[api]) if is_streamed else ANSWERS[api]
    answer, seen = asked(body, api=api, call=generate("x", tools=TOOLS), streamed=is_streamed)
    assert answer.calls == CALLS
    assert (answer.text, answer.truncated) == ("", False)
    tools = seen[0]["tools"]
    tools = [tool["function"] for tool in tools] if api == "chat" else tools
    assert [tool["name"] for tool in tools] == ["denoise", "caption"]
    assert {"parameters", "input_schema"} & set(tools[0])
    assert seen[0].get("stream", False) == is_streamed


def test_calls_that_a_service_does_not_number_are_told_apart_by_their_ids():
    parts = [{"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in CALLS]
    events = [delta({"tool_calls": [part]}) for part in parts]
    answer, _ = asked(stream([*events, delta({}, finish="tool_calls")]), streamed=True)
    assert answer.calls == CALLS


def test_each_api_gets_schema_effort_budget_seed_and_stops_as_it_names_them():
    call = generate("x", schema=SCHEMA, stop=("\n\n", "END"), max_tokens=100)
    options = Options(reasoning_effort="low", reasoning_budget=2000, seed=7)
    chat, responses, messages = (api.payload(call, model="m", options=options) for api in APIS.values())
    assert chat["response_format"]["json_schema"]["schema"] == SCHEMA
    assert (chat["reasoning_effort"], chat["seed"], chat["stop"]) == ("low", 7, ["\n\n", "END"])
    assert responses["text"]["format"]["schema"] == SCHEMA
    assert (responses["reasoning"], responses["max_output_tokens"]) == ({"effort": "low"}, 100)
    assert not {"seed", "stop", "max_tokens"} & set(responses)
    assert messages["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}
    assert messages["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert (messages["stop_sequences"], "temperature" in messages) == (["END"], False)


def test_a_budget_of_reasoning_is_added_to_the_limit_of_the_answer():
    _, seen = asked(ANSWERS["messages"], api="messages", call=generate("x", max_tokens=100), reasoning_budget=2000)
    assert seen[0]["max_tokens"] == 2100


@pytest.mark.parametrize(
    ("url", "api", "address"),
    [
        ("https://h/v1", "chat", "https://h/v1/chat/completions"),
        ("https://h/v1/", "chat", "https://h/v1/chat/completions"),
        ("https://h/v1/chat/completions", "chat", "https://h/v1/chat/completions"),
        ("https://h/v1/responses", "responses", "https://h/v1/responses"),
        ("https://h/v1/messages/", "messages", "https://h/v1/messages"),
        (
            "https://h/openai/deployments/d?api-version=2025-01-01", "chat",
            "https://h/openai/deployments/d/chat/completions?api-version=2025-01-01",
        ),
        ("https://h/openai/responses?api-version=1", "responses", "https://h/openai/responses?api-version=1"),
    ],
)  # fmt: skip
def test_the_address_selects_the_api(url, api, address):
    found = api_of(name="auto", url=url)
    assert (found.name, address_of(api=found, url=url)) == (api, address)


def test_a_declared_api_is_below_the_base_address():
    assert address_of(api=APIS["messages"], url="https://h") == "https://h/v1/messages"
    assert address_of(api=APIS["responses"], url="https://h/v1") == "https://h/v1/responses"


def test_deployments_with_a_version_get_the_key_in_their_own_header():
    with served((200, json.dumps(ANSWERS["chat"]).encode()), path="/d?api-version=2025-01-01") as (url, seen):
        chat = model(url, key="the-long-key")
        assert chat.answer([generate("x")])[0].calls == CALLS
    assert seen[0].path == "/d/chat/completions?api-version=2025-01-01"
    assert seen[0].headers["api-key"] == "the-long-key"
    assert "Authorization" not in seen[0].headers
    assert chat.identity()["api_version"] == "2025-01-01"
    assert KEY_VARIABLE not in repr(chat.identity())


def test_a_secret_header_takes_the_place_of_the_key_beside_the_version_of_the_api():
    header = SecretHeader("X-Api-Key", "a-long-secret")
    with served((200, json.dumps(ANSWERS["messages"]).encode()), path="/v1/messages") as (url, seen):
        model(url, key="the-key", header=header).answer([generate("x")])
    assert seen[0].headers["X-Api-Key"] == "a-long-secret"
    assert seen[0].headers["anthropic-version"] == "2023-06-01"


def chat(finish="stop", **message):
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("chat", chat("content_filter", content="")),
        ("chat", chat(content=None, refusal="I cannot help with that.")),
        ("responses", {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}),
        ("responses", {"status": "completed", "output": [
            {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}]}),
        ("messages", {"content": [], "stop_reason": "refusal"}),
        ("chat", {"error": {"code": "content_filter", "message": "The response was filtered"}}),
    ],
)  # fmt: skip
def test_what_a_filter_withheld_is_the_planners_and_is_not_asked_again(api, body):
    answer, seen = asked(body, api=api)
    assert (answer.kind, len(seen)) == (FailureKind.REFUSED, 1)
    assert "filter withheld" in answer.message


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (402, {"error": {"message": "Insufficient credits"}}),
        (429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
        (400, {"type": "error", "error": {"message": "Your credit balance is too low to access the API."}}),
        (200, {"error": {"code": 402, "message": "no more credits"}}),
    ],
)
def test_an_exhausted_account_is_infrastructure_and_not_asked_again(status, body):
    answer, seen = asked(body, status=status)
    assert (answer.kind, len(seen)) == (FailureKind.UNAVAILABLE, 1)
    assert "over its quota" in answer.message
    assert (body["error"]["message"]) in answer.message


@pytest.mark.parametrize("api", APIS)
def test_an_error_in_place_of_an_answer_is_asked_again(api):
    for body in ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, {}, {"error": "x"}):
        answer, seen = asked(body, api=api)
        assert (answer.kind, answer.tries, len(seen)) == (FailureKind.UNAVAILABLE, 2, 2), body
    for events in ([], [{"type": "error", "error": {"message": "Overloaded"}}], STREAMS[api][:2]):
        answer, seen = asked(b": connected\n\n" + stream(events), api=api, streamed=True)
        assert (answer.kind, len(seen)) == (FailureKind.UNAVAILABLE, 2), events


@pytest.mark.parametrize("api", APIS)
def test_a_stream_is_read_though_none_was_requested_and_a_whole_answer_in_place_of_a_stream(api):
    assert asked(stream(STREAMS[api]), api=api)[0].calls == CALLS
    assert asked(ANSWERS[api], api=api, streamed=True)[0].calls == CALLS


def test_line_separators_in_events_end_no_line():
    text = "a\u2028b\u0085c\x0bd"
    answer, _ = asked(stream([delta({"content": text}), delta({}, finish="stop")]), streamed=True)
    assert answer.text == text


def test_the_sentence_of_the_service_reaches_the_message_short_and_without_the_key():
    key = "sk-very-secret-key"
    body = {"error": {"message": f"Incorrect API key provided: {key}. " + "x" * 300, "code": "invalid_api_key"}}
    with served((401, json.dumps(body).encode()), path="/v1") as (url, _):
        answer = model(url, key=key).answer([generate("x")])[0]
    assert answer.message.startswith("The chat endpoint answered HTTP 401: Incorrect API key provided: [key]. xxx")
    assert len(answer.message) < 250
    assert key not in repr(answer)


def test_a_secret_in_pieces_or_escapes_is_removed_from_the_answer():
    secret = "s3cr3t/of-the-owner"
    header = SecretHeader("X-Api-Key", secret)
    pieces = [delta({"content": piece}) for piece in ("You sent s3cr", "3t/of-the", "-owner.")]
    escaped = json.dumps(chat(content=f"You sent {secret}.")).replace("/", "\\/")
    for body in (stream([*pieces, delta({}, finish="stop")]), escaped.encode()):
        with served((200, body), path="/v1") as (url, _):
            answer = model(url, header=header).answer([generate("x")])[0]
        assert answer.text == "You sent ***."
    error = json.dumps({"error": {"message": "x" * 190 + secret}}).replace("/", "\\/").encode()
    for status in (200, 401):
        with served((status, error), path="/v1") as (url, _):
            answer = model(url, header=header).answer([generate("x")])[0]
        assert "s3cr" not in answer.message


@pytest.mark.parametrize(
    "cut", [chat("length", content="<think>First, I"), chat("length", content=None, reasoning_content="First, I")]
)
def test_reasoning_that_reaches_the_limit_is_asked_again_with_the_limit_of_reasoning_models(cut):
    answers = [{**cut, "usage": {"prompt_tokens": 5, "completion_tokens": 16}},
               {**chat(content="a plan"), "usage": {"prompt_tokens": 5, "completion_tokens": 90}}]  # fmt: skip
    with served(*((200, json.dumps(answer).encode()) for answer in answers), path="/v1") as (url, seen):
        answer = model(url).answer([generate("x", max_tokens=16)])[0]
    assert (answer.text, answer.usage) == ("a plan", Usage(prompt_tokens=10, completion_tokens=106))
    assert [request["max_tokens"] for request in seen] == [16, 16_384]


def test_a_model_that_is_declared_not_to_reason_keeps_the_limit():
    answer, seen = asked(chat("length", content=None, reasoning_content="First"), reasons=False)
    assert (answer.text, answer.truncated, len(seen)) == ("", True, 1)


@pytest.mark.parametrize(
    ("value", "usage"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 3}, Usage(prompt_tokens=9, completion_tokens=3)),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None, "completion_tokens_details": 7,
             "cost": {"usd": 1}},
            Usage(prompt_tokens=9, completion_tokens=3),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8},
             "completion_tokens_details": {"reasoning_tokens": 2}},
            Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=8, reasoning_tokens=2),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 52,
             "completion_tokens_details": {"reasoning_tokens": 40}},
            Usage(prompt_tokens=9, completion_tokens=43, reasoning_tokens=40),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4},
            Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=4),
        ),
        (
            {"input_tokens": 1, "cache_read_input_tokens": 6, "cache_creation_input_tokens": 2, "output_tokens": 3,
             "server_tool_use": None},
            Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=6),
        ),
        ({"prompt_tokens": 9.5, "completion_tokens": 3}, None),
        ({"tokens": {"input": 9}}, None),
        ([], None),
    ],
)  # fmt: skip
def test_usage_in_all_forms(value, usage):
    assert read_usage(value) == usage
