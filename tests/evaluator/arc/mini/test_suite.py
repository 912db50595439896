"""arc-mini as a planner meets it: gold on each split, and no test output in what is sent."""

import pytest

from evaluator.arc.grids import numbers_of
from evaluator.arc.mini.families import FAMILIES
from evaluator.arc.mini.suite import SLUG, environment, first_version
from evaluator.core import canonical_json
from evaluator.core.suites.hidden import HiddenSeed, suite_on_split
from evaluator.core.suites.registry import suite_names, suite_of, suite_with_digest
from evaluator.core.turns import TurnResponse
from evaluator.episodes.base import Setting, SettingError, episode_of
from evaluator.planners.bundled import bundled_planner
from tests.evaluator.arc.mini.samples import SEED, drawn
from tests.evaluator.episodes.turns.toy import Answers


def records_of(planner, *, tasks, setting=Setting()):  # noqa: B008 - frozen
    evaluator = episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)
    return list(evaluator.run(planner=planner, tasks=tasks))


def test_the_suite_needs_no_fetch():
    assert SLUG in suite_names()
    suite = suite_of(SLUG)
    assert len(suite.tasks) == 120
    assert {task.attributes["family"] for task in suite.tasks} == set(FAMILIES)
    assert suite.conditions.splits == ("public", "hidden")
    assert suite.training_splits == ("train",)


@pytest.mark.parametrize(("split", "seed"), [("public", None), ("hidden", SEED)])
def test_gold_solves_every_task(split, seed, full):
    asked = suite_on_split(suite=suite_of(SLUG), split=split, hidden_seed=seed)
    setting = Setting(split=split, hidden=HiddenSeed(seed) if seed else None)
    keys = [task.key for task in suite_of(SLUG).tasks][:: 1 if full or split == "public" else 5]
    records = records_of(bundled_planner(name="gold", suite=asked), tasks=keys, setting=setting)
    assert [record.task for record in records if record.score != 1] == []
    assert {record.indicators["by_program"] for record in records} == {1.0}


def test_nothing_that_planners_are_sent_has_a_test_output_or_a_gold_program():
    planner = Answers(lambda _: TurnResponse(actions="R1 = View(grid); R2 = horizontal_flip(INPUT)"))
    tasks = drawn("public")[::10]
    records_of(planner, tasks=[task.key for task in tasks])
    assert {request.task.id for request in planner.asked} == {task.key for task in tasks}
    by_key = {task.key: task for task in tasks}
    for request in planner.asked:
        task = by_key[request.task.id]
        sent = request.model_dump_json().replace(" ", "")
        for pair in task.tests:
            output = numbers_of(pair.output)
            assert str(output).replace(" ", "") not in sent
        assert "deftransform_grid(grid):\\n" not in sent


def test_hidden_tasks_are_asked_under_names_that_tell_nothing():
    hidden = suite_on_split(suite=suite_of(SLUG), split="hidden", hidden_seed=SEED)
    assert {task.key for task in hidden.tasks} == {task.key for task in suite_of(SLUG).tasks}
    assert [task.asked_as for task in hidden.tasks] == sorted(task.asked_as for task in hidden.tasks)
    assert not any(family in task.asked_as for task in hidden.tasks for family in FAMILIES)
    assert hidden.digest != suite_of(SLUG).digest


def test_site_and_worker_agree_on_the_rules_without_the_seed():
    digests = {
        environment(setting).digest() for setting in (Setting(), Setting(split="hidden", hidden=HiddenSeed(SEED)))
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        (Setting(split="train"), "there is no split 'train'; there are: public, hidden"),
        (Setting(split="hidden"), "the hidden split needs its secret seed"),
    ],
)
def test_other_splits_are_refused_with_a_sentence(setting, sentence):
    with pytest.raises(SettingError, match=sentence):
        episode_of(SLUG).evaluator(suite=suite_of(SLUG), setting=setting)


def test_the_hidden_tasks_of_version_1_can_still_be_drawn():
    """Seasons that were closed before version 2 are verified with them."""
    suite = suite_with_digest(SLUG, first_version().digest)
    assert (suite.version, suite_of(SLUG).version) == ("1", "2")
    tasks = suite.hidden_requests(suite, "a secret")
    described = [[task.key, task.text, str(getattr(task, "answer", "")), str(task.to_json())] for task in tasks]
    assert canonical_json.digest(described) == "94f367e09566402694f3946f82432b8475f01c7072551afe6da44ff6fce3cc8b"
