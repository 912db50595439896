"""The study over a suite of few tasks, with fake experts and a planner of no size."""

import dataclasses
import json

import pytest

from evaluator.training.export import export_transformers
from evaluator.training.planners.model import write_tokenizer
from evaluator.training.planners.rltf import Schedule
from evaluator.training.planners.study import VARIANTS, Study, study_seed
from evaluator.training.planners.tokens import planner_tokenizer
from tests.evaluator.test_evaluation import SUITE, evaluator
from tests.evaluator.training.planners.models import tiny_module

pytestmark = pytest.mark.full


def small_evaluator():
    made = evaluator()
    made.suite = dataclasses.replace(SUITE, tasks=SUITE.tasks[:4])
    return made


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """One for all tests: what a seed measured stays."""
    tmp_path = tmp_path_factory.mktemp("study")
    folder = tmp_path / "pretrained"
    export_transformers(tiny_module().eval(), folder)
    write_tokenizer(tokenizer=planner_tokenizer(), folder=folder)
    return Study(
        model=folder, work=tmp_path / "work", training=small_evaluator(), testing=small_evaluator(), data={}, draws=2,
        fine_tuning_steps=2, schedule=Schedule(steps=2, samples=1),
    )  # fmt: skip


def test_every_variant_is_asked_the_same_held_out_tasks(study):
    results = study_seed(study=study, seed=0, say=lambda _: None)
    held_out = {key for test in results.tests for key in test}
    train = json.loads((study.work / "seed-0" / "scores.json").read_text())["train"]
    assert set(results.results) == set(VARIANTS)
    assert all(set(found) == held_out for found in results.results.values())
    assert not held_out & set(train)
    assert all(0 <= result.score <= 1 for found in results.results.values() for result in found.values())


def test_what_is_there_is_not_done_again(study):
    first = study_seed(study=study, seed=0, say=lambda _: None)
    said = []
    assert study_seed(study=study, seed=0, say=said.append) == first
    assert said == []


def test_a_seed_is_refused_with_other_data_even_before_it_measured_anything(study, tmp_path):
    begun = dataclasses.replace(study, work=tmp_path)
    (tmp_path / "seed-0").mkdir()
    with pytest.raises(ValueError, match="nobody knows"):
        study_seed(study=begun, seed=0, say=lambda _: None)
    study_seed(study=study, seed=0, say=lambda _: None)
    with pytest.raises(ValueError, match=r"data .*not .*samples"):
        study_seed(study=dataclasses.replace(study, data={"samples": 8}), seed=0, say=lambda _: None)
