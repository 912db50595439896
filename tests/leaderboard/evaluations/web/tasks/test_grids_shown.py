"""Grids, candidates of the answer, and candidates that were tried, as the page of a task shows them."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from evaluator.arc.plan_forms import CANDIDATES
from evaluator.core.records import Outcome
from leaderboard.evaluations.visibility import Withheld
from leaderboard.evaluations.web.presenters import evaluation_page
from leaderboard.evaluations.web.tasks.grids_shown import grids_page
from leaderboard.evaluations.web.tasks.task_presenters import task_page
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
    page = task_page(task=result.task, result=result, split="hidden", withheld=Withheld())
    assert page.grids.demonstrations == ()
    assert page.grids.solved_by == 3
    withheld = task_page(task=result.task, result=result, split="hidden", withheld=Withheld(data=True, gold=True))
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
