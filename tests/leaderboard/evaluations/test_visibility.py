"""Who sees a submission: choosing it, changing it, embargoes that end, and hiding by operators."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluator.records import Outcome
from leaderboard.audit.models import Action, AuditEntry
from leaderboard.boards import standing
from leaderboard.boards.models import Snapshot
from leaderboard.boards.ranking import Entry, MetricValue
from leaderboard.evaluations.acting import NotPossibleError
from leaderboard.evaluations.models import Evaluation, Submission, Visibility
from leaderboard.evaluations.visibility import is_public, may_see, public_now, visible_to
from leaderboard.site.field_errors import FieldErrors
from leaderboard.submissions import releasing, services
from leaderboard.submissions.hiding import hide, show_again
from leaderboard.submissions.releasing import release_due, set_visibility
from leaderboard.submissions.rerunning import rerun
from tests.leaderboard.factories import make_submission, make_suite, make_team, make_user, planner_data
from tests.leaderboard.site.api.helpers import ApiClient, client_of
from tests.leaderboard.site.api.test_reading import finish

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
    def test_what_is_private_is_completed_but_on_no_board(self):
        evaluation = complete(make_submission(seen=PRIVATE))
        assert (evaluation.state, evaluation.reason) == ("completed", "not_public")
        assert not Snapshot.objects.exists(), "also an empty board would tell that something was run"
        assert evaluation.first_ranked is None

    def test_it_is_published_with_the_choice_of_its_owner(self):
        submission = make_submission(seen=PRIVATE)
        evaluation = complete(submission)
        assert set_visibility(submission, visibility="public", by=submission.submitted_by)
        evaluation.refresh_from_db()
        assert on_the_board(evaluation)
        assert evaluation.reason == "published"
        assert evaluation.first_ranked is not None
        assert Submission.objects.get().public_since is not None

    def test_where_it_would_stand_is_told_without_being_published(self):
        suite = make_suite()
        complete(make_submission(suite=suite), score=0.4)
        complete(make_submission(suite=suite), score=0.8)
        evaluation = complete(make_submission(suite=suite, seen=PRIVATE), score=0.6)
        found = standing.standing_of(evaluation)
        assert found is not None
        assert (found.rank, found.planners) == (2, 3)
        assert not on_the_board(evaluation)

    def test_the_row_of_the_same_planner_makes_room(self):
        def row(planner: str, mean: float) -> dict:
            return {
                "planner": planner, "owner": "ada", "kind": "bundled", "evaluation": planner, "outcomes": {},
                "finished": "2026-01-01", "samples": 1, "metrics": {"overall": {"mean": mean}},
            }  # fmt: skip

        entry = Entry(
            planner="mine", kind="bundled", owner="ada", evaluation="new", metrics={"overall": MetricValue(0.9)},
            outcomes={}, finished="2026-01-02", samples=1,
        )  # fmt: skip
        found = standing.standing_among(
            entry=entry,
            others=standing.others_of(entry=entry, rows=[row("mine", 0.95), row("other", 0.5)]),
            metric="overall",
            higher_is_better=True,
            snapshot=3,
            ranges={},
        )
        assert (found.rank, found.planners, found.snapshot) == (1, 2, 3)


class TestChanging:
    def test_what_a_snapshot_holds_stays_public(self):
        submission = make_submission()
        evaluation = complete(submission)
        for seen in (PRIVATE, embargo()):
            with pytest.raises(NotPossibleError, match="stays public"):
                set_visibility(submission, **seen, by=submission.submitted_by)
        assert on_the_board(evaluation)
        assert not AuditEntry.objects.filter(action=Action.VISIBILITY_SET).exists()

    def test_the_database_refuses_it_whoever_writes(self):
        evaluation = complete(make_submission())
        with pytest.raises(IntegrityError, match="stays public"), transaction.atomic():
            Submission.objects.filter(pk=evaluation.submission_id).update(visibility="private")

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

    @pytest.mark.parametrize("point", ["record", "publish_locked", "explain", "ask_anew"])
    def test_who_dies_while_ending_it_leaves_nothing_behind_and_the_next_one_does_it(self, monkeypatch, point):
        submission = make_submission(seen=embargo())
        evaluation = complete(submission)
        end_embargo(submission)
        with monkeypatch.context() as patched:
            patched.setattr(releasing, point, dies)
            assert release_due() == 0
        assert Submission.objects.get().visibility == Visibility.EMBARGO
        assert not Snapshot.objects.exists()
        assert release_due() == 1
        assert on_the_board(evaluation)

    def test_one_that_cannot_be_published_keeps_no_other(self, monkeypatch):
        first, second = make_submission(seen=embargo()), make_submission(seen=embargo())
        evaluation = complete(second)
        for submission in (first, second):
            end_embargo(submission)
        real = releasing._release

        def fails_for_the_first(submission_id):
            if submission_id == first.pk:
                raise RuntimeError("broken")
            return real(submission_id)

        monkeypatch.setattr(releasing, "_release", fails_for_the_first)
        assert release_due() == 1
        assert on_the_board(evaluation)


def dies(*args, **kwargs):
    raise RuntimeError("killed")


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

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 401, "two\nlines"])
    def test_a_reason_is_needed(self, reason):
        evaluation = complete(make_submission())
        with pytest.raises(ValueError, match="Give a reason"):
            hide(evaluation, reason=reason, by=None)

    def test_twice_is_refused(self):
        evaluation = complete(make_submission())
        with pytest.raises(NotPossibleError, match="not hidden"):
            show_again(evaluation, by=None)
        hide(evaluation, reason="Once.", by=None)
        with pytest.raises(NotPossibleError, match="already hidden: Once"):
            hide(evaluation, reason="Twice.", by=None)


class TestApi:
    BODY = {"planner": {"name": "mine", "kind": "bundled", "bundled_name": "gold"}}

    def test_what_is_submitted_as_private_is_there_for_its_owner_and_team_alone(self):
        owner, member = make_user(), make_user()
        team = make_team(owner, member)
        body = {**self.BODY, "suites": [make_suite().slug], "team": team.slug, **PRIVATE}
        made = client_of(owner).post("submissions/", body)
        assert made.status_code == 201, made.content
        assert made.json()["visibility"] == made.json()["evaluations"][0]["visibility"] == "private"
        path = f"submissions/{made.json()['id']}/"
        statuses = [who.get(path).status_code for who in (client_of(member), client_of(make_user()), ApiClient())]
        assert statuses == [200, 404, 404]

    def test_it_can_be_changed_by_who_may_act(self):
        owner = make_user()
        submission = make_submission(user=owner)
        path = f"submissions/{submission.pk}/"
        assert ApiClient().patch(path, PRIVATE).status_code == 401
        assert client_of(make_user()).patch(path, PRIVATE).status_code == 403
        assert client_of(owner, scopes=["read"]).patch(path, PRIVATE).status_code == 403
        assert client_of(owner).patch(path, {"visibility": "embargo"}).status_code == 400
        changed = client_of(owner).patch(path, PRIVATE)
        assert (changed.status_code, changed.json()["visibility"]) == (200, "private")
        assert client_of(make_user()).patch(path, PRIVATE).status_code == 404


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


def test_a_record_is_for_who_sees_the_evaluation():
    owner = make_user()
    evaluation = complete(make_submission(user=owner, seen=PRIVATE))
    assert evaluation.results.filter(outcome=Outcome.SCORED).exists()
    path = f"evaluations/{evaluation.pk}/results/0/"
    assert client_of(owner).get(path).status_code == 200
    assert client_of(make_user()).get(path).status_code == 404
