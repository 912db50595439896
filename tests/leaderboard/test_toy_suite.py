"""A suite that one module describes comes through every layer: command line, worker, board, task page and API."""

import json
import os
import subprocess
import sys

import pytest
from django.core.management import call_command
from django.test import Client

from evaluator.engine.store import MemoryStore
from evaluator.suites import registry
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import EvaluationState
from leaderboard.queue.reconcile import sweep
from tests.leaderboard.factories import make_submission
from tests.leaderboard.planning import REAL
from tests.leaderboard.serving import server
from tests.rings import usual

MODULE = "tests.toy_suite"


@pytest.fixture
def registered(monkeypatch):
    """The registry of a process that was started with the suite."""
    monkeypatch.setenv(registry.VARIABLE, MODULE)
    registry.forget()
    yield
    registry.forget()


def test_the_command_line_evaluates_it(tmp_path):
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
    environment = {**os.environ, registry.VARIABLE: MODULE, "PLANARENA_DATA": str(tmp_path)}
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
def test_a_worker_evaluates_it_and_the_site_shows_it(registered, settings, launcher, tmp_path, name, right):
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    call_command("register_suites", verbosity=0)
    suite = Suite.objects.get(slug="sums")
    evaluation = make_submission(suite=suite, name=name, bundled_name=name).evaluations.get()
    sweep()
    with server() as url:
        client = ApiClient(url=url, token=settings.WORKER_TOKEN)
        runner = EvaluatorRunner(store=MemoryStore(), device="cpu")
        assert Worker(client=client, runner=runner, name="w", idle_seconds=0.0).run() == 0
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    browser = Client()
    board = browser.get("/api/v1/boards/sums/rows/").json()
    (row,) = board["rows"]
    assert (row["rank"], row["metrics"]["right"]["mean"]) == (1, right)
    page = browser.get("/boards/sums/").content.decode()
    assert "Share of plans whose result is the wanted sum." in page
    address = f"/evaluations/{evaluation.pk}/"
    detail = browser.get(address).content.decode()
    assert f'title="Right: gives {"the sum" if right else "another number"}"' in detail
    task = browser.get(f"{address}tasks/7/").content.decode()
    assert "What is twice 7?" in task
    assert f"The plan gives {14 if right else 7}, and 14 is wanted" in task
    assert 'aria-label="The gold plan as a graph"' in task
    assert "What the request wants" not in task
