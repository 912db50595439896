"""Chat endpoints against a real HTTP server that misbehaves in every way."""

import asyncio
import json
import logging
import threading
import time

import pytest

from evaluator.core.language_model import FailureKind, Message, ScoreCall
from evaluator.network.secret_header import SecretHeader
from evaluator.network.transient import Backoff
from evaluator.planners.language_models.chat.model import KEY_VARIABLE, SHOWN, ChatModel, ChatSettings
from evaluator.planners.language_models.chat.trial_server import ChatServer, ServerSettings
from tests.evaluator.planners.test_endpoint import endpoint as served
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import AnyOrder

KEY = "sk-very-secret"


def body(text="Image Denoising", *, finish="stop", usage=(7, 3), **more):
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    counts = {} if usage is None else {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}}
    return json.dumps({"choices": [choice], **counts, **more}).encode()


GOOD = (200, body())


def endpoint(*answers):
    return served(*answers, path="/v1")


def model(url, *, key=None, **settings):
    settings = {"allow_private": True, "tries": 3, "try_seconds": 5.0, **settings}
    return ChatModel(
        ChatSettings(url=url, model="m-1", **settings), key=lambda: key, backoff=Backoff(first=0.025, longest=1.0)
    )


def asked(url, *calls, **settings):
    return model(url, **settings).answer(calls or [generate("a noisy image")])


