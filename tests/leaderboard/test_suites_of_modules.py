"""Suites that a module describes come through every layer: command line, worker, record, board, task page and API."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from django.core.management import call_command
from django.test import Client

from evaluator.core.commands.table import SUITES_VARIABLE
from evaluator.core.suites import registry
from evaluator.execution.engine.store import LocalStore
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.evaluations.withheld import Withheld
from leaderboard.queue.reconcile import sweep
from tests.end_to_end.endpoints import serving
from tests.evaluator.planners.test_endpoint import endpoint
from tests.leaderboard.evaluations.web.factories import read
from tests.leaderboard.factories import closed_season, make_submission, make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.serving import server
from tests.rings import usual

SUMS, TURNS, PICTURES = (
    "tests.toy_suite",
    "tests.evaluator.episodes.turns.toy",
    "tests.evaluator.episodes.turns.few_pictures",
)


@pytest.fixture
def evaluate(monkeypatch, settings, launcher, tmp_path) -> Iterator[Callable[..., list[Evaluation]]]:
    """Registers the suites of a module, and has a worker run a planner's evaluations on some of them."""

    def run(module: str, *slugs: str, **planner: str) -> list[Evaluation]:
        monkeypatch.setenv(SUITES_VARIABLE, module)
        registry.forget()
        settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
        settings.PROFILE, settings.SAMPLES = "lilliput", 2
        call_command("register_suites", verbosity=0)
        user = make_user()
        suites = [Suite.objects.get(slug=slug) for slug in slugs]
        found = [make_submission(suite=suite, user=user, **planner).evaluations.get() for suite in suites]
        sweep()
        with server() as url:
            client = ApiClient(url=url, token=settings.WORKER_TOKEN)
            runner = EvaluatorRunner(store=LocalStore(tmp_path / "worker"), device="cpu")
            assert Worker(client=client, runner=runner, name="w", idle_seconds=0.0).run() == 0
        sweep()
        for evaluation in found:
            evaluation.refresh_from_db()
            assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
        return found

    yield run
    registry.forget()


def test_the_command_line_evaluates_a_suite_of_a_module(tmp_path):
    out = tmp_path / "out.json"
    command = [
        sys.executable,
        "-m",
        "evaluator",
        "evaluate",
        "--suite",
        "sums",
        "--planner",
        "gold",
        "--output",
        str(out),
    ]
    environment = {**os.environ, SUITES_VARIABLE: SUMS, "PLANARENA_DATA": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    summary = json.loads(out.read_text())["summary"]
    assert summary["outcomes"] == {"scored": 12}
    assert (summary["metrics"]["right"]["mean"], summary["metrics"]["steps"]["mean"]) == (1.0, 1.0)
    # Wilson's interval of 12 of 12, computed by hand: the lower end is 12 / (12 + 1.96^2).
    assert summary["metrics"]["right"]["low"] == pytest.approx(0.7575, abs=5e-4)
    assert "Right" in done.stdout


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("name", "right"), usual([("gold", 1.0), ("no-op", 0.0)], of=[("gold", 1.0)]))
def test_a_worker_evaluates_it_and_the_site_shows_it(evaluate, name, right):
    (evaluation,) = evaluate(SUMS, "sums", name=name, bundled_name=name)
    (row,) = json.loads(read(Client(), "/api/v1/boards/sums/rows/"))["rows"]
    assert (row["rank"], row["metrics"]["right"]["mean"]) == (None, right), "anchors have no rank"
    assert "Share of plans whose result is the wanted sum." in read(Client(), "/boards/sums/")
    address = f"/evaluations/{evaluation.pk}/"
    assert f'title="Right: gives {"the sum" if right else "another number"}"' in read(Client(), address)
    task = read(Client(), f"{address}tasks/7/")
    assert f"The plan gives {14 if right else 7}, and 14 is wanted" in task
    assert 'aria-label="The gold plan as a graph"' in task
    assert "What the request wants" not in task


