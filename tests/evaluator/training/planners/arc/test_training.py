"""Training a writer: tokens, steps, a run that is cut off and goes on, and a planner that runs to its end."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from evaluator.planners.named import planner_named
from evaluator.planners.strategies.arc.compact import OK
from evaluator.records import Outcome
from evaluator.training.planners.arc.conversion import FILE, read_lessons
from evaluator.training.planners.arc.tokens import fixed_texts, writer_tokenizer
from evaluator.training.planners.arc.training import train_writer
from evaluator.training.planners.runs import SettingsError
from tests.evaluator.suites.arc.small import TASK, evaluator
from tests.evaluator.training.planners.arc.conftest import tiny

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def exchanges(lessons):
    return read_lessons(lessons / FILE)


def test_common_code_is_one_token_and_every_text_is_read_back(exchanges):
    tokenizer = writer_tokenizer(exchanges)
    assert OK in fixed_texts(exchanges)
    replies = [tokenizer.encode(one.reply, add_special_tokens=False).ids for one in exchanges]
    assert min(map(len, replies)) < 5
    for text in (exchanges[0].prompt, exchanges[-1].prompt, exchanges[3].reply, "def f(): return 'Zürich', 12:34 🙂"):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
    assert writer_tokenizer(exchanges).to_str() == tokenizer.to_str()


def test_a_run_that_was_cut_off_ends_with_the_same_weights(order, writer, tmp_path):
    assert train_writer(order(tmp_path / "cut", stop_after=3)) is None
    other = train_writer(order(tmp_path / "cut", resume=True))
    first, second = (load_file(folder / "model.safetensors") for folder in (writer, other))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    with pytest.raises(SettingsError, match="seed 0, not 1"):
        train_writer(order(tmp_path / "cut", resume=True, seed=1))
    record = json.loads((writer / "training.json").read_text())
    assert (record["kind"], record["steps"], record["seed"]) == ("arc-writer", 6, 0)


@pytest.mark.parametrize("strategy", ["arc-single:objects;style=compact", "arc-experts@style=compact;samples=1"])
def test_a_tiny_writer_plays_an_episode_to_its_end(writer, strategy):
    assert tiny().width == json.loads((writer / "config.json").read_text())["hidden_size"]
    with evaluator() as made:
        planner = planner_named(name=f"{strategy}:dir:{writer}", suite=_mini())
        (record,) = made.run(planner=planner, tasks=[TASK.key])
    assert record.outcome in {Outcome.SCORED, Outcome.PLANNER_FAULT}
    assert record.score is not None


def _mini():
    from evaluator.suites.registry import suite_of

    return suite_of("arc-mini")
