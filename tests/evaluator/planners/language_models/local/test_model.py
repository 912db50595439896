"""Checkpoints on this machine: what they say does not depend on the batch, and a bad call costs only itself."""

import json
from contextlib import contextmanager
from functools import cache

import pytest

from evaluator.core.language_model import FailureKind, Message, ScoreCall
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import (
    TEXTS,
    AnyOrder,
    byte_level_bpe,
    endless,
    gpt2,
    livelier,
    llama,
    opt,
    saved,
    t5,
    unigram,
)
from tests.rings import usual

FAMILIES = {
    "GPT-2": (gpt2, byte_level_bpe),
    "Llama": (llama, unigram),
    "OPT": (opt, byte_level_bpe),
    "T5": (t5, unigram),
    "T5 in bytes": (t5, byte_level_bpe),
    "Llama in bytes": (llama, byte_level_bpe),
}
USUAL = ["GPT-2", "Llama", "OPT", "T5"]
CHATTY = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>\n{% endif %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATTY


@cache
def trained(train):
    """A tokenizer, the same each time: training is not deterministic."""
    return train()


@cache
def network_of(family, *, ends=False):
    """Answers are as long as they may be, unless their end may come early."""
    from evaluator.planners.language_models.local.network import Network

    make, train = FAMILIES[family]
    tokenizer = trained(train)
    module = livelier(make(tokenizer))
    return Network(module=module if ends else endless(module), tokenizer=tokenizer)


@pytest.fixture(params=usual(USUAL, of=["GPT-2", "T5"]))
def network(request):
    return network_of(request.param)


@pytest.fixture(params=usual(USUAL, of=["GPT-2"]))
def one_network(request):
    """For tests with many passes."""
    return network_of(request.param)


def model(network, **settings):
    from evaluator.planners.language_models.local.model import LocalModel

    return LocalModel(network=network, name="tiny", **settings)


def user(text):
    return (Message(role="user", content=text),)


@contextmanager
def failing_forward(module, *, when, error):
    """Makes every forward pass fail whose input ids `when` picks out."""

    def check(_module, args, kwargs):
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is not None and when(ids):
            raise error()

    target = module.get_encoder() if module.config.is_encoder_decoder else module
    hook = target.register_forward_pre_hook(check, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()


def test_what_a_call_is_answered_does_not_depend_on_its_batch(network):
    calls = [generate(f"{text} {number}", max_tokens=10) for number, text in enumerate(TEXTS)]
    together = model(network, rows=8).answer(calls)
    alone = model(network, rows=1).answer(calls)
    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.usage for one in together] == [one.usage for one in alone]
    assert len({one.text for one in together}) > 1


def test_a_draw_depends_on_its_own_seed_only(network):
    calls = [generate(TEXTS[0], max_tokens=8, temperature=1.5, top_p=0.9, seed=seed) for seed in range(6)]
    together = model(network).answer([*calls, generate(TEXTS[3], max_tokens=8)])
    alone = [model(network).answer([call])[0] for call in calls]
    assert [one.text for one in together[:6]] == [one.text for one in alone]
    assert len({one.text for one in alone}) > 1


def test_lengths_and_stops_are_those_of_each_call(network):
    (free,) = model(network).answer([generate(TEXTS[7], max_tokens=12)])
    stop = free.text[len(free.text) // 2 :][:3]
    short, stopped, again = model(network).answer(
        [
            generate(TEXTS[7], max_tokens=3),
            generate(TEXTS[7], max_tokens=12, stop=(stop,)),
            generate(TEXTS[7], max_tokens=12),
        ]
    )
    assert short.usage.completion_tokens == 3
    assert short.truncated
    assert stopped.text == free.text.split(stop)[0].strip()
    assert not stopped.truncated
    assert again.text == free.text


def test_a_prompt_that_is_too_long_is_refused_with_both_numbers(network):
    long, good = model(network).answer([generate("text " * 2100), generate("text", max_tokens=4)])
    assert long.kind is FailureKind.PROMPT_TOO_LONG
    assert f"at most {2048 if network is network_of('T5') else 256}" in long.message
    assert str(len(network.prompt(user("text " * 2100)).ids)) in long.message
    assert good.usage.completion_tokens > 0


def test_a_poisonous_call_costs_only_itself(one_network):
    calls = [generate(text, max_tokens=4) for text in TEXTS]
    good = model(one_network).answer(calls)
    poison = list(one_network.prompt(user(TEXTS[8])).ids)

    def is_poisonous(ids):
        return any(poison == row[row != one_network.pad].tolist() for row in ids)

    with failing_forward(one_network.module, when=is_poisonous, error=lambda: ValueError("poison")):
        results = model(one_network).answer(calls)
    assert results[8].kind is FailureKind.UNAVAILABLE
    assert "ValueError: poison" in results[8].message
    assert [one.text for at, one in enumerate(results) if at != 8] == [
        one.text for at, one in enumerate(good) if at != 8
    ]


def test_batches_shrink_for_good_where_memory_ends(one_network):
    sizes = []

    def too_large(ids):
        sizes.append(len(ids))
        return len(ids) > 3

    def full():
        return RuntimeError("DefaultCPUAllocator: can't allocate memory")

    limited = model(one_network, rows=8)
    with failing_forward(one_network.module, when=too_large, error=full):
        answers = limited.answer([generate(text, max_tokens=2) for text in TEXTS * 2])
        sizes_then = len(sizes)
        limited.answer([generate(text, max_tokens=2) for text in TEXTS])
    assert not [one for one in answers if hasattr(one, "kind")]
    assert max(sizes) == 8
    assert max(sizes[sizes_then:]) <= 3


def test_a_call_that_alone_is_too_large_for_memory_is_unavailable(one_network):
    import torch

    long = "summarize the text " * 8
    error = torch.OutOfMemoryError("CUDA out of memory")
    with failing_forward(one_network.module, when=lambda ids: ids.shape[1] > 40, error=lambda: error):
        failed, good = model(one_network).answer([generate(long, max_tokens=2), generate("text", max_tokens=2)])
    assert failed.kind is FailureKind.UNAVAILABLE
    assert "ran out of memory" in failed.message
    assert good.usage.completion_tokens > 0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"beams": 2}, "need a constraint"),
        ({"beams": 0, "constraint": AnyOrder()}, "beams"),
        ({"max_tokens": 0}, "at least one token"),
        ({"temperature": -1.0}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
    ],
)
def test_a_call_that_asks_for_what_there_is_not_is_refused(settings, says):
    (result,) = model(network_of("T5")).answer([generate("plan", **settings)])
    assert result.kind is FailureKind.REFUSED
    assert says in result.message


