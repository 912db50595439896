"""Causes on pages and in the API, for every state of visibility."""

import re
from typing import Any

import httpx
import pytest
from django.test import Client
from django.utils.html import escape

from evaluator.client import Client as SiteClient
from leaderboard.boards.services import publish
from leaderboard.catalog.models import Task
from leaderboard.causes.finding import find_causes
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.people.models import User
from tests.leaderboard.evaluations.results.files import read_rows
from tests.leaderboard.evaluations.web.factories import (
    evaluation_page,
    make_evaluation,
    make_planner,
    make_result,
    make_suite,
    make_user,
    task_page,
    tasks,
)
from tests.leaderboard.executed import COUNT, make_executed_evaluation
from tests.leaderboard.factories import closed_season
from tests.leaderboard.planning import REAL, make_clumsy_evaluation
from tests.leaderboard.platform.api.helpers import ApiClient
from tests.memory import forget_everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

HOSTILE = "<script>alert(1)</script>"
CAUSES = [
    {"cause": "wrong_tool", "step": "s1", "tool": "Colorization", "given": HOSTILE, "wanted": "Image Denoising"},
    {"cause": "wrong_answer", "given": "the red ball", "wanted": "the blue ball"},
]
THREE = ["invented_resource", "abstained", "unreadable"]


@pytest.fixture
def clumsy(settings) -> Evaluation:
    """120 requests, three of them below the gold score."""
    settings.EVALUATOR = REAL
    return make_clumsy_evaluation(user=make_user())


def get(path: str, **query: str) -> Any:
    answer = ApiClient().get(path, **query)
    assert answer.status_code == 200, answer.content
    return answer.json()


class TestEvaluation:
    def test_its_causes_lead_to_its_tasks(self, client: Client, clumsy: Evaluation):
        html = evaluation_page(client, clumsy)
        assert html.index('id="why"') < html.index('id="metrics"') < html.index("By kind of task")
        assert "3 of 120 tasks are below the gold score, which costs 0.025 (0.009 to 0.071) of SE." in html
        why = html[html.index('id="why"') : html.index("</section>", html.index('id="why"'))]
        assert re.search(r'href="\?why=abstained#results"\s+title="[^"]+">Abstained</a>', why)
        assert why.count("Costs 0.008 (0.001 to 0.046)") == 3
        assert "Step 1 (object_detection): input" in why
        assert "/tasks/image_detection/0/" in why
        assert re.findall(r'id="f-why-(\w+)"', html) == THREE
        # A bar leads to its tasks.
        html = evaluation_page(client, clumsy, why="invented_resource")
        assert tasks(html) == ["image_detection/0"]
        assert "1 of 120 shown" in html
        # ArcCandidate from task to task.
        assert "/tasks/image_detection/0/?why=invented_resource" in html

        # Where all tasks are at the gold score it says so.
        TaskResult.objects.update(causes=[])
        html = evaluation_page(client, clumsy)
        assert "All 120 tasks that ran are at the gold score." in html
        assert "cause-list" not in html
        # Causes that are found later appear although nothing else has changed.
        TaskResult.objects.update(causes=None)
        html = evaluation_page(client, clumsy)
        assert "The causes of 119 tasks are not known yet." in html, "a fault has a reason"
        assert 'href="?why=not_found_yet#results"' in html
        assert len(tasks(evaluation_page(client, clumsy, why="not_found_yet"))) == 50
        list(find_causes())
        html = evaluation_page(client, clumsy)
        assert "not known yet" not in html
        assert "cause-list" in html

    def test_a_board_s_causes_lead_to_the_evaluation(self, client: Client, clumsy: Evaluation):
        html = client.get("/boards/toolmini/causes/").content.decode()
        assert "3 of 120" in html
        assert f'href="/evaluations/{clumsy.pk}/?why=unreadable#results"' in html
        (row,) = get("boards/toolmini/causes/")["rows"]
        assert (row["evaluation"], row["ran"], row["below"], row["unknown"]) == (str(clumsy.pk), 120, 3, 0)
        assert row["causes"] == dict.fromkeys(THREE, 1)


class TestApi:
    def test_counts_have_words_and_results_are_filtered_by_their_causes(self, clumsy: Evaluation):
        found = get(f"evaluations/{clumsy.pk}/causes/")
        assert (found["ran"], found["below"], found["at_gold"], found["unknown"]) == (120, 3, 117, 0)
        (one,) = [cause for cause in found["causes"] if cause["cause"] == "invented_resource"]
        assert (one["tasks"], one["keys"]) == (1, ["image_detection/0"])
        assert one["label"] == "Invented resource"
        assert (
            found["explanation"][0]
            == "3 of 120 tasks are below the gold score, which costs 0.025 (0.009 to 0.071) of SE."
        )
        assert found["explanation"][1].startswith("Invented resource: 1 task, costs 0.008 (0.001 to 0.046). Step 1 (")
        assert one["definition"] == "The plan names a resource that does not exist."

        path = f"evaluations/{clumsy.pk}/results/"
        (row,) = get(path, why="invented_resource")["results"]
        assert row["task"] == "image_detection/0"
        assert [one["cause"] for one in row["causes"]] == ["invented_resource"]
        assert get(path, why="wrong_order")["results"] == []
        assert get(path, why="not_found_yet")["results"] == []
        assert ApiClient().get(path, why="bad_luck").status_code == 400
        with SiteClient(url="https://site", transport=httpx.MockTransport(through_the_site)) as client:
            counted = client.causes(str(clumsy.pk)).causes
            rows = {one.task: one for one in client.results(str(clumsy.pk))}
        assert {one.cause: one.tasks for one in counted} == dict.fromkeys(THREE, 1)
        assert [one.cause for one in rows["count_object/0"].causes or ()] == ["unreadable"]
        assert rows["image_classification/0"].causes == []
        TaskResult.objects.filter(task__key="QA/0").update(causes=None)
        (row,) = get(path, why="not_found_yet")["results"]
        assert (row["task"], row["causes"]) == ("QA/0", None)


