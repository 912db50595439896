"""The comparison of estimators over a suite of few tasks, with fake experts and a planner of no size."""

import dataclasses
import json

import pytest

from evaluator.openagi.training.episodes import Sampling
from evaluator.openagi.training.estimator_study import START, Arm, EstimatorStudy, Start, gain, run_arm
from evaluator.openagi.training.pretraining import planner_tokenizer
from evaluator.openagi.training.rltf import Schedule
from evaluator.openagi.training.splits import draw_halves, draw_training, few
from evaluator.training.export import export_transformers, write_tokenizer
from tests.evaluator.openagi.training.models import tiny_module
from tests.evaluator.test_evaluation import evaluator

pytestmark = pytest.mark.full

LEFT_OUT = Arm(start=Start.TEN_GOLD, estimator="leave-one-out")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """One for all tests: what an arm scored stays."""
    tmp_path = tmp_path_factory.mktemp("study")
    folder = tmp_path / "pretrained"
    export_transformers(tiny_module().eval(), folder)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=folder)
    return EstimatorStudy(
        model=folder, work=tmp_path / "work", training=evaluator(), testing=evaluator(), data={},
        fine_tuning_steps=2, schedule=Schedule(steps=1, samples=2, sampling=Sampling.BEAMS),
    )  # fmt: skip


def test_an_arm_learns_from_the_training_tasks_and_is_tested_on_all_held_out_ones(study):
    suite = study.testing.suite
    scores = run_arm(study=study, seed=0, arm=LEFT_OUT, say=lambda _: None)
    assert set(scores) == set(draw_halves(suite)[1]) - set(study.testing.not_run)
    folder = study.work / "seed-0" / "ten-gold"
    train = draw_training(suite=suite, seed=0)
    learnt = json.loads((folder / "leave-one-out" / "training.json").read_text())
    assert learnt["tasks"] == [key for key in train if key not in study.training.not_run]
    assert learnt["schedule"]["estimator"] == "leave-one-out"
    assert tuple(json.loads((folder / START / "training.json").read_text())["tasks"]) == few(train, count=10)


def test_what_is_there_is_not_done_again_and_other_settings_are_refused(study):
    first = run_arm(study=study, seed=0, arm=LEFT_OUT, say=lambda _: None)
    said = []
    assert run_arm(study=study, seed=0, arm=LEFT_OUT, say=said.append) == first
    assert said == []
    with pytest.raises(ValueError, match=r"fine_tuning_steps 2, not 3"):
        run_arm(study=dataclasses.replace(study, fine_tuning_steps=3), seed=0, arm=LEFT_OUT, say=said.append)


METRICS = {str(number): "ViT" if number % 3 else "BERT" for number in range(30)}


def scores(*, seed, more=0.0):
    return {task: 0.5 + 0.01 * int(task) + 0.001 * seed + more for task in METRICS}


def test_the_gain_is_the_paired_difference():
    start = {seed: scores(seed=seed) for seed in range(10)}
    taught = {seed: scores(seed=seed, more=0.02 + (0.001 if seed % 2 else -0.001)) for seed in range(10)}
    found = gain(name="x", taught=taught, start=start, metrics=METRICS)
    assert found.difference.mean == pytest.approx(0.02)
    assert found.by_seed == pytest.approx([0.019, 0.021] * 5)
    # Only seeds differ: their standard deviation over the root of their number, times t with 9 degrees of freedom.
    half = 2.262 * 0.001 * (10 / 9) ** 0.5 / 10**0.5
    assert found.difference.interval.ends == pytest.approx((0.02 - half, 0.02 + half), abs=2e-5)
