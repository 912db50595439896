"""Agents and workers of a site that is served for real."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.execution.engine.store import LocalStore
from gpu_jobs.agents import AgentTurns
from gpu_jobs.client import ApiClient
from gpu_jobs.runner import EvaluatorRunner
from gpu_jobs.worker import Worker
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation
from leaderboard.people.models import User
from leaderboard.queue.reconcile import sweep
from tests.leaderboard.factories import make_submission

if TYPE_CHECKING:
    from mcp import Client


@contextmanager
def working(url: str, *, token: str, folder: Path) -> Iterator[None]:
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


def agent(url: str, *, token: str, query: str = "") -> "Client":
    """The SDK's client with a token."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    return Client(streamable_http_client(f"{url}/mcp/{query}", http_client=http))


def entered(slug: str, *, user: User) -> Evaluation:
    """An agent of a user's, entered for a suite."""
    suite = Suite.objects.get(slug=slug)
    evaluation = make_submission(suite=suite, user=user, name="robin", kind="agent", bundled_name="").evaluations.get()
    sweep()
    return evaluation
