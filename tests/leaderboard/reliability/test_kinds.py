"""Whose reliability the site can measure: planners on self-hosted workers and agents, but no plans file."""

import anyio
import pytest
from mcp import Client as Mcp

from leaderboard.accounts.services import create_token
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.planners.kinds import KINDS
from leaderboard.queue.models import OwnWorkerRun
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.own import runs_on_own_worker
from leaderboard.reliability import measuring
from leaderboard.reliability.members import reaching
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.reliability.services import request_profile
from leaderboard.submissions import services
from tests.evaluator.agents.agent import text_of, work
from tests.leaderboard.agents.acting import agent, entered, working
from tests.leaderboard.agents.conftest import turns  # noqa: F401 - a fixture
from tests.leaderboard.factories import make_user
from tests.leaderboard.queue.verifying import completed_own, run
from tests.leaderboard.serving import server


@pytest.fixture
def own_evaluation(launcher, own_store):
    """One that its owner's worker has run, verified by the site's."""
    evaluation = completed_own()
    run(evaluation.verifications.get())
    evaluation.refresh_from_db()
    return evaluation


@pytest.mark.django_db
def test_members_of_a_self_hosted_evaluation_are_left_to_the_workers_of_its_owner(own_evaluation, launcher):
    request_profile(own_evaluation, by=own_evaluation.submission.submitted_by)
    members = list(own_evaluation.members.all())
    assert members
    assert all(runs_on_own_worker(member.pk) for member in members)
    started = len(launcher.ensured)
    for member in members:
        assert run(member).reason == "member_measured"
        assert not member.verifications.exists()
    assert len(launcher.ensured) == started, "the site starts no worker for them"


@pytest.mark.django_db
def test_no_board_shows_what_a_self_hosted_worker_says_of_reliability(own_evaluation):
    request_profile(own_evaluation, by=own_evaluation.submission.submitted_by)
    for member in own_evaluation.members.all():
        run(member)
    assert measuring.measure(own_evaluation.pk)
    (row,) = Snapshot.objects.latest("number").content["rows"]
    assert (row["evaluation"], row["run_by_owner"]) == (str(own_evaluation.pk), True)
    assert not row.get("reliability")
    assert ReliabilityProfile.objects.get().figures["runs"] == 5


@pytest.mark.django_db
def test_a_plans_file_is_refused_with_the_way_that_there_is(own_evaluation):
    own_evaluation.submission.planner.kind = "plans"
    with pytest.raises(NotPossibleError, match=r"A plans file holds the same plan .* Submit the planner itself"):
        request_profile(own_evaluation, by=own_evaluation.submission.submitted_by)


def test_perturbed_tools_do_not_reach_agents():
    changed = {"framed": ["0"], "cut-descriptions": ["0"], "shuffled-tools": ["0"], "fault-once": ["0"]}
    assert list(reaching(changed, kind=KINDS["agent"])) == ["framed", "fault-once"]
    assert reaching(changed, kind=KINDS["endpoint"]) == changed


async def careless(client: Mcp, task: str) -> None:
    """Add the number to itself, and submit the result whether or not there is one."""
    number = task.partition("What is twice ")[2].partition("?")[0]
    await text_of(client, "Add", one=number, other=number)
    await text_of(client, "submit_answer", answer="R1")


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_an_agent_takes_the_runs_of_its_profile_each_at_its_own_address(turns, settings, tmp_path):  # noqa: F811
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
