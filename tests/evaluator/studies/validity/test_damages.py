"""Damaged gold plans: other plans than gold, always the same ones, and none that may be right."""

import pytest

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.tools.catalogues import CONTROLLLM
from evaluator.episodes.judgement import all_tools
from evaluator.replies.read import read_plan
from evaluator.scoring.metrics.plan_equality import canonical_form
from evaluator.studies.validity.damages import ATTRIBUTES, DAMAGES, damaged
from evaluator.studies.validity.plan_texts import Donors, Role, slots_of, words_of

SUITE = suite_of("toolmini")
DONORS = Donors(SUITE)
BY_NAME = {damage.name: damage for damage in DAMAGES}
NOT_VALID = {"wrong reference", "invented file"}
"""Kinds whose plans do not pass the checks. The checks allow any order."""


def plans_of(name, *, seed="", suite=SUITE):
    found = {
        task.key: damaged(damage=BY_NAME[name], task=task, donors=Donors(suite), seed=seed) for task in suite.tasks
    }
    return {key: plan for key, plan in found.items() if plan is not None}


def texts_of(key, plan):
    """The texts of a gold plan that a damaged one has otherwise, with what they became."""
    task = SUITE.task(key)
    steps = {step.id: step for step in plan.steps}
    for slot in slots_of(plan=task.gold, task=task, catalogue=SUITE.catalogue):
        if steps[slot.step].inputs[slot.argument] != slot.text:
            yield slot, steps[slot.step].inputs[slot.argument]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_damaged_plan_is_another_one_than_gold_always_the_same_and_valid_unless_that_is_the_damage(name):
    plans = plans_of(name)
    assert plans == plans_of(name) != {}
    for key, plan in plans.items():
        task = SUITE.task(key)
        if name == "shuffled order":
            assert sorted(plan.tools()) == sorted(task.gold.tools())
            assert plan.steps != task.gold.steps
        else:
            assert canonical_form(plan) != canonical_form(task.gold), key
        context = all_tools(suite=SUITE, task=task)
        assert read_plan(value=plan_to_json(plan), context=context).plan.steps == plan.steps
        assert bool(check_plan(plan=plan, context=context)) == (name in NOT_VALID), key


def test_files_are_not_swapped_where_the_plan_does_the_same_to_both():
    swapped = plans_of("swapped files")
    same = [task.key for task in SUITE.tasks if task.text.startswith("For each of")]
    assert same
    assert not set(same) & set(swapped)
    for key, plan in swapped.items():
        gold = SUITE.task(key).gold
        assert plan.tools() == gold.tools()
        assert canonical_form(plan)[0] != canonical_form(gold)[0]


def test_the_text_of_another_request_shares_no_word_with_this_one():
    for name, role in (
        ("wrong target", Role.CONDITION), ("wrong question, right picture", Role.QUESTION),
        ("wrong prompt", Role.PROMPT),
    ):  # fmt: skip
        for key, plan in plans_of(name).items():
            ((slot, text),) = texts_of(key, plan)
            assert slot.role is role
            assert words_of(text).isdisjoint(words_of(SUITE.task(key).text))


def test_an_attribute_is_added_to_objects_of_images_only():
    plans = plans_of("added attribute")
    assert not [key for key in plans if key.startswith("video_classification/")]
    for key, plan in plans.items():
        ((slot, text),) = texts_of(key, plan)
        attribute, _, name = text.partition(" ")
        assert (attribute in ATTRIBUTES, name) == (True, slot.text)
        assert slot.about == ("image",)


def test_the_request_is_no_damage_as_the_text_of_a_plan_of_one_step():
    assert all(len(SUITE.task(key).gold.steps) > 1 for key in plans_of("request as text"))
    assert all(len(SUITE.task(key).gold.steps) > 1 for key in plans_of("dropped step"))


def test_the_wrong_tool_may_not_serve_for_the_right_one():
    for key, plan in plans_of("wrong tool").items():
        gold = SUITE.task(key).gold
        changed = [(old, new) for old, new in zip(gold.tools(), plan.tools(), strict=True) if old != new]
        ((old, new),) = changed
        assert CONTROLLLM[old].output_types == CONTROLLLM[new].output_types
        assert {old, new} != {"openai_chat_model", "text_to_text_generation"}
    assert CONTROLLLM.may_replace("image_cropping", "highlight_object_on_image")
    assert not CONTROLLLM.may_replace("image_inpainting", "mask_image")


def test_the_extra_step_is_of_a_kind_that_no_request_needs():
    used = {tool for task in SUITE.tasks for tool in task.gold.tools()}
    assert {tool.domain for tool in DONORS.idle_tools}.isdisjoint(CONTROLLLM[tool].domain for tool in used)
    assert "text_to_text_generation" not in {tool.name for tool in DONORS.idle_tools}
