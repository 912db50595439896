"""Continuous batching says what plain batches say; what fails in it is answered by them. On a CPU, with tiny models."""

import pytest

from evaluator.core.language_model import FailureKind, Message
from tests.evaluator.planners.language_models.local.test_model import failing_forward, model, network_of
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import TEXTS, AnyOrder
from tests.rings import usual

SMALL = {"page_size": 16, "pages": 64, "batch_tokens": 256}


@pytest.fixture(params=usual(["GPT-2", "Llama in bytes", "OPT"], of=["Llama in bytes"]))
def network(request):
    return network_of(request.param, ends=True)


def texts(answers):
    return [answer.text for answer in answers]


def prepared(network, text, *, room=6):
    from evaluator.planners.language_models.local.generation import Prepared

    call = generate(text, max_tokens=room)
    return Prepared(call=call, prompt=network.prompt(call.messages), room=room)


def test_it_says_what_plain_batches_say(network):
    from evaluator.planners.language_models.local.continuous import CacheSize

    shared = "Given a noisy image, how to return the text step by step? " * 2
    calls = [generate(shared + text, max_tokens=4 + number % 5) for number, text in enumerate(TEXTS)]
    results = model(network, continuous=CacheSize(**SMALL)).answer(calls)
    plain = model(network).answer(calls)
    assert texts(results) == texts(plain)
    assert [one.usage for one in results] == [one.usage for one in plain]
    assert network.module.config._attn_implementation != "paged|sdpa"


def test_what_prompts_share_at_their_beginning_is_read_once(network):
    from evaluator.planners.language_models.local.continuous import CacheSize, continuous_completions

    shared = "Given a noisy image, how to return the text step by step? " * 4
    works = [prepared(network, f"{shared}{number}", room=2) for number in range(12)]
    read = []
    hook = network.module.register_forward_pre_hook(
        lambda _module, args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    try:
        assert all(continuous_completions(network=network, works=works, size=CacheSize(**SMALL)))
    finally:
        hook.remove()
    assert sum(read) < 0.7 * sum(len(work.prompt.ids) for work in works)


@pytest.mark.full
def test_a_poisonous_request_is_isolated(network):
    from evaluator.planners.language_models.local.continuous import CacheSize

    calls = [generate(text, max_tokens=4) for text in TEXTS]
    good = model(network).answer(calls)
    poison = list(network.prompt((Message(role="user", content=TEXTS[8]),)).ids)

    def is_poisonous(ids):
        flat = ids.flatten().tolist()
        return any(flat[at : at + len(poison)] == poison for at in range(len(flat)))

    with failing_forward(network.module, when=is_poisonous, error=lambda: ValueError("poison")):
        results = model(network, continuous=CacheSize(**SMALL)).answer(calls)
    assert results[8].kind is FailureKind.UNAVAILABLE
    assert texts([*results[:8], results[9]]) == texts([*good[:8], good[9]])


def test_a_request_with_an_error_has_no_answer_from_here(network, monkeypatch, caplog):
    from evaluator.planners.language_models.local import continuous
    from evaluator.planners.language_models.local.continuous import CacheSize, continuous_completions

    works = [prepared(network, text) for text in TEXTS[:3]]
    collected = continuous._collected

    def one_fails(**settings):
        outputs = collected(**settings)
        outputs["1"].error = "it is poisonous"
        del outputs["2"]
        return outputs

    monkeypatch.setattr(continuous, "_collected", one_fails)
    first, second, third = continuous_completions(network=network, works=works, size=CacheSize(**SMALL))
    assert first is not None
    assert second is None
    assert third is None
    assert "it is poisonous" in caplog.text
    assert "no answer" in caplog.text


def test_where_it_cannot_run_at_all_plain_batches_answer(network):
    from evaluator.planners.language_models.local.continuous import CacheSize

    impossible = CacheSize(page_size=1, pages=1)
    tried = model(network, continuous=impossible)
    calls = [generate(text, max_tokens=3) for text in TEXTS[:3]]
    assert texts(tried.answer(calls)) == texts(model(network).answer(calls))
    assert tried.identity()["batching"] == "padded"


@pytest.mark.parametrize("family", ["GPT-2", "T5"])
def test_calls_that_draw_or_are_constrained_and_sequence_to_sequence_models_are_batched_plainly(family):
    from evaluator.planners.language_models.local.continuous import CacheSize

    calls = [
        generate("text", max_tokens=4, temperature=1.0, seed=3), generate("text", max_tokens=4),
        generate("plan:", constraint=AnyOrder()), generate("image", max_tokens=4),
    ]  # fmt: skip
    network = network_of(family, ends=True)
    result, plain = model(network, continuous=CacheSize(**SMALL)).answer(calls), model(network).answer(calls)
    assert texts(result) == texts(plain)
    assert result[2].beams
