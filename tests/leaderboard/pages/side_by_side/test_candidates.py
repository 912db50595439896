"""Answers that are grids beside each other."""

import pytest

from evaluator.suites.arc.candidates import CANDIDATES
from leaderboard.pages.side_by_side.candidates import candidates
from leaderboard.pages.tasks.grids_shown import grids_page
from tests.leaderboard import grids


@pytest.fixture(scope="module")
def pages():
    given = {task.key: task.values_given for task in grids.TASKS}
    return {
        record.task: grids_page(given=given[record.task], record=record, tools=CANDIDATES.tools)
        for record in grids.records()
    }


def test_candidates_are_beside_each_other_by_their_place(pages):
    found = candidates([pages[grids.THIRD], pages[grids.STEPS]], letters="AB")
    assert [(row.title, row.differs, [cell is not None for cell in row.cells]) for row in found.final] == [
        ("Candidate 1", True, [True, True]),
        ("Candidate 2", False, [True, False]),
        ("Candidate 3", False, [True, False]),
    ]
    assert [cell.title for cell in found.final[0].cells] == ["A, Candidate 1", "B, Candidate 1"]


def test_wrong_cells_keep_their_crosses_and_the_right_output_is_shown_once(pages):
    found = candidates([pages[grids.THIRD], pages[grids.THIRD]], letters="AB")
    wrong, same = (cell.tests[0] for cell in found.final[0].cells)
    assert wrong.output.crosses
    assert wrong == same
    assert wrong.expected is None
    assert [(name, grid.text) for name, grid in found.expected] == [("Test 1", "h.g\nii.")]
    assert not any(row.differs for row in found.final)


def test_tries_that_fail_differ_from_those_that_succeed(pages):
    found = candidates([pages[grids.EPISODE], pages[grids.THIRD]], letters="AB")
    assert [(row.title, row.differs) for row in found.tried] == [("Try 1", True), ("Try 2", True), ("Try 3", False)]
    assert all(one.expected is None for row in found.tried for cell in row.cells if cell for one in cell.demonstrations)


def test_what_is_withheld_has_no_cell(pages):
    found = candidates([None, pages[grids.THIRD]], letters="AB")
    assert [row.cells[0] for row in found.final] == [None] * 3
    assert found.demonstrations == pages[grids.THIRD].demonstrations
    assert not any(row.differs for row in found.final)
    assert candidates([None, None], letters="AB") is None
