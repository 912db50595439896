"""A model behind vLLM answers as the same model on this machine; its server's answers are a stranger's."""

import json
import math
import time
from dataclasses import replace
from functools import partial

import pytest

from evaluator.core.language_model import Completion, Failure, FailureKind, GenerateCall, Message, ScoreCall, Scores
from evaluator.planners.language_models.vllm.api import VllmApi, VllmError
from evaluator.planners.language_models.vllm.model import ModelFacts, VllmModel
from tests.fakes.tiny_models import (
    END,
    NAMES,
    AnyOrder,
    byte_level_bpe,
    completions,
    gpt2,
    livelier,
    llama,
    saved,
    unigram,
)
from tests.fakes.vllm_server import FakeVllm
from tests.rings import usual

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
    "<s>{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
)
generate = partial(GenerateCall, max_tokens=24)


def said(text: str, *, system: str = "") -> tuple[Message, ...]:
    return (*([Message("system", system)] if system else []), Message("user", text))


@pytest.fixture(scope="module", params=usual(["byte-level", "unigram", "template"], of=["unigram", "template"]))
def models(request, tmp_path_factory):
    """The same model here, and behind the stand-in."""

    from evaluator.planners.language_models.local.model import LocalModel

    tokenizer, make = (unigram(), llama) if request.param == "unigram" else (byte_level_bpe(), gpt2)
    if request.param == "template":
        tokenizer.chat_template = TEMPLATE
    folder = saved(tmp_path_factory.mktemp("model"), model=livelier(make(tokenizer)), tokenizer=tokenizer)
    here = LocalModel.from_folder(folder, name="m")
    fake = FakeVllm(module=here.network.module, tokenizer=here.network.tokenizer)
    with fake.serving():
        facts = ModelFacts(ends=(END,), templated=request.param == "template", identity={"kind": "vllm", "name": "m"})
        there = VllmModel(VllmApi(fake.url, seconds=30.0), name="m", facts=facts)
        yield here, there
        there.close()


@pytest.fixture(scope="module")
def fake():
    tokenizer = byte_level_bpe()
    with FakeVllm(module=livelier(gpt2(tokenizer)), tokenizer=tokenizer).serving() as server:
        yield server


@pytest.fixture
def model_of(fake):
    """A model behind a server that misbehaves after it has begun."""
    opened = []

    def make(*, seconds=5.0, headers=None, misbehave=None):
        facts = ModelFacts(ends=(END,), templated=False, identity={})
        opened.append(VllmModel(VllmApi(fake.url, seconds=seconds), name="m", facts=facts))
        fake.misbehave = misbehave or fake.misbehave
        fake.headers = headers or {}
        fake.requests.clear()
        return opened[-1]

    yield make
    fake.misbehave, fake.headers = (lambda path, body: None), {}
    for model in opened:
        model.close()


def close(found, expected):
    """Whether two answers agree; sums over other batches differ in the last digits."""
    assert type(found) is type(expected)
    if isinstance(found, Scores):
        return found.log_probabilities == pytest.approx(expected.log_probabilities, abs=1e-3)
    assert found.text == expected.text
    assert found.truncated == expected.truncated
    assert [beam.names for beam in found.beams] == [beam.names for beam in expected.beams]
    return [beam.log_probability for beam in found.beams] == pytest.approx(
        [beam.log_probability for beam in expected.beams], abs=1e-3
    )


@pytest.mark.parametrize(
    "call",
    [
        *[generate(messages=said(name), constraint=AnyOrder(most=2), max_tokens=60) for name in NAMES[:3]],
        generate(messages=said("Text"), constraint=AnyOrder(most=3), max_tokens=60),
        generate(messages=said("Text", system="Plan"), constraint=AnyOrder(most=2), max_tokens=60, beams=5),
        generate(messages=said("Image"), constraint=AnyOrder(most=2, forbidden=[("Text", "Colorization")]), beams=3,
                 max_tokens=60),
        generate(messages=said("Image"), constraint=AnyOrder(least=0, most=1), beams=8, max_tokens=60),
        generate(messages=said("Text"), constraint=AnyOrder(names=("Text",), most=1), beams=1, max_tokens=60),
        generate(messages=said("Text"), constraint=AnyOrder(least=2, most=3), max_tokens=4),
        ScoreCall(messages=said("Image"), continuations=NAMES),
        ScoreCall(messages=said("Image"), continuations=(" Text", "", "Text Generation, Colorization")),
        generate(messages=said("Text")),
        generate(messages=said("Text"), stop=("e", "a")),
    ],
)  # fmt: skip
def test_answers_are_those_of_the_same_model_on_this_machine(models, call):
    here, there = models
    (expected,), (result,) = here.answer([call]), there.answer([call])
    assert not isinstance(expected, Failure), expected
    assert close(result, expected)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (generate(messages=said("word " * 4000)), FailureKind.PROMPT_TOO_LONG),
        (generate(messages=said("Text"), constraint=AnyOrder(names=())), FailureKind.REFUSED),
        (generate(messages=said("Text"), beams=7), FailureKind.REFUSED),
        (generate(messages=said("Text"), temperature=-1.0), FailureKind.REFUSED),
        (ScoreCall(messages=said("word " * 4000), continuations=("a",)), FailureKind.PROMPT_TOO_LONG),
    ],
    ids=["too long", "nothing allowed", "beams without constraint", "cold", "too long to score"],
)
def test_what_cannot_be_asked_is_refused_and_costs_its_own_call_only(models, call, kind):
    _, there = models
    refused, answered = there.answer([call, generate(messages=said("Text"))])
    assert refused.kind is kind
    assert isinstance(answered, Completion)


