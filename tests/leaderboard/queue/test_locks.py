"""Results of released checkpoints are ranked if an operator vouches for those, however late."""

import pytest
from django.core.management import CommandError, call_command

from leaderboard.boards.models import Snapshot
from leaderboard.catalog.models import SignedLock
from leaderboard.evaluations.models import Evaluation, Visibility
from leaderboard.people.models import User
from leaderboard.queue import publishing
from leaderboard.submissions.releasing import set_visibility
from tests.fakes.evaluator import FakeEvaluator
from tests.leaderboard.factories import make_suite
from tests.leaderboard.queue.test_publishing_together import ready

pytestmark = pytest.mark.django_db
PROBLEM = "its lock file was signed before painter changed"


class Signable(FakeEvaluator):
    """A profile `paper` whose lock file may be signed, and whose checkpoints may change."""

    problem = PROBLEM
    digest = "c" * 64

    def rules_digest(self, *, suite: str, profile: str) -> str:
        return Signable.digest

    def lock_problem(self, profile: str) -> str:
        return Signable.problem


@pytest.fixture
def signable(settings, monkeypatch):
    settings.EVALUATOR, settings.PROFILE = f"{__name__}.Signable", "paper"
    monkeypatch.setattr(Signable, "problem", PROBLEM)
    monkeypatch.setattr(Signable, "digest", "c" * 64)
    return Signable


@pytest.fixture
def evaluation(launcher, signable):
    """One that is completed."""
    return completed()


def completed(suite=None):
    found = ready(suite or make_suite())
    publishing.publish_ready(found)
    found.refresh_from_db()
    assert (found.state, found.profile, found.profile_digest) == ("completed", "paper", Signable.digest)
    return found


def rows():
    newest = Snapshot.objects.order_by("number").last()
    return [] if newest is None else [row["evaluation"] for row in newest.content["rows"]]


def test_without_a_signature_an_evaluation_is_completed_and_not_ranked_and_says_what_to_do(evaluation):
    assert rows() == []
    assert evaluation.reason == "lock_not_signed"
    assert evaluation.reason_text == (
        f"Completed. Not ranked, because no operator vouches for the checkpoints of the profile paper: {PROBLEM}. "
        "An operator signs the lock file with `planarena profiles sign paper` and runs `manage accept_lock` here."
    )
    with pytest.raises(CommandError, match=f"Nobody vouches for the checkpoints of paper: {PROBLEM}"):
        call_command("accept_lock")
    assert rows() == []


def test_a_signature_ranks_what_waited_for_it_and_what_follows(evaluation, signable, capsys):
    signable.problem = ""
    call_command("accept_lock")
    assert "and 1 more evaluations are ranked" in capsys.readouterr().out
    assert rows() == [str(evaluation.pk)]
    evaluation.refresh_from_db()
    assert evaluation.reason == "published"
    assert completed(evaluation.suite).reason == "published"
    assert len(rows()) == 2


def test_what_was_ranked_stays_when_other_checkpoints_are_fetched_and_those_need_another_signature(
    evaluation, signable
):  # fmt: skip
    signable.problem = ""
    call_command("accept_lock")
    signable.digest, signable.problem = "d" * 64, PROBLEM
    assert completed(evaluation.suite).reason == "lock_not_signed"
    assert rows() == [str(evaluation.pk)]
    assert list(SignedLock.objects.values_list("rules_digest", "profile")) == [("c" * 64, "paper")]


def test_a_signature_of_other_checkpoints_does_not_count_for_earlier_ones(evaluation, signable):
    signable.digest, signable.problem = "d" * 64, ""
    call_command("accept_lock")
    evaluation.refresh_from_db()
    assert evaluation.reason == "lock_not_signed"
    assert "this site has other checkpoints now" in evaluation.reason_text
    assert rows() == []


def test_a_private_evaluation_needs_a_signature_when_it_becomes_public(evaluation, signable):
    owner = User.objects.get(pk=evaluation.submission.submitted_by_id)
    set_visibility(submission=evaluation.submission, visibility=Visibility.PRIVATE, by=owner)
    evaluation.refresh_from_db()
    assert evaluation.reason == "not_public"
    set_visibility(submission=evaluation.submission, visibility=Visibility.PUBLIC, by=owner)
    evaluation.refresh_from_db()
    assert (evaluation.reason, rows()) == ("lock_not_signed", [])


def test_profiles_with_shipped_weights_need_none(launcher, signable, settings):
    settings.PROFILE = "lilliput"
    found = ready(make_suite())
    publishing.publish_ready(found)
    assert rows() == [str(found.pk)]
    with pytest.raises(CommandError, match="The checkpoints of lilliput are shipped"):
        call_command("accept_lock")
    assert Evaluation.objects.get().reason == "published"
