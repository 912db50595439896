"""Training a module: tokens, rows, a run that is cut off and goes on, and a model that a strategy can name."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.protocol import Completion, GenerateCall, Message
from evaluator.planners.strategies.lumos import templates
from evaluator.training.planners.lumos.command import train
from evaluator.training.planners.lumos.conversations import read_conversations
from evaluator.training.planners.lumos.lessons import OF_PROMPTS, ROW, rows_of
from evaluator.training.planners.lumos.tokens import fixed_texts, lumos_tokenizer
from evaluator.training.planners.lumos.training import Order, Shape, train_module
from evaluator.training.planners.lumos.variants import MODULES, VARIANTS
from evaluator.training.planners.runs import ChoiceError
from evaluator.training.planners.tokens import END_ID

TINY = Shape(width=16, feed_forward=32, layers=1, heads=2)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "direct.jsonl"
    rows = [
        {
            "dataset": f"lumos-mini-{'maths' if number % 2 else 'qa'}",
            "id": f"maths_{number}",
            "messages": [
                {"role": "user", "content": _content(f"What is {number} + 1?")},
                {"role": "assistant", "content": str(number + 1)},
            ],
        }
        for number in range(200)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _content(task):
    return templates.direct_prompt(task).removeprefix(templates.USER).removesuffix(templates.ASSISTANT)


def exchanges(data):
    return [exchange for conversation in read_conversations(data) for exchange in conversation]


def test_what_prompts_share_is_one_token_and_every_text_is_read_back(data):
    found = exchanges(data)
    tokenizer = lumos_tokenizer(found)
    beginning = "<|user|>\nPlease answer the given task.\nTask: "
    assert beginning in fixed_texts(found)
    assert len(tokenizer.encode(beginning, add_special_tokens=False).ids) == 1
    for text in (found[17].prompt, "Zürich, R10 = SELECT * FROM x; 🙂", found[3].reply):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert len(tokenizer.encode("1234", add_special_tokens=False).ids) == 4


def test_rows_hold_whole_conversations_and_weigh_replies(data):
    conversations = list(read_conversations(data))
    tokenizer = lumos_tokenizer(exchanges(data))
    rows = rows_of(conversations, tokenizer=tokenizer, seed=0)
    assert rows.ids.shape == rows.weights.shape
    assert rows.ids.shape[1] == ROW
    assert set(np.unique(rows.weights)) == {np.float32(OF_PROMPTS), np.float32(1.0)}
    ends = rows.weights[rows.ids == END_ID]
    assert len(ends) > 100
    assert (ends == 1.0).all()
    assert not np.array_equal(rows.ids, rows_of(conversations, tokenizer=tokenizer, seed=1).ids)


def test_a_run_that_was_cut_off_ends_with_the_same_weights(data, tmp_path):
    whole = train_module(Order(data=(data,), out=tmp_path / "whole", steps=6, shape=TINY))
    cut = Order(data=(data,), out=tmp_path / "cut", steps=6, shape=TINY, stop_after=3)
    assert train_module(cut) is None
    other = train_module(Order(data=(data,), out=tmp_path / "cut", steps=6, shape=TINY, resume=True))
    first, second = (load_file(folder / "model.safetensors") for folder in (whole, other))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_a_trained_folder_is_a_language_model(data, tmp_path):
    folder = train_module(Order(data=(data,), out=tmp_path / "module", steps=2, shape=TINY))
    model = LocalModel.from_folder(folder)
    message = Message("user", templates.direct_prompt("What is 1 + 1?"))
    (answer,) = model.answer([GenerateCall(messages=(message,), max_tokens=5, stop=("\n",))])
    assert isinstance(answer, Completion)
    record = json.loads((folder / "training.json").read_text())
    assert (list(record["data"]), record["steps"], record["seed"]) == (["direct.jsonl"], 2, 0)


def test_a_module_begins_with_the_weights_and_tokens_of_its_base(data, tmp_path):
    base = train_module(Order(data=(data,), out=tmp_path / "base", steps=3, shape=TINY))
    module = train_module(Order(data=(data,), out=tmp_path / "module", base=base, steps=1, shape=TINY, seed=9))
    first, second = (load_file(folder / "model.safetensors") for folder in (base, module))
    for name in first:
        assert np.allclose(first[name], second[name], atol=2e-3)
    assert (base / "tokenizer.json").read_bytes() == (module / "tokenizer.json").read_bytes()
    assert json.loads((module / "training.json").read_text())["base"]


def test_what_is_not_there_is_refused(data, tmp_path):
    with pytest.raises(ChoiceError, match="there is no module 'plan'; there are: base, base-web, plan_iterative, "):
        train(name="plan", data=data.parent, work=tmp_path, settings={}, report=lambda _: None)
    with pytest.raises(ChoiceError, match="direct begins as base, which is not trained with the seed 0 yet"):
        train(name="direct", data=data.parent, work=tmp_path, settings={}, report=lambda _: None)
    with pytest.raises(ChoiceError, match="has no conversation of lumos-mini-web"):
        train_module(Order(data=(data,), out=tmp_path / "x", datasets=("lumos-mini-web",), shape=TINY))


def test_each_variant_has_its_modules_and_no_two_are_the_same():
    learners = {module.name for variant in VARIANTS.values() for module in variant.modules}
    assert MODULES.keys() - learners == {"base", "base-web"}
    assert MODULES["plan_iterative-web"].base == MODULES["base-web"]
    assert VARIANTS["iterative"].modules == (MODULES["plan_iterative"], MODULES["ground_iterative"])
    assert MODULES["plan_iterative@maths"].only == "maths"
    assert MODULES["ground_iterative-web"].without == "web"
