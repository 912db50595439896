"""Who sees a submission and acts on it: choosing it, changing it, embargoes that end, and hiding by operators."""

import itertools
from contextlib import suppress
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from leaderboard.boards import standing
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import Evaluation, EvaluationState, Submission, Visibility
from leaderboard.evaluations.visibility import (
    NotPossibleError,
    is_public,
    may_act,
    may_see,
    public_now,
    remember_reader,
    visible_to,
)
from leaderboard.people import teams
from leaderboard.platform.models import Action, AuditEntry
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.publishing import publish_ready
from leaderboard.submissions import releasing, services
from leaderboard.submissions.actions import rerun
from leaderboard.submissions.releasing import hide, release_due, set_visibility, show_again
from tests.leaderboard.factories import (
    make_evaluation,
    make_submission,
    make_suite,
    make_team,
    make_user,
    planner_data,
    ranked,
)
from tests.leaderboard.platform.api.test_reading import finish
from tests.leaderboard.threads import in_threads

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]
PRIVATE = {"visibility": "private"}


def embargo(**lasts: int) -> dict:
    return {"visibility": "embargo", "embargo_until": timezone.now() + timedelta(**(lasts or {"days": 7}))}


def complete(submission: Submission, *, score: float = 0.5) -> Evaluation:
    Evaluation.objects.filter(submission=submission).update(state="launching")
    finish(submission.evaluations.get(), score=score)
    return submission.evaluations.get()


