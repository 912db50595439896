"""The 185 requests are the released list, and what is derived from them agrees with it."""

import hashlib
from collections import Counter

import pytest

from evaluator.core.plans.checks import check_plan
from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.openagi.grammar import Base
from evaluator.replies.canonical import parse_canonical

RELEASED_SHA256 = "803ad7856bf8797e860f72ebc34ba8b30be738a723b16c292c6f48fe95fd0a18"
SUITE = suite_of("openagi")


def test_the_list_is_the_released_one_byte_for_byte():
    text = "".join(f"{task.text}\n" for task in SUITE.tasks)
    assert hashlib.sha256(text.encode()).hexdigest() == RELEASED_SHA256


def test_structures_metrics_and_bases_have_the_published_counts():
    assert Counter(task.structure for task in SUITE.tasks) == {"linear": 117, "nonlinear": 68}
    assert Counter(task.metric for task in SUITE.tasks) == {"BERT": 168, "ViT": 15, "CLIP": 2}
    bases = Counter(str(task.base) for task in SUITE.tasks)
    assert bases == {
        "restoration": 15, "image_captioning": 30, "image_classification": 30, "object_detection": 30,
        "text_to_image": 2, "summarization": 4, "translation": 2, "sentiment": 4, "vqa": 60, "qa": 8,
    }  # fmt: skip


def test_each_degradation_occurs_in_88_tasks():
    found = Counter(degradation for task in SUITE.tasks for degradation in task.degradations)
    assert found == dict.fromkeys(("low_resolution", "noise", "blur", "grayscale"), 88)
    assert sum(1 for task in SUITE.tasks if task.clozed) == 42
    assert sum(1 for task in SUITE.tasks if task.language == "de") == 85


def test_gold_plans_have_the_published_lengths():
    lengths = Counter(len(task.gold.steps) for task in SUITE.tasks)
    assert lengths == {1: 9, 2: 31, 3: 53, 4: 52, 5: 30, 6: 9, 7: 1}


def test_every_gold_plan_passes_its_own_checks():
    for task in SUITE.tasks:
        context = SUITE.context(task=task, offered=frozenset(SUITE.catalogue.tools))
        assert check_plan(plan=task.gold, context=context) == (), task.key
        assert parse_canonical(value=plan_to_json(task.gold), context=context).plan == task.gold, task.key


def test_nonlinear_gold_plans_repair_both_inputs_and_join_them():
    for task in SUITE.tasks:
        if task.structure == "nonlinear":
            joining = next(step for step in task.gold.steps if len(step.inputs) == 2)
            assert joining.tool == ("Visual Question Answering" if task.base is Base.VQA else "Question Answering")
            assert len(set(joining.inputs.values())) == 2


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("10", ["Image Super Resolution", "Image Deblurring"]),
        ("80", ["Image Super Resolution", "Image Deblurring", "Object Detection"]),
        ("106", ["Text to Image Generation"]),
    ],
)
def test_gold_agrees_with_the_released_pairs_whose_request_is_in_the_list(key, names):
    assert list(SUITE.task(key).gold.tools()) == names
