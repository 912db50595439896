"""Paraphrases: other words, equal goals, on every task of every suite whose requests are made of known sentences."""

import random
from dataclasses import replace

import pytest

from evaluator.controlllm.toolbench.abstain_requests import Need
from evaluator.controlllm.toolbench.goals.derive import derive_goal
from evaluator.controlllm.toolbench.mini.requests import PARAPHRASES as MINI
from evaluator.controlllm.toolbench.terms import file_names
from evaluator.controlllm.toolbench.world.requests import PARAPHRASES as WORLD
from evaluator.core.suites.hidden import suite_on_split
from evaluator.core.suites.registry import suite_names, suite_of
from evaluator.core.suites.rewording import Rewording
from evaluator.lumos.mini.paraphrases import PARAPHRASES as TURNS

TABLE = Rewording({
    "Count the {things} in {image}.": ("How many {things} does {image} show?",),
    "Paint {scene}.": ("I want {scene} painted.",),
    "Paint {scene} in {colour}.": ("In {colour}, paint {scene}.",),
    'Tag "{text}"': ('"{text}": tag it.',),
})  # fmt: skip


def reworded(text):
    return TABLE.reworded(text, rng=random.Random(1))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Count the dogs in a_001.png.", "How many dogs does a_001.png show?"),
        (
            "Count the dogs in a.png. Then rest. Paint it.",
            "How many dogs does a.png show? Then rest. I want it painted.",
        ),
        ("Paint a sea in blue.", "In blue, paint a sea."),
        ('Tag "One. Two? Three!"', '"One. Two? Three!": tag it.'),
        ("Do not Count the dogs in a.png now.", None),
        ("Recount the dogs.", None),
    ],
)
def test_known_sentences_are_replaced_whole_and_all_else_is_kept(text, other):
    assert reworded(text) == other


def both_splits(slug):
    suite = suite_of(slug)
    return [*suite.tasks, *suite_on_split(suite=suite, split="hidden", hidden_seed="a secret of the tests").tasks]


def parts(goal):
    """What a goal wants, without the words next to the names of things, which only matter to the judge of texts."""
    return tuple(replace(part, attributes=frozenset()) for part in goal.parts)


@pytest.mark.parametrize("slug", ["toolmini", "toolworld", "toolmini-abstain"])
def test_the_goal_that_follows_from_a_paraphrase_is_the_same(slug):
    suite, compared = suite_of(slug), 0
    for task in both_splits(slug):
        text = suite.reworded(task, random.Random(task.key))
        if text is None or task.decomposition is None:
            continue
        if task.plain:
            # The goal of a hidden request follows from plain words, whatever it says.
            assert (text != task.text, set(task.resources) - set(file_names(text))) == (True, unmentioned(task)), text
        else:
            before = derive_goal(instruction=task.text, decomposition=task.decomposition)
            after = derive_goal(instruction=text, decomposition=task.decomposition)
            assert (text != task.text, parts(after)) == (True, parts(before)), text
        compared += 1
    assert compared > 200


def unmentioned(task):
    """Files that a request gives and does not mention."""
    return set(task.resources) - set(file_names(task.text))


@pytest.mark.parametrize(
    ("slug", "table"), [("toolmini", MINI), ("toolworld", WORLD), ("toolmini-abstain", MINI), ("lumos-mini", TURNS)]
)
def test_paraphrases_keep_every_value(slug, table):
    for task in both_splits(slug) if slug == "lumos-mini" else suite_of(slug).tasks:
        text = suite_of(slug).reworded(task, random.Random(task.key))
        if text is not None:
            said, back = table.read(task.text), table.inverse.read(text)
            assert [filled(one) for one in back] == [filled(one) for one in said], text


def filled(said):
    return sorted(value for _, value in said.slots)


def test_the_way_back_from_a_paraphrase_of_a_task_in_turns_is_the_task():
    suite = suite_of("lumos-mini")
    for task in suite.tasks:
        text = suite.reworded(task, random.Random(task.key))
        assert text not in (None, task.text)
        assert TURNS.inverse.reworded(text, rng=random.Random(0)) == task.text


def test_only_questions_for_a_language_model_and_impossible_wishes_have_no_paraphrase():
    without = {slug: [task for task in both_splits(slug) if not has_paraphrase(slug, task)] for slug in
               ("openagi", "lumos-mini", "toolworld", "toolmini", "toolmini-abstain")}  # fmt: skip
    assert not without["openagi"] + without["toolworld"]
    assert without["lumos-mini"] == both_splits("lumos-mini")[300:]
    assert {task.group for task in without["toolmini"]} == {"QA"}
    assert {task.need for task in without["toolmini-abstain"]} == {Need.NO_TOOL, Need.CONTRADICTION, Need.SOLVABLE}
    assert {task.group for task in without["toolmini-abstain"] if task.need is Need.SOLVABLE} == {"QA"}


def has_paraphrase(slug, task):
    return suite_of(slug).reworded(task, random.Random(1)) is not None


def test_released_requests_have_no_generator():
    assert all(suite_of(slug).reworded is None for slug in {"tool100", "tool2k", "arc-mini"} & set(suite_names()))
