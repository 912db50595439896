"""An agent on the SDK's own client, from a submission over `/mcp/` to a row of a board."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import anyio
import httpx2
import pytest
from django.core.management import call_command
from django.test import Client as Browser
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from evaluator.engine.store import LocalStore
from evaluator.suites import registry
from gpu_jobs.agents import AgentTurns
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.accounts.services import create_token
from leaderboard.agents.models import AgentPresence, AgentTurn
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from tests.evaluator.agents.agent import Solve, solve_toy, work
from tests.leaderboard.factories import make_submission, make_user
from tests.leaderboard.planning import REAL
from tests.leaderboard.serving import server

MODULE = "tests.evaluator.episodes.turns.toy"
SOLVERS: dict[str, Solve] = {"toy-turns": solve_toy}
"""How the small agent solves each suite."""


@pytest.fixture
def turns(monkeypatch, settings, launcher, tmp_path):
    """The site with the suites in turns."""
    monkeypatch.setenv(registry.VARIABLE, MODULE)
    registry.forget()
    settings.EVALUATOR, settings.STORE_DIR = REAL, tmp_path / "store"
    call_command("register_suites", verbosity=0)
    yield
    registry.forget()


@contextmanager
def working(url: str, *, token: str, folder) -> Iterator[None]:
    """A worker; at the end of the block it is gone, without a word if it waits for an agent."""
    client = ApiClient(url=url, token=token)
    over = threading.Event()

    def pause(seconds: float) -> None:
        if over.wait(min(seconds, 0.1)):
            raise SystemExit

    runner = EvaluatorRunner(
        store=LocalStore(folder), device="cpu",
        agents=lambda lease: AgentTurns(client=client, lease=lease, sleep=pause),
    )  # fmt: skip
    worker = Worker(client=client, runner=runner, name="w", sleep=pause)

    def run() -> None:
        with suppress(SystemExit):
            worker.run()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(20)


def agent(url: str, *, token: str, query: str = "") -> Client:
    """The SDK's client with a token."""
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return Client(streamable_http_client(f"{url}/mcp/{query}", http_client=http))


def entered(slug: str, *, user) -> Evaluation:
    """An agent of a user's, entered for a suite."""
    suite = Suite.objects.get(slug=slug)
    evaluation = make_submission(suite=suite, user=user, name="robin", kind="agent", bundled_name="").evaluations.get()
    sweep()
    return evaluation


@pytest.mark.parametrize("slug", SOLVERS)
@pytest.mark.django_db(transaction=True)
def test_an_agent_works_through_a_suite_to_a_row_of_its_board(slug, turns, settings, tmp_path):
    user = make_user()
    evaluation, token = entered(slug, user=user), create_token(user=user, scopes=["submit"]).token
    evaluation.refresh_from_db()
    assert evaluation.reason_text.startswith("Waiting for its agent")

    async def run(url: str) -> int:
        async with agent(url, token=token) as client:
            return await work(client, solve=SOLVERS[slug])

    with server() as url, working(url, token=settings.WORKER_TOKEN, folder=tmp_path / "worker"):
        done = anyio.run(run, url)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    assert done == TaskResult.objects.filter(evaluation=evaluation, outcome="scored").count() > 0
    (row,) = Browser().get(f"/api/v1/boards/{slug}/rows/").json()["rows"]
    assert (row["planner"], row["rank"], row["kind"]) == ("robin", 1, "agent")
    page = Browser().get(f"/evaluations/{evaluation.pk}/").content.decode()
    assert "agent-driven" in page
    assert not AgentTurn.objects.exists()
    assert not AgentPresence.objects.exists()
