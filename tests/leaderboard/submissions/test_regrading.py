"""Stored plans scored again under another judge: as a new evaluation, without the planner, without leaks."""

from dataclasses import replace

import pytest
from django.utils import timezone
from typer.testing import CliRunner

from evaluator.cli.main import app
from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.core.recorded_answers import RecordedAnswers
from evaluator.core.suites.base import Panel
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import Judgement, JudgementEvaluator
from leaderboard.boards.eligible import published
from leaderboard.boards.services import latest_snapshot
from leaderboard.catalog.models import Suite, Task
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, Submission, TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.evaluations.results.recorded_answers import answers_for
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.people.models import Scope, User
from leaderboard.people.services import create_token
from leaderboard.planners.models import Planner
from leaderboard.platform.models import AuditEntry
from leaderboard.queue.leasing import leases
from leaderboard.queue.models import OwnWorkerRun, Verification, VerificationVerdict
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.quotas.models import QuotaEntry
from leaderboard.submissions.regrading import Change, regrade, regrade_board
from leaderboard.submissions.releasing import hide, set_visibility
from tests.leaderboard.factories import make_season, make_submission, make_user
from tests.leaderboard.planning import REAL, make_clumsy_evaluation
from tests.leaderboard.platform.api.helpers import lease_request, worker_client
from tests.leaderboard.queue.working import work_through
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db
DOUBTED = "QA/1"
"""A task that the later judge decides otherwise."""


@pytest.fixture
def judged(settings, own_store) -> None:
    settings.EVALUATOR = REAL


