"""Calls of roles at planner/1 endpoints: what is sent, what is read, and what is refused."""

import json

import pytest

from evaluator.core.language_model import Ability, FailureKind
from evaluator.network.secret_header import SecretHeader
from evaluator.network.transient import Backoff
from evaluator.planners.language_models.chat.model import ChatModel, ChatSettings
from evaluator.planners.language_models.choosing import ModelNameError, language_model
from tests.evaluator.planners.test_endpoint import endpoint
from tests.fakes.strategies import generate


def said(**answer):
    return 200, json.dumps(answer).encode()


def asked(url, call, *, header=None):
    settings = ChatSettings(url=url, model="", allow_private=True, tries=3, try_seconds=5.0)
    model = ChatModel(settings, key=lambda: None, header=header, backoff=Backoff(first=0.01, longest=0.1))
    (answer,) = model.answer([call])
    return answer


def test_the_messages_of_a_call_are_sent_with_its_role_and_a_text_comes_back():
    call = generate("Split it.", max_tokens=40, temperature=0.5, seed=3, stop=("\n",), role="decompose")
    with endpoint(said(text="two parts\nand more", usage={"prompt_tokens": 7, "completion_tokens": 3})) as (url, seen):
        answer = asked(url, call)
    assert (answer.text, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("two parts", 7, 3)
    (sent,) = seen
    assert sent.path == "/plan"
    assert sent == {
        "version": "planner/1", "role": "decompose", "messages": [{"role": "user", "content": "Split it."}],
        "max_tokens": 40, "temperature": 0.5, "top_p": 1.0, "seed": 3, "stop": ["\n"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (said(plan={"steps": []}), FailureKind.WRONG_ANSWER, 'wants a "text"'),
        (said(text=["a"]), FailureKind.WRONG_ANSWER, 'a "text" that is not a string'),
        (said(words="a"), FailureKind.UNAVAILABLE, 'has no "text"'),
        (said(error="no model"), FailureKind.UNAVAILABLE, "no model"),
        ((200, b"hello"), FailureKind.WRONG_ANSWER, "is not JSON"),
        ((404, b"{}"), FailureKind.REFUSED, "404"),
        ((200, b"[" * 100_000), FailureKind.WRONG_ANSWER, "is not JSON"),
    ],
)
def test_other_answers_are_failures_that_say_what_is_wrong(answer, kind, says):
    with endpoint(answer) as (url, _):
        failure = asked(url, generate("Split it."))
    assert failure.kind is kind
    assert says in failure.message


def test_a_secret_that_comes_back_is_removed():
    secret = "Bearer s3cr3t-of-the-owner"
    with endpoint(said(text=f"use {secret}")) as (url, seen):
        answer = asked(url, generate("Split it."), header=SecretHeader("X-Key", secret))
    assert seen[0].headers["X-Key"] == secret
    assert "s3cr3t" not in answer.text


def test_an_endpoint_has_a_name_and_generates_only():
    model = language_model("endpoint:https://host.example/plan")
    assert isinstance(model, ChatModel)
    assert (model.settings.address, model.abilities) == ("https://host.example/plan", {Ability.GENERATE})
    assert model.identity()["kind"] == "endpoint"
    with pytest.raises(ModelNameError, match=r"10\.0\.0\.1"):
        language_model("endpoint:https://10.0.0.1/plan", allow_private=False)
    with pytest.raises(ModelNameError, match="endpoint:nowhere"):
        language_model("endpoint:nowhere")