def answered(path, body, **changes):
    """What the fake would say, with changes to its first choice."""
    choice = {"index": 0, "text": "x", "finish_reason": "stop", **changes}
    return 200, json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()


def of_completions(answer):
    return lambda path, body: answer(path, body) if path == "/v1/completions" else None


def scores_of(make):
    """Log-probabilities of the prompt's tokens that a test makes."""

    def answer(path, body):
        if path != "/v1/completions":
            return None
        choices = [
            {"index": index, "text": "", "prompt_logprobs": [None, *({str(token): make(token)} for token in ids[1:])]}
            for index, ids in enumerate(body["prompt"])
        ]
        return 200, json.dumps({"choices": choices, "usage": {}}).encode()

    return answer


FREE = generate(messages=said("Text"))
SCORE = ScoreCall(messages=said("Text"), continuations=("Colorization", "Text"))


BODIES = [b"\xff", b"[" * 60_000, b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"index": 0, "text": ""}]}',
          b'{"choices": [{"index": 0, "text": ""}], "usage": {"completion_tokens": 25}}']  # fmt: skip
CHOICES = [{"text": 7}, {"index": 1}, {"index": True}, {"text": "x" * 100_000}]
TOKENS = [{"logprob": value} for value in (0.5, math.nan, -math.inf, "-1", False, 10**400)] + [{}, None]
PROMPTS = [b'{"tokens": ["a"]}', b'{"tokens": [-1]}', b'{"tokens": [4294967296]}', b'{"count": 1}',
           json.dumps({"tokens": [1] * 200}).encode()]  # fmt: skip
NONSENSE = [
    *((FREE, of_completions(lambda p, b, body=body: (200, body))) for body in BODIES),
    (FREE, of_completions(lambda p, b: (500, b"EngineDeadError"))),
    *((FREE, of_completions(lambda p, b, changes=changes: answered(p, b, **changes))) for changes in CHOICES),
    (SCORE, of_completions(lambda p, b: answered(p, b))),
    *((SCORE, scores_of(lambda token, value=value: value)) for value in TOKENS),
    *((FREE, lambda p, b, body=body: (200, body) if p == "/tokenize" else None) for body in PROMPTS),
]


@pytest.mark.parametrize(("call", "misbehave"), NONSENSE)
def test_nonsense_is_the_planner_s_fault_and_the_server_is_not_asked_again(fake, model_of, call, misbehave):
    model = model_of(misbehave=misbehave)
    (failure,) = model.answer([call])
    assert isinstance(failure, Failure), failure
    assert failure.kind is FailureKind.BROKEN
    assert len(failure.message) < 2000
    assert model.is_broken
    fake.requests.clear()
    assert model.answer([FREE, SCORE]) == [failure, failure]
    assert fake.requests == []


def test_compressed_answers_are_refused(model_of):
    (failure,) = model_of(headers={"Content-Encoding": "gzip"}).answer([FREE])
    assert failure.kind is FailureKind.BROKEN
    assert "compressed" in failure.message


def test_a_redirect_is_not_followed(model_of):
    redirect = of_completions(lambda path, body: (302, b""))
    (failure,) = model_of(misbehave=redirect, headers={"Location": "http://127.0.0.1:1/secret"}).answer([FREE])
    assert "HTTP 302" in failure.message


def test_a_server_that_takes_too_long_is_given_up_within_its_deadline(model_of):
    model = model_of(seconds=0.3, misbehave=of_completions(lambda path, body: time.sleep(1) or (200, b"{}")))
    (failure,) = model.answer([FREE])
    assert failure.kind is FailureKind.TIMEOUT
    assert model.is_broken
    # All requests of one call share its deadline.
    model = model_of(misbehave=lambda path, body: time.sleep(0.2))
    model._seconds = (0.5, 0.1)
    (failure,) = model.answer([generate(messages=said("Text"), constraint=AnyOrder(most=2), max_tokens=60)])
    assert failure.kind is FailureKind.TIMEOUT


def test_drawn_completions_keep_to_the_constraint_and_to_their_seed(models):
    _, there = models
    call = generate(messages=said("Text"), constraint=AnyOrder(most=2), temperature=2.0, top_p=0.9, max_tokens=60)
    calls = [replace(call, seed=seed) for seed in range(6)]
    results = there.answer(calls)
    assert all(answer.beams[0].names in set(completions(AnyOrder(most=2))) for answer in results)
    assert len({answer.text for answer in results}) > 1
    assert there.answer(calls[:2]) == results[:2]


def test_a_server_that_is_gone_is_an_infrastructure_fault():
    tokenizer = byte_level_bpe()
    with FakeVllm(module=gpt2(tokenizer), tokenizer=tokenizer).serving() as server:
        server.headers = {"Connection": "close"}
        facts = ModelFacts(ends=(END,), templated=False, identity={})
        model = VllmModel(VllmApi(server.url, seconds=5.0), name="m", facts=facts)
    (failure,) = model.answer([FREE])
    assert failure.kind is FailureKind.UNAVAILABLE
    model.close()


def test_a_server_of_another_model_is_none(fake):
    api = VllmApi(fake.url, seconds=5.0)
    fake.misbehave = lambda path, body: (200, b'{"data": [{"id": "other", "max_model_len": 9}]}')
    try:
        with pytest.raises(VllmError, match="serves no model 'planarena'"):
            api.longest_context()
    finally:
        fake.misbehave = lambda path, body: None
        api.close()
