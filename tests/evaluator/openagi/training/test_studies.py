"""Studies of planners: who is trained on what and tested on what, their curves, and what is shipped of them."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import pytest

from evaluator.execution.experts.weights import weights_digest
from evaluator.lumos.training.command import ship
from evaluator.lumos.training.training import Order, Recipe, Shape, train_module
from evaluator.lumos.training.variants import GROUPS
from evaluator.openagi.training.feedback_run import curve_csv, curve_svg
from evaluator.openagi.training.pretraining import planner_tokenizer
from evaluator.openagi.training.rltf import Point, Schedule
from evaluator.openagi.training.splits import draw_halves, draw_training
from evaluator.openagi.training.study import VARIANTS, Study, make_row, read_scores, study_seed
from evaluator.planners.language_models.shipped import LUMOS_MODULES
from evaluator.training.export import export_transformers, write_tokenizer
from evaluator.training.runs import ChoiceError
from tests.evaluator import test_evaluation
from tests.evaluator.openagi.training.models import SUITE, tiny_module

pytestmark = pytest.mark.full


def few_tasks():
    made = test_evaluation.evaluator()
    made.suite = dataclasses.replace(test_evaluation.SUITE, tasks=test_evaluation.SUITE.tasks[:4])
    return made


def test_every_variant_of_a_seed_is_asked_the_same_tasks_none_of_which_it_was_trained_on_and_only_once(tmp_path):
    export_transformers(tiny_module().eval(), tmp_path / "pretrained")
    write_tokenizer(tokenizer=planner_tokenizer(), folder=tmp_path / "pretrained")
    study = Study(
        model=tmp_path / "pretrained", work=tmp_path / "work", training=few_tasks(), testing=few_tasks(), data={},
        draws=2, fine_tuning_steps=2, schedule=Schedule(steps=2, samples=1),
    )  # fmt: skip
    said = []
    results = study_seed(study=study, seed=0, say=said.append)
    held_out = {key for test in results.tests for key in test}
    kept = study.work / "seed-0" / "scores.json"
    assert not held_out & set(json.loads(kept.read_text())["train"])
    assert {name: set(found) for name, found in results.results.items()} == dict.fromkeys(VARIANTS, held_out)
    row = make_row(variant="zero-shot", seeds=[results])
    assert (row.metrics["overall"].mean, row.valid) == (0, 0), "a model that knows nothing wrote a plan"
    count = len(said)
    assert results == study_seed(study=study, seed=0, say=said.append) == read_scores(path=kept, seed=0)
    assert len(said) == count
    for changes, complaint in (
        ({"fine_tuning_steps": 3}, "fine_tuning_steps 2, not 3"),
        ({"data": {"x": 8}}, "data .*x"),
    ):
        with pytest.raises(ValueError, match=complaint):
            study_seed(study=dataclasses.replace(study, **changes), seed=0, say=said.append)


def test_all_seeds_of_the_estimators_are_tested_on_one_half_and_trained_on_tasks_of_the_other():
    first, held_out = draw_halves(SUITE)
    assert (len(first), len(held_out), set(first) & set(held_out)) == (93, 92, set())
    for seed in range(10):
        train = draw_training(suite=SUITE, seed=seed)
        assert len(train) == 20
        assert set(train) <= set(first)


def test_a_curve_has_a_row_and_a_point_for_each_step():
    points = [Point(step=step, reward=0.1 * step, baseline=0.05 * step, invalid=0.0, entropy=1.0) for step in range(5)]
    assert [row.split(",")[:2] for row in curve_csv(points).splitlines()[2::3]] == [["1", "0.1"], ["4", "0.4"]]
    root = ElementTree.fromstring(curve_svg(points, title="Seed 0 <&>"))
    reward, _ = root.findall("{http://www.w3.org/2000/svg}polyline")
    across, down = zip(*(map(float, place.split(",")) for place in reward.attrib["points"].split()), strict=True)
    assert len(set(across)) == len(points)
    assert (list(across), list(down)) == (sorted(across), sorted(down, reverse=True))
    with pytest.raises(ValueError, match="no step was taken"):
        curve_svg([], title="Nothing")


def test_modules_of_lumos_are_shipped_with_their_figures_and_locked_once_all_are_measured(tmp_path):
    seed = tmp_path / "work" / "seed-3"
    seed.mkdir(parents=True)
    data = tmp_path / "plan_iterative.jsonl"
    messages = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": "R1 = Calculator(1 + 1)"}]
    data.write_text(json.dumps({"dataset": "lumos-mini-maths", "id": "maths_0", "messages": messages}) + "\n")
    for module in LUMOS_MODULES:
        shape = Shape(width=8, feed_forward=8, layers=1, heads=1)
        train_module(Order(data=(data,), out=seed / module.replace("-", "_"), recipe=Recipe(1, 1e-3), shape=shape))
    scores = {f"{group}/{number}": float(group == "sql") for group in GROUPS for number in range(4)}
    weights = tmp_path / "weights"
    for name in ("iterative", "integrated"):
        with pytest.raises(ChoiceError, match="is not trained and measured yet"):
            ship(work=tmp_path / "work", seed=3, weights=weights)
        assert not weights.exists()
        (seed / f"{name}.scores.json").write_text(json.dumps(scores))
    folders = ship(work=tmp_path / "work", seed=3, weights=weights)
    assert [folder.name for folder in folders] == list(LUMOS_MODULES)
    lock = json.loads((weights / "lock.json").read_text())
    for folder in folders:
        assert lock[f"lilliput-lumos/{folder.name}"] == weights_digest(folder)
        card = (folder / "card.md").read_text()
        assert not [part for part in ("--seed 3`, 1 steps", "- sql: 1.000", "- all: 0.200 (") if part not in card]
