"""Agents on the SDK's own client, from a submission over `/mcp/` to a row of a board.

Also those that go away and come back or fall silent, and workers that are killed meanwhile.
"""

import re
import time
from collections import Counter
from collections.abc import Callable

import anyio
import pytest
from django.test import Client as Browser
from mcp import Client

from evaluator.core.suites.registry import suite_of
from evaluator.episodes.turns.episode import UNREADABLE_IN_A_ROW
from leaderboard.catalog.services import register_suite
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, TaskResult
from leaderboard.evaluations.results.objects import read_record, server_store
from leaderboard.people.services import create_token
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import AgentPresence, AgentTurn, OwnWorkerRun
from leaderboard.queue.reconcile import sweep
from leaderboard.reliability import measuring
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.reliability.services import request_profile
from leaderboard.submissions import services
from tests.evaluator.planners.agents.agent import Solve, gold_solver, solve_toy, text_of, work
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.queue.agents.acting import agent, entered, working
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)


def solve_some(slug: str, *, each: int) -> Solve:
    """Solve so many tasks of each metric by the gold plan, and give the others up, with an input if it is taken."""
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


def test_an_agent_works_through_a_suite_to_a_row_of_its_board(turns, settings, tmp_path):
    assert row_of("toy-turns", solve=solve_toy, settings=settings, folder=tmp_path) > 0


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("slug", "each", "solved"), [("openagi-turns", 3, 6), ("lumos-mini", 4, 20)])
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
    # Giving up where no input has the wanted type is a fault, since no answer could be read.
    results = TaskResult.objects.filter(evaluation=evaluation).exclude(outcome="not_run")
    assert done == results.count()
    assert set(results.values_list("outcome", "reason")) <= {("scored", ""), ("planner_fault", "unparsable_plan")}
    (row,) = Browser().get(f"/api/v1/boards/{slug}/rows/").json()["rows"]
    assert (row["planner"], row["rank"], row["kind"]) == ("robin", 1, "agent")
    assert "agent-driven" in Browser().get(f"/evaluations/{evaluation.pk}/").content.decode()
    assert not AgentTurn.objects.exists()
    assert not AgentPresence.objects.exists()
    return results.filter(score__gt=0).count()


def until(condition: Callable[[], object]) -> None:
    for _ in range(300):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def live() -> int:
    return Attempt.objects.filter(state=AttemptState.LIVE).count()


def first_call(url, *, token):
    async def run() -> str:
        async with agent(url, token=token) as client:
            text, _ = await text_of(client, "next_task")
            number = text.partition("What is twice ")[2].partition("?")[0]
            result, _ = await text_of(client, "Add", one=number, other=number)
            return f"{number}: {result}"

    return anyio.run(run)


def rest(url, *, token):
    async def run() -> str:
        async with agent(url, token=token) as client:
            first, _ = await text_of(client, "next_task")
            await text_of(client, "submit_answer", answer="R1")
            await work(client, solve=solve_toy)
            return first

    return anyio.run(run)


@pytest.mark.full
def test_no_worker_waits_for_an_agent_that_is_away_and_it_goes_on_where_it_was(turns, settings, tmp_path):
    settings.AGENT_PRESENT_SECONDS = 2
    user = make_user()
    evaluation, token = entered("toy-turns", user=user), create_token(user=user, scopes=["submit"]).token
    assert leases.lease(worker="early") is None
    with server() as url, working(url, token=settings.WORKER_TOKEN, folder=tmp_path / "worker"):
        assert first_call(url, token=token) == "1: R1 = 2"
        until(lambda: not live())
        # The worker is free for others, and this evaluation is not due.
        assert leases.lease(worker="other") is None
        other = make_evaluation(state=EvaluationState.LAUNCHING, suite=evaluation.suite)
        until(lambda: TaskResult.objects.filter(evaluation=other, score=1.0).count() == 8)
        again = rest(url, token=token)
    assert "Task 1 of" in again
    assert "1. R1 = Add(1, 1)\n   R1 = 2" in again
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    result = TaskResult.objects.get(evaluation=evaluation, task__key="1")
    record = read_record(digest=result.record_digest, store=server_store(split=evaluation.split))
    assert [len(turn.actions) for turn in record.transcripts[0].turns] == [1, 0]


