"""Seasons: the same from the same seed, other requests from another, the same groups in all of them."""

from collections import Counter

import pytest

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.base import ABSTENTION
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.grammar import Base, Degradation
from evaluator.openagi.season.requests import BLOCK, UNSOUND, Composition, Trick
from evaluator.openagi.season.suite import TASKS, season, season_suite, tasks_of_a_season
from evaluator.openagi.tasks import RESTORERS
from evaluator.replies.canonical import parse_canonical

SUITE = suite_of("openagi-season")
SEED, OTHER = "a seed of the tests", "another one"


def groups(task):
    """What the site groups by. Gold plans have the same length in every season, too."""
    return (task.key, task.structure, task.metric, task.expects, task.attributes)


def test_the_same_seed_gives_the_same_season_of_any_size():
    first = season(seed=SEED, count=300)
    assert first == season(seed=SEED, count=300)
    assert first[:120] == season(seed=SEED, count=120)


def test_two_seeds_share_no_request_and_have_the_same_groups():
    one, other = season(seed=SEED, count=300), season(seed=OTHER, count=300)
    shared = {task.text for task in one} & {task.text for task in other}
    assert len(shared) <= 2
    assert [groups(task) for task in one] == [groups(task) for task in other]
    assert sum(mine.gold != theirs.gold for mine, theirs in zip(one, other, strict=True)) > 90


def test_hidden_requests_are_none_of_the_public_ones_and_keep_keys_and_groups():
    hidden = suite_on_split(suite=SUITE, split="hidden", hidden_seed="secret")
    assert not {task.text for task in hidden.tasks} & {task.text for task in SUITE.tasks}
    assert [groups(hidden.task(task.key)) for task in SUITE.tasks] == [groups(task) for task in SUITE.tasks]
    assert len({task.asked_as for task in hidden.tasks}) == TASKS


def test_texts_that_are_taken_are_not_given_again():
    taken = frozenset(task.text for task in season(seed=SEED, count=100))
    assert not taken & {task.text for task in season(seed=SEED, count=100, taken=taken)}


def test_every_block_has_every_composition_and_the_season_every_trick():
    compositions = [Counter(task.attributes["composition"] for task in SUITE.tasks[start : start + BLOCK])
                    for start in range(0, TASKS, BLOCK)]  # fmt: skip
    assert all(found == compositions[0] for found in compositions)
    assert set(compositions[0]) == {str(composition) for composition in Composition}
    assert compositions[0]["no_tool"] == 8
    tricks = Counter(task.attributes["trick"] for task in SUITE.tasks)
    assert set(tricks) == {str(trick) for trick in Trick}
    assert min(tricks.values()) >= 50
    languages = Counter(task.attributes["request_language"] for task in SUITE.tasks)
    assert 0.15 < languages["de"] / TASKS < 0.25


def test_gold_plans_are_valid_and_have_up_to_seven_steps_or_more(full):
    for task in SUITE.tasks[: 2000 if full else 400]:
        context = SUITE.context(task=task, offered=frozenset(SUITE.catalogue.tools))
        assert check_plan(plan=task.gold, context=context) == ()
        assert parse_canonical(value=plan_to_json(task.gold), context=context).plan == task.gold
    lengths = Counter(len(task.gold.steps) for task in SUITE.tasks)
    assert set(lengths) >= set(range(8))


def test_gold_plans_undo_exactly_the_degradations_and_fill_exactly_the_gaps():
    for task in SUITE.tasks:
        tools = Counter(task.gold.tools())
        if task.metric == ABSTENTION:
            assert not tools
            continue
        present = {kind for given in task.spec.needed for kind in given.degradations}
        assert {kind for kind in Degradation if tools[RESTORERS[kind]]} == present
        assert tools["Fill Mask"] == sum(given.is_clozed for given in task.spec.needed)
        used = {value for step in task.gold.steps for value in step.inputs.values()} | set(task.gold.answers)
        assert used >= {f"${given.name}" for given in task.spec.needed}
        assert not used & {f"${given.name}" for given in task.spec.given if not given.is_needed}


def test_no_request_has_degradations_that_the_gold_order_does_not_undo_best():
    assert UNSOUND[Base.RESTORATION]
    for task in SUITE.tasks:
        if task.metric != ABSTENTION and "image" in task.spec.stratum.nouns:
            chosen = frozenset(task.spec.input_of("image").degradations)
            assert not [base for base in task.spec.stratum.wanted if chosen in UNSOUND.get(base.base, ())]


@pytest.mark.parametrize("said", ["many", "0", "-3", "2.5"])
def test_a_size_that_is_no_number_is_refused(monkeypatch, said):
    monkeypatch.setenv("PLANARENA_SEASON_TASKS", said)
    with pytest.raises(LookupError, match="PLANARENA_SEASON_TASKS"):
        tasks_of_a_season()


def test_a_small_season_begins_like_the_large_one_and_is_another_suite(monkeypatch):
    monkeypatch.setenv("PLANARENA_SEASON_TASKS", "300")
    small = season_suite()
    assert small.tasks == SUITE.tasks[:300]
    assert small.digest != SUITE.digest
