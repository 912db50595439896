"""Regrades of suites that execute plans or ask turn by turn, through a worker."""

import pytest

from evaluator.core.plans.model import plan_to_json
from evaluator.core.suites.registry import suite_of
from evaluator.core.values import Artefact, MediaType
from evaluator.episodes.base import Setting, episode_of
from evaluator.execution.engine.store import MemoryStore
from gpu_jobs.runner import EvaluatorRunner
from leaderboard.catalog.models import Suite
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Evaluation, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.submissions.regrading import regrade
from tests.fakes.stepping_planner import SteppingPlanner
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.platform.api.helpers import client_of, lease_request, worker_client
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)
EXECUTED, TURNS = "openagi", "lumos-shop"
EARLIER = "0" * 64


@pytest.fixture(autouse=True)
def real(settings, own_store):
    settings.EVALUATOR, settings.SAMPLES = REAL, 1


def registered(slug):
    register_suite(suite_of(slug))
    return Suite.objects.get(slug=slug, current=True)


def under_earlier_rules(evaluation):
    """The evaluation, as if a release with other rules had measured it."""
    Evaluation.objects.filter(pk=evaluation.pk).update(profile_digest=EARLIER)
    evaluation.refresh_from_db()
    return evaluation


def graded(evaluation):
    return {
        key: (outcome, score) for key, outcome, score in evaluation.results.values_list("task__key", "outcome", "score")
    }


def test_plans_are_executed_again_and_steps_come_from_the_workers_store():
    registered(EXECUTED)
    plans = {key: {"plan": plan_to_json(suite_of(EXECUTED).task(key).gold)} for key in ("0", "31")}
    source = {"format": "inspect", "producer": "inspect_ai 0.3", "model": "m-1", "sha256": EARLIER}
    document = {"version": "import/1", "suite": EXECUTED, "source": source, "plans": plans, "usage": {}}
    body = {"planner": {"name": "imported", "kind": "plans", "plans": document}, "suites": [EXECUTED]}
    made = client_of(make_user("ada")).post("submissions/", body).json()
    runner = EvaluatorRunner(store=MemoryStore(), device="cpu")
    with server() as site:
        work_through(site, runner=runner)
        first = under_earlier_rules(Evaluation.objects.get(pk=made["evaluations"][0]["id"]))
        assert first.state == "completed"
        again = regrade(first)
        work_through(site, runner=runner)
    again.refresh_from_db()
    assert (again.state, again.tasks_missing) == ("completed", first.tasks_missing)
    assert graded(again) == graded(first)
    assert [graded(again)[key][0] for key in plans] == ["scored", "scored"]
    row = again.results.get(task__key="0")
    steps = read_record(digest=row.record_digest, store=server_store(split="public")).samples[0].steps
    assert steps
    assert all(step.cached for step in steps)


def played_step_by_step():
    """A completed evaluation of a suite in turns."""
    suite = suite_of(TURNS)
    evaluation = make_submission(suite=registered(TURNS)).evaluations.get()
    evaluator = episode_of(TURNS).evaluator(suite=suite, setting=Setting(samples=1))
    sweep()
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        records = list(evaluator.run(planner=SteppingPlanner(suite), tasks=lease.tasks))
        deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split="public"))
        leases.complete(lease.attempt.pk)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == "completed", evaluation.reason_text
    return under_earlier_rules(evaluation)


def let_the_planner_have_acted_on_another_result(evaluation):
    """Change what a tool returned before a later turn. Returns the key of the task."""
    store = server_store(split="public")
    for row in evaluation.results.exclude(record_digest="").select_related("task"):
        record = read_record(digest=row.record_digest, store=store)
        turns = record.transcripts[0].turns
        if len(turns) > 1 and turns[0].actions and turns[0].actions[0].outputs:
            outputs = turns[0].actions[0].outputs
            outputs[next(iter(outputs))] = "another result"
            artefact = Artefact(data=record.model_dump_json().encode(), media_type=MediaType.TEXT)
            TaskResult.objects.filter(pk=row.pk).update(record_digest=store.put(artefact))
            return row.task.key
    raise AssertionError("no episode has a turn after a result")


def test_episodes_are_replayed_and_those_on_other_results_are_left_out():
    first = played_step_by_step()
    other = let_the_planner_have_acted_on_another_result(first)
    again = regrade(first)
    Evaluation.objects.filter(pk=again.pk).update(state="launching")
    assert worker_client().post("worker/lease/", lease_request(knows_recorded_turns=False)).status_code == 204
    with server() as site:
        work_through(site)
    again.refresh_from_db()
    assert (again.state, again.reason) == ("completed", "incomplete")
    assert (again.tasks_missing, again.tasks_not_run) == (1, first.tasks_not_run + 1)
    before, after = graded(first), graded(again)
    assert after.pop(other) == ("not_run", None)
    assert after == {key: value for key, value in before.items() if key != other}
    assert "acted on other results" in again.results.get(task__key=other).reason_text