def faults(html: str) -> str:
    """The findings on the page of a task."""
    return "".join(re.findall(r'<p class="fault.*?</p>', html, flags=re.DOTALL))


def through_the_site(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=get(request.url.path.removeprefix("/api/v1/"), **dict(request.url.params)))


def only(causes: list[dict[str, str]], **dropped: str) -> list[dict[str, str]]:
    """Causes without these details, each named with the causes that lose it, or `all`."""
    return [
        {name: text for name, text in one.items() if dropped.get(name) not in {"all", one["cause"]}} for one in causes
    ]


WITHOUT_GOLD = only(CAUSES, wanted="all")
WITHOUT_DATA = only(CAUSES, wanted="all", given="wrong_answer")
CODES = only(CAUSES, wanted="all", given="all", step="all", tool="all")
SHOWN = [
    # The site's split, the evaluation's, the planner's strategy, whether an operator reads, and what is shown.
    ("public", "public", "random-valid", False, CAUSES),
    ("hidden", "public", "random-valid", False, WITHOUT_GOLD),
    ("public", "hidden", "random-valid", False, WITHOUT_DATA),
    ("hidden", "hidden", "random-valid", False, WITHOUT_DATA),
    ("hidden", "public", "gold", False, CODES),
    ("public", "hidden", "random-valid", True, CAUSES),
]


class TestTask:
    @pytest.fixture
    def evaluation(self) -> Evaluation:
        """One result, of a planner that does not answer with gold plans."""
        planner = make_planner(owner=make_user(), bundled_name="random-valid")
        made = make_evaluation(planner=planner, suite=make_suite())
        make_result(evaluation=made, task=Task.objects.get(key="0"), samples=0)
        made.results.update(causes=CAUSES)
        return made

    def told(self, client: Client, evaluation: Evaluation) -> dict[str, Any]:
        """The causes of the only result in the API and by the ending of each file; what is null is left out."""
        found = {"api": client.get(f"/api/v1/evaluations/{evaluation.pk}/results/").json()["results"][0]["causes"]}
        for ending in ("csv", "json", "parquet"):
            data = client.get(f"/evaluations/{evaluation.pk}/results.{ending}").getvalue()
            found[ending] = read_rows(data, ending)[0]["causes"]
        if found["parquet"] is not None:
            found["parquet"] = [{k: v for k, v in one.items() if v is not None} for one in found["parquet"]]
        return found

    def test_page_api_and_files_show_as_much_as_the_reader_may_know(
        self, client: Client, evaluation: Evaluation, settings
    ):
        season = closed_season()
        operator = Client()
        operator.force_login(User.objects.create(username="operator", is_staff=True))
        for settings.SPLIT, split, strategy, is_operator, shown in SHOWN:
            case = settings.SPLIT, split, strategy, is_operator
            type(evaluation.submission.planner).objects.update(bundled_name=strategy)
            Evaluation.objects.update(split=split, season=season if split == "hidden" else None)
            forget_everything()
            reader = operator if is_operator else client
            assert self.told(reader, evaluation) == {
                "api": shown, "json": shown, "parquet": shown, "csv": "wrong_tool;wrong_answer"
            }, case  # fmt: skip
            html = task_page(reader, evaluation, "0")
            part = faults(html)
            texts = {text for one in CAUSES for name, text in one.items() if name in {"given", "wanted"}}
            assert {text for text in texts if escape(text) in part} == texts & {
                text for one in shown for text in one.values()
            }, case  # fmt: skip
            assert "Wrong tool" in part
            assert HOSTILE not in part

    def test_causes_that_are_not_known_differ_from_no_causes(self, client: Client, evaluation: Evaluation):
        evaluation.results.update(causes=None)
        assert self.told(client, evaluation) == {"api": None, "json": None, "parquet": None, "csv": "not_found_yet"}
        assert "Why it is below gold is not known yet." in task_page(client, evaluation, "0")
        evaluation.results.update(causes=[])
        assert self.told(client, evaluation) == {"api": [], "json": [], "parquet": [], "csv": ""}
        assert 'id="why"' not in task_page(client, evaluation, "0")
        evaluation.results.update(causes=None, outcome="not_run", score=None)
        assert self.told(client, evaluation)["csv"] == ""
        assert 'id="why"' not in task_page(client, evaluation, "0")

    def test_an_executed_plan_says_what_is_wrong_and_where(self, client: Client):
        html = task_page(client, make_executed_evaluation(user=make_user()), COUNT)
        assert re.search(r"Missing step</strong></a> A call of select_bbox is missing\.", faults(html))


def test_a_board_has_planners_without_a_result_too(clumsy: Evaluation):
    names = "suite", "profile", "profile_digest", "split", "samples", "data_digest", "summary"
    same = {name: getattr(clumsy, name) for name in names}
    other = make_evaluation(planner=make_planner(owner=make_user("bea")), **same)
    publish(other)
    rows = get("boards/toolmini/causes/")["rows"]
    assert {row["evaluation"]: row["ran"] for row in rows} == {str(clumsy.pk): 120, str(other.pk): 0}
