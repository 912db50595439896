"""What the API gives of suites that judge plans."""

import pytest

from evaluator.suites import suite_of
from tests.leaderboard.planning import REAL, make_clumsy_evaluation, make_toolmini
from tests.leaderboard.site.api.helpers import ApiClient

pytestmark = pytest.mark.django_db
EVERYBODY = ApiClient()


@pytest.fixture
def evaluation(settings, launcher):
    settings.EVALUATOR = REAL
    return make_clumsy_evaluation()


def tasks(evaluation, **query) -> list[str]:
    body = EVERYBODY.get(f"evaluations/{evaluation.pk}/results/", **query).json()
    return [result["task"] for result in body["results"]]


def test_results_carry_their_indicators(evaluation):
    first = EVERYBODY.get(f"evaluations/{evaluation.pk}/results/").json()["results"][0]
    assert first["task"] == "image_detection/0"
    assert (first["score"], first["indicators"]["HR"], first["indicators"]["IR"]) == (0.0, 1.0, 0.0)


def test_results_are_filtered_by_level_and_group(evaluation):
    assert tasks(evaluation, group="QA") == [f"QA/{number}" for number in range(10)]
    suite = suite_of("toolmini")
    hard = [task.key for task in suite.tasks if task.attributes["level"] == "hard"]
    assert tasks(evaluation, level="hard") == hard
    assert tasks(evaluation, level="hard", group="QA") == [key for key in hard if key.startswith("QA/")]
    response = EVERYBODY.get(f"evaluations/{evaluation.pk}/results/", level="impossible")
    assert response.status_code == 400
    assert response.json()["errors"]["level"] == ["'impossible' is none of: easy, hard, medium."]


def test_a_record_is_found_by_a_key_with_a_slash(evaluation):
    body = EVERYBODY.get(f"evaluations/{evaluation.pk}/results/image_detection/0/").json()
    assert body["record"]["explanations"]["HR"].startswith("step 1 ")
    assert EVERYBODY.get(f"evaluations/{evaluation.pk}/results/image_detection/77/").status_code == 404


def test_suites_tell_their_conditions():
    make_toolmini()
    (suite,) = EVERYBODY.get("suites/").json()["results"]
    assert (suite["slug"], suite["conditions"]["experts"], suite["tasks"]) == ("toolmini", False, 120)
    assert suite["idle_tools"] == list(suite_of("toolmini").idle_tools)
    assert [column["key"] for column in suite["metrics"] if not column["higher_is_better"]] == [
        "IR",
        "HR",
        "length",
        "depth",
    ]
