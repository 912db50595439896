"""Agents that go away and come back, that fall silent, and workers that are killed meanwhile."""

import time
from collections.abc import Callable

import anyio
import pytest

from leaderboard.accounts.services import create_token
from leaderboard.agents.models import AgentTurn
from leaderboard.evaluations.models import Attempt, AttemptState, EvaluationState, TaskResult
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.results.objects import read_record, server_store
from tests.evaluator.agents.agent import solve_toy, text_of, work
from tests.leaderboard.agents.acting import agent, entered, working
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)


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
    async def run() -> list[str]:
        async with agent(url, token=token) as client:
            first, _ = await text_of(client, "next_task")
            await text_of(client, "submit_answer", answer="R1")
            await work(client, solve=solve_toy)
            return [first]

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
        (again,) = rest(url, token=token)
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
            (again,) = rest(url, token=token)
    assert "1. R1 = Add(1, 1)\n   R1 = 2" in again
    sweep()
    evaluation.refresh_from_db()
    assert evaluation.state == EvaluationState.COMPLETED, evaluation.reason_text
    assert TaskResult.objects.filter(evaluation=evaluation, score=1.0).count() == 8
