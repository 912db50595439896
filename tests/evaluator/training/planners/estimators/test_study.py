"""The comparison of estimators over a suite of few tasks, with fake experts and a planner of no size."""

import dataclasses
import json

import pytest

from evaluator.training.export import export_transformers
from evaluator.training.planners.episodes import Sampling
from evaluator.training.planners.estimators.study import (
    START,
    Arm,
    EstimatorStudy,
    Start,
    run_arm,
)
from evaluator.training.planners.estimators.table import gain, markdown, table_of, to_json
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.rltf import Schedule
from evaluator.training.planners.splits import draw_halves, draw_training, few
from evaluator.training.planners.tokens import planner_tokenizer
from tests.evaluator.test_evaluation import evaluator
from tests.evaluator.training.planners.models import SUITE, tiny_module

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


def test_all_seeds_are_tested_on_one_half_and_trained_on_the_other():
    first, held_out = draw_halves(SUITE)
    assert len(first) == 93
    assert len(held_out) == 92
    assert not set(first) & set(held_out)
    for seed in range(10):
        train = draw_training(suite=SUITE, seed=seed)
        assert len(train) == 20
        assert set(train) <= set(first)


@pytest.mark.full
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


@pytest.mark.full
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


def test_the_table_names_starts_and_gains():
    begin, left_out = Arm(start=Start.FINE_TUNED, estimator=START), Arm(start=Start.FINE_TUNED, estimator="grpo")
    gains = [0.101 if seed % 2 else 0.099 for seed in range(10)]
    measured = {seed: {begin: scores(seed=seed), left_out: scores(seed=seed, more=gains[seed])} for seed in range(10)}
    found = table_of(measured=measured, metrics=METRICS)
    text = markdown(found)
    assert "| fine-tuned/start | 0.6495 |" in text
    assert "| fine-tuned/grpo | 0.7495 | +0.1000 | +0.0992 to +0.1008 |" in text
    assert "10 of 10" in text
    assert "30 held-out tasks" in text
    assert to_json(found)["gains"][0]["difference"] == pytest.approx(0.1)