def test_scores_are_those_of_reading_each_continuation_by_itself(network):
    calls = [
        ScoreCall(messages=user("Given a noisy image, what next?"), continuations=("Image Denoising", "Text", "")),
        ScoreCall(messages=user("text"), continuations=("Colorization",)),
        ScoreCall(messages=user("nothing"), continuations=()),
    ]
    results = model(network).answer(calls)
    for call, scores in zip(calls, results, strict=True):
        wanted = [by_hand(network, call.messages, text) for text in call.continuations]
        assert list(scores.log_probabilities) == pytest.approx(wanted, abs=1e-3)
    assert results[0].log_probabilities[2] == 0.0
    assert results[0].log_probabilities[0] < -1.0


def by_hand(network, messages, text):
    """One continuation, one forward pass, without padding, cache or shared prefix."""

    import torch

    prompt = network.prompt(messages)
    tokens = network.continuation(text, prompt=prompt)
    total = 0.0
    with torch.no_grad():
        for at, token in enumerate(tokens):
            before = torch.tensor([[*(network.decoder_start or prompt.ids), *tokens[:at]]])
            if network.is_seq2seq:
                logits = network.module(input_ids=torch.tensor([prompt.ids]), decoder_input_ids=before).logits
            else:
                logits = network.module(input_ids=before).logits
            total += torch.log_softmax(logits[0, -1], dim=-1)[token].item()
    return total


