"""Plans files, from the upload to the board."""

import pytest

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.planners.models import FilePlan, Planner, PlansFile
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.platform.api.helpers import client_of, lease_request, worker_client
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server
from tests.leaderboard.suites import JUDGED

pytestmark = pytest.mark.django_db
TASKS = [task for task in suite_of("toolmini").tasks if task.gold is not None]


def gold(count: int | None = None) -> dict:
    return {task.key: plan_to_json(task.gold) for task in TASKS[:count]}


def body(plans, *, suite: str = "toolmini", name: str = "written down") -> dict:
    return {"planner": {"name": name, "kind": "plans", "plans": plans}, "suites": [suite]}


@pytest.fixture
def judged(settings, tmp_path, launcher) -> Suite:
    settings.EVALUATOR = REAL
    settings.STORE_DIR = tmp_path / "store"
    return make_toolmini()


def test_a_lease_has_the_plans_of_its_own_tasks_and_no_others(judged, settings):
    settings.PLANNING_TASKS_PER_SHARD = 2
    first, second, third = (task.key for task in TASKS[:3])
    plans = {first: gold()[first], third: {"plan": "b (", "alternatives": ["c"]}}
    assert client_of(make_user()).post("submissions/", body(plans)).status_code == 201
    Evaluation.objects.update(state="launching")
    lease = worker_client().post("worker/lease/", lease_request()).json()
    assert lease["tasks"] == [first, second]
    assert lease["planner"] == {
        "kind": "plans", "plans": {first: {"plan": gold()[first], "alternatives": [], "usage": {}}},
    }  # fmt: skip
    lease = worker_client().post("worker/lease/", lease_request()).json()
    assert lease["planner"]["plans"] == {third: {"plan": "b (", "alternatives": ["c"], "usage": {}}}


@pytest.mark.django_db(transaction=True)
def test_a_file_is_judged_as_any_planner_and_marked_on_the_board(judged):
    left_out = TASKS[0].key
    plans = {key: plan for key, plan in gold().items() if key != left_out}
    made = client_of(make_user("ada")).post("submissions/", body(plans)).json()
    with server() as site:
        work_through(site)
    evaluation = Evaluation.objects.get(pk=made["evaluations"][0]["id"])
    assert evaluation.state == "completed"
    missing = TaskResult.objects.get(evaluation=evaluation, task__key=left_out)
    assert (missing.outcome, missing.reason, missing.score) == ("planner_fault", "no_plan", 0.0)
    others = TaskResult.objects.filter(evaluation=evaluation, outcome="scored")
    assert others.count() == len(TASKS) - 1
    assert set(others.values_list("score", flat=True)) == {1.0}
    (row,) = latest_snapshot(suite=judged).content["rows"]
    assert row["kind"] == "plans"


def test_what_is_wrong_with_a_file_is_said(judged):
    api = client_of(make_user())
    make_suite(slug="openagi")
    for plans, sentence, suite in (
        (None, "Give an object", "toolmini"),
        ({}, "holds no plan", "toolmini"),
        ("text", "neither", "toolmini"),
        ({"nothing/1": "x"}, "no task of toolmini: 'nothing/1'", "toolmini"),
        ({"QA/0": 3}, "neither an object, a list nor a text", "toolmini"),
        ({"QA/0": {"plan": "x", "alternatives": ["y"] * 5}}, "at most 4", "toolmini"),
        ({"Q" * 300: "x"}, "300 characters", "toolmini"),
        ({"0": "Colorization"}, "executes plans", "openagi"),
    ):
        answer = api.post("submissions/", body(plans, suite=suite))
        assert (answer.status_code, sentence in str(answer.json()["errors"])) == (400, True), answer.content
    make_suite(slug="other")
    Suite.objects.filter(slug="other").update(**JUDGED)
    asked = {**body(gold(1)), "suites": ["toolmini", "other"]}
    assert "choose one" in str(api.post("submissions/", asked).json()["errors"]["suites"])
    assert not Planner.objects.exists()


