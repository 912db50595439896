"""Boards, evaluations and tasks of suites that judge plans."""

import re

import pytest
from django.test import override_settings
from django.utils.html import escape

from evaluator.core.records import Outcome
from evaluator.core.suites.registry import suite_of
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from tests.fakes.launcher import reset_launcher
from tests.fakes.planners import FALSE_FILE, NO_PLAN
from tests.leaderboard.evaluations.web.factories import evaluation_page, planners, read, task_page, tasks
from tests.leaderboard.factories import make_user
from tests.leaderboard.planning import MISTAKES, REAL, make_clumsy_evaluation

pytestmark = pytest.mark.django_db
BOARD = "/boards/toolmini/"
BADGE = '<span class="outcome" data-outcome="empty_plan"'
PAPER = ["SE", "IR", "NR", "HR", "CR"]


@pytest.fixture(scope="module")
def made(module_rows) -> Evaluation:
    """120 judged plans, four of them wrong as `MISTAKES` says."""
    reset_launcher()
    with override_settings(EVALUATOR=REAL):
        return make_clumsy_evaluation()


@pytest.fixture
def evaluation(made, settings) -> Evaluation:
    settings.EVALUATOR = REAL
    return Evaluation.objects.get(pk=made.pk)


class TestBoard:
    def test_the_five_of_the_paper_come_first_and_say_which_is_better(self, client, evaluation):
        html = read(client, BOARD)
        columns = re.findall(r'id="sort-(\w+)"', html)
        assert columns[2:] == PAPER
        assert html.count("lower is better</span>") == 2
        assert "120 of 120 judged" in html
        assert "nothing is executed" in html
        assert "Samples per task" not in html
        score = f"{evaluation.summary['metrics']['SE']['mean']:.3f}"
        assert re.findall(r'data-cell="metric-SE">([^<]+)<', html) == [score]
        assert score in evaluation_page(client, evaluation).split('id="metrics"')[1].split("</section>")[0]

    def test_a_first_click_on_a_lower_is_better_column_puts_the_best_row_first(self, client, evaluation):
        make_clumsy = dict.fromkeys(MISTAKES, "irrelevant")
        make_clumsy_evaluation(user=make_user("eve"), mistakes=make_clumsy)
        html = read(client, BOARD)
        links = dict(re.findall(r'id="sort-(\w+)" href="\?sort=(-?\w+)"', html))
        assert (links["IR"], links["HR"], links["SE"]) == ("IR", "HR", "-SE")
        by_ir = re.findall(r'data-cell="owner" href="/users/(\w+)/">', read(client, BOARD, sort="IR"))
        by_worst = re.findall(r'data-cell="owner" href="/users/(\w+)/">', read(client, BOARD, sort="-IR"))
        assert by_ir == by_worst[::-1]
        assert by_ir[-1] == "eve"

    def test_a_planner_that_solves_nothing_has_no_efficiency(self, client, evaluation):
        nothing = dict.fromkeys((task.key for task in suite_of("toolmini").tasks), "nothing")
        idle = make_clumsy_evaluation(user=make_user("eve"), mistakes=nothing)
        assert "efficiency" in evaluation.summary["metrics"]
        assert "efficiency" not in idle.summary["metrics"]
        for order in ("efficiency", "-efficiency"):
            assert planners(read(client, BOARD, sort=order)) == ["clumsy", "clumsy"]
        assert read(client, "/boards/toolmini/snapshots/2.csv")
        assert read(client, "/compare/", e=[str(evaluation.pk), str(idle.pk)])


