"""Grids, candidates of the answer, and candidates that were tried, as the page of a task shows them."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from evaluator.arc.plan_forms import CANDIDATES
from evaluator.core.records import Outcome
from leaderboard.evaluations.web.gathering import evaluation_page
from leaderboard.evaluations.web.tasks.grids_shown import COLOURS, difference_in_words, draw_grid, grid_of, grids_page
from leaderboard.evaluations.web.tasks.stored_tasks import stored_task_page
from leaderboard.evaluations.withheld import Withheld
from tests.evaluator.arc.small import TEST, mirrored
from tests.leaderboard import grids
from tests.leaderboard.evaluations.web.factories import make_user
from tests.leaderboard.planning import REAL


@pytest.fixture(scope="module")
def records():
    return {record.task: record for record in grids.records()}


def page_of(record, *, given=True):
    task = next(task for task in grids.TASKS if task.key == record.task)
    return grids_page(given=task.values_given if given else {}, record=record, tools=CANDIDATES.tools)


def statuses(verdicts):
    return [one.status for one in verdicts]


def test_the_third_candidate_solves_the_task(records):
    page = page_of(records[grids.THIRD])
    assert [one.is_solution for one in page.final] == [False, False, True]
    assert [one.track for one in page.final] == ["Program", "Steps", "Program"]
    assert page.solved_by == 3
    wrong = page.final[0].tests[0]
    assert (wrong.status, wrong.words) == ("wrong", "4 of 6 cells differ, marked with a cross.")
    assert wrong.output.crosses
    assert wrong.expected.text == "h.g\nii."


def test_each_try_of_an_episode_has_its_demonstrations(records):
    page = page_of(records[grids.EPISODE])
    assert [one.title for one in page.tried] == ["Try 1, turn 3", "Try 2, turn 4", "Try 3, turn 5"]
    failed, wrong, right = (statuses(one.demonstrations) for one in page.tried)
    assert (failed, wrong, right) == (["error"] * 2, ["wrong"] * 2, ["right"] * 2)
    first = page.tried[1].demonstrations[0]
    assert first.output.text == "a..\nbb."
    assert first.expected.text == "..a\n.bb"
    assert all(one.expected is None for tried in page.tried for one in tried.tests)
    assert page.solved_by == 1


def test_the_line_that_fails_is_marked(records):
    page = page_of(records[grids.FAILING])
    for (candidate,) in (page.tried, page.final):
        assert [line.text.strip() for line in candidate.lines if line.is_failing] == ["new[99][0] = 'a'"]
        assert "IndexError" in candidate.demonstrations[0].words


def test_a_program_that_is_refused_has_its_sentence_and_line(records):
    page = page_of(records[grids.REFUSED])
    assert page.final == ()
    (candidate,) = page.tried
    assert [line.text for line in candidate.lines if line.is_failing] == ["import os"]
    assert candidate.problem


def test_wrong_sizes_steps_output_grids_and_the_largest_grids(records):
    (candidate,) = page_of(records[grids.WRONG_SIZE]).final
    sign = "\N{MULTIPLICATION SIGN}"
    assert candidate.tests[0].words == f"The size is 1 {sign} 2 instead of 2 {sign} 3."
    (steps,) = page_of(records[grids.STEPS]).final
    assert [line.number for line in steps.lines] == [1, 2]
    (given,) = page_of(records[grids.GRIDS]).final
    assert (given.lines, given.is_solution, given.demonstrations) == ((), True, ())
    page = page_of(records[grids.LARGE])
    assert [one.is_solution for one in page.final] == [False, True]
    assert page.tests[0].output.size.startswith("30")


def test_answers_that_were_cut_or_are_anything_break_nothing(records):
    record = records[grids.THIRD]
    transcript = record.transcripts[0]
    texts = [
        transcript.answer[:200],
        "[]",
        "{}",
        "[1]",
        json.dumps([{"tests": [1, None, {"line": "x"}], "demonstrations": 7, "content": 3, "track": []}]),
    ]
    for text in texts:
        changed = transcript.model_copy(update={"answer": text, "expected": text})
        page = page_of(record.model_copy(update={"transcripts": [changed]}))
        assert page.solved_by == 0
        assert [one.is_solution for one in page.final] in ([], [None])
    assert page_of(record.model_copy(update={"transcripts": []}), given=False) is None


@pytest.fixture
def site(db, settings, tmp_path):
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    with grids.registered():
        yield


def test_the_page_tells_sizes_rows_and_failures(site):
    evaluation = grids.make_grids_evaluation(user=make_user())
    page = Client().get(f"/evaluations/{evaluation.pk}/tasks/{grids.EPISODE}/").content.decode()
    sign = "\N{MULTIPLICATION SIGN}"
    assert f'aria-label="Demonstration 1, input, 2 {sign} 3 cells. Rows: a.. bb."' in " ".join(page.split())
    assert "fails here" in page
    assert "style=" not in page
    assert page.count('type="radio"') == 3
    assert '"demonstrations":[' not in page


def test_a_hidden_evaluation_shows_no_grid_to_others(site):
    """Neither its own nor the public task's of the same key, on the page or in what the page is made from."""
    evaluation = grids.make_grids_evaluation(user=make_user(), split="hidden")
    right = json.dumps([[list(row) for row in mirrored(TEST)]], separators=(",", ":"))
    for key in (grids.EPISODE, grids.THIRD, grids.GRIDS, grids.REFUSED):
        page = Client().get(f"/evaluations/{evaluation.pk}/tasks/{key}/").content.decode()
        assert "Demonstrations and tests" not in page
        for told in ("colour-grid", "Rows: ", "Candidate", "transform_grid", "h.g", right, "horizontal_flip"):
            assert told not in page, told
    html = Client().get(reverse("evaluations:detail", args=[evaluation.pk])).content.decode()
    assert "Helper that a candidate uses" not in html
    keys = (grids.EPISODE, grids.THIRD, grids.GRIDS, grids.REFUSED)
    wanted = [reverse("api:results", args=[evaluation.pk]), reverse("api:failures", args=[evaluation.pk])]
    wanted += [reverse(f"api:{name}", args=[evaluation.pk, key]) for key in keys for name in ("record", "others")]
    answers = [Client().get(address) for address in wanted]
    assert [answer.status_code for answer in answers] == [200] * len(wanted)
    for answer in answers:
        text = "".join(answer.content.decode().split())
        for told in ("transform_grid", "horizontal_flip", "h.g", right, '"grids":['):
            assert told not in text, (told, answer.request["PATH_INFO"])
    # An operator sees the hidden answer without the public task's grids.
    result = evaluation.results.get(task__key=grids.THIRD)
    assert result.outcome == Outcome.SCORED
    page = stored_task_page(task=result.task, result=result, split="hidden", withheld=Withheld())
    assert page.grids.demonstrations == ()
    assert page.grids.solved_by == 3
    withheld = stored_task_page(
        task=result.task, result=result, split="hidden", withheld=Withheld(data=True, gold=True)
    )
    assert withheld.grids is None


