"""Training a module: tokens, rows, a run that is cut off and goes on, and a model that a strategy can name."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch

from evaluator.lumos.strategies import templates
from evaluator.lumos.training.command import train
from evaluator.lumos.training.study import table
from evaluator.lumos.training.training import Order, lumos_tokenizer, read_conversations, train_module
from evaluator.lumos.training.variants import GROUPS
from evaluator.training.causal import OF_PROMPTS, ROW, Measured, Shape, lessons_of, new_network
from evaluator.training.export import END_ID
from evaluator.training.runs import ChoiceError

pytestmark = pytest.mark.full

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


def test_rows_hold_conversations_with_their_own_positions_and_weigh_replies(data):
    conversations = list(read_conversations(data))
    tokenizer = lumos_tokenizer(exchanges(data))
    lessons = lessons_of(conversations, tokenizer=tokenizer)
    ids, weights, positions = lessons.row(np.random.default_rng(1))
    assert ids.shape == weights.shape == positions.shape == (ROW,)
    assert set(np.unique(weights)) == {np.float32(OF_PROMPTS), np.float32(1.0)}
    (ends,) = np.nonzero(ids == END_ID)
    assert len(ends) > 10
    assert (weights[ends] == 1.0).all()
    assert (positions[ends[:-1] + 1] == 0).all()
    known = {(one[0].prompt, one[0].reply) for one in conversations}
    for first, last in pairwise(ends):
        text = tokenizer.decode(ids[first + 1 : last].tolist(), skip_special_tokens=False)
        assert tuple(text.rpartition(templates.ASSISTANT)[::2]) in {
            (prompt.removesuffix(templates.ASSISTANT), reply) for prompt, reply in known
        }


def test_no_conversation_of_a_row_sees_another(data):
    tokenizer = lumos_tokenizer(exchanges(data))
    lessons = lessons_of(list(read_conversations(data)), tokenizer=tokenizer)
    ids, _, positions = lessons.row(np.random.default_rng(1))
    second = slice(*(np.nonzero(positions == 0)[0][1:3]))
    model = new_network(vocabulary=tokenizer.get_vocab_size(), shape=TINY, seed=0).eval()
    with torch.inference_mode():
        packed = model(input_ids=torch.tensor(ids)[None], position_ids=torch.tensor(positions)[None], use_cache=False)
        alone = model(input_ids=torch.tensor(ids[second])[None])
    assert torch.allclose(packed.logits[0, second], alone.logits[0], atol=1e-5)


def test_what_is_not_there_is_refused(data, tmp_path):
    with pytest.raises(ChoiceError, match="there is no module 'plan'; there are: base-web, base, plan_iterative, "):
        train(name="plan", data=data.parent, work=tmp_path, settings={}, report=lambda _: None)
    with pytest.raises(ChoiceError, match="plan_iterative-web begins as base-web, which is not trained yet"):
        train(name="plan_iterative-web", data=data.parent, work=tmp_path, settings={"seed": 1}, report=lambda _: None)
    with pytest.raises(ChoiceError, match="has no conversation of lumos-mini-web"):
        train_module(Order(data=(data,), out=tmp_path / "x", datasets=("lumos-mini-web",), shape=TINY))


def test_the_table_has_the_mean_over_seeds_of_each_group():
    tasks = [f"{group}/{number}" for group in GROUPS for number in range(20)]
    measured = [
        Measured(variant="iterative", seed=seed, scores={task: float(n % 10 < right) for n, task in enumerate(tasks)})
        for seed, right in enumerate((8, 6))
    ]
    ((name, first, *_, seeds),) = [row for row in table(measured) if row[0] == "iterative"]
    assert (name, first[:7], seeds) == ("iterative", "0.700 (", "0.800, 0.600")
