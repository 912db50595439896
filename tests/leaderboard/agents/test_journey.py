"""An agent on the SDK's own client, from a submission over `/mcp/` to a row of a board."""

import re
from collections import Counter

import anyio
import pytest
from django.test import Client as Browser
from mcp import Client

from evaluator.episodes.turns.episode import UNREADABLE_IN_A_ROW
from evaluator.suites.registry import suite_of
from leaderboard.accounts.services import create_token
from leaderboard.agents.models import AgentPresence, AgentTurn
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from tests.evaluator.agents.agent import Solve, gold_solver, solve_toy, text_of, work
from tests.leaderboard.agents.acting import agent, entered, working
from tests.leaderboard.factories import make_user
from tests.leaderboard.serving import server


def solve_some(slug: str, *, each: int) -> Solve:
    """Solve so many tasks of each metric by the gold plan, and give the others up, with an answer if any is taken."""
    suite, seen = suite_of(slug), Counter[str]()
    solved = gold_solver(suite)

    async def solve(client: Client, task: str) -> None:
        metric = suite.task(task.split()[1]).metric
        seen[metric] += 1
        if seen[metric] <= each:
            await solved(client, task)
        else:
            for answer in [*re.findall(r"^- (\$\w+): ", task, re.M), *["unknown"] * UNREADABLE_IN_A_ROW]:
                text, is_error = await text_of(client, "submit_answer", answer=answer)
                if not is_error or "over" in text:
                    break

    return solve


@pytest.mark.django_db(transaction=True)
def test_an_agent_works_through_a_suite_to_a_row_of_its_board(turns, settings, tmp_path):
    assert row_of("toy-turns", solve=solve_toy, settings=settings, folder=tmp_path) > 0


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("slug", "each", "solved"), [("openagi-turns", 9, 20), ("lumos-mini", 4, 20)])
@pytest.mark.django_db(transaction=True)
def test_an_agent_runs_tools_and_experts_of_a_suite(slug, each, solved, turns, settings, tmp_path):
    assert row_of(slug, solve=solve_some(slug, each=each), settings=settings, folder=tmp_path) >= solved


def row_of(slug: str, *, solve: Solve, settings, folder) -> int:
    """Enter an agent for a suite, let it work until its row is on the board, and count the tasks with a score."""
    settings.SAMPLES = 1
    register_suite(suite_of(slug))
    user = make_user()
    evaluation, token = entered(slug, user=user), create_token(user=user, scopes=["submit"]).token
    evaluation.refresh_from_db()
    assert evaluation.reason_text.startswith("Waiting for its agent")

    async def run(url: str) -> int:
        async with agent(url, token=token) as client:
            return await work(client, solve=solve)

    with server() as url, working(url, token=settings.WORKER_TOKEN, folder=folder / "worker"):
        done = anyio.run(run, url)
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    results = TaskResult.objects.filter(evaluation=evaluation, outcome="scored")
    assert done == results.count()
    (row,) = Browser().get(f"/api/v1/boards/{slug}/rows/").json()["rows"]
    assert (row["planner"], row["rank"], row["kind"]) == ("robin", 1, "agent")
    assert "agent-driven" in Browser().get(f"/evaluations/{evaluation.pk}/").content.decode()
    assert not AgentTurn.objects.exists()
    assert not AgentPresence.objects.exists()
    return results.filter(score__gt=0).count()