def cut_off(handler):
    """Begins an answer and hangs up."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


def test_a_conversation_is_sent_and_its_answer_read():
    call = generate("a noisy image", max_tokens=40, temperature=0.5, seed=3, stop=("\n",))
    with endpoint(GOOD) as (url, seen):
        (answer,) = asked(url, call, key=KEY)
    assert (answer.text, answer.truncated) == ("Image Denoising", False)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 3)
    assert seen[0].path == "/v1/chat/completions"
    assert seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert seen[0] == {
        "model": "m-1", "messages": [{"role": "user", "content": "a noisy image"}], "max_tokens": 40,
        "temperature": 0.5, "top_p": 1.0, "seed": 3, "stop": ["\n"],
    }  # fmt: skip


def test_an_answer_that_reached_its_length_says_so_and_missing_counts_are_estimated():
    with endpoint((200, body("x" * 40, finish="length", usage=None))) as (url, _):
        chat = model(url)
        (answer,) = chat.answer([generate("y" * 20)])
    assert answer.truncated
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (5, 10)
    assert chat.identity()["token_counts"] == "estimated"
    assert chat.progress()["usage_estimated"] == 1


TOO_LONG = [
    (400, b'{"error": {"code": "context_length_exceeded", "message": "..."}}'),
    (400, b"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
    (400, b'{"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}'),
    (422, b'{"error": "`inputs` tokens + `max_new_tokens` must be <= 2048", "error_type": "context window"}'),
    (413, b"Payload Too Large"),
    (200, b'{"error": {"message": "context_length_exceeded", "code": 400}}'),
]


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        ((200, b"hello"), FailureKind.WRONG_ANSWER, "is not JSON; it begins with 'hello"),
        ((200, b""), FailureKind.WRONG_ANSWER, "is not JSON"),
        ((200, body()[:30]), FailureKind.WRONG_ANSWER, "is not JSON"),
        ((200, b"\xff\xfe\x00"), FailureKind.WRONG_ANSWER, "is not JSON"),
        ((200, b"[" * 100_000), FailureKind.WRONG_ANSWER, "is not JSON"),
        ((200, b"[]"), FailureKind.WRONG_ANSWER, "no JSON object"),
        ((200, b'{"choices": [7]}'), FailureKind.WRONG_ANSWER, 'no list of "choices"'),
        ((200, b'{"choices": [{"text": "x"}]}'), FailureKind.WRONG_ANSWER, 'no "message"'),
        ((200, body(7)), FailureKind.WRONG_ANSWER, 'no text as "content"'),
        ((200, body([7])), FailureKind.WRONG_ANSWER, 'no text as "content"'),
        ((200, body(None, finish="content_filter")), FailureKind.REFUSED, "filter"),
        ((400, b"bad"), FailureKind.REFUSED, "HTTP 400"),
        ((401, b"who"), FailureKind.REFUSED, "HTTP 401"),
        ((404, b"where"), FailureKind.REFUSED, "HTTP 404"),
        *((answer, FailureKind.PROMPT_TOO_LONG, "too long for its model") for answer in TOO_LONG),
        ((302, b"", {"Location": "http://127.0.0.1/x"}), FailureKind.REFUSED, "redirect"),
    ],
)
def test_what_will_not_change_is_not_asked_again(answer, kind, says):
    with endpoint(answer) as (url, seen):
        (failure,) = asked(url)
    assert failure.kind is kind
    assert says in failure.message
    assert failure.tries == 1
    assert len(seen) == 1


@pytest.mark.parametrize("usage", [(-1, 3), ("7", 3), (True, 3), (7, None), (2**40, 1)])
def test_counts_that_are_none_are_not_believed(usage):
    with endpoint((200, body("abcd", usage=usage))) as (url, _):
        (answer,) = asked(url)
    assert answer.usage.completion_tokens == 1


def test_what_may_succeed_is_tried_again_and_given_up_after_bounded_tries():
    answers = [
        *((status, b"busy") for status in (408, 409, 425, 429, 500, 502, 503, 522, 524, 529)),
        *((status, b"<!doctype html><title>Just a moment") for status in (200, 403, 404)),
        *(
            (200, answer)
            for answer in (
                b"null",
                b'{"choices": [{"message": null}]}',
                b"{}",
                b'{"choices": []}',
                b'{"choices": null, "error": {"code": 529}}',
            )
        ),
        (200, b'{"error": {"message": "Provider returned error", "code": 502}}'),
        (200, b'{"choices": [{"error": {"message": "upstream"}, "message": {"content": ""}}]}'),
        cut_off,
        lambda handler: None,
    ]
    with endpoint(*(one for answer in answers for one in (answer, answer, answer, answer, GOOD))) as (url, seen):
        for number, answer in enumerate(answers, start=1):
            failure, recovered = asked(url)[0], asked(url)[0]
            assert (failure.kind, failure.tries, recovered.text) == (
                FailureKind.UNAVAILABLE, 3, "Image Denoising",
            ), answer  # fmt: skip
            assert "in 3 tries" in failure.message
            assert len(seen) == 5 * number


def test_a_call_is_bounded_in_time_however_often_it_may_be_tried():
    with endpoint((503, b"", {"Retry-After": "30"})) as (url, seen):
        (failure,) = asked(url, tries=50, total_seconds=0.5)
    assert failure.kind is FailureKind.UNAVAILABLE
    assert len(seen) < 5


def test_a_dead_endpoint_does_not_hold_up_the_run_call_by_call():
    """One at a time, three tries each, 0.2 seconds each: all 100 would take a minute."""
    with endpoint(lambda handler: time.sleep(0.4)) as (url, seen):
        result = asked(
            url, *[generate(str(number)) for number in range(100)],
            highest=1, try_seconds=0.2, total_seconds=0.6, probe_seconds=30.0,
        )  # fmt: skip
    assert {failure.kind for failure in result} == {FailureKind.UNAVAILABLE}
    assert "answered no call for 0.6 seconds" in result[-1].message
    assert len(seen) < 20


def test_an_endpoint_that_comes_back_is_used_again():
    down = threading.Event()
    down.set()
    with endpoint(lambda handler: (503, b"") if down.is_set() else GOOD) as (url, _):
        chat = model(url, tries=2, total_seconds=0.3, try_seconds=2.0, probe_seconds=0.1)
        first = chat.answer([generate("x") for _ in range(5)])
        down.clear()
        time.sleep(1.0)
        again = chat.answer([generate("x")]) + chat.answer([generate("x") for _ in range(5)])
    assert {failure.kind for failure in first} == {FailureKind.UNAVAILABLE}
    assert [answer.text for answer in again] == ["Image Denoising"] * 6


def test_one_refusal_that_asks_to_wait_holds_all_others_back():
    """Nothing was ever borne, so that it is not the number of calls."""
    with endpoint((429, b"", {"Retry-After": "0.8"}), GOOD) as (url, seen):
        answers = asked(url, *[generate(f"{number}") for number in range(20)], highest=1)
    assert all(answer.text for answer in answers)
    assert seen[1].at - seen[0].at >= 0.8


def test_private_addresses_and_missing_endpoints_fail_without_a_call():
    with endpoint(GOOD) as (url, seen):
        (refused,) = asked(url, allow_private=False)
    (unavailable,) = asked("http://127.0.0.1:9/v1")  # another test may get the port of an ended server
    assert (refused.kind, unavailable.kind) == (FailureKind.REFUSED, FailureKind.UNAVAILABLE)
    assert "private" in refused.message
    assert "no connection" in unavailable.message
    assert seen == []


def test_the_key_comes_from_the_environment_and_is_kept_nowhere(monkeypatch, caplog):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    caplog.set_level(logging.DEBUG)
    with endpoint((401, f"wrong key: {KEY}".encode()), (503, KEY.encode()), GOOD) as (url, seen):
        chat = ChatModel(ChatSettings(url=url, model="m", allow_private=True, tries=1))
        results = [chat.answer([generate("x")])[0] for _ in range(3)]
    assert {sent.headers["Authorization"] for sent in seen} == {f"Bearer {KEY}"}
    assert results[0].received == "wrong key: [key]"
    assert KEY not in repr([results, caplog.text, chat.identity(), chat.progress(), vars(chat), chat.settings])


@pytest.mark.parametrize("key", [f"{KEY}\nX-More: 1", f"{KEY}é"])
def test_a_key_that_no_header_may_hold_is_refused_without_showing_it(key):
    with endpoint(GOOD) as (url, seen):
        (result,) = asked(url, key=key)
    assert seen == []
    assert result.kind is FailureKind.REFUSED
    assert KEY_VARIABLE in result.message
    assert KEY not in repr(result)


def test_a_key_across_the_cut_of_what_is_shown_is_hidden_whole():
    with endpoint((400, b"x" * (SHOWN - 5) + KEY.encode())) as (url, _):
        (result,) = asked(url, key=KEY)
    assert KEY[:4] not in result.received


def test_a_secret_header_goes_in_the_place_of_the_key_and_is_told_nowhere(monkeypatch, caplog):
    monkeypatch.setenv(KEY_VARIABLE, "the-workers-own-key")
    caplog.set_level(logging.DEBUG)
    header = SecretHeader("X-Api-Key", "s3cr3t-of-the-owner")
    repeated = f"you sent {header.value}"
    with endpoint((401, repeated.encode()), (200, repeated.encode()), (200, body(repeated))) as (url, seen):
        chat = ChatModel(ChatSettings(url=url, model="m", allow_private=True, tries=1), header=header)
        results = [chat.answer([generate("x")])[0] for _ in range(3)]
    assert [sent.headers.get("X-Api-Key") for sent in seen] == [header.value] * 3
    assert not any("Authorization" in sent.headers for sent in seen)
    assert [results[0].received, results[1].received, results[2].text] == ["you sent ***"] * 3
    told = repr([results, caplog.text, chat.identity(), chat.progress(), vars(chat), chat.settings])
    assert header.value not in told


def test_what_a_chat_endpoint_cannot_do_is_refused_without_a_call():
    with endpoint(GOOD) as (url, seen):
        result = asked(
            url,
            ScoreCall(messages=(Message(role="user", content="x"),), continuations=("a",)),
            generate("x", constraint=AnyOrder()),
        )
    assert {failure.kind for failure in result} == {FailureKind.REFUSED}
    assert seen == []


def test_it_finds_out_how_much_an_endpoint_bears():
    async def run():
        async with ChatServer(ServerSettings(latency_seconds=0.03, capacity=12)) as server:
            chat = model(server.url, highest=64)
            answers = await asyncio.gather(*(chat.answer_one(generate(str(number))) for number in range(300)))
            await chat.close()
            return answers, server

    answers, server = asyncio.run(run())
    assert all(hasattr(answer, "text") for answer in answers)
    assert server.most == 12
    assert server.refused < 100


def test_an_endpoint_that_fails_some_tries_in_a_row_is_not_called_for_the_other_calls():
    calls = [generate(f"image {number}") for number in range(40)]
    with endpoint((500, b"")) as (url, seen):
        result = asked(url, *calls, tries=2, highest=1, give_up_tries=6)
    assert {failure.kind for failure in result} == {FailureKind.UNAVAILABLE}
    assert sum("has answered no call in" in failure.message for failure in result) >= 30
    assert len(seen) <= 6 + 1, "and a probe"


def test_an_endpoint_that_wants_fewer_calls_is_not_given_up():
    calls = [generate(f"image {number}") for number in range(10)]
    with endpoint(*[(429, b"")] * 12, GOOD) as (url, _):
        result = asked(url, *calls, tries=20, highest=1, give_up_tries=6)
    assert {answer.text for answer in result} == {"Image Denoising"}