@pytest.mark.full
def test_a_silent_agent_has_given_no_answer_in_time(turns, settings, tmp_path):
    settings.AGENT_PRESENT_SECONDS, settings.AGENT_SILENCE_SECONDS = 1, 3
    user = make_user()
    evaluation, token = entered("toy-turns", user=user), create_token(user=user, scopes=["submit"]).token
    with server() as url, working(url, token=settings.WORKER_TOKEN, folder=tmp_path / "worker"):
        first_call(url, token=token)
        until(lambda: not live())
        until(lambda: TaskResult.objects.filter(evaluation=evaluation, outcome="planner_fault").exists())
        # Only the task that it had: the others wait for it.
        until(lambda: not live())
    (result,) = TaskResult.objects.filter(evaluation=evaluation, outcome="planner_fault")
    assert (result.reason, result.task.key) == ("planner_timeout", "1")
    record = read_record(digest=result.record_digest, store=server_store(split=evaluation.split))
    assert record.reason_text.startswith("No answer in time: the agent was silent for ")
    assert record.transcripts[0].stop == "call_failed"


@pytest.mark.full
def test_after_a_killed_worker_another_one_goes_on_and_no_turn_is_asked_twice(turns, settings, tmp_path):
    settings.LEASE_SECONDS = 3
    user = make_user()
    evaluation, token = entered("toy-turns", user=user), create_token(user=user, scopes=["submit"]).token
    with server() as url:
        with working(url, token=settings.WORKER_TOKEN, folder=tmp_path / "first"):
            first_call(url, token=token)
        asked = list(AgentTurn.objects.order_by("pk").values_list("key", flat=True))
        assert len(asked) == 2
        assert live() == 1
        until(lambda: sweep() is not None and not live())
        # With a store of its own: what was answered comes from the site.
        with working(url, token=settings.WORKER_TOKEN, folder=tmp_path / "second"):
            again = rest(url, token=token)
    assert "1. R1 = Add(1, 1)\n   R1 = 2" in again
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    assert TaskResult.objects.filter(evaluation=evaluation, score=1.0).count() == 8


async def careless(client: Client, task: str) -> None:
    """Add the number to itself, and submit the result whether or not there is one."""
    number = task.partition("What is twice ")[2].partition("?")[0]
    await text_of(client, "Add", one=number, other=number)
    await text_of(client, "submit_answer", answer="R1")


@pytest.mark.full
def test_an_agent_takes_the_runs_of_its_profile_each_at_its_own_address(turns, settings, tmp_path):
    settings.SAMPLES = 1
    user = make_user()
    evaluation, token = entered("toy-turns", user=user), create_token(user=user, scopes=["submit"]).token

    async def solve(url: str, one: Evaluation) -> None:
        async with agent(url, token=token, query=f"?evaluation={one.pk}") as client:
            await work(client, solve=careless)

    with server() as url, working(url, token=settings.WORKER_TOKEN, folder=tmp_path / "worker"):
        anyio.run(solve, url, evaluation)
        sweep()
        evaluation.refresh_from_db()
        assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
        request_profile(evaluation, by=user)
        for member in evaluation.members.all():
            if member.perturbation in {"framed", "fault-once"}:
                sweep()
                anyio.run(solve, url, member)
            else:
                services.cancel(member, by=user)
    sweep()
    assert measuring.measure(evaluation.pk)
    figures = ReliabilityProfile.objects.get().figures
    ratios = {one["name"]: one["ratio"]["mean"] for one in figures["robustness"]}
    assert ratios == {"framed": 1.0, "fault-once": 0.0}
    why = {one["name"]: one["why"] for one in figures["unavailable"]}
    assert why["shuffled-tools"].startswith("Agents get")
    assert "framed" not in why
    assert not OwnWorkerRun.objects.exists()
