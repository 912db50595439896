"""The runner of registered studies of task feedback."""

import dataclasses
import json

import pytest

from evaluator.openagi.training.episodes import Sampling
from evaluator.openagi.training.estimator_study import EstimatorStudy
from evaluator.openagi.training.pretraining import planner_tokenizer
from evaluator.openagi.training.registered import Settings, TaskFeedbackRunner
from evaluator.openagi.training.rltf import Schedule
from evaluator.openagi.training.splits import draw_halves, draw_training
from evaluator.training.export import export_transformers, write_tokenizer
from evaluator.training.runs import ChoiceError
from tests.evaluator.openagi.training.models import SUITE, tiny_module
from tests.evaluator.test_evaluation import evaluator

SETTINGS = {
    "suite": "openagi", "profile": "lilliput", "model": "lilliput-planner", "half": 1, "steps": 1, "plans": 2,
    "learning_rate": 1e-3, "sampling": "beams", "reward_samples": 4, "test_samples": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"half": 2}, "half is 0 or 1"),
        ({"sampling": "best"}, "sampling one of tokens, beams"),
        ({"steps": True}, "steps has another type"),
        ({"model": 1}, "model has another type"),
        ({"other": 1}, "other is missing, or is none of them"),
    ],
)
def test_settings_that_a_run_would_misread_are_refused(changes, complaint):
    assert Settings.of(SETTINGS).plans == 2
    with pytest.raises(ChoiceError, match=complaint):
        Settings.of({**SETTINGS, **changes})


def test_a_missing_setting_is_refused():
    with pytest.raises(ChoiceError, match="plans is missing"):
        Settings.of({name: value for name, value in SETTINGS.items() if name != "plans"})


def test_the_half_that_is_not_trained_on_is_held_out():
    for half in (0, 1):
        train = draw_training(suite=SUITE, seed=3, half=half)
        assert len(train) == 20
        assert set(train) <= set(draw_halves(SUITE)[half])


@pytest.mark.full
def test_the_runner_trains_on_one_half_and_measures_every_task_of_the_other(tmp_path):
    export_transformers(tiny_module().eval(), tmp_path / "pretrained")
    write_tokenizer(tokenizer=planner_tokenizer(), folder=tmp_path / "pretrained")
    runner = TaskFeedbackRunner(Settings.of(SETTINGS), work=tmp_path)
    study = EstimatorStudy(
        model=tmp_path / "pretrained", work=tmp_path / "planners", training=evaluator(), testing=evaluator(), data={},
        half=1, fine_tuning_steps=2, schedule=Schedule(steps=1, samples=2, sampling=Sampling.BEAMS),
    )  # fmt: skip
    runner.__dict__["_study"] = study
    scores = {arm: runner.run(arm=arm, seed=0, say=lambda _: None) for arm in ("start", "leave-one-out")}
    held_out = draw_halves(study.testing.suite)[0]
    assert set(scores["start"]) == set(scores["leave-one-out"]) == set(runner.tasks()) <= set(held_out)
    learnt = json.loads((tmp_path / "planners/seed-0/fine-tuned/start/training.json").read_text())["tasks"]
    assert not set(learnt) & set(held_out)
    with pytest.raises(ChoiceError, match="no arm best"):
        runner.run(arm="best", seed=0, say=lambda _: None)
    assert dataclasses.replace(study, half=0).held_out != study.held_out
    assert runner.data().keys() >= {"suite", "experts", "pretrained planner"}
