import shutil
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from evaluator.arc import tasks as tasks_module
from evaluator.arc.grids import Demonstration, size_of
from evaluator.arc.source import (
    PAPER_TASKS,
    RELEASE,
    DefectKind,
    ExclusionChange,
    PaperOutcome,
    Split,
    defects_of,
    excluded_by,
    known_defects,
)
from evaluator.arc.suite import expected_digest, expected_of
from evaluator.arc.tasks import arc_task, tasks_of

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def by_key(released):
    splits = (Split.TRAINING, Split.EVALUATION)
    return {task.key: task for split in splits for task in tasks_of(split, folder=released)}


def test_the_splits_have_400_400_and_111_tasks(released):
    assert [len(tasks_of(split, folder=released)) for split in Split] == [400, 400, 111]
    training = {task.key for task in tasks_of(Split.TRAINING, folder=released)}
    assert {task.key for task in tasks_of(Split.PAPER, folder=released)} == set(PAPER_TASKS) <= training


def test_the_paper_solved_50_of_its_tasks_and_3_on_the_demonstrations_only():
    found = Counter(task.outcome for task in PAPER_TASKS.values())
    assert found == {PaperOutcome.SOLVED: 50, PaperOutcome.DEMONSTRATIONS_ONLY: 3, PaperOutcome.UNSOLVED: 58}


def test_a_task_says_what_it_wants_and_its_attributes_count(by_key):
    task = by_key["007bbfb7"]
    assert task.text == ("Find the transformation of grids that 5 demonstrations show, and apply it to 1 test input.")
    assert task.attributes == {
        "demonstrations": 5, "tests": 1, "longest_side": 9, "keeps_size": False, "defects": [],
    }  # fmt: skip
    assert by_key["9edfc990"].attributes["keeps_size"] is True
    assert by_key["0d3d703e"].attributes["gpt4_2023"] == "solved"


def test_tasks_and_views_do_not_load_the_module_of_right_outputs():
    program = "import sys, evaluator.arc.tasks, evaluator.arc.views\nprint('evaluator.arc.suite' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_each_test_input_has_a_right_output(released, by_key):
    assert all(len(expected_of(key, folder=released)) == len(task.test_inputs) for key, task in by_key.items())
    assert size_of(expected_of("007bbfb7", folder=released)[0]) == (9, 9)


def test_without_fetched_files_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    with pytest.raises(LookupError, match="run `planarena suites fetch arc`"):
        tasks_of(Split.PAPER)
    with pytest.raises(LookupError, match="run `planarena suites fetch arc`"):
        expected_of("007bbfb7")


def test_fetched_files_are_verified_before_they_are_read(released, tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    RELEASE.take(folder=released, target=RELEASE.folder)
    assert len(tasks_of(Split.PAPER)) == 111
    assert expected_of("007bbfb7") == expected_of("007bbfb7", folder=released)
    shutil.copy(RELEASE.folder / "data/training/025d127b.json", RELEASE.folder / "data/training/007bbfb7.json")
    with pytest.raises(LookupError, match=r"007bbfb7\.json was changed after it was fetched"):
        tasks_of(Split.PAPER)
    with pytest.raises(LookupError, match=r"007bbfb7\.json is not the released"):
        expected_of("007bbfb7")


def test_the_digest_of_right_outputs_differs_between_splits(released):
    found = {split: expected_digest(split, folder=released) for split in Split}
    assert len(set(found.values())) == 3
    assert found[Split.PAPER] == expected_digest(Split.PAPER, folder=released)


def test_a_task_of_another_suite():
    pair = Demonstration(input=((1,),), output=((2,), (2,)))
    task = arc_task(key="mini-1", demonstrations=(pair,), test_inputs=(((3,),), ((4,),)), facts={"family": "flip"})
    assert task.text == "Find the transformation of grids that 1 demonstration shows, and apply it to 2 test inputs."
    assert task.attributes == {
        "demonstrations": 1, "tests": 2, "longest_side": 2, "keeps_size": False, "family": "flip",
    }  # fmt: skip
    assert task.to_json()["test"] == [{"input": [[3]]}, {"input": [[4]]}]


def test_every_known_defect_names_released_tasks_and_its_report(by_key):
    for defect in known_defects():
        assert set(defect.tasks) <= set(by_key)
        assert defect.source.startswith("https://github.com/fchollet/ARC-AGI/issues/")
    one, other = by_key["40853293"], by_key["070dd51e"]
    assert (one.demonstrations, one.test_inputs) == (other.demonstrations, other.test_inputs)
    assert [defect.kind for defect in defects_of("070dd51e")] == [DefectKind.DUPLICATE]


def change(day, exclude=(), readmit=()):
    return ExclusionChange(date=date(2027, 1, day), exclude=exclude, readmit=readmit, reason="a test")


def test_exclusions_are_a_changelog():
    changes = [change(1, exclude=("a", "b")), change(2, readmit=("a",)), change(3, exclude=("c",))]
    assert excluded_by(changes) == {"b", "c"}
    with pytest.raises(ValueError, match="2027-01-02 excludes a, which is excluded already"):
        excluded_by([change(1, exclude=("a",)), change(2, exclude=("a",))])
    with pytest.raises(ValueError, match="2027-01-01 readmits a, which is not excluded"):
        excluded_by([change(1, readmit=("a",))])


def test_excluded_tasks_are_left_out(released, monkeypatch):
    monkeypatch.setattr(tasks_module, "excluded_tasks", lambda: frozenset({"007bbfb7"}))
    tasks_module._tasks.cache_clear()
    try:
        assert len(tasks_of(Split.TRAINING, folder=released)) == 399
    finally:
        tasks_module._tasks.cache_clear()