def adopt_another_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this release have a judge with other rules: one plan that solved its task does not any more."""
    decide = ToolJudge.__call__

    def judge(self: ToolJudge, *, suite, planned) -> Judgement:
        judgement = decide(self, suite=suite, planned=planned)
        if planned.task.key != DOUBTED:
            return judgement
        return replace(judgement, score=0.0, indicators={**judgement.indicators, "SE": 0.0})

    monkeypatch.setattr(ToolJudge, "__call__", judge)
    monkeypatch.setattr(ToolJudge, "digest", lambda self: "another judge")


def under_another_judge(monkeypatch: pytest.MonkeyPatch, **options) -> Evaluation:
    """A published evaluation whose judge this release has no more."""
    first = make_clumsy_evaluation(**options)
    adopt_another_judge(monkeypatch)
    return first


def operator() -> User:
    user = make_user()
    user.is_staff = True
    user.save()
    return user


def scores(evaluation: Evaluation) -> dict[str, float | None]:
    return dict(evaluation.results.values_list("task__key", "score"))


class TestSite:
    @pytest.mark.django_db(transaction=True)
    def test_a_row_moves_to_the_new_judge_with_the_plans_times_and_owner_of_the_first_run(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        charged = QuotaEntry.objects.count()
        Planner.objects.update(proven=False)
        monkeypatch.setenv("PLANARENA_TOKEN", create_token(user=operator(), scopes=Scope.values).token)
        with server() as site:
            done = CliRunner().invoke(app, ["regrade", "toolmini", "--board", "--url", site])
            assert done.exit_code == 0, done.output
            work_through(site)
        again = Evaluation.objects.get(submission__is_regrade=True)
        assert str(again.pk) in done.output
        assert (again.state, again.reason) == ("completed", "published")
        before, after = scores(first), scores(again)
        assert {task for task in before if before[task] != after[task]} == {DOUBTED}
        first.refresh_from_db()
        assert first.state == EvaluationState.COMPLETED
        assert again.submission.submitted_by == first.submission.submitted_by
        assert again.profile_digest != first.profile_digest
        seconds = "task__key", "planning_seconds"
        assert dict(again.results.values_list(*seconds)) == dict(first.results.values_list(*seconds))
        assert not again.further_runs.exists()
        assert not Planner.objects.filter(proven=True).exists()
        assert QuotaEntry.objects.count() == charged
        (row,) = latest_snapshot(suite=first.suite).content["rows"]
        assert row["evaluation"] == str(again.pk)
        assert row["planner"] == first.submission.planner.name

    def test_a_worker_of_an_older_release_gets_no_stored_answers_and_a_lease_has_no_scores(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        again = regrade(first)
        Evaluation.objects.filter(pk=again.pk).update(state="launching")
        old = lease_request(knows_records=False)
        assert worker_client().post("worker/lease/", old).status_code == 204
        lease = worker_client().post("worker/lease/", lease_request()).json()
        assert lease["planner"]["kind"] == "recorded"
        assert set(lease["planner"]["records"]) == set(lease["tasks"])
        record = lease["planner"]["records"][DOUBTED]
        assert record["plan_received"]
        assert (record["score"], record["indicators"], record["explanations"]) == (None, {}, {})

    def test_a_lost_record_is_no_empty_plan(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        again = regrade(first)
        TaskResult.objects.filter(evaluation=first).update(record_digest="0" * 64)
        Evaluation.objects.filter(pk=again.pk).update(state="launching")
        request = lease_request()
        assert worker_client().post("worker/lease/", request).status_code == 204
        again.refresh_from_db()
        assert "no longer in the store" in again.reason_text


class TestConditions:
    def test_nothing_changes_without_a_change(self, judged):
        first = make_clumsy_evaluation()
        with pytest.raises(NotPossibleError, match="Nothing would change"):
            regrade(first)

    def test_a_second_regrade_under_the_same_rules_is_refused_also_of_the_regrade(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        again = regrade(first)
        for evaluation in (first, again):
            with pytest.raises(NotPossibleError, match=f"Evaluation {again.pk} has these plans"):
                regrade(evaluation)

    def test_what_the_operator_did_not_allow_to_change_is_named(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        with pytest.raises(NotPossibleError, match="The digest of the judging rules differs too"):
            regrade(first, allowed=[Change.SUITE_VERSION])
        assert regrade(first, allowed=[Change.JUDGE]).submission.rerun_of == first

    def test_tasks_of_a_new_version_that_were_not_asked_like_this_are_not_run_and_nobody_ranks_it(self, judged):
        first = make_clumsy_evaluation()
        old = first.suite
        Suite.objects.filter(pk=old.pk).update(current=False)
        fields = {field.name: getattr(old, field.name) for field in Suite._meta.fields if field.name != "id"}
        new = Suite.objects.create(**{**fields, "version": "99", "digest": "d" * 64, "current": True})
        for task in Task.objects.filter(suite=old):
            task.pk, task.suite = None, new
            if task.key == DOUBTED:
                task.text = "Another question?"
            task.save()
        again = regrade(first, allowed=[Change.SUITE_VERSION])
        row = again.results.get(task__key=DOUBTED)
        assert (row.outcome, row.reason) == ("not_run", "not_in_run")
        assert "in other words" in row.reason_text
        assert again.tasks_missing == 1
        assert DOUBTED not in {key for shard in again.shards.all() for key in shard.task_keys}
        assert str(EvaluationReason.INCOMPLETE.label).format(count=1, total=9).startswith("Completed. Not ranked")
        Evaluation.objects.filter(pk=first.pk).update(tasks_missing=1)
        assert first not in published()

    def test_faults_that_the_owner_accepted_are_copied(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        accepted = first.results.filter(task__key=DOUBTED)
        accepted.update(outcome="planner_fault", reason="worker_lost", score=0.0, accepted=True)
        row = regrade(first).results.get()
        assert (row.task.key, row.outcome, row.reason, row.score, row.accepted) == (
            DOUBTED, "planner_fault", "worker_lost", 0.0, True,
        )  # fmt: skip

    def test_a_plan_on_which_the_judge_failed_is_scored_again_though_its_owner_accepted_the_fault(
        self, judged, monkeypatch
    ):
        first = under_another_judge(monkeypatch)
        fault = first.results.filter(task__key=DOUBTED)
        fault.update(outcome="planner_fault", reason="scorer_failed", score=0.0, accepted=True)
        again = regrade(first)
        assert not again.results.exists()
        assert DOUBTED in {key for shard in again.shards.all() for key in shard.task_keys}

    def test_more_samples_in_turns_than_were_played_are_refused(self, judged, monkeypatch, settings):
        first = under_another_judge(monkeypatch)
        suite = first.suite
        conditions = {**suite.conditions, "samples": True}
        Suite.objects.filter(pk=suite.pk).update(panels=[*suite.panels, Panel.TRANSCRIPT], conditions=conditions)
        settings.SAMPLES = first.samples + 2
        first.refresh_from_db()
        with pytest.raises(NotPossibleError, match="played 1 samples of each task in turns, and today's rules score 3"):
            regrade(first)

    def test_what_has_no_scores_or_is_hidden_is_refused(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        running = make_submission(suite=first.suite).evaluations.get()
        with pytest.raises(NotPossibleError, match="Only a completed evaluation"):
            regrade(running)
        hide(first, reason="Copied plans.")
        with pytest.raises(NotPossibleError, match="An operator has hidden it: Copied plans"):
            regrade(first)


class TestTrust:
    def test_unverified_plans_of_a_self_hosted_worker_are_not_regraded(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        OwnWorkerRun.objects.create(evaluation=first)
        with pytest.raises(NotPossibleError, match="have it verified first"):
            regrade(first)

    def test_a_regrade_is_ranked_only_as_long_as_its_plans_are_trusted(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        again = regrade(first)
        Evaluation.objects.filter(pk=again.pk).update(state="completed", summary={"metrics": {}, "outcomes": {}})
        assert set(published()) == {first, again}
        OwnWorkerRun.objects.create(evaluation=first)
        assert not published().exists()
        OwnWorkerRun.objects.all().delete()
        hide(first, reason="Its plans are copied.")
        assert not published().exists()


class TestVisibility:
    def test_a_regrade_is_as_visible_as_its_original_and_stays_so(self, judged, monkeypatch, client):
        first = under_another_judge(monkeypatch)
        Evaluation.objects.filter(pk=first.pk).update(first_ranked=None)
        set_visibility(first.submission, visibility="private")
        again = regrade(first)
        assert again.submission.visibility == "private"
        assert client.get(f"/evaluations/{again.pk}/").status_code == 404
        set_visibility(first.submission, visibility="public")
        again.submission.refresh_from_db()
        assert again.submission.visibility == "public"


class TestChanges:
    def test_the_page_names_what_changed_and_why_and_both_pages_link_each_other(self, judged, monkeypatch, client):
        first = under_another_judge(monkeypatch)
        again = run_again(regrade(first))
        page = client.get(f"/evaluations/{again.pk}/changes/").content.decode()
        assert "Digest of the judging rules" in page
        assert first.profile_digest[:12] in page
        assert f"/evaluations/{first.pk}/tasks/{DOUBTED}/" in page
        assert "0 score higher and 1 lower" in " ".join(page.split())
        assert "image_detection/2" not in page
        assert f"/evaluations/{first.pk}/" in client.get(f"/evaluations/{again.pk}/").content.decode()
        assert "regrade, completed" in client.get(f"/evaluations/{first.pk}/").content.decode()
        assert client.get(f"/evaluations/{first.pk}/changes/").status_code == 404

    def test_a_private_original_is_not_named_by_its_regrade(self, judged, monkeypatch, client):
        first = under_another_judge(monkeypatch)
        again = run_again(regrade(first))
        Evaluation.objects.filter(pk=first.pk).update(first_ranked=None)
        Submission.objects.filter(pk=first.submission_id).update(visibility="private")
        assert client.get(f"/evaluations/{again.pk}/changes/").status_code == 404
        assert str(first.pk) not in client.get(f"/evaluations/{again.pk}/").content.decode()
        client.force_login(first.submission.submitted_by)
        assert client.get(f"/evaluations/{again.pk}/changes/").status_code == 200

    def test_single_tasks_of_an_open_season_are_withheld(self, judged, monkeypatch, client):
        first = under_another_judge(monkeypatch)
        again = run_again(regrade(first))
        make_season("1")
        Evaluation.objects.filter(pk__in=[first.pk, again.pk]).update(split="hidden", season="1")
        page = client.get(f"/evaluations/{again.pk}/changes/").content.decode()
        assert DOUBTED not in page
        assert "only means and counts" in page

    def test_operators_have_a_button_and_nobody_else(self, judged, monkeypatch, client):
        first = under_another_judge(monkeypatch)
        client.force_login(first.submission.submitted_by)
        assert "Regrade its plans" not in client.get(f"/evaluations/{first.pk}/").content.decode()
        assert client.post(f"/evaluations/{first.pk}/regrade/").status_code == 403
        client.force_login(operator())
        assert "Regrade its plans" in client.get(f"/evaluations/{first.pk}/").content.decode()
        client.post(f"/evaluations/{first.pk}/regrade/")
        assert Submission.objects.filter(is_regrade=True, rerun_of=first).count() == 1


def run_again(again: Evaluation) -> Evaluation:
    """Work off a regrade as a worker would."""
    judge = JudgementEvaluator(suite=suite_of("toolmini"), judge=ToolJudge())
    sweep()
    while lease := leases.lease(worker="w", evaluation_id=again.pk):
        planner = RecordedAnswers(answers_for(again, tasks=lease.tasks), suite=judge.suite)
        records = list(judge.run(planner=planner, tasks=lease.tasks))
        deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split="public"))
        leases.complete(lease.attempt.pk)
    sweep()
    again.refresh_from_db()
    return again


class TestBoard:
    def test_a_board_moves_in_bounded_calls_that_can_be_repeated(self, judged, monkeypatch):
        evaluations = [make_clumsy_evaluation(name=f"planner {number}") for number in range(3)]
        adopt_another_judge(monkeypatch)
        done = regrade_board("toolmini", most=2)
        assert (len(done.queued), len(done.refused), done.left) == (2, 0, 1)
        done = regrade_board("toolmini", most=2)
        assert (len(done.queued), done.left) == (1, 0)
        assert not regrade_board("toolmini").queued
        regrades = Submission.objects.filter(is_regrade=True)
        assert {one.rerun_of for one in regrades} == set(evaluations)
        assert AuditEntry.objects.filter(action="regraded").count() == 3

    def test_a_run_that_no_board_shows_takes_no_row_from_it(self, judged, monkeypatch):
        owner = make_user()
        first = make_clumsy_evaluation(user=owner, name="one planner")
        adopt_another_judge(monkeypatch)
        private = make_clumsy_evaluation(user=owner, name="one planner")
        Evaluation.objects.filter(pk=private.pk).update(first_ranked=None)
        Submission.objects.filter(pk=private.submission_id).update(visibility="private")
        assert [one.submission.rerun_of for one in regrade_board("toolmini").queued] == [first]

    def test_other_data_are_other_conditions(self, judged):
        first = make_clumsy_evaluation()
        assert not regrade_board("toolmini").queued
        Evaluation.objects.filter(pk=first.pk).update(data_digest="d" * 64)
        assert len(regrade_board("toolmini").queued) == 1

    def test_a_row_of_a_regrade_says_that_its_owner_ran_the_plans(self, judged, monkeypatch):
        first = under_another_judge(monkeypatch)
        check = make_clumsy_evaluation(name="of this site")
        Evaluation.objects.filter(pk=check.pk).update(verifies=first)
        verification = Verification.objects.create(
            evaluation=check,
            tasks=[],
            verdict=VerificationVerdict.AGREES,
            detail="They agree.",
            settled_at=timezone.now(),
        )
        OwnWorkerRun.objects.create(evaluation=first, verified_by=verification)
        again = run_again(regrade(first))
        rows = {row["evaluation"]: row for row in latest_snapshot(suite=again.suite).content["rows"]}
        assert rows[str(again.pk)]["run_by_owner"] is True

    def test_a_row_has_the_latest_plans_whatever_was_graded_last(self, judged, monkeypatch):
        owner = make_user()
        older = make_clumsy_evaluation(user=owner, name="one planner")
        later = make_clumsy_evaluation(user=owner, name="one planner", mistakes={})
        adopt_another_judge(monkeypatch)
        of_later, of_older = run_again(regrade(later)), run_again(regrade(older))
        assert of_later.finished < of_older.finished
        (row,) = latest_snapshot(suite=later.suite).content["rows"]
        assert row["evaluation"] == str(of_later.pk)
        assert row["regraded"] is True

    def test_a_run_that_was_repeated_under_todays_rules_is_left_out(self, judged, monkeypatch):
        owner = make_user()
        older = make_clumsy_evaluation(user=owner, name="one planner")
        adopt_another_judge(monkeypatch)
        make_clumsy_evaluation(user=owner, name="one planner")
        done = regrade_board("toolmini")
        assert (list(done.queued), list(done.refused), done.left) == ([], [], 0)
        assert regrade(older).submission.is_regrade

    def test_an_unknown_suite_is_named(self):
        with pytest.raises(NotPossibleError, match="There is no suite nowhere"):
            regrade_board("nowhere")


def test_the_doubted_task_is_one_of_the_suite():
    assert DOUBTED in {task.key for task in suite_of("toolmini").tasks}
