"""An optional column from the worker's record to the board, the evaluation, the task page and the API."""

import pytest

from evaluator.controlllm.optional_columns import DEACC
from evaluator.core.suites.registry import suite_of
from evaluator.planners.named import planner_named
from tests.leaderboard.evaluations.web.factories import evaluation_page, read, task_page
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL, make_toolmini, run_evaluation

pytestmark = pytest.mark.django_db
BOARD = "/boards/toolmini/"


@pytest.fixture(autouse=True)
def real_suites(settings):
    settings.EVALUATOR = REAL


def run(name, *, user):
    submission = make_submission(suite=make_toolmini(), user=make_user(user), name=name, bundled_name=name)
    planner = planner_named(name=name, suite=suite_of("toolmini"))
    return run_evaluation(submission.evaluations.get(), planner=planner)


def choices(client):
    return f'value="{DEACC.key}"' in read(client, BOARD)


def test_decompositions_of_a_strategy_are_shown_and_rows_stay_comparable(client, launcher):
    gold = run("gold", user="ada")
    assert not choices(client)
    assert "DeAcc" not in evaluation_page(client, gold)
    greedy = run("controlllm/greedy", user="bea")
    assert greedy.suite_id == gold.suite_id
    mean = greedy.summary["metrics"][DEACC.key]["mean"]
    assert choices(client)
    html = read(client, BOARD, column=DEACC.key)
    assert html.count('data-cell="metric-DeAcc"') == 1
    assert f"{mean:.3f}" in html
    assert "Not measured for this planner" in html
    assert DEACC.description in evaluation_page(client, greedy)
    assert "DeAcc" not in evaluation_page(client, gold)
    key = suite_of("toolmini").tasks[0].key
    page = task_page(client, greedy, key)
    assert DEACC.title in page
    assert "Wrong in some subtask:" in page or "Every field of every subtask is right." in page
    found = client.get(f"/api/v1/evaluations/{greedy.pk}/").json()
    assert found["summary"]["metrics"][DEACC.key]["mean"] == mean
    rows = client.get("/api/v1/boards/toolmini/rows/").json()["rows"]
    assert [DEACC.key in row["metrics"] for row in rows].count(True) == 1
