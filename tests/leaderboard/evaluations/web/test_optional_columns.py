"""An optional column from the worker's record to the board, the evaluation, the task page and the API."""

import pytest

from evaluator.controlllm.optional_columns import DEACC
from evaluator.core.suites import registry
from evaluator.core.suites.registry import suite_of
from evaluator.execution.engine.store import MemoryStore
from evaluator.planners.named import planner_named
from evaluator.scoring.rating import VARIABLE
from gpu_jobs.runner import EvaluatorRunner
from tests.evaluator.scoring.arbiters.arbiter_server import MODEL, serving
from tests.leaderboard.evaluations.web.factories import evaluation_page, read, task_page
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL, make_toolmini, run_evaluation
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server

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
    assert "Not measured: this planner has nothing to measure" in html
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


@pytest.fixture
def rater(monkeypatch):
    """An endpoint that votes, named in the environment of site and worker."""
    with serving() as found:
        found.script = ["Rating: 8"]
        monkeypatch.setenv(VARIABLE, found.name)
        registry.forget()
        yield found
    monkeypatch.delenv(VARIABLE)
    registry.forget()


@pytest.mark.django_db(transaction=True)
def test_a_worker_has_plans_rated_and_rows_of_before_have_a_dash(client, launcher, settings, tmp_path, request):
    settings.STORE_DIR = tmp_path / "store"
    before = run("gold", user="ada")
    found = request.getfixturevalue("rater")
    key = suite_of("toolmini").rated.column.key
    made = make_submission(suite=make_toolmini(), user=make_user("bea"), name="gold", bundled_name="gold")
    with server() as url:
        runner = EvaluatorRunner(store=MemoryStore(), device="cpu", rater_key="key-of-the-rater")
        work_through(url, runner=runner, secrets=["key-of-the-rater"])
    rated = made.evaluations.get()
    assert rated.suite_id == before.suite_id
    assert (rated.summary["metrics"][key]["mean"], rated.summary["metrics"][key]["tasks"]) == (8, 120)
    assert {own for own, _ in found.asked} == {"Bearer key-of-the-rater"}
    html = read(client, BOARD, column=key)
    assert html.count(f'data-cell="metric-{key}"') == 1
    assert "no rater was set up or reached" in html
    assert MODEL in html
    task = suite_of("toolmini").tasks[0].key
    assert f"3 calls of {MODEL} (gpt-score/1)" in task_page(client, rated, task)
    assert "GPT-Score" not in evaluation_page(client, before)
