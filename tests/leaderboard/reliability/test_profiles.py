"""Asking for reliability profiles: members, quota, gaps, and what the rest of the site makes of them."""

import pytest
from django.test import Client

from evaluator.core.records import Outcome
from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import Task
from leaderboard.evaluations.models import EvaluationState
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.planners.kinds import KINDS
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.own import runs_on_own_worker
from leaderboard.quotas.models import QuotaBalance, QuotaEntry
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.reliability import measuring
from leaderboard.reliability.models import ReliabilityProfile, reaching
from leaderboard.reliability.services import cancel_profile, request_profile
from leaderboard.submissions import services
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.releasing import hide
from tests.leaderboard.factories import make_evaluation, make_record, make_user
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.platform.api.helpers import client_of
from tests.leaderboard.queue import verifying
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server
from tests.rings import usual

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

MEMBERS = [("", 2), ("", 3), ("", 4), ("", 5), ("framed", 1), ("lower-case", 1)]
"""Of a profile by the fake evaluator."""


def run(evaluation, *, outcome=Outcome.SCORED, score=0.5):
    """Work off every shard of an evaluation."""
    slug = evaluation.suite.slug
    return verifying.run(evaluation, answer=lambda task: make_record(task, suite=slug, outcome=outcome, score=score))


def completed(user=None):
    """A completed evaluation of this user."""
    evaluation = make_evaluation(user=user or make_user())
    run(evaluation)
    return evaluation


def owner_of(evaluation):
    return evaluation.submission.submitted_by


def requested(user=None):
    """A completed evaluation whose reliability is being measured."""
    evaluation = completed(user)
    request_profile(evaluation, by=owner_of(evaluation))
    return evaluation


def members_of(evaluation):
    return list(evaluation.members.order_by("perturbation", "repetition"))


def conditions_of(members):
    return [(member.perturbation, member.repetition) for member in members]


def test_a_profile_queues_its_members_and_charges_each(launcher, settings):
    settings.SAMPLES = 32
    evaluation = requested()
    members = members_of(evaluation)
    assert conditions_of(members) == MEMBERS
    assert [member.tasks_total for member in members] == [4, 4, 4, 4, 4, 1]
    assert {member.submission_id for member in members} == {evaluation.submission_id}
    assert (evaluation.samples, {member.samples for member in members}) == (32, {8}), "plans run on fewer data points"
    assert QuotaEntry.objects.filter(evaluation__in=members, amount=1).count() == len(MEMBERS)
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {1 + len(MEMBERS)}


def test_members_are_on_no_board_and_in_no_list_and_neither_run_again_nor_hidden(launcher):
    evaluation = completed()
    before = Snapshot.objects.count()
    request_profile(evaluation, by=owner_of(evaluation))
    for member in members_of(evaluation):
        run(member, score=1.0)
        assert (member.state, member.reason) == ("completed", "member_measured")
    assert Snapshot.objects.count() == before
    client = client_of(owner_of(evaluation))
    listed = client.get("evaluations/").json()["results"]
    assert [one["id"] for one in listed] == [str(evaluation.pk)]
    submission = client.get(f"submissions/{evaluation.submission_id}/").json()
    assert [one["id"] for one in submission["evaluations"]] == [str(evaluation.pk)]
    member = client.get(f"evaluations/{members_of(evaluation)[4].pk}/").json()
    assert (member["member_of"], member["perturbation"]) == (str(evaluation.pk), "framed")
    with pytest.raises(NotPossibleError, match="part of a reliability profile"):
        rerun(members_of(evaluation)[0], by=owner_of(evaluation))
    with pytest.raises(NotPossibleError, match="part of a reliability profile"):
        hide(members_of(evaluation)[0], reason="Wrong.")


def test_the_profile_is_measured_when_the_last_member_has_ended(
    launcher, celery_messages, django_capture_on_commit_callbacks
):
    evaluation = requested()
    *others, last = members_of(evaluation)
    for member in others:
        run(member, score=1.0 if member.repetition == 3 else 0.0)
    assert not measuring.measure(evaluation.pk), "one member has not ended"
    with django_capture_on_commit_callbacks(execute=True):
        run(last, score=0.25)
    assert ("measure_profile", str(evaluation.pk)) in celery_messages
    assert measuring.measure(evaluation.pk)
    assert not measuring.measure(evaluation.pk)
    profile = ReliabilityProfile.objects.get()
    assert profile.gaps == []
    assert (profile.figures["runs"], profile.figures["tasks"]) == (5, 4)
    # Success is what gold plans have, whose evaluation this is: 0.5. Its own run and one other have that.
    assert profile.figures["success_rate"]["mean"] == 0.4
    ratios = {one["name"]: one["ratio"]["mean"] for one in profile.figures["robustness"]}
    row = Snapshot.objects.latest("number").content["rows"][0]
    assert row["reliability"]["success"]["mean"] == 0.4, "the board has a column of it"
    # The plain runs have 0.5, 0, 1, 0 and 0, so 0.3 in the mean.
    assert ratios == {"framed": 0.0, "lower-case": pytest.approx(0.25 / 0.3)}


