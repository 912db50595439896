"""DeAcc: structure exactly, descriptions by the stated rule, and every difference named."""

import copy
import json

import pytest

from evaluator.controlllm.toolbench.mini.requests import toolmini_tasks
from evaluator.replies.decomposition import parse_decomposition
from evaluator.scoring.metrics.decomposition import FIELDS, deacc, description_f1, judge_decomposition, right_fields

GOLD = [
    {
        "description": "1. Use `image_instance_segmentation` to find the cups in pier_1.png; 2. Select their masks.",
        "task": ["image-perception"],
        "id": 0,
        "dep": [-1],
        "args": [{"type": "image", "value": "pier_1.png"}, {"type": "text", "value": "cup"}],
        "returns": [{"type": "mask", "value": "<GENERATED>-0"}],
    },
    {
        "description": "Remove what <GENERATED>-0 covers from pier_1.png with the tool `image_inpainting`.",
        "task": ["image-editing"],
        "id": 1,
        "dep": [0],
        "args": [{"type": "image", "value": "pier_1.png"}, {"type": "mask", "value": "<GENERATED>-0"}],
        "returns": [{"type": "image", "value": "<GENERATED>-1"}],
    },
]


def written(subtasks):
    return f"<Solution>{json.dumps(subtasks)}</Solution>"


def verdict(subtasks):
    return judge_decomposition(predicted=written(subtasks), gold=parse_decomposition(written(GOLD)))


def changed(index, **fields):
    subtasks = copy.deepcopy(GOLD)
    subtasks[index] |= fields
    return subtasks


def test_the_gold_is_right():
    assert verdict(GOLD).right
    assert verdict(GOLD).why == ()


@pytest.mark.parametrize(
    "subtasks",
    [
        changed(0, description="Use `image_instance_segmentation` on pier_1.png to find all cups; select their masks!"),
        changed(0, task="image-perception"),
        changed(0, dep=[]),
        json.loads(json.dumps(GOLD).replace("<GENERATED>", "<GEN>")),
    ],
    ids=["other words", "task as text", "no dependency", "the paper's placeholders"],
)
def test_what_means_the_same_is_right(subtasks):
    assert verdict(subtasks).right


@pytest.mark.parametrize(
    ("subtasks", "says"),
    [
        (GOLD[:1], "1 subtasks instead of 2"),
        (GOLD[::-1], "subtask 0: id is 1, not 0"),
        (changed(1, task=["image-perception"]), "subtask 1: task is ['image-perception'], not ['image-editing']"),
        (changed(1, dep=[-1]), "subtask 1: dep is [], not [0]"),
        (changed(0, args=GOLD[0]["args"][:1]), "subtask 0: args is [('image', 'pier_1.png')], not"),
        (changed(0, args=[GOLD[0]["args"][0], {"type": "text", "value": "Cup"}]), "('text', 'Cup')"),
        (changed(0, returns=[{"type": "bbox", "value": "<GENERATED>-0"}]), "subtask 0: returns is [('bbox'"),
        (changed(0, description=GOLD[0]["description"].replace("instance_", "")),
         "names the tools ['image_segmentation'], not ['image_instance_segmentation']"),
        (changed(1, description="Do it by `image_inpainting`"), "shares too few words with the gold's (F1 0."),
    ],
)  # fmt: skip
def test_every_difference_is_wrong_and_named(subtasks, says):
    found = verdict(subtasks)
    assert not found.right
    assert any(says in reason for reason in found.why), found.why


def test_what_is_missing_or_unreadable_is_wrong():
    gold = parse_decomposition(written(GOLD))
    assert judge_decomposition(predicted=None, gold=gold).why == ("there is no decomposition",)
    assert "cannot be read" in judge_decomposition(predicted="I would first segment.", gold=gold).why[0]


def test_words_count_as_often_as_they_occur():
    assert description_f1("a a b", "A, b!") == pytest.approx(2 * 2 / 5)
    assert description_f1("", "...") == 1
    assert description_f1("", "word") == 0


def test_deacc_counts_missing_answers():
    tasks = toolmini_tasks()[:10]
    answers = [task.output for task in tasks[:8]] + [None, "?"]
    verdicts = [
        judge_decomposition(predicted=answer, gold=parse_decomposition(task.output))
        for answer, task in zip(answers, tasks, strict=True)
    ]
    found = deacc(verdicts)
    assert (found.mean, found.count) == (0.8, 10)
    assert found.low < 0.8 < found.high


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({}, set()),
        ({"task": ["image-editing"]}, {"task"}),
        ({"dep": [1], "args": []}, {"dep", "args"}),
        ({"description": "Do it"}, {"description"}),
        ({"returns": [{"type": "bbox", "value": "<GENERATED>-0"}]}, {"returns"}),
    ],
)
def test_each_field_is_right_by_itself(fields, wrong):
    found = right_fields(predicted=written(changed(0, **fields)), gold=parse_decomposition(written(GOLD)))
    assert {name for name, is_right in found.items() if not is_right} == wrong
    assert tuple(found) == FIELDS


@pytest.mark.parametrize("predicted", [None, "no list", written(GOLD[:1])])
def test_no_field_is_right_where_the_subtasks_cannot_be_paired(predicted):
    assert not any(right_fields(predicted=predicted, gold=parse_decomposition(written(GOLD))).values())