def test_equal_files_of_one_owner_are_kept_once_and_another_one_needs_another_name(judged):
    api = client_of(make_user())
    assert [api.post("submissions/", body(gold(3))).status_code for _ in range(2)] == [201, 201]
    assert (PlansFile.objects.count(), FilePlan.objects.count(), Planner.objects.count()) == (1, 3, 1)
    answer = api.post("submissions/", body(gold(2)))
    assert "another plans file" in str(answer.json()["errors"])
    assert client_of(make_user()).post("submissions/", body(gold(3))).status_code == 201
    # The one that was refused is kept for a day, in case that it is submitted under another name.
    assert PlansFile.objects.count() == 3


def imported(plans, *, suite: str = "toolmini") -> dict:
    """A document of `planarena import`."""
    source = {"format": "inspect", "producer": "inspect_ai 0.3", "model": "m-1", "sha256": "0" * 64}
    usage = {task: {"prompt_tokens": 70, "completion_tokens": 30} for task in plans}
    wrapped = {task: {"plan": plan} for task, plan in plans.items()}
    return {"version": "import/1", "suite": suite, "source": source, "plans": wrapped, "usage": usage}


class TestImportedRuns:
    @pytest.mark.django_db(transaction=True)
    def test_missing_tasks_are_not_run_and_such_a_run_is_not_ranked(self, judged, client):
        missing = TASKS[0].key
        plans = {key: plan for key, plan in gold().items() if key != missing}
        made = client_of(make_user("ada")).post("submissions/", body(imported(plans))).json()
        complete = client_of(make_user("bea")).post("submissions/", body(imported(gold()), name="whole")).json()
        with server() as site:
            work_through(site)
        evaluation = Evaluation.objects.get(pk=made["evaluations"][0]["id"])
        assert (evaluation.state, evaluation.reason, evaluation.tasks_missing) == ("completed", "incomplete", 1)
        row = TaskResult.objects.get(evaluation=evaluation, task__key=missing)
        assert (row.outcome, row.reason, row.score) == ("not_run", "not_in_run", None)
        scored = TaskResult.objects.filter(evaluation=evaluation, outcome="scored")
        assert scored.count() == len(TASKS) - 1
        assert set(scored.values_list("score", "prompt_tokens", "completion_tokens")) == {(1.0, 70, 30)}
        (ranked,) = latest_snapshot(suite=judged).content["rows"]
        assert ranked["evaluation"] == complete["evaluations"][0]["id"]
        assert ranked["imported"] is True
        assert "imported, plans re-scored here" in client.get("/boards/toolmini/").content.decode()
        page = client.get(f"/evaluations/{evaluation.pk}/").content.decode()
        assert "imported, plans re-scored here" in page
        assert "Not ranked, because 1 of" in page

    def test_suites_that_execute_plans_take_a_run_and_no_plans_file(self, judged):
        make_suite(slug="openagi", runnable=2)
        api = client_of(make_user())
        plain = api.post("submissions/", body({"0": "Colorization"}, suite="openagi"))
        assert "executes plans" in str(plain.json()["errors"]["suites"])
        run = imported({"0": "Colorization"}, suite="openagi")
        answer = api.post("submissions/", body(run, suite="openagi"))
        assert answer.status_code == 201, answer.content
        evaluation = Evaluation.objects.get(pk=answer.json()["evaluations"][0]["id"])
        assert [shard.task_keys for shard in evaluation.shards.all()] == [["0"]]

    def test_a_run_of_another_suite_or_a_damaged_one_is_refused(self, judged):
        api = client_of(make_user())
        for changes, sentence in (
            ({"suite": "tool100"}, "imported for tool100, not toolmini: import it again"),
            ({"plans": {}}, "holds no plan"),
            ({"usage": 3}, "It lacks"),
            ({"suite": "x" * 10_000}, "is no name of a suite"),
            ({"source": {"producer": "\u0000"}}, "cannot be stored"),
        ):
            answer = api.post("submissions/", body({**imported(gold(1)), **changes}))
            assert (answer.status_code, sentence in str(answer.json()["errors"])) == (400, True), answer.content
        assert not Planner.objects.exists()

    def test_a_run_and_a_plans_file_with_the_same_plans_are_two_planners(self, judged):
        api = client_of(make_user())
        assert api.post("submissions/", body(gold(2))).status_code == 201
        answer = api.post("submissions/", body(imported(gold(2))))
        assert "another plans file" in str(answer.json()["errors"])