def test_a_member_that_fails_leaves_a_gap_that_says_why_and_can_be_filled(launcher):
    evaluation = requested()
    owner = owner_of(evaluation)
    failing, *others = [one for one in members_of(evaluation) if one.repetition != 2]
    gone = evaluation.members.get(repetition=2)
    for member in [failing, *others]:
        run(member)
    services.cancel(gone, by=owner)
    assert measuring.measure(evaluation.pk)
    profile = ReliabilityProfile.objects.get()
    assert profile.gaps == [{"perturbation": "", "repetition": 2, "why": "Cancelled by its owner."}]
    assert profile.figures["runs"] == 4

    request_profile(evaluation, by=owner)
    fresh = evaluation.members.get(repetition=2, state=EvaluationState.QUEUED)
    assert evaluation.members.count() == len(MEMBERS) + 1, "only the missing one is queued again"
    run(fresh)
    assert measuring.measure(evaluation.pk)
    profile.refresh_from_db()
    assert (profile.gaps, profile.figures["runs"]) == ([], 5)
    with pytest.raises(NotPossibleError, match="Every run"):
        request_profile(evaluation, by=owner)


def test_an_infra_fault_waits_for_the_owner_and_what_is_accepted_counts_as_a_fault(launcher):
    evaluation = requested()
    owner = owner_of(evaluation)
    for member in members_of(evaluation):
        run(member, outcome=Outcome.INFRA_FAULT if member.perturbation == "framed" else Outcome.SCORED)
    held = evaluation.members.get(perturbation="framed")
    assert held.state == EvaluationState.ON_HOLD
    assert not measuring.measure(evaluation.pk), "it waits for its owner"
    services.accept(held, by=owner)
    sweep()
    assert measuring.measure(evaluation.pk)
    framed = ReliabilityProfile.objects.get().figures["robustness"][0]
    assert (framed["name"], framed["ratio"]["mean"], framed["left_out"]) == ("framed", 0.0, 0)


def test_cancelling_ends_what_runs_refunds_it_and_leaves_a_partial_profile(launcher):
    evaluation = requested()
    owner = owner_of(evaluation)
    done = members_of(evaluation)[0]
    run(done)
    assert cancel_profile(evaluation, by=owner) == len(MEMBERS) - 1
    assert measuring.measure(evaluation.pk)
    profile = ReliabilityProfile.objects.get()
    assert (profile.figures["runs"], len(profile.gaps)) == (2, len(MEMBERS) - 1)
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {2}
    with pytest.raises(NotPossibleError, match="under way"):
        cancel_profile(evaluation, by=owner)


def test_without_quota_for_all_members_nothing_is_queued(launcher, settings):
    evaluation = completed()
    settings.QUOTA_PER_SUITE_AND_DAY = len(MEMBERS)
    with pytest.raises(QuotaExceededError):
        request_profile(evaluation, by=owner_of(evaluation))
    assert not evaluation.members.exists()
    assert not ReliabilityProfile.objects.exists()
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {1}


def test_what_cannot_have_a_profile_says_why(launcher):
    evaluation = make_evaluation()
    with pytest.raises(NotPossibleError, match="Only a completed evaluation"):
        request_profile(evaluation, by=owner_of(evaluation))
    run(evaluation)
    digest = evaluation.profile_digest
    evaluation.profile_digest = "0" * 64
    with pytest.raises(NotPossibleError, match="have changed"):
        request_profile(evaluation, by=owner_of(evaluation))
    evaluation.profile_digest = digest
    request_profile(evaluation, by=owner_of(evaluation))
    with pytest.raises(NotPossibleError, match="is being measured"):
        request_profile(evaluation, by=owner_of(evaluation))
    with pytest.raises(NotPossibleError, match="Only a completed evaluation"):
        request_profile(members_of(evaluation)[0], by=owner_of(evaluation))


def sent(kind: Kind) -> list[dict]:
    """Payloads of the messages since the last call."""
    found = list(OutboxMessage.objects.filter(kind=kind))
    OutboxMessage.objects.all().delete()
    return [one.payload for one in found]


MAILS = [("ended", 1), ("needed", 0), ("none", 0)]


