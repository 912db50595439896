import json

import pytest

from evaluator.planners.language_models.local.model import LocalModel
from evaluator.training.export import export_transformers
from evaluator.training.planners.feedback_run import FeedbackRun, train_with_feedback
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.rltf import Schedule
from evaluator.training.planners.tokens import planner_tokenizer
from tests.evaluator.test_evaluation import GRAY_ONLY, LOW_ONLY, evaluator
from tests.evaluator.training.planners.models import tiny_module

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    export_transformers(tiny_module().eval(), folder)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=folder)
    return folder


def order(folder, out, **settings):
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
    out = train_with_feedback(order(folder, tmp_path / "out"))
    record = json.loads((out / "training.json").read_text())
    assert record["kind"] == "rltf"
    assert record["tasks"] == [GRAY_ONLY, LOW_ONLY]
    assert record["plans_executed"] > 0
    assert len((out / "curve.csv").read_text().splitlines()) == 1 + 3
    assert (out / "curve.svg").read_text().startswith("<svg")
    assert LocalModel.from_folder(out).network.is_seq2seq