class TestEvaluation:
    def test_indicators_combine_with_each_other_and_the_search(self, client, evaluation):
        for query, expected in (
            ({"HR": "1"}, ["image_detection/0", "QA/0", "count_object/0"]),
            ({"IR": "1", "outcome": "scored"}, ["image_detection/1", "QA/0"]),
            ({"SE": "0", "IR": "0"}, ["image_detection/0"]),
            ({"SE": "0", "group": "QA", "q": "QA"}, ["QA/0"]),
            ({"SE": "2"}, []),
        ):
            html = evaluation_page(client, evaluation, **query)
            assert tasks(html) == expected
            assert f"{len(expected)} of 120 shown" in html

    def test_the_size_of_plans_has_a_figure_and_no_better_or_worse(self, client, evaluation):
        html = evaluation_page(client, evaluation).split('id="metrics"')[1].split("</section>")[0]
        cards = {
            re.search(r"<h3[^>]*>([^<]+?)\s*<", card)[1]: card for card in html.split('<div class="metric-card')[2:]
        }
        assert "lower is better" in cards["IR"]
        assert 'class="interval"' in cards["IR"]
        assert list(cards) == ["SE", "IR", "NR", "HR", "CR"]
        rows = dict(re.findall(r'<tr>\s*<th scope="row">([^<]+)(.*?)</tr>', html, flags=re.DOTALL))
        for name in ("Steps", "Depth"):
            assert re.search(r'class="right num">[1-9]', rows[name])
            assert "lower is better" not in rows[name]

    def test_each_row_has_five_marks_in_text(self, client, evaluation):
        cell = evaluation_page(client, evaluation, q="#image_detection/0").split('class="wide-only"')[-1]
        marks = re.findall(r'class="mark (good|bad)" title="[^"]+">(\w+ \d)', cell)
        assert marks == [("bad", "SE 0"), ("good", "IR 0"), ("good", "NR 1"), ("bad", "HR 1"), ("good", "CR 1")]

    def test_the_breakdown_counts_every_judged_task_and_links_to_the_filter(self, client, evaluation):
        html = evaluation_page(client, evaluation)
        first = html.split('class="dot-plots"')[1]
        rows = re.findall(r'href="\?(level|group)=(\w+)#results">[^<]+</a></th>\s*<td class="[^"]+">(\d+) task', first)
        assert sum(int(count) for facet, _, count in rows if facet == "level") == 120
        assert sum(int(count) for facet, _, count in rows if facet == "group") == 120
        values = [
            re.search(r'class="value">([\d.]+)', row.split("</tr>")[0])[1]
            for row in html.split('id="results"')[0].split("?group=image_detection#results")[1:]
        ]
        # Two of ten made a mistake: one named a false file, one called an irrelevant tool.
        assert values[1:4:2] == ["0.100", "0.100"]


class TestTask:
    def test_a_wrong_plan_shows_goal_files_reasons_and_both_plans(self, client, evaluation):
        html = task_page(client, evaluation, "image_detection/0")
        task = Task.objects.get(key="image_detection/0")
        part = escape(task.attributes["parts"][0])
        for expected in (
            escape(task.text),
            part[1:],
            '<span class="tag">image</span>',
            "HR 1</span>",
            f"Step 1 ({task.gold['steps'][0]['tool']}):",
            f"is {FALSE_FILE}, which does not exist there",
            "no output is this",
            'id="plan-text"',
            'id="gold-text"',
            "Planner response",
            FALSE_FILE,
            "Invented resource</strong></a> Step 1 (",
        ):
            assert expected in html, expected
        assert html.count('class="node step failing"') == 1
        assert "Samples" not in html
        assert "<img" not in html

    def test_an_irrelevant_call_is_marked_in_the_drawing(self, client, evaluation):
        html = task_page(client, evaluation, "image_detection/1")
        failing = html.split('class="node step failing"')[1]
        assert "text_to_music: Irrelevant" in failing[:80]
        assert "in no sufficient chain of this request" in html

    def test_an_empty_plan_has_a_sentence_in_its_place_and_no_badge_of_success(self, client, evaluation):
        html = task_page(client, evaluation, "QA/0")
        assert TaskResult.objects.get(evaluation=evaluation, task__key="QA/0").outcome == "scored"
        assert "<dt>Outcome</dt><dd>" + BADGE in " ".join(html.split())
        assert "It counts like a missing plan: every indicator has its worst value." in html
        assert "The planner abstained: its plan has no steps and no answers." in html
        assert "Its reason" not in html
        assert 'id="plan-text"' not in html, "there is no drawing without a node"
        assert 'id="gold-text"' in html
        assert evaluation_page(client, evaluation).count(BADGE) == 1

    def test_a_reply_that_is_no_plan_is_shown_as_it_came(self, client, evaluation):
        html = task_page(client, evaluation, "count_object/0")
        assert "Unreadable</strong></a> The answer cannot be read" in html
        assert "Each indicator has its worst value" in html
        assert NO_PLAN in html
        assert re.findall(r'class="mark bad">(\w+ \d)<', html) == [
            "SE 0", "IR 1", "NR 0", "HR 1", "CR 0",
        ]  # fmt: skip

    def test_a_task_without_a_goal_is_not_run_and_says_why(self, client, evaluation):
        task = Task.objects.get(key="QA/2")
        Task.objects.filter(pk=task.pk).update(
            attributes={**task.attributes, "parts": [], "uncovered": "no gold decomposition is known"}, gold=None
        )
        TaskResult.objects.filter(task=task).update(
            outcome=Outcome.NOT_RUN, reason="no_goal", reason_text="Nobody knows.", score=None, indicators={},
            record_digest="",
        )  # fmt: skip
        html = task_page(client, evaluation, "QA/2")
        assert "Nobody knows." in html
        assert "depends only on the suite" in html
        assert "Unknown: no gold decomposition is known." in html
        assert 'class="mark' not in html
        assert "0.000" not in html