def end_embargo(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(embargo_until=timezone.now() - timedelta(seconds=1))


def on_the_board(evaluation: Evaluation) -> bool:
    newest = Snapshot.objects.filter(suite=evaluation.suite_id).order_by("-number").first()
    return newest is not None and str(evaluation.pk) in {row["evaluation"] for row in newest.content["rows"]}


class TestChoosing:
    @pytest.mark.parametrize(
        ("seen", "field", "words"),
        [
            ({"visibility": "odd"}, "visibility", "Choose one of public, embargo, private"),
            ({"visibility": "embargo"}, "embargo_until", "Enter the end of the embargo"),
            (embargo(seconds=-1), "embargo_until", "in the future"),
            (embargo(days=367), "embargo_until", "at most a year"),
            ({"visibility": "public", "embargo_until": timezone.now()}, "embargo_until", "Only an embargo has an end"),
        ],
    )
    def test_what_is_not_possible_is_said_beside_its_field(self, seen, field, words):
        data = services.SubmissionData(planner=planner_data(), suites=[make_suite().slug], **seen)
        with pytest.raises(FieldErrors) as raised:
            services.submit(services.validate(user=make_user(), data=data))
        assert words in raised.value.errors[field][0]
        assert not Submission.objects.exists()

    @pytest.mark.parametrize(
        "fields", [{"visibility": "embargo"}, {"embargo_until": timezone.now()}, {"visibility": "odd"}]
    )
    def test_the_database_refuses_what_must_never_be(self, fields):
        submission = make_submission()
        with pytest.raises(IntegrityError), transaction.atomic():
            Submission.objects.filter(pk=submission.pk).update(**fields)

    def test_the_condition_and_the_question_agree(self):
        owner, member, stranger = make_user(), make_user(), make_user()
        team = make_team(owner, member)
        for seen in ({}, PRIVATE, embargo()):
            submission = make_submission(user=owner, seen=seen, team=team)
            readers = {"owner": owner, "member": member, "stranger": stranger, "anonymous": AnonymousUser()}
            for name, reader in readers.items():
                found = Submission.objects.filter(visible_to(reader), pk=submission.pk).exists()
                assert found == may_see(reader=reader, submission=submission)
                assert found == (not seen or name in {"owner", "member"})
            assert Submission.objects.filter(public_now(), pk=submission.pk).exists() == is_public(submission)


class TestBoards:
    def test_what_is_private_is_on_no_board_until_its_owner_publishes_it(self):
        submission = make_submission(seen=PRIVATE)
        evaluation = complete(submission)
        assert (evaluation.state, evaluation.reason) == ("completed", "not_public")
        assert not Snapshot.objects.exists(), "also an empty board would tell that something was run"
        assert evaluation.first_ranked is None
        assert set_visibility(submission, visibility="public", by=submission.submitted_by)
        evaluation.refresh_from_db()
        assert on_the_board(evaluation)
        assert evaluation.reason == "published"
        assert evaluation.first_ranked is not None
        assert Submission.objects.get().public_since is not None

    def test_where_it_would_stand_is_told_and_the_row_of_the_same_planner_makes_room(self):
        owner, suite = make_user(), make_suite()
        complete(ranked(make_submission(suite=suite)), score=0.4)
        complete(ranked(make_submission(suite=suite)), score=0.8)
        complete(make_submission(suite=suite), score=1.0)
        mine = {"user": owner, "suite": suite, "name": "mine"}
        public, private = make_submission(**mine), make_submission(**mine, seen=PRIVATE)
        complete(ranked(public), score=0.9)
        evaluation = complete(private, score=0.6)
        found = standing.standing_of(evaluation)
        assert found is not None
        assert (found.rank, found.planners) == (2, 3)
        assert not on_the_board(evaluation)


class TestChanging:
    def test_what_a_snapshot_holds_stays_public_whoever_writes(self):
        submission = make_submission()
        evaluation = complete(submission)
        for seen in (PRIVATE, embargo()):
            with pytest.raises(NotPossibleError, match="stays public"):
                set_visibility(submission, **seen, by=submission.submitted_by)
        with pytest.raises(IntegrityError, match="stays public"), transaction.atomic():
            Submission.objects.filter(pk=submission.pk).update(visibility="private")
        assert on_the_board(evaluation)
        assert not AuditEntry.objects.filter(action=Action.VISIBILITY_SET).exists()

    def test_every_change_is_in_the_audit_log_and_none_that_was_none(self):
        submission = make_submission(seen=PRIVATE)
        until = embargo()
        assert set_visibility(submission, **until, by=submission.submitted_by)
        assert not set_visibility(submission, **until, by=submission.submitted_by)
        entry = AuditEntry.objects.get(action=Action.VISIBILITY_SET)
        assert entry.actor == submission.submitted_by.username
        assert entry.details["before"] == {"visibility": "private", "embargo_until": None}
        assert entry.details["after"]["visibility"] == "embargo"

    def test_a_rerun_is_seen_by_whom_the_first_one_is(self):
        submission = make_submission(seen=embargo())
        evaluation = complete(submission)
        again = rerun(evaluation, by=submission.submitted_by)
        assert (again.visibility, again.embargo_until) == (submission.visibility, submission.embargo_until)
        end_embargo(submission)
        third = rerun(evaluation, by=submission.submitted_by)
        assert (third.visibility, third.embargo_until) == (Visibility.PUBLIC, None)


class TestEmbargoes:
    def test_it_ends_with_its_date_for_readers_and_with_the_next_sweep_on_boards(self):
        submission = make_submission(seen=embargo())
        evaluation = complete(submission)
        assert release_due() == 0
        end_embargo(submission)
        assert Submission.objects.filter(public_now()).exists()
        assert not on_the_board(evaluation)
        assert release_due() == 1
        assert on_the_board(evaluation)
        after = Submission.objects.get()
        assert (after.visibility, after.embargo_until) == (Visibility.PUBLIC, None)
        assert after.public_since < timezone.now()
        assert AuditEntry.objects.get(action=Action.EMBARGO_ENDED).actor_key is None

    @pytest.mark.parametrize("point", ["record", "publish_locked", "explain", "request_resync"])
    def test_one_that_cannot_be_ended_keeps_no_other_leaves_nothing_behind_and_ends_later(self, monkeypatch, point):
        submissions = [make_submission(seen=embargo()) for _ in range(2)]
        evaluations = [complete(submission) for submission in submissions]
        for submission in submissions:
            end_embargo(submission)
        real, died = getattr(releasing, point), []

        def dies_once(*args, **kwargs):
            if not died:
                died.append(point)
                raise RuntimeError("killed")
            return real(*args, **kwargs)

        monkeypatch.setattr(releasing, point, dies_once)
        assert release_due() == 1
        assert Submission.objects.filter(visibility=Visibility.EMBARGO).count() == 1
        assert Snapshot.objects.count() == 1
        assert release_due() == 1
        assert all(on_the_board(evaluation) for evaluation in evaluations)


class TestHiding:
    def test_a_new_snapshot_is_without_it_and_the_old_one_stays(self):
        submission = make_submission()
        evaluation = complete(submission)
        old = Snapshot.objects.get()
        hide(evaluation, reason="It copied the gold plans.", by=None)
        assert not on_the_board(evaluation)
        assert Snapshot.objects.get(pk=old.pk).content == old.content
        show_again(evaluation, by=None)
        assert on_the_board(evaluation)
        actions = AuditEntry.objects.filter(action__in=[Action.HIDDEN, Action.SHOWN_AGAIN]).order_by("pk")
        assert [(one.action, one.details["reason"]) for one in actions] == [
            ("hidden", "It copied the gold plans."), ("shown_again", "It copied the gold plans."),
        ]  # fmt: skip

    def test_the_next_best_of_its_planner_takes_its_place(self):
        owner, suite = make_user(), make_suite()
        best = complete(make_submission(user=owner, suite=suite, name="mine"), score=0.9)
        second = complete(make_submission(user=owner, suite=suite, name="mine"), score=0.5)
        hide(best, reason="Measured with a broken expert.", by=None)
        assert on_the_board(second)

    def test_a_reason_is_needed_and_twice_is_refused(self):
        evaluation = complete(make_submission())
        for reason in ("", "  ", "x" * 401, "two\nlines"):
            with pytest.raises(ValueError, match="Give a reason"):
                hide(evaluation, reason=reason, by=None)
        with pytest.raises(NotPossibleError, match="not hidden"):
            show_again(evaluation, by=None)
        hide(evaluation, reason="Once.", by=None)
        with pytest.raises(NotPossibleError, match="already hidden: Once"):
            hide(evaluation, reason="Twice.", by=None)


class TestPages:
    def test_the_form_enters_it_and_the_owner_changes_it(self, client):
        owner = make_user()
        client.force_login(owner)
        until = (timezone.now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")
        entered = {
            "kind": "bundled", "bundled_name": "gold", "name": "mine", "suites": [make_suite().slug],
            "visibility": "embargo", "embargo_until": until,
        }  # fmt: skip
        page = client.post("/submit/", entered, follow=True)
        assert '<span class="tag">embargo</span>' in page.content.decode()
        submission = Submission.objects.get()
        assert submission.embargo_until.strftime("%Y-%m-%dT%H:%M") == until
        address = page.redirect_chain[-1][0]
        changed = client.post(f"{address}visibility/", {"visibility": "private", "embargo_until": until}, follow=True)
        assert "Visibility changed." in changed.content.decode()
        assert Submission.objects.get().visibility == "private"
        wrong = client.post(f"{address}visibility/", {"visibility": "embargo", "embargo_until": "odd"}, follow=True)
        assert "Nothing was changed." in wrong.content.decode()
        assert changed.headers["Cache-Control"] == "private, no-store"

    def test_a_board_shows_its_reader_where_their_own_would_stand(self, client):
        owner, suite = make_user(), make_suite()
        complete(make_submission(suite=suite), score=0.8)
        complete(make_submission(user=owner, suite=suite, name="secret plan", seen=PRIVATE), score=0.6)
        address = f"/boards/{suite.slug}/"
        assert "secret plan" not in client.get(address).content.decode()
        client.force_login(owner)
        html = client.get(address).content.decode()
        assert "Your unpublished evaluations" in html
        assert "secret plan" in html


# --- Who may act, also where it was read with the evaluation ----------------------------------------------------------


def test_what_was_read_counts_for_that_reader_and_that_object_only(django_assert_num_queries):
    owner, member, stranger = make_user(), make_user(), make_user()
    submission = make_submission(user=owner, team=make_team(owner, member))
    remember_reader(reader=member, submission=submission, in_team=True)
    with django_assert_num_queries(0):
        assert may_act(user=member, submission=submission)
        assert may_act(user=owner, submission=submission)
    assert not may_act(user=stranger, submission=submission)
    remember_reader(reader=stranger, submission=submission, in_team=False)
    assert may_act(user=member, submission=submission), "asked again"


def test_who_left_the_team_may_not_act_on_what_is_read_after_that():
    owner, member = make_user(), make_user()
    team = make_team(owner, member)
    submission = make_submission(user=owner, team=team)
    remember_reader(reader=member, submission=submission, in_team=True)
    teams.remove(team=team, user=member, by=owner)
    again = type(submission).objects.get(pk=submission.pk)
    assert not may_act(user=member, submission=again)


# --- Changed while it is being published: whichever comes first, no snapshot holds what is private -------------------

SUMMARY = {"metrics": {"overall": {"mean": 0.5, "low": 0.4, "high": 0.6, "tasks": 4}}, "outcomes": {"scored": 4}}


def ready() -> Evaluation:
    """An evaluation whose scores are computed, and which nobody has published yet."""
    evaluation = make_evaluation()
    Evaluation.objects.filter(pk=evaluation.pk).update(state=EvaluationState.AGGREGATING, summary=SUMMARY)
    return Evaluation.objects.select_related("suite", "submission").get(pk=evaluation.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_", range(4))
def test_what_becomes_private_while_it_is_published_is_either_on_the_board_or_private(_):
    evaluation = ready()
    turns = itertools.count()

    def publish_or_withdraw() -> None:
        if next(turns):
            with suppress(NotPossibleError):
                set_visibility(evaluation.submission, visibility="private")
        else:
            publish_ready(evaluation)

    assert not in_threads(publish_or_withdraw, count=2)
    # A publisher that met the lock left; the sweep comes again.
    publish_ready(evaluation)
    submission = Submission.objects.get(pk=evaluation.submission_id)
    ranked = [row["evaluation"] for snapshot in Snapshot.objects.all() for row in snapshot.content["rows"]]
    assert (str(evaluation.pk) in ranked) == (submission.visibility == Visibility.PUBLIC)


@pytest.mark.django_db(transaction=True)
def test_an_embargo_that_several_end_at_once_ends_once():
    submission = make_submission(suite=make_suite())
    Evaluation.objects.filter(submission=submission).update(state=EvaluationState.AGGREGATING, summary=SUMMARY)
    Submission.objects.filter(pk=submission.pk).update(visibility="embargo", embargo_until="2026-01-01T00:00Z")
    publish_ready(submission.evaluations.select_related("suite").get())
    released = []
    assert not in_threads(lambda: released.append(release_due()), count=4)
    assert sum(released) == 1
    assert Snapshot.objects.count() == 1
