"""toolmini stands in for the released benchmarks: same groups, same form, own words."""

from collections import Counter

from evaluator.plans.decomposition import parse_decomposition
from evaluator.suites.toolbench.mini.requests import toolmini_tasks
from evaluator.suites.toolbench.mini.sentences import Fill
from evaluator.suites.toolbench.released.files import TOOL2K_GOLD_EVEN, read_tool2k, read_tool100
from evaluator.suites.toolbench.released.source import gold_file

TASKS = toolmini_tasks()


def test_what_is_put_into_a_request_depends_on_nothing_but_its_key():
    assert toolmini_tasks.__wrapped__() == TASKS
    assert Fill(key="QA/0").image(1) == Fill(key="QA/0").image(1)
    assert Fill(key="QA/0", number=1).image() != Fill(key="QA/0", number=2).image()


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
