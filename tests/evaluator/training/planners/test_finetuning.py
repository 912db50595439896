import json

import pytest
from safetensors.torch import load_file

from evaluator.planners.language_models.local.model import LocalModel
from evaluator.planners.language_models.protocol import GenerateCall
from evaluator.training.export import export_transformers
from evaluator.training.planners.finetuning import FineTuning, fine_tune
from evaluator.training.planners.lessons import gold_lessons
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.tokens import planner_tokenizer
from tests.evaluator.training.planners.models import SUITE, tiny_module

pytestmark = pytest.mark.full

TASKS = ("4", "117")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    export_transformers(tiny_module().eval(), folder)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=folder)
    return folder


def order(folder, out, **settings):
    return FineTuning(**{"model": folder, "out": out, "suite": SUITE, "tasks": TASKS, "steps": 3, **settings})


def weights(folder):
    return load_file(folder / "model.safetensors")


def test_a_model_learns_the_gold_plans_that_it_is_taught(folder, tmp_path):
    out = fine_tune(order(folder, tmp_path / "out", tasks=("4",), steps=150, learning_rate=1e-2))
    (lesson,) = gold_lessons(suite=SUITE, tasks=["4"])
    (answer,) = LocalModel.from_folder(out).answer([GenerateCall(messages=lesson.messages, max_tokens=40)])
    assert answer.text == lesson.answer


def test_what_is_written_can_be_loaded_and_says_how_it_was_made(folder, tmp_path):
    out = fine_tune(order(folder, tmp_path / "out", seed=7))
    record = json.loads((out / "training.json").read_text())
    assert record["kind"] == "finetune"
    assert record["tasks"] == list(TASKS)
    assert record["seed"] == 7
    assert str(folder.parent) not in (out / "config.json").read_text()
    assert LocalModel.from_folder(out).count_tokens("Image Denoising") == 2