@pytest.mark.parametrize(("mails", "count"), usual(MAILS, of=MAILS[:2]))
def test_owners_get_mails_where_they_have_to_act_and_about_the_figures_if_they_want(mails, count, launcher, settings):
    settings.SITE_URL = "https://arena.example"
    user = make_user()
    evaluation = requested(user)
    user.mails = mails
    user.save()
    sent(Kind.MAIL)
    cancelled, held, *others = members_of(evaluation)
    for member in others:
        run(member)
    services.cancel(cancelled, by=user)
    assert sent(Kind.MAIL) == []
    run(held, outcome=Outcome.INFRA_FAULT)
    assert len(sent(Kind.MAIL)) == (mails != "none")
    services.accept(held, by=user)
    sweep()
    Webhook.objects.create(owner=user, url="https://hook.example", secret="s")
    assert measuring.measure(evaluation.pk)
    (event,) = [one.payload["event"] for one in OutboxMessage.objects.filter(kind=Kind.WEBHOOK)]
    assert (event["event"], event["state"], event["gaps"]) == ("reliability", "measured", 1)
    about = sent(Kind.MAIL)
    assert len(about) == count
    for mail in about:
        assert mail["subject"].startswith("The reliability of ")
        assert "One run has no figures; the page says why." in mail["text"]
        assert f"https://arena.example/evaluations/{evaluation.pk}/reliability/" in mail["text"]
    # Figures that another release computes again are no news.
    profile = ReliabilityProfile.objects.get()
    profile.figures["version"] = "reliability/0"
    profile.save()
    assert measuring.measure(evaluation.pk)
    assert sent(Kind.MAIL) == []


@pytest.fixture
def own_evaluation():
    """One that its owner's worker has run, verified by the site's."""
    evaluation = verifying.completed_own()
    run(evaluation.verifications.get())
    evaluation.refresh_from_db()
    return evaluation


def test_members_of_a_self_hosted_evaluation_are_left_to_its_owner_s_workers_and_no_board_shows_them(
    own_evaluation, launcher
):
    request_profile(own_evaluation, by=own_evaluation.submission.submitted_by)
    members = list(own_evaluation.members.all())
    assert members
    assert all(runs_on_own_worker(member.pk) for member in members)
    started = len(launcher.ensured)
    for member in members:
        assert run(member).reason == "member_measured"
        assert not member.verifications.exists()
    assert len(launcher.ensured) == started, "the site starts no worker for them"
    assert measuring.measure(own_evaluation.pk)
    (row,) = Snapshot.objects.latest("number").content["rows"]
    assert (row["evaluation"], row["run_by_owner"]) == (str(own_evaluation.pk), True)
    assert not row.get("reliability")
    assert ReliabilityProfile.objects.get().figures["runs"] == 5


def test_a_plans_file_is_refused_with_the_way_that_there_is(own_evaluation):
    own_evaluation.submission.planner.kind = "plans"
    with pytest.raises(NotPossibleError, match=r"A plans file holds the same plan .* Submit the planner itself"):
        request_profile(own_evaluation, by=own_evaluation.submission.submitted_by)


def test_perturbed_tools_do_not_reach_agents():
    changed = {"framed": ["0"], "cut-descriptions": ["0"], "shuffled-tools": ["0"], "fault-once": ["0"]}
    assert list(reaching(changed, kind=KINDS["agent"])) == ["framed", "fault-once"]
    assert reaching(changed, kind=KINDS["endpoint"]) == changed


@pytest.mark.django_db(transaction=True)
def test_a_profile_from_the_request_to_its_figures_with_a_real_worker_and_judge(settings):
    settings.EVALUATOR, settings.PLANNING_TASKS_PER_SHARD = REAL, 60
    with server() as url:
        measured_by_a_worker(url)


def measured_by_a_worker(url: str) -> None:
    ada, suite = make_user("ada"), make_toolmini()
    # A few tasks of each kind.
    Task.objects.filter(suite=suite).exclude(position__in=range(0, 120, 10)).delete()
    client = client_of(ada)
    body = {"planner": {"name": "gold", "kind": "bundled", "bundled_name": "gold"}, "suites": [suite.slug]}
    evaluation = client.post("submissions/", body).json()["evaluations"][0]["id"]
    assert client.post(f"evaluations/{evaluation}/reliability/").status_code == 409, "it has not ended"
    work_through(url)
    asked = client.post(f"evaluations/{evaluation}/reliability/")
    assert asked.status_code == 201, asked.content
    assert (asked.json()["state"], asked.json()["profile"]) == ("measuring", None)
    assert client_of(make_user()).post(f"evaluations/{evaluation}/reliability/").status_code == 403
    work_through(url)
    assert measuring.measure(evaluation)

    told = Client().get(f"/api/v1/evaluations/{evaluation}/reliability/").json()
    assert (told["state"], told["gaps"]) == ("measured", [])
    assert {member["state"] for member in told["members"]} == {"completed"}
    profile = told["profile"]
    assert (profile["runs"], profile["tasks"]) == (5, 12)
    assert profile["dimensions"]["success"]["mean"] == profile["dimensions"]["consistency"]["mean"] == 1.0
    ratios = {one["name"]: one["ratio"]["mean"] for one in profile["robustness"]}
    assert list(ratios) == [member["perturbation"] for member in told["members"] if member["perturbation"]]
    # Gold plans are the same whatever is asked, and in the suite's names, which this one does not offer.
    assert (ratios["framed"], ratios["renamed-tools"]) == (1.0, 0.0)
