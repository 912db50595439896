"""A suite in turns on the site: worker, journal, record, board, task page, test call, and what is withheld."""

import json

import pytest
from django.core.management import call_command
from django.test import Client

from evaluator.engine.store import LocalStore
from evaluator.suites import registry
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.gold import Withheld
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from leaderboard.results.objects import read_record, server_store
from tests.evaluator.planners.test_endpoint import endpoint
from tests.leaderboard.factories import closed_season, make_submission
from tests.leaderboard.planning import REAL
from tests.leaderboard.serving import server

MODULE = "tests.evaluator.episodes.turns.toy"


@pytest.fixture
def toy(monkeypatch, settings, launcher, tmp_path):
    """The site with the suite of sums in turns."""
    monkeypatch.setenv(registry.VARIABLE, MODULE)
    registry.forget()
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    call_command("register_suites", verbosity=0)
    yield Suite.objects.get(slug="toy-turns")
    registry.forget()


def evaluated(settings, *, tmp_path, **planner):
    evaluation = make_submission(suite=Suite.objects.get(slug="toy-turns"), **planner).evaluations.get()
    sweep()
    with server() as url:
        client = ApiClient(url=url, token=settings.WORKER_TOKEN)
        runner = EvaluatorRunner(store=LocalStore(tmp_path / "worker"), device="cpu")
        Worker(client=client, runner=runner, name="w", idle_seconds=0.0).run()
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    return evaluation


@pytest.mark.django_db(transaction=True)
def test_a_worker_runs_episodes_and_the_site_shows_them(toy, settings, tmp_path):
    evaluation = evaluated(settings, tmp_path=tmp_path, name="gold", bundled_name="gold")
    browser = Client()
    (row,) = browser.get("/api/v1/boards/toy-turns/rows/").json()["rows"]
    assert (row["rank"], row["metrics"]["right"]["mean"]) == (1, 1.0)
    page = browser.get(f"/evaluations/{evaluation.pk}/tasks/7/").content.decode()
    assert '<h2 id="transcript">Transcript</h2>' in page
    assert "Add(7, 7)" in page
    assert "The whole plan was run; the last result is its answer." in page
    assert "Planner response" not in page
    assert 'aria-label="The gold plan as a graph"' in page
    result = TaskResult.objects.get(evaluation=evaluation, task__key="7")
    record = read_record(digest=result.record_digest, store=server_store(split=evaluation.split))
    assert record is not None
    assert record.transcripts[0].turns[0].actions[0].outputs == {"R1": "14"}
    check_withheld(evaluation, browser)


def check_withheld(evaluation, browser):
    """Of a hidden split, neither episodes nor the gold plan are shown."""
    page = f"/evaluations/{evaluation.pk}/"
    assert '<h2 id="episodes">Episodes</h2>' in browser.get(page).content.decode()
    assert "Gold solution" in browser.get(f"{page}tasks/7/").content.decode()
    type(evaluation).objects.filter(pk=evaluation.pk).update(split="hidden", season=closed_season())
    hidden = browser.get(page).content.decode()
    assert 'id="episodes"' not in hidden
    assert "?stop=" not in hidden
    assert "Gold solution" not in browser.get(f"{page}tasks/7/").content.decode()
    listed = browser.get(f"/api/v1{page}results/").json()["results"]
    assert {one["episodes"] for one in listed} == {None}


@pytest.mark.django_db(transaction=True)
def test_the_evaluation_page_shows_how_episodes_ended(
    toy, settings, tmp_path, django_assert_max_num_queries, monkeypatch
):
    evaluation = evaluated(settings, tmp_path=tmp_path, name="no-op", bundled_name="no-op")
    page = f"/evaluations/{evaluation.pk}/"
    browser = Client()
    with django_assert_max_num_queries(12):
        shown = browser.get(page).content.decode()
    assert '<h2 id="episodes">Episodes</h2>' in shown
    assert "Why they ended" in shown
    row = TaskResult.objects.get(evaluation=evaluation, task__key="7")
    (end,) = row.episodes["ends"]
    assert f'href="?stop={end["stop"]}#results"' in shown
    filtered = browser.get(page, {"stop": end["stop"]}).content.decode()
    assert "8 of 9 shown" in filtered
    other = browser.get(page, {"stop": "time_limit"}).content.decode()
    assert "0 of 9 shown" in other
    (listed,) = [one for one in browser.get(f"/api/v1{page}results/").json()["results"] if one["task"] == "7"]
    assert listed["episodes"] == row.episodes


def test_what_is_withheld_takes_the_transcript_with_it():
    for name in Withheld._fields:
        assert Withheld(**{name: True}).without()["transcripts"] == []


def test_an_endpoint_is_tested_with_a_first_turn():
    from evaluator.planners.endpoint import EndpointSettings
    from evaluator.planners.trials.trial import try_endpoint
    from tests.evaluator.episodes.turns.toy import suite

    good = 200, json.dumps({"actions": "R1 = Add(1, 1)"}).encode()
    bad = 200, json.dumps({"actions": "Add(1, 1)"}).encode()
    with endpoint(good, bad) as (url, seen):
        settings = EndpointSettings(url=url, allow_private=True)
        first, second = (try_endpoint(suite=suite(), settings=settings) for _ in range(2))
    assert (seen[0]["role"], seen[0]["limits"]["turns"]) == ("joint", 1)
    assert first.passed
    assert first.plan == {"actions": "R1 = Add(1, 1)"}
    assert not second.passed
    assert "expected outputs and '=' before the action" in second.problem