def test_of_a_chat_model_the_template_makes_the_prompt():
    from evaluator.planners.language_models.local.network import Network

    tokenizer = byte_level_bpe()
    tokenizer.chat_template = NO_SYSTEM
    network = Network(module=gpt2(tokenizer), tokenizer=tokenizer)
    messages = (Message(role="system", content="Be brief."), Message(role="user", content="text"))
    assert tokenizer.decode(network.prompt(messages).ids) == "<user>Be brief.\n\ntext\n<assistant>\n"
    assert network.prompt(messages).lead == ""
    assert network.template_digest != network_of("GPT-2").template_digest
    going_on = (Message(role="user", content="text"), Message(role="assistant", content="Text Gen"))
    assert tokenizer.decode(network.prompt(going_on).ids) == "<user>text\n<assistant>Text Gen"


def test_a_token_that_the_model_does_not_know_and_a_conversation_that_a_template_refuses_cost_their_own_call():
    from evaluator.planners.language_models.local.network import Network

    tokenizer = byte_level_bpe()
    tokenizer.chat_template = "{% if 'x' in messages[0].content %}{{ raise_exception('no x') }}{% endif %}" + CHATTY
    module = gpt2(tokenizer)
    tokenizer.add_tokens(["surplus"])
    calls = [generate(text, max_tokens=2) for text in ("x", "surplus", "y")]
    refused, unknown, good = model(Network(module=module, tokenizer=tokenizer)).answer(calls)
    assert refused.kind is unknown.kind is FailureKind.REFUSED
    assert "no x" in refused.message
    assert "do not belong together" in unknown.message
    assert good.usage.completion_tokens > 0


def test_a_completion_ends_where_the_context_does():
    network = network_of("GPT-2")
    prompt = "summarize the text and return " * 20
    near, far = model(network).answer([generate(prompt, max_tokens=500), generate("text", max_tokens=150)])
    assert near.usage.completion_tokens <= 256 - len(network.prompt(user(prompt)).ids)
    assert far.usage.completion_tokens == 150


def test_a_folder_is_loaded_and_says_what_it_is(tmp_path):
    from evaluator.planners.language_models.local.model import LocalModel

    folder = saved(tmp_path / "planner", model=endless(livelier(t5(trained(unigram)))), tokenizer=trained(unigram))
    loaded = LocalModel.from_folder(folder)
    calls = [generate(TEXTS[7], max_tokens=6)]
    assert loaded.answer(calls)[0].text == model(network_of("T5")).answer(calls)[0].text
    identity = loaded.identity()
    assert identity["architecture"] == "T5ForConditionalGeneration"
    assert (identity["precision"], identity["device"], identity["folder"]) == ("float32", "cpu", "planner")
    assert len(identity["weights_digest"]) == 64
    assert loaded.count_tokens("text") == len(trained(unigram)("text", add_special_tokens=False)["input_ids"])
    json.dumps(identity)


def test_a_model_that_needs_code_of_its_own_or_continues_no_texts_is_refused(tmp_path):
    from transformers import CLIPConfig

    from evaluator.planners.language_models import ModelError
    from evaluator.planners.language_models.local.model import LocalModel

    folder = saved(tmp_path / "own", model=gpt2(trained(byte_level_bpe)), tokenizer=trained(byte_level_bpe))
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig"}, "architectures": ["Own"]}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(ModelError, match="own"):
        LocalModel.from_folder(folder)
    CLIPConfig().save_pretrained(folder)
    with pytest.raises(ModelError, match="'clip', which is no causal or sequence-to-sequence"):
        LocalModel.from_folder(folder)
