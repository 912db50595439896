"""toolmini stands in for the released benchmarks: same groups, same form, own words."""

from collections import Counter

import pytest

from evaluator.plans.decomposition import parse_decomposition
from evaluator.suites.toolbench.mini.requests import toolmini_tasks
from evaluator.suites.toolbench.mini.sentences import Fill
from evaluator.suites.toolbench.released.files import TOOL2K_GOLD_EVEN, read_tool2k, read_tool100
from evaluator.suites.toolbench.released.source import gold_file

TASKS = toolmini_tasks()


def test_there_are_ten_requests_in_each_of_the_twelve_groups():
    assert Counter(task.group for task in TASKS) == dict.fromkeys(
        [
            "image_detection", "video_classification", "image_QA", "image_classification", "QA",
            "image_segmentation", "image_processing", "image_generation", "image_editing", "count_object",
            "compound_instructions", "extra",
        ],
        10,
    )  # fmt: skip
    assert len({task.key for task in TASKS}) == len({task.instruction for task in TASKS}) == 120
    assert {task.level for task in TASKS} == {"easy", "medium", "hard"}


def test_what_is_put_into_a_request_depends_on_nothing_but_its_key():
    assert toolmini_tasks.__wrapped__() == TASKS
    assert Fill(key="QA/0").image(1) == Fill(key="QA/0").image(1)
    assert Fill(key="QA/0", number=1).image() != Fill(key="QA/0", number=2).image()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_gold_is_strict_takes_only_what_is_there_and_leaves_nothing_unsaid(task):
    gold = parse_decomposition(task.output)
    assert gold.tolerated == ()
    made = set()
    for number, subtask in enumerate(gold.subtasks):
        assert subtask.id == number
        taken = {argument.value for argument in subtask.args if argument.value.startswith("<GENERATED>")}
        assert taken <= made
        assert {f"<GENERATED>-{before}" for before in subtask.dependencies} == taken
        files = {argument.value for argument in subtask.args if argument.value.endswith((".png", ".mp4"))}
        assert all(name in task.instruction for name in files)
        assert all(argument.value for argument in subtask.args)
        made |= {result.value for result in subtask.returns}
    assert "{" not in task.instruction


def test_some_requests_ask_several_things_of_one_image():
    task = next(task for task in TASKS if task.key == "compound_instructions/3")
    images = [argument.value for part in parse_decomposition(task.output).subtasks for argument in part.args[:1]]
    assert len(images) == 3
    assert len(set(images)) == 1
    assert task.instruction.count(images[0]) == 1


def signatures(tasks):
    """What subtasks turn into what, with which kinds of tools."""
    found = Counter()
    for task in tasks:
        for subtask in parse_decomposition(task.output).subtasks:
            taken = tuple(argument.type for argument in subtask.args)
            found[frozenset(subtask.domains), taken, subtask.returns[0].type] += 1
    return found


def test_its_signatures_are_those_of_the_released_files(controlllm_folder):
    gold = gold_file(controlllm_folder) or controlllm_folder / TOOL2K_GOLD_EVEN
    released = read_tool100(controlllm_folder / "tool100.json") + read_tool2k(controlllm_folder / "tool2k.json", gold)
    theirs = signatures(task for task in released if task.output is not None)
    ours = signatures(TASKS)
    assert set(ours) <= set(theirs)
    covered = sum(count for signature, count in theirs.items() if signature in ours)
    assert covered / theirs.total() > 0.95
    assert not {task.instruction for task in TASKS} & {task.instruction for task in released}