@pytest.mark.django_db(transaction=True)
class TestTurns:
    def test_a_worker_runs_episodes_and_the_site_shows_them_unless_they_are_hidden(self, evaluate):
        (evaluation,) = evaluate(TURNS, "toy-turns", name="gold", bundled_name="gold")
        (row,) = json.loads(read(Client(), "/api/v1/boards/toy-turns/rows/"))["rows"]
        assert (row["rank"], row["metrics"]["right"]["mean"]) == (None, 1.0), "anchors have no rank"
        address = f"/evaluations/{evaluation.pk}/"
        page = read(Client(), f"{address}tasks/7/")
        for shown in ('<h2 id="transcript">Transcript</h2>', "Add(7, 7)", "The whole plan was run", "Gold solution"):
            assert shown in page
        assert "Planner response" not in page
        result = TaskResult.objects.get(evaluation=evaluation, task__key="7")
        record = read_record(digest=result.record_digest, store=server_store(split=evaluation.split))
        assert record.transcripts[0].turns[0].actions[0].outputs == {"R1": "14"}
        Evaluation.objects.update(split="hidden", season=closed_season())
        hidden = read(Client(), address)
        assert 'id="episodes"' not in hidden
        assert "?stop=" not in hidden
        assert "Gold solution" not in read(Client(), f"{address}tasks/7/")
        listed = json.loads(read(Client(), f"/api/v1{address}results/"))["results"]
        assert {one["episodes"] for one in listed} == {None}

    def test_the_evaluation_page_shows_how_episodes_ended(self, evaluate, django_assert_max_num_queries):
        (evaluation,) = evaluate(TURNS, "toy-turns", name="no-op", bundled_name="no-op")
        page = f"/evaluations/{evaluation.pk}/"
        with django_assert_max_num_queries(12):
            shown = read(Client(), page)
        assert '<h2 id="episodes">Episodes</h2>' in shown
        row = TaskResult.objects.get(evaluation=evaluation, task__key="7")
        (end,) = row.episodes["ends"]
        assert f'href="?stop={end["stop"]}#results"' in shown
        assert "8 of 9 shown" in read(Client(), page, stop=end["stop"])
        assert "0 of 9 shown" in read(Client(), page, stop="time_limit")
        (listed,) = [
            one for one in json.loads(read(Client(), f"/api/v1{page}results/"))["results"] if one["task"] == "7"
        ]
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
    assert (first.passed, first.plan) == (True, {"actions": "R1 = Add(1, 1)"})
    assert not second.passed
    assert "expected outputs and '=' before the action" in second.problem


@contextmanager
def thinking(answer: Callable[[dict], dict]) -> Iterator[str]:
    """An endpoint that answers by a function of the request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.dumps(answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with serving(Handler) as url:
        yield f"{url}plan"


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
class TestAnExecutedSuiteStepByStep:
    def test_gold_plans_have_the_same_scores_on_both_boards(self, evaluate):
        whole, steps = evaluate(PICTURES, "few-pictures", "few-pictures-turns", name="gold", bundled_name="gold")
        by_form = [
            dict(TaskResult.objects.filter(evaluation=one).values_list("task__key", "sample_scores"))
            for one in (whole, steps)
        ]
        assert by_form[0] == by_form[1]
        assert all(len(scores) == 2 for scores in by_form[0].values())
        assert whole.data_digest == steps.data_digest
        assert whole.profile_digest != steps.profile_digest
        page = read(Client(), "/compare/few-pictures-turns/")
        assert f'href="/evaluations/{steps.pk}/"' in page
        assert re.search(r'<span\s+class="value">0.000</span>', page)
        assert 'href="/compare/few-pictures-turns/"' in read(Client(), "/boards/few-pictures-turns/")

    def test_an_endpoint_acts_on_what_it_sees(self, evaluate, settings):
        """It looks at the picture, and repairs it only once."""
        seen: list[dict] = []

        def answer(request: dict) -> dict:
            seen.append(request)
            if not request["history"]:
                return {"actions": "R1 = Image Denoising($image)", "accepts": "image/png"}
            if len(request["history"]) == 1 and request["expects"]["type"] == "text":
                return {"subgoal": "Describe it.", "actions": "R2 = Image Captioning(R1)"}
            return {"stop": True}

        settings.DEMO = True
        with thinking(answer) as url:
            planner = {"name": "thinker", "kind": "endpoint", "bundled_name": "", "endpoint_url": url}
            (evaluation,) = evaluate(PICTURES, "few-pictures-turns", **planner)
        assert evaluation.summary["outcomes"] == {"scored": 3}
        assert evaluation.summary["metrics"]["turns"]["mean"] > 2
        results = [result for one in seen for turn in one["history"] for result in turn["results"]]
        assert {result["pictures"]["R1"][:11] for result in results if "pictures" in result} == {"iVBORw0KGgo"}
        page = read(Client(), f"/evaluations/{evaluation.pk}/tasks/24/")
        assert "a picture of 64x64 pixels" in page
        assert "Describe it." in page
        digest = TaskResult.objects.get(evaluation=evaluation, task__key="24").record_digest
        record = read_record(digest=digest, store=server_store(split="public"))
        assert len(record.transcripts) == len(record.samples) == 2
        hidden = record.model_copy(update=Withheld(data=True).without())
        assert hidden.transcripts == hidden.samples == []
