"""An agent on the SDK's own client, from a submission over `/mcp/` to a row of a board."""

from collections.abc import Callable

import anyio
import pytest
from django.test import Client as Browser

from leaderboard.accounts.services import create_token
from leaderboard.agents.models import AgentPresence, AgentTurn
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from tests.evaluator.agents.agent import Solve, solve_toy, work
from tests.leaderboard.agents.acting import agent, entered, working
from tests.leaderboard.factories import make_user
from tests.leaderboard.serving import server

SOLVERS: dict[str, Callable[[], Solve]] = {
    "toy-turns": lambda: solve_toy,
}
"""How the small agent solves each suite."""


@pytest.mark.parametrize("slug", SOLVERS)
@pytest.mark.django_db(transaction=True)
def test_an_agent_works_through_a_suite_to_a_row_of_its_board(slug, turns, settings, tmp_path):
    settings.SAMPLES = 1
    user = make_user()
    evaluation, token = entered(slug, user=user), create_token(user=user, scopes=["submit"]).token
    evaluation.refresh_from_db()
    assert evaluation.reason_text.startswith("Waiting for its agent")

    async def run(url: str) -> int:
        async with agent(url, token=token) as client:
            return await work(client, solve=SOLVERS[slug]())

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
