"""Causes on pages and in the API, for every state of visibility."""

import re
from typing import Any

import httpx
import pytest
from django.test import Client

from evaluator.client import Client as SiteClient
from leaderboard.accounts.models import User
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.results.finding_causes import find_causes
from tests.leaderboard.executed import COUNT, make_executed_evaluation
from tests.leaderboard.factories import closed_season
from tests.leaderboard.pages.factories import make_evaluation, make_planner, make_result, make_suite, make_user
from tests.leaderboard.planning import REAL, make_clumsy_evaluation
from tests.leaderboard.site.api.helpers import ApiClient

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

HOSTILE = "<script>alert(1)</script>"
CAUSES = [
    {"cause": "wrong_tool", "step": "s1", "tool": "Colorization", "given": HOSTILE, "wanted": "Image Denoising"},
    {"cause": "wrong_answer", "given": "the red ball", "wanted": "the blue ball"},
]


@pytest.fixture
def clumsy(settings) -> Evaluation:
    """120 requests, three of them below the gold score."""
    settings.EVALUATOR = REAL
    return make_clumsy_evaluation(user=make_user())


def get(path: str, **query: str) -> Any:
    answer = ApiClient().get(path, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


def page(client: Client, evaluation: Evaluation, rest: str = "", **query: str) -> str:
    response = client.get(f"/evaluations/{evaluation.pk}/{rest}", query)
    assert response.status_code == 200
    return response.content.decode()


def shown_keys(html: str) -> list[str]:
    return re.findall(r"/tasks/([\w/]+)/(?:\?[^\"]*)?\" tabindex", html)


class TestEvaluation:
    def test_its_causes_lead_to_its_tasks(self, client: Client, clumsy: Evaluation):
        html = page(client, clumsy)
        assert html.index('id="metrics"') < html.index('id="why"') < html.index("By kind of task")
        assert re.search(r"3 of\s+120 tasks; 117 at the gold score", html)
        for cause, label in (
            ("invented_resource", "Invented resource"),
            ("abstained", "Abstained"),
            ("unreadable", "Unreadable"),
        ):
            assert re.search(rf'href="\?why={cause}#results"[^>]*><span class="cause-name">{label}</span>', html)

        assert re.findall(r'id="f-why-(\w+)"', html) == ["invented_resource", "abstained", "unreadable"]
        # A bar leads to its tasks.
        html = page(client, clumsy, why="invented_resource")
        assert shown_keys(html) == ["image_detection/0"]
        assert "1 of 120 shown" in html
        # Kept from task to task.
        assert "/tasks/image_detection/0/?why=invented_resource" in html

        # Where all tasks are at the gold score it says so.
        TaskResult.objects.update(causes=[])
        html = page(client, clumsy)
        assert re.search(r"All 120 tasks that ran are at the gold\s+score\.", html)
        assert 'class="cause-bars"' not in html
        # Causes that are found later appear although nothing else has changed.
        TaskResult.objects.update(causes=None)
        html = page(client, clumsy)
        assert re.search(r'href="\?why=not_found_yet#results">120\s+tasks</a>: causes not found yet', html)
        assert len(shown_keys(page(client, clumsy, why="not_found_yet"))) == 50
        list(find_causes())
        html = page(client, clumsy)
        assert "not found yet" not in html
        assert 'class="cause-bars"' in html

    def test_a_board_s_causes_lead_to_the_evaluation(self, client: Client, clumsy: Evaluation):
        html = client.get("/boards/toolmini/causes/").content.decode()
        assert "3 of 120" in html
        assert f'href="/evaluations/{clumsy.pk}/?why=unreadable#results"' in html
        (row,) = get("boards/toolmini/causes/")["rows"]
        assert (row["evaluation"], row["ran"], row["below"], row["unknown"]) == (str(clumsy.pk), 120, 3, 0)
        assert row["causes"] == {"invented_resource": 1, "abstained": 1, "unreadable": 1}


class TestApi:
    def test_counts_have_words_and_results_are_filtered_by_their_causes(self, clumsy: Evaluation):
        found = get(f"evaluations/{clumsy.pk}/causes/")
        assert (found["ran"], found["below"], found["at_gold"], found["unknown"]) == (120, 3, 117, 0)
        (one,) = [cause for cause in found["causes"] if cause["cause"] == "invented_resource"]
        assert (one["tasks"], one["keys"]) == (1, ["image_detection/0"])
        assert one["label"] == "Invented resource"
        assert one["definition"] == "The plan names a resource that does not exist."

        path = f"evaluations/{clumsy.pk}/results/"
        (row,) = get(path, why="invented_resource")["results"]
        assert row["task"] == "image_detection/0"
        assert [one["cause"] for one in row["causes"]] == ["invented_resource"]
        assert get(path, why="wrong_order")["results"] == []
        assert get(path, why="not_found_yet")["results"] == []
        assert ApiClient().get(path, why="bad_luck").status_code == 400
        TaskResult.objects.filter(task__key="QA/0").update(causes=None)
        (row,) = get(path, why="not_found_yet")["results"]
        assert (row["task"], row["causes"]) == ("QA/0", None)

    def test_the_client_reads_them(self, clumsy: Evaluation):
        def answer(request: httpx.Request) -> httpx.Response:
            path = request.url.path.removeprefix("/api/v1/")
            return httpx.Response(200, json=get(path, **dict(request.url.params)))

        with SiteClient(url="https://site", transport=httpx.MockTransport(answer)) as client:
            found = client.causes(str(clumsy.pk))
            rows = {row.task: row for row in client.results(str(clumsy.pk))}
        assert {one.cause: one.tasks for one in found.causes} == {
            "invented_resource": 1, "abstained": 1, "unreadable": 1,
        }  # fmt: skip
        assert [one.cause for one in rows["count_object/0"].causes or ()] == ["unreadable"]
        assert rows["image_classification/0"].causes == []


class TestTask:
    def test_an_executed_plan_says_what_is_wrong_and_where(self, client: Client):
        evaluation = make_executed_evaluation(user=make_user())
        html = page(client, evaluation, f"tasks/{COUNT}/")
        part = html[html.index('id="why"') : html.index("</section>", html.index('id="why"'))]
        assert "Missing step" in part
        assert "select_bbox" in part

    @pytest.fixture
    def evaluation(self) -> Evaluation:
        """One result, of a planner that does not answer with gold plans."""
        planner = make_planner(owner=make_user(), bundled_name="random-valid")
        made = make_evaluation(planner=planner, suite=make_suite())
        make_result(evaluation=made, task=Task.objects.get(key="0"), samples=0)
        made.results.update(causes=CAUSES)
        return made

    def told(self, client: Client, evaluation: Evaluation) -> tuple[str, list[dict[str, str]]]:
        """The part of the page, and the same from the API."""
        html = page(client, evaluation, "tasks/0/")
        begin = html.index('id="why"')
        return html[begin : html.index("</section>", begin)], get(f"evaluations/{evaluation.pk}/results/")["results"][
            0
        ]["causes"]

    def test_nothing_is_withheld_of_a_public_split(self, client: Client, evaluation: Evaluation):
        part, causes = self.told(client, evaluation)
        for text in ("Wrong tool", "s1", "Colorization", "Image Denoising", "the red ball", "the blue ball"):
            assert text in part, text
        assert HOSTILE not in part
        assert "&lt;script&gt;" in part
        assert causes == CAUSES

    def test_what_is_withheld_is_named_neither_on_the_page_nor_in_the_api(
        self, client: Client, evaluation: Evaluation, settings
    ):
        settings.SPLIT = "hidden"
        part, causes = self.told(client, evaluation)
        assert "Colorization" in part
        assert "the red ball" in part
        assert "Image Denoising" not in part
        assert "the blue ball" not in part
        assert [set(one) for one in causes] == [{"cause", "step", "tool", "given"}, {"cause", "given"}]

        # Of a planner that answers with gold plans only the causes are told.
        type(evaluation.submission.planner).objects.update(bundled_name="gold")
        part, causes = self.told(client, evaluation)
        assert "Wrong tool" in part
        assert "Colorization" not in part
        assert causes == [{"cause": "wrong_tool"}, {"cause": "wrong_answer"}]
        type(evaluation.submission.planner).objects.update(bundled_name="random-valid")
        # Of hidden data no answer is quoted.
        Evaluation.objects.filter(pk=evaluation.pk).update(split="hidden", season=closed_season())
        part, causes = self.told(client, evaluation)
        assert "Colorization" in part
        assert "red ball" not in part
        assert [set(one) for one in causes] == [{"cause", "step", "tool", "given"}, {"cause"}]

    def test_operators_see_everything(self, client: Client, evaluation: Evaluation):
        Evaluation.objects.filter(pk=evaluation.pk).update(split="hidden", season=closed_season())
        client.force_login(User.objects.create(username="operator", is_staff=True))
        assert "the blue ball" in page(client, evaluation, "tasks/0/")

    def test_nobody_else_sees_the_causes_of_a_private_evaluation(self, client: Client, evaluation: Evaluation):
        type(evaluation.submission).objects.update(visibility="private")
        assert client.get(f"/evaluations/{evaluation.pk}/").status_code == 404
        assert ApiClient().get(f"evaluations/{evaluation.pk}/causes/").status_code == 404

    def test_a_task_whose_causes_are_not_known_says_so(self, client: Client, evaluation: Evaluation):
        evaluation.results.update(causes=None)
        part, causes = self.told(client, evaluation)
        assert "Not found yet." in part
        assert causes is None

    def test_a_task_at_the_gold_score_and_one_that_never_ran_have_no_such_part(
        self, client: Client, evaluation: Evaluation
    ):
        evaluation.results.update(causes=[])
        assert 'id="why"' not in page(client, evaluation, "tasks/0/")
        evaluation.results.update(causes=None, outcome="not_run", score=None)
        assert 'id="why"' not in page(client, evaluation, "tasks/0/")


def test_a_board_has_planners_without_a_result_too(clumsy: Evaluation):
    names = "suite", "profile", "profile_digest", "split", "samples", "data_digest", "summary"
    same = {name: getattr(clumsy, name) for name in names}
    other = make_evaluation(planner=make_planner(owner=make_user("bea")), **same)
    publish(other)
    rows = get("boards/toolmini/causes/")["rows"]
    assert {row["evaluation"]: row["ran"] for row in rows} == {str(clumsy.pk): 120, str(other.pk): 0}
