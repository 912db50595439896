"""An executed suite step by step on the site: worker, record, board, task page, comparison with whole plans."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from leaderboard.results.objects import read_record, server_store
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.serving import server

MODULE = "tests.evaluator.episodes.turns.few_pictures"
pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def site(monkeypatch, settings, launcher, tmp_path):
    """The site with a small executed suite in both forms."""
    monkeypatch.setenv(registry.VARIABLE, MODULE)
    registry.forget()
    settings.EVALUATOR, settings.STORE_DIR, settings.SAMPLES = REAL, tmp_path / "store", 2
    settings.PROFILE = "lilliput"
    call_command("register_suites", verbosity=0)
    yield settings
    registry.forget()


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

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/plan"
    finally:
        listening.shutdown()
        listening.server_close()


def evaluated(settings, *slugs: str, tmp_path, **planner) -> list[Evaluation]:
    """A planner's evaluations on these suites, run by a worker."""
    found = []
    user = make_user()
    for slug in slugs:
        suite = Suite.objects.get(slug=slug)
        found.append(make_submission(suite=suite, user=user, **planner).evaluations.get())
    sweep()
    with server() as url:
        client = ApiClient(url=url, token=settings.WORKER_TOKEN)
        runner = EvaluatorRunner(store=LocalStore(tmp_path / "worker"), device="cpu")
        Worker(client=client, runner=runner, name="w", idle_seconds=0.0).run()
    sweep()
    for evaluation in found:
        evaluation.refresh_from_db()
        assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    return found


def test_gold_plans_have_the_same_scores_on_both_boards(site, tmp_path):
    whole, steps = evaluated(
        site, "few-pictures", "few-pictures-turns", tmp_path=tmp_path, name="gold", bundled_name="gold"
    )
    by_form = [
        dict(TaskResult.objects.filter(evaluation=one).values_list("task__key", "sample_scores"))
        for one in (whole, steps)
    ]
    assert by_form[0] == by_form[1]
    assert all(len(scores) == 2 for scores in by_form[0].values())
    assert whole.data_digest == steps.data_digest
    assert whole.profile_digest != steps.profile_digest
    browser = Client()
    page = browser.get("/compare/few-pictures-turns/").content.decode()
    assert f'href="/evaluations/{steps.pk}/"' in page
    assert re.search(r'<span\s+class="value">0.000</span>', page)
    board = browser.get("/boards/few-pictures-turns/").content.decode()
    assert 'href="/compare/few-pictures-turns/"' in board


def test_an_endpoint_acts_on_what_it_sees(site, tmp_path, settings):
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
        (evaluation,) = evaluated(
            site, "few-pictures-turns", tmp_path=tmp_path, name="thinker", kind="endpoint", bundled_name="",
            endpoint_url=url,
        )  # fmt: skip
    assert evaluation.summary["outcomes"] == {"scored": 3}
    assert evaluation.summary["metrics"]["turns"]["mean"] > 2
    results = [result for one in seen for turn in one["history"] for result in turn["results"]]
    assert {result["pictures"]["R1"][:11] for result in results if "pictures" in result} == {"iVBORw0KGgo"}
    page = Client().get(f"/evaluations/{evaluation.pk}/tasks/24/").content.decode()
    assert "a picture of 64x64 pixels" in page
    assert "Describe it." in page
    digest = TaskResult.objects.get(evaluation=evaluation, task__key="24").record_digest
    record = read_record(digest=digest, store=server_store(split="public"))
    assert len(record.transcripts) == len(record.samples) == 2
    hidden = record.model_copy(update=Withheld(data=True).without())
    assert hidden.transcripts == hidden.samples == []
