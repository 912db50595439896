import dataclasses
import json
import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from evaluator.core.language_model import GenerateCall
from evaluator.openagi.training.feedback_run import FeedbackRun, train_with_feedback
from evaluator.openagi.training.finetuning import FineTuning, fine_tune
from evaluator.openagi.training.lessons import NoLessonsError, gold_demonstrations, gold_lessons
from evaluator.openagi.training.pretraining import planner_tokenizer
from evaluator.openagi.training.rltf import Schedule
from evaluator.planners.language_models.local.model import LocalModel
from evaluator.training.export import export_transformers, write_tokenizer
from evaluator.training.lora import LoraError, LoraSettings, adapt
from tests.evaluator.openagi.training.models import SUITE, tiny_module
from tests.evaluator.test_evaluation import GRAY_ONLY, LOW_ONLY, evaluator

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


def test_a_tuned_model_is_written_as_a_plain_one(folder, tmp_path):
    settings = LoraSettings(rank=2, alpha=4)
    out = fine_tune(order(folder, tmp_path / "out", tasks=("4",), learning_rate=0.05, lora=settings))
    before, after = load_file(folder / "model.safetensors"), load_file(out / "model.safetensors")
    assert before.keys() == after.keys()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed
    assert all(name.endswith((".q.weight", ".v.weight")) for name in changed)


def test_a_model_without_such_layers_is_refused_with_a_sentence():
    other = BertModel(
        BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=10)
    )
    with pytest.raises(LoraError, match="The model cannot be adapted"):
        adapt(other, settings=LoraSettings())


def test_without_peft_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(LoraError, match=r"pip install -c constraints\.txt peft"):
        adapt(tiny_module(), settings=LoraSettings())


def feedback_run(folder, out, **settings):
    schedule = Schedule(steps=3, samples=2, learning_rate=0.01, checkpoint_every=1)
    return FeedbackRun(
        **{
            "model": folder,
            "out": out,
            "evaluator": evaluator(),
            "tasks": (GRAY_ONLY, LOW_ONLY),
            "data": {"profile": "fake"},
            "schedule": schedule,
            **settings,
        }
    )


def test_a_run_writes_the_planner_its_curve_and_how_it_was_made(folder, tmp_path):
    out = train_with_feedback(feedback_run(folder, tmp_path / "out"))
    record = json.loads((out / "training.json").read_text())
    assert record["kind"] == "rltf"
    assert record["tasks"] == [GRAY_ONLY, LOW_ONLY]
    assert record["plans_executed"] > 0
    assert len((out / "curve.csv").read_text().splitlines()) == 1 + 3
    assert (out / "curve.svg").read_text().startswith("<svg")
    assert LocalModel.from_folder(out).network.is_seq2seq


def test_a_task_of_one_input_is_one_lesson():
    (lesson,) = gold_lessons(suite=SUITE, tasks=["0"])
    assert lesson.messages[0].content == SUITE.task("0").text
    assert lesson.answer == "Image Super Resolution, Image Denoising, Image Deblurring, Colorization"


def test_a_task_of_two_inputs_is_a_lesson_for_each_call():
    lessons = gold_lessons(suite=SUITE, tasks=["180"])
    document, query, joining, ending = [lesson.answer for lesson in lessons]
    assert (document, query) == ("Fill Mask", "")
    assert joining.startswith("Question Answering")
    assert ending == ""


def test_demonstrations_say_which_of_two_texts_a_repair_is_for():
    demonstration, image = gold_demonstrations(suite=SUITE, tasks=["177", "117"])
    assert demonstration.steps[:2] == ("Fill Mask on the document", "Fill Mask on the query")
    assert "Fill Mask" in image.steps


def test_a_task_without_gold_plan_is_refused():
    bare = dataclasses.replace(SUITE, tasks=(dataclasses.replace(SUITE.task("0"), gold=None),))
    with pytest.raises(NoLessonsError, match="task 0 has no gold plan"):
        gold_lessons(suite=bare, tasks=["0"])