def test_results_are_grouped_by_helper_view_and_error_and_lead_to_their_tasks(site):
    evaluation = grids.make_grids_evaluation(user=make_user())
    address = reverse("evaluations:detail", args=[evaluation.pk])
    html = Client().get(address).content.decode()
    part = html[html.index("By kind of task") : html.index("Episodes</h2>")]
    for heading, link in (
        ("Helper that a candidate uses", "?helper=horizontal_flip#results"),
        ("View that the planner used", "?view=objects_diag#results"),
        ("Error of a candidate", "?failure=error#results"),
    ):
        assert heading in part
        assert link in part
    found = evaluation_page(evaluation=evaluation, parameters={"failure": "error"})
    assert grids.FAILING in {row.key for row in found.selection.rows}
    assert len(found.selection.rows) < len(grids.TASKS)
    gained = evaluation_page(evaluation=evaluation, parameters={"reached": "solved_by_feedback"})
    assert [row.key for row in gained.selection.rows] == [grids.EPISODE]


STYLES = Path(settings.BASE_DIR) / "frontend" / "src" / "styles" / "grids.css"
LEAST = 30.0
"""CIE76 difference; about 2.3 is just noticeable."""
# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
SIGHTS = {
    "trichromat": np.eye(3),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])


def lab(colour, *, sight):
    """CIELAB of a colour `#rrggbb` (white point D65) after the simulation of a sight."""
    channels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    parts = _XYZ @ np.clip(SIGHTS[sight] @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(parts > 216 / 24389, np.cbrt(parts), (24389 / 27 * parts + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def palette():
    found = dict(re.findall(r"--grid-(\d): (#[0-9a-f]{6});", STYLES.read_text()))
    assert sorted(map(int, found)) == list(range(COLOURS))
    return found


@pytest.mark.parametrize("sight", SIGHTS)
def test_all_colours_can_be_told_apart(sight):
    labs = {number: lab(colour, sight=sight) for number, colour in palette().items()}
    differences = {pair: float(np.linalg.norm(labs[pair[0]] - labs[pair[1]])) for pair in combinations(labs, 2)}
    assert len(differences) == 45
    assert min(differences.values()) >= LEAST, min(differences, key=differences.__getitem__)


def test_the_simulation_makes_red_and_green_alike():
    """Else the test above could not fail where it should."""
    red, green = "#c86464", "#968c50"
    seen = [np.linalg.norm(lab(red, sight=sight) - lab(green, sight=sight)) for sight in ("trichromat", "deuteranope")]
    assert seen[0] > LEAST > seen[1]


def test_cells_of_a_colour_are_one_path_of_runs():
    drawn = draw_grid(((0, 2, 2), (2, 0, 1)))
    assert drawn.size == "2 \N{MULTIPLICATION SIGN} 3"
    assert {one.colour: one.path for one in drawn.paths} == {1: "M2 1h1v1h-1z", 2: "M1 0h2v1h-2zM0 1h1v1h-1z"}
    assert drawn.text == ".bb\nb.a"
    assert drawn.lines == "M0 1h3M1 0v2M2 0v2"


@pytest.mark.parametrize(("side", "width"), [(1, 28), (3, 84), (30, 240), (25, 225)])
def test_cells_have_whole_pixels(side, width):
    drawn = draw_grid(((0,) * side,) * side)
    assert (drawn.width, drawn.height, drawn.width % side) == (width, width, 0)


def test_crosses_mark_the_cells_that_differ():
    right, found = ((1, 2), (3, 4)), ((1, 2), (3, 5))
    assert draw_grid(found, against=right).crosses == "M1.25 1.25l.5 .5m0 -.5l-.5 .5"
    assert draw_grid(right, against=right).crosses == ""
    assert difference_in_words(found, expected=right) == "1 of 4 cells differs, marked with a cross."
    assert difference_in_words(right, expected=right) == ""
    found = ((1, 2),)
    assert draw_grid(found, against=right).crosses == "", "grids of other sizes have none"
    sizes = "1 \N{MULTIPLICATION SIGN} 2 instead of 2 \N{MULTIPLICATION SIGN} 2"
    assert difference_in_words(found, expected=right) == f"The size is {sizes}."


def test_letters_and_integers_are_the_same_grid_and_other_values_are_none():
    assert grid_of([".a", "i."]) == grid_of([[0, 1], [9, 0]]) == grid_of([[".", "a"], ["i", "."]]) == ((0, 1), (9, 0))
    others = [None, [], [[]], "ab", [[1, 2], [3]], [[10]], [[-1]], [[True]], ["az"], [["ab"]], [[1]] * 61, {"a": 1}]
    assert [value for value in others if grid_of(value) is not None] == []
