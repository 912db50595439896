"""Asking for reliability profiles: members, quota, gaps, and what the rest of the site makes of them."""

import pytest

from evaluator.records import Outcome
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.notifications.models import Kind, OutboxMessage, Webhook
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.quotas.models import QuotaBalance, QuotaEntry
from leaderboard.quotas.services import QuotaExceededError
from leaderboard.reliability import measuring
from leaderboard.reliability.models import ReliabilityProfile
from leaderboard.reliability.services import cancel_profile, request_profile
from leaderboard.results.objects import server_store
from leaderboard.submissions import services
from leaderboard.submissions.hiding import hide
from leaderboard.submissions.rerunning import rerun
from tests.leaderboard.factories import make_evaluation, make_record, make_user
from tests.leaderboard.site.api.helpers import client_of
from tests.rings import usual

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

MEMBERS = [("", 2), ("", 3), ("", 4), ("", 5), ("framed", 1), ("lower-case", 1)]
"""Of a profile by the fake evaluator."""


def run(evaluation, *, outcome=Outcome.SCORED, score=0.5):
    """Work off every shard of an evaluation."""
    sweep()
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        slug = lease.evaluation.suite.slug
        records = [make_record(task, suite=slug, outcome=outcome, score=score) for task in lease.tasks]
        deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split="public"))
        leases.complete(lease.attempt.pk)
    sweep()
    evaluation.refresh_from_db()


def completed(user=None):
    """A completed evaluation of this user."""
    evaluation = make_evaluation(user=user or make_user())
    run(evaluation)
    return evaluation


def owner_of(evaluation):
    return evaluation.submission.submitted_by


def members_of(evaluation):
    return list(evaluation.members.order_by("perturbation", "repetition"))


def conditions_of(members):
    return [(member.perturbation, member.repetition) for member in members]


def test_a_profile_queues_its_members_and_charges_each(launcher):
    evaluation = completed()
    request_profile(evaluation, by=owner_of(evaluation))
    members = members_of(evaluation)
    assert conditions_of(members) == MEMBERS
    assert [member.tasks_total for member in members] == [4, 4, 4, 4, 4, 1]
    assert {member.submission_id for member in members} == {evaluation.submission_id}
    assert QuotaEntry.objects.filter(evaluation__in=members, amount=1).count() == len(MEMBERS)
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {1 + len(MEMBERS)}


def test_members_are_on_no_board_and_in_no_list(launcher):
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
    board = client.get(f"boards/{evaluation.suite.slug}/").json()
    assert [row["evaluation"] for row in board["content"]["rows"]] == [str(evaluation.pk)]


def test_the_profile_is_measured_when_the_last_member_has_ended(
    launcher, celery_messages, django_capture_on_commit_callbacks
):
    evaluation = completed()
    request_profile(evaluation, by=owner_of(evaluation))
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
    evaluation = completed()
    owner = owner_of(evaluation)
    request_profile(evaluation, by=owner)
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
    evaluation = completed()
    owner = owner_of(evaluation)
    request_profile(evaluation, by=owner)
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
    evaluation = completed()
    owner = owner_of(evaluation)
    request_profile(evaluation, by=owner)
    done = members_of(evaluation)[0]
    run(done)
    assert cancel_profile(evaluation, by=owner) == len(MEMBERS) - 1
    assert measuring.measure(evaluation.pk)
    profile = ReliabilityProfile.objects.get()
    assert (profile.figures["runs"], len(profile.gaps)) == (2, len(MEMBERS) - 1)
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {2}
    with pytest.raises(NotPossibleError, match="under way"):
        cancel_profile(evaluation, by=owner)


def test_members_execute_plans_on_fewer_data_points(launcher, settings):
    settings.SAMPLES = 32
    evaluation = completed()
    request_profile(evaluation, by=owner_of(evaluation))
    assert evaluation.samples == 32
    assert {member.samples for member in members_of(evaluation)} == {8}


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
    request_profile(evaluation, by=owner_of(evaluation))
    with pytest.raises(NotPossibleError, match="is being measured"):
        request_profile(evaluation, by=owner_of(evaluation))
    with pytest.raises(NotPossibleError, match="Only a completed evaluation"):
        request_profile(members_of(evaluation)[0], by=owner_of(evaluation))


def test_other_rules_than_those_of_the_evaluation_are_refused(launcher):
    evaluation = completed()
    Evaluation.objects.filter(pk=evaluation.pk).update(profile_digest="0" * 64)
    evaluation.refresh_from_db()
    with pytest.raises(NotPossibleError, match="have changed"):
        request_profile(evaluation, by=owner_of(evaluation))


def test_members_are_neither_run_again_nor_hidden_by_themselves(launcher):
    evaluation = completed()
    request_profile(evaluation, by=owner_of(evaluation))
    member = members_of(evaluation)[0]
    run(member)
    with pytest.raises(NotPossibleError, match="part of a reliability profile"):
        rerun(member, by=owner_of(evaluation))
    with pytest.raises(NotPossibleError, match="part of a reliability profile"):
        hide(member, reason="Wrong.")


def test_owners_get_mails_about_members_only_where_they_have_to_act(launcher):
    user = make_user()
    user.mails = "ended"
    user.save()
    evaluation = completed(user)
    OutboxMessage.objects.all().delete()
    request_profile(evaluation, by=user)
    *others, last = members_of(evaluation)
    for member in others:
        run(member)
    assert not OutboxMessage.objects.filter(kind=Kind.MAIL).exists()
    run(last, outcome=Outcome.INFRA_FAULT)
    assert OutboxMessage.objects.filter(kind=Kind.MAIL).count() == 1


MAILS = [("ended", 1), ("needed", 0), ("none", 0)]


@pytest.mark.parametrize(("mails", "count"), usual(MAILS, of=MAILS[:2]))
def test_owners_who_want_a_mail_when_something_ends_get_one_about_the_figures(mails, count, launcher, settings):
    settings.SITE_URL = "https://arena.example"
    user = make_user()
    evaluation = completed(user)
    request_profile(evaluation, by=user)
    cancelled, *others = members_of(evaluation)
    for member in others:
        run(member)
    services.cancel(cancelled, by=user)
    user.mails = mails
    user.save()
    Webhook.objects.create(owner=user, url="https://hook.example", secret="s")
    OutboxMessage.objects.all().delete()
    assert measuring.measure(evaluation.pk)
    sent = [one.payload for one in OutboxMessage.objects.filter(kind=Kind.MAIL)]
    assert len(sent) == count
    for mail in sent:
        assert mail["subject"].startswith("PlanArena: reliability of ")
        assert "Runs without figures: 1." in mail["text"]
        assert f"https://arena.example/evaluations/{evaluation.pk}/reliability/" in mail["text"]
    (event,) = [one.payload["event"] for one in OutboxMessage.objects.filter(kind=Kind.WEBHOOK)]
    assert (event["event"], event["state"], event["gaps"]) == ("reliability", "measured", 1)


def test_figures_that_another_release_computes_again_are_no_news(launcher):
    user = make_user()
    user.mails = "ended"
    user.save()
    evaluation = completed(user)
    request_profile(evaluation, by=user)
    for member in members_of(evaluation):
        run(member)
    assert measuring.measure(evaluation.pk)
    profile = ReliabilityProfile.objects.get()
    profile.figures["version"] = "reliability/0"
    profile.save()
    OutboxMessage.objects.all().delete()
    assert measuring.measure(evaluation.pk)
    assert not OutboxMessage.objects.filter(kind=Kind.MAIL).exists()
