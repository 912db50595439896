"""What own workers measured is run again in part, and ranked only if that agrees."""

import re

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from evaluator.controlllm.toolbench.judging import ToolJudge
from evaluator.core.records import Outcome, PlannerCall, Reason, ResultRecord
from evaluator.core.suites.registry import suite_of
from evaluator.episodes.judgement import JudgementEvaluator
from evaluator.planners.bundled import bundled_planner
from leaderboard.boards.models import Snapshot
from leaderboard.boards.services import latest_snapshot, unranked
from leaderboard.catalog.models import Suite
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.evaluations.visibility import NotPossibleError
from leaderboard.messages.models import Kind, OutboxMessage
from leaderboard.people.models import User
from leaderboard.queue import steps, verification
from leaderboard.queue.models import OwnWorkerRun, Verification
from leaderboard.queue.reconcile import reconcile, sweep
from leaderboard.queue.shards import remaining_tasks
from leaderboard.quotas.models import QuotaEntry
from leaderboard.submissions import services
from tests.leaderboard.factories import PASSWORD, make_evaluation, make_record, make_suite, make_user
from tests.leaderboard.planning import REAL, make_toolmini
from tests.leaderboard.platform.api.helpers import client_of, lease_request, worker_client, worker_with
from tests.leaderboard.queue.verifying import Answer, completed_own, honest, make_own, rerun_of, run, work_off
from tests.leaderboard.threads import in_threads

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store")]

ENDPOINT = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://example.org/plan"}


@pytest.fixture
def suite() -> Suite:
    return make_suite(runnable=30, not_run=3)


def ranked(suite: Suite) -> list[dict]:
    board = latest_snapshot(suite=suite)
    return [] if board is None else board.content["rows"]


def faulty(suite: Suite) -> Answer:
    """A planner whose endpoint is away."""
    return lambda task: make_record(task, suite=suite.slug, outcome=Outcome.INFRA_FAULT)


def reason(evaluation: Evaluation) -> str:
    """Why it is in its state by now."""
    evaluation.refresh_from_db()
    return evaluation.reason


def mails() -> list[str]:
    payloads = OutboxMessage.objects.filter(kind=Kind.MAIL).order_by("created").values_list("payload", flat=True)
    return [payload["subject"] for payload in payloads]


# --- The sample -------------------------------------------------------------------------------------------------------


def test_when_the_results_are_in_a_random_sample_is_queued(suite):
    own = completed_own(suite=suite)
    assert (own.state, own.reason) == ("completed", "awaiting_verification")
    assert "repeats 20 tasks" in own.reason_text
    again = rerun_of(own)
    assert (again.state, again.tasks_total, again.tasks_not_run) == ("launching", 20, 0)
    tasks = [key for shard in again.shards.order_by("number") for key in shard.task_keys]
    assert len(set(tasks)) == 20
    assert set(tasks) < {str(number) for number in range(30)}
    assert again.verification.tasks == tasks
    same = ("submission_id", "suite_id", "profile", "profile_digest", "split", "samples", "data_digest", "season_id")
    assert [getattr(again, name) for name in same] == [getattr(own, name) for name in same]
    assert ranked(suite) == []
    results = list(own.results.select_related("task"))
    assert len({tuple(verification.draw(evaluation=own, results=results)) for _ in range(20)}) == 20


def test_a_small_suite_is_run_again_as_a_whole_and_the_number_is_a_setting(settings):
    assert rerun_of(completed_own(suite=make_suite(runnable=4))).tasks_total == 4
    settings.VERIFY_TASKS = 3
    assert rerun_of(completed_own(suite=make_suite(runnable=4))).tasks_total == 3


def test_what_the_owner_accepted_as_a_fault_is_not_sampled_and_scored_tasks_come_first():
    suite = make_suite(runnable=6)
    outcomes = {"1": Outcome.INFRA_FAULT, "0": Outcome.PLANNER_FAULT, "2": Outcome.PLANNER_FAULT}
    own = completed_own(
        suite=suite,
        answer=lambda task: make_record(task, suite=suite.slug, score=0.0, outcome=outcomes.get(task, Outcome.SCORED)),
    )
    assert own.state == EvaluationState.ON_HOLD
    services.accept(own)
    sweep()
    assert rerun_of(own).verification.tasks == ["3", "4", "5", "0", "2"]


def test_where_nothing_ran_there_is_nothing_to_verify():
    own = make_own(suite=make_suite(runnable=0, not_run=2))
    sweep()
    own.refresh_from_db()
    assert (own.state, own.reason) == ("completed", "not_verified")
    assert not Verification.objects.exists()
    with pytest.raises(NotPossibleError, match="No task of this evaluation"):
        verification.order(user=own.submission.submitted_by, evaluation=own)


def test_the_database_refuses_two_open_verifications_and_two_submitted_evaluations_of_one_suite(suite):
    own = completed_own(suite=suite)
    with pytest.raises(IntegrityError, match="one_verification_at_a_time"), transaction.atomic():
        verification.begin(evaluation=own, tasks=["0"])
    with pytest.raises(IntegrityError, match="one_evaluation_per_submission_and_suite"), transaction.atomic():
        Evaluation.runs.create(submission=own.submission, suite=suite, samples=8, state_since=timezone.now())


# --- The verdict ------------------------------------------------------------------------------------------------------


def test_when_it_agrees_the_evaluation_is_ranked_and_marked(suite):
    own = completed_own(suite=suite)
    again = run(rerun_of(own))
    own.refresh_from_db()
    assert (again.state, again.reason) == ("completed", "run_again")
    assert own.reason == "verified"
    assert own.reason_text.endswith("the results agreed on 20 of 20 tasks that were run again.")
    (row,) = ranked(suite)
    assert (row["evaluation"], row["run_by_owner"], row["outcomes"]["scored"]) == (str(own.pk), True, 30)
    assert latest_snapshot(suite=suite).content["coverage"] == {"run": 30, "total": 33}
    assert OwnWorkerRun.objects.get().verified_by_id == again.pk
    assert mails() == []


def test_a_shard_leaves_out_no_task_for_the_results_of_another_evaluation(suite):
    again = rerun_of(completed_own(suite=suite))
    shards = list(again.shards.all())
    assert sum(len(shard.task_keys) for shard in shards) == 20
    assert [remaining_tasks(shard) for shard in shards] == [shard.task_keys for shard in shards]


def test_forged_scores_are_found(suite):
    own = completed_own(suite=suite, answer=lambda task: make_record(task, suite=suite.slug, score=0.99))
    run(rerun_of(own))
    own.refresh_from_db()
    assert (own.state, own.reason) == ("completed", "verification_failed")
    assert "20 of 20 tasks that were run again gave other results" in own.reason_text
    assert "(the same plan scored differently)" in own.reason_text
    assert ranked(suite) == []
    assert [subject.split()[-3:] for subject in mails()] == [["not", "be", "verified"]]


FORGED = {"SE": 1.0, "NR": 1.0, "undecided": 0.0}


@pytest.mark.parametrize(("forged", "verdict"), [({}, "verified"), (FORGED, "verification_failed")])
def test_where_plans_are_judged_it_is_the_same(settings, forged, verdict):
    settings.EVALUATOR = REAL
    suite, toolmini = make_toolmini(), suite_of("toolmini")
    judge, planner = (
        JudgementEvaluator(suite=toolmini, judge=ToolJudge()),
        bundled_planner(name="random-valid", suite=toolmini),
    )

    def judged(task: str) -> ResultRecord:
        return next(iter(judge.run(planner=planner, tasks=[task])))

    def sent(task: str) -> ResultRecord:
        record = judged(task)
        if not forged or not record.indicators:
            return record
        return record.model_copy(update={"score": 1.0, "indicators": {**record.indicators, **forged}})

    own = completed_own(suite=suite, bundled_name="random-valid", answer=sent)
    run(rerun_of(own), answer=judged)
    assert reason(own) == verdict


GOLD = {"steps": [{"id": "s1", "tool": "Super Resolution"}], "answers": ["s1.image"]}


def test_a_sample_that_leans_to_the_owner_s_side_is_followed_by_a_larger_one_which_decides(suite, settings):
    """The owner sends gold plans, and what they really score; the planner itself makes poor ones."""
    settings.VERIFY_TASKS = 3
    own = completed_own(suite=suite, answer=honest(suite, plan=GOLD, score=0.9), **ENDPOINT)
    first = run(rerun_of(own))
    own.refresh_from_db()
    settled = Verification.objects.get(pk=first.pk)
    assert (settled.verdict, settled.comparison["p_value"], own.reason) == ("undecided", 1 / 8, "awaiting_verification")
    assert "(p = 0.125): more tasks are run again" in settled.detail
    assert (ranked(suite), mails()) == ([], [])
    again = run(rerun_of(own))
    own.refresh_from_db()
    assert (again.tasks_total, own.reason) == (9, "verification_failed")
    assert "the planner made a different plan in 9 of 9 tasks" in own.reason_text
    assert ranked(suite) == []
    assert {task["finding"] for task in again.verification.comparison["tasks"]} == {"other_plan"}
    assert not Verification.objects.filter(verdict="open").exists(), "there is no third"


def test_where_all_tasks_were_run_again_no_larger_sample_follows():
    suite = make_suite(runnable=6)
    forged = {task: {"plan": GOLD, "score": 0.9} for task in ("0", "1")}
    own = completed_own(suite=suite, answer=lambda task: honest(suite, **forged.get(task, {}))(task), **ENDPOINT)
    run(rerun_of(own))
    own.refresh_from_db()
    assert (own.reason, own.verifications.count()) == ("verified", 1)


def test_a_planner_that_we_do_not_reach_leaves_it_unverified_and_its_owner_is_told(suite):
    own = completed_own(suite=suite)
    again = run(rerun_of(own), answer=faulty(suite))
    own.refresh_from_db()
    assert (again.state, again.reason) == ("failed", "not_run_again")
    assert own.reason == "not_verifiable"
    assert "20 of 20 tasks could not be repeated" in own.reason_text
    assert ranked(suite) == []
    assert len(mails()) == 1, "one about the evaluation, none about the verification"


def test_a_broken_canary_leaves_it_unverified(suite):
    own = completed_own(suite=suite, **ENDPOINT)
    assert rerun_of(own).leasable_shards == 1
    assert [len(shard.task_keys) for shard in rerun_of(own).shards.order_by("number")] == [1, 1, 8, 8, 2]

    def times_out(task: str):
        record = make_record(task, suite=suite.slug, outcome=Outcome.PLANNER_FAULT, score=0.0)
        return record.model_copy(update={"reason": Reason.PLANNER_TIMEOUT, "plan": None})

    again = run(rerun_of(own), answer=times_out)
    own.refresh_from_db()
    assert (again.state, again.reason) == ("failed", "canary_failed")
    assert again.results.exclude(reason="evaluation_failed").count() == 2
    assert own.reason == "not_verifiable"
    assert "answered neither canary task" in own.reason_text


def test_a_verification_waits_for_a_worker_as_long_as_it_takes(suite, launcher):
    own = completed_own(suite=suite)
    Evaluation.runs.filter(verifies=own).update(state_deadline=timezone.now())
    sweep()
    assert reason(own) == "awaiting_verification"
    launcher.living.clear()
    launcher.refusal = "The cluster refuses the worker."
    sweep()
    assert reason(own) == "awaiting_verification"


def test_records_that_are_gone_are_no_fault_of_the_owner_s(suite, settings, tmp_path):
    own = completed_own(suite=suite)
    again = rerun_of(own)
    settings.STORE_DIR = tmp_path / "another store"
    # Records that are equal to the last byte would be one object.
    run(again, answer=honest(suite, planner=PlannerCall(seconds=2.0)))
    assert reason(own) == "not_verifiable"
    assert "the records of 20 tasks are no longer in the store" in own.reason_text


# --- Asking for another one -------------------------------------------------------------------------------------------


def test_the_owner_asks_again_and_gets_the_same_tasks_three_times_a_day(suite):
    ada = make_user("ada")
    own = completed_own(user=ada, suite=suite)
    first = rerun_of(own)
    client = client_of(ada)
    running = client.post(f"evaluations/{own.pk}/verify/")
    assert (running.status_code, "in progress" in running.content.decode()) == (409, True)
    run(first, answer=faulty(suite))
    for _ in range(3):
        assert client.post(f"evaluations/{own.pk}/verify/").json()["reason"] == "awaiting_verification"
        again = rerun_of(own)
        assert again.pk != first.pk
        assert again.verification.tasks == first.verification.tasks
        run(again, answer=faulty(suite))
    refused = client.post(f"evaluations/{own.pk}/verify/")
    assert (refused.status_code, "in the last 24 hours" in refused.content.decode()) == (409, True)
    Verification.objects.update(created=timezone.now() - timezone.timedelta(days=1, minutes=1))
    assert client.post(f"evaluations/{own.pk}/verify/").status_code == 200
    run(rerun_of(own))
    assert [row["evaluation"] for row in ranked(suite)] == [str(own.pk)]


def test_after_a_verdict_only_staff_order_another_and_of_other_tasks(suite):
    own = completed_own(suite=suite)
    owner = own.submission.submitted_by
    forged = lambda task: make_record(task, suite=suite.slug, score=0.1)  # noqa: E731
    first = run(rerun_of(own), answer=forged)
    with pytest.raises(NotPossibleError, match="Only operators"):
        verification.order(user=owner, evaluation=own)
    staff = make_user()
    staff.is_staff = True
    staff.save()
    assert client_of(make_user()).post(f"evaluations/{own.pk}/verify/").status_code == 403
    assert client_of(staff).post(f"evaluations/{own.pk}/verify/").status_code == 200
    again = rerun_of(own)
    assert (len(first.verification.tasks), len(again.verification.tasks)) == (20, 30)
    run(again)
    assert reason(own) == "verified"
    assert len(ranked(suite)) == 1
    with pytest.raises(NotPossibleError, match="is verified"):
        verification.order(user=owner, evaluation=own)


def test_what_staff_find_wrong_later_leaves_the_board_and_what_they_cannot_run_stays(suite):
    other = run(make_evaluation(suite=suite))
    own = completed_own(suite=suite)
    run(rerun_of(own))
    assert len(ranked(suite)) == 2
    staff = make_user()
    staff.is_staff = True
    verification.order(user=staff, evaluation=own)
    assert reason(own) == "verified", "it stays ranked meanwhile"
    run(rerun_of(own), answer=faulty(suite))
    own.refresh_from_db()
    assert (own.reason, len(ranked(suite))) == ("verified", 2)
    verification.order(user=staff, evaluation=own)
    run(rerun_of(own), answer=lambda task: make_record(task, suite=suite.slug, score=0.1))
    assert reason(own) == "verification_failed"
    assert [row["evaluation"] for row in ranked(suite)] == [str(other.pk)]


def test_only_what_an_own_worker_measured_is_verified(suite):
    site_s = run(make_evaluation(suite=suite))
    own = completed_own(suite=suite)
    for evaluation in (site_s, rerun_of(own)):
        with pytest.raises(NotPossibleError, match="Only evaluations on a self-hosted worker"):
            verification.order(user=evaluation.submission.submitted_by, evaluation=evaluation)
    with pytest.raises(NotPossibleError, match="completed"):
        verification.order(user=own.submission.submitted_by, evaluation=make_own(suite=suite))


def test_of_an_owner_whose_results_were_found_wrong_all_tasks_are_run_again_for_a_month_or_until_confirmed(suite):
    ada, staff = make_user("ada"), make_user()
    staff.is_staff = True

    def tasks_for(user: User) -> int:
        return rerun_of(completed_own(user=user, suite=suite)).tasks_total

    own = completed_own(user=ada, suite=suite)
    wrong = run(rerun_of(own), answer=lambda task: make_record(task, suite=suite.slug, score=0.1))
    assert (tasks_for(ada), tasks_for(make_user())) == (30, 20)
    settled = Verification.objects.filter(pk=wrong.pk)
    settled.update(settled_at=timezone.now() - timezone.timedelta(days=31))
    assert tasks_for(ada) == 20
    settled.update(settled_at=timezone.now())
    assert tasks_for(ada) == 30
    run(verification.order(user=staff, evaluation=own))
    assert reason(own) == "verified"
    assert tasks_for(ada) == 20


# --- Beside all others ------------------------------------------------------------------------------------------------


def test_a_verification_is_in_no_list_costs_no_quota_and_is_nobody_s_to_end(suite):
    ada = make_user("ada")
    charged = QuotaEntry.objects.count()
    own = completed_own(user=ada, suite=suite)
    again = rerun_of(own)
    sweep()
    assert QuotaEntry.objects.count() == charged + 1
    assert list(unranked(suite=suite, reader=ada)) == []
    client = client_of(ada)
    assert [row["id"] for row in client.get("evaluations/").json()["results"]] == [str(own.pk)]
    (submission,) = client.get("submissions/").json()["results"]
    assert [row["id"] for row in submission["evaluations"]] == [str(own.pk)]
    browser = Client()
    assert browser.login(username="ada", password=PASSWORD)
    listed = browser.get("/submissions/").content.decode()
    assert (str(own.pk) in listed, str(again.pk) in listed) == (True, False)
    again.refresh_from_db()
    assert again.state == EvaluationState.LAUNCHING
    for action in ("cancel", "resume", "accept"):
        refused = client.post(f"evaluations/{again.pk}/{action}/")
        assert (refused.status_code, "This is the verification" in refused.content.decode()) == (409, True)


def test_only_the_operator_s_workers_lease_it(suite):
    ada = make_user("ada")
    own = completed_own(user=ada, suite=suite)
    sweep()
    token = client_of(ada).post("worker-tokens/", {"name": "mine"}).json()["token"]
    client = worker_with(token)
    body = lease_request(evaluation=str(rerun_of(own).pk))
    assert client.post("worker/lease/", lease_request()).status_code == 204
    assert client.post("worker/lease/", body).status_code == 204
    leased = worker_client().post("worker/lease/", lease_request())
    assert leased.json()["evaluation"] == str(rerun_of(own).pk)


def test_the_api_tells_what_was_compared(suite):
    own = completed_own(suite=suite)
    client = client_of(make_user())
    (open_one,) = client.get(f"evaluations/{own.pk}/verifications/").json()["results"]
    assert (open_one["verdict"], open_one["p_value"], open_one["compared"]) == ("open", None, [])
    assert client.get(f"evaluations/{own.pk}/").json()["verified"] is False
    again = run(rerun_of(own))
    (row,) = client.get(f"evaluations/{own.pk}/verifications/").json()["results"]
    assert (row["evaluation"], row["verdict"], row["p_value"]) == (str(again.pk), "agrees", 1.0)
    assert len(row["tasks"]) == len(row["compared"]) == 20
    assert row["compared"][0] == {
        "task": row["tasks"][0], "finding": "same", "contradicts": False, "own_outcome": "scored", "own_score": 0.5,
        "outcome": "scored", "score": 0.5, "samples": 0, "differing": 0, "exact": 0, "exact_differing": 0,
        "step": None,
    }  # fmt: skip
    assert row["ordered_by"] is None
    shown = client.get(f"evaluations/{own.pk}/").json()
    assert (shown["own_worker"], shown["verified"], shown["verifies"]) == (True, True, None)
    shown = client.get(f"evaluations/{again.pk}/").json()
    assert (shown["own_worker"], shown["verified"], shown["verifies"]) == (False, None, str(own.pk))


# --- Pages -----------------------------------------------------------------------------------------------------------


def page_of(client: Client, evaluation: Evaluation) -> str:
    response = client.get(f"/evaluations/{evaluation.pk}/")
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def logged_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_page_and_board_follow_the_verification(suite):
    run(make_evaluation(suite=suite))
    mark = "run by its owner, verified"
    own = completed_own(suite=suite)
    assert mark not in Client().get(f"/boards/{suite.slug}/").content.decode()
    assert "<strong>Under way.</strong> 20 tasks to repeat." in page_of(Client(), own)
    again = rerun_of(own)
    html = page_of(logged_in(own.submission.submitted_by), again)
    assert "This is a verification: 20 tasks of" in html
    assert f'href="/evaluations/{own.pk}/"' in html
    assert '<progress max="20"' in html
    assert 'id="metrics"' not in html, "twenty tasks are no score of a suite"
    assert "/cancel/" not in html
    outside = next(str(number) for number in range(30) if str(number) not in again.verification.tasks)
    assert Client().get(f"/evaluations/{again.pk}/tasks/{outside}/").status_code == 404
    run(again)
    html = page_of(Client(), own)
    assert "The results agreed on 20 of 20 tasks that were run again." in html
    assert f'href="/evaluations/{again.pk}/"' in html
    html = Client().get(f"/boards/{suite.slug}/").content.decode()
    (row,) = (row for row in html.split("<tr>") if mark in row)
    assert str(own.pk) in row


def test_what_contradicts_comes_first_and_leads_to_both_results(suite):
    def forged(task: str):
        return make_record(task, suite=suite.slug, score=0.9 if int(task) >= 15 else 0.5)

    own = completed_own(suite=suite, answer=forged)
    again = run(rerun_of(own))
    html = page_of(Client(), own)
    assert "<strong>Does not agree.</strong>" in html
    findings = re.findall(r"(scored differently|the same)(?:</strong>|</td>)", html)
    assert (len(findings), findings) == (20, sorted(findings))
    assert "scored differently" in findings
    keys = re.findall(rf'href="/evaluations/{again.pk}/tasks/(\w+)/"', html)
    assert sorted(keys) == sorted(again.verification.tasks)
    for evaluation in (own, again):
        assert Client().get(f"/evaluations/{evaluation.pk}/tasks/{keys[0]}/").status_code == 200


def test_only_the_owner_and_staff_are_offered_another_one_when_there_may_be_one(suite):
    own = completed_own(suite=suite)
    owner, eve, staff = logged_in(own.submission.submitted_by), logged_in(make_user("eve")), make_user("staff")
    staff.is_staff = True
    staff.save()
    readers = [owner, logged_in(staff), eve, Client()]

    def offered() -> list[bool]:
        return [f'action="/evaluations/{own.pk}/verify/"' in page_of(reader, own) for reader in readers]

    assert offered()[0] is False, "one is under way"
    run(rerun_of(own), answer=lambda task: make_record(task, suite=suite.slug, outcome=Outcome.INFRA_FAULT))
    assert offered() == [True, True, False, False]
    assert eve.post(f"/evaluations/{own.pk}/verify/").status_code == 403
    for said in ("Verification has started.", "A verification is in progress."):
        assert said in owner.post(f"/evaluations/{own.pk}/verify/", follow=True).content.decode()
    assert own.verifications.count() == 2


# --- Whatever dies ----------------------------------------------------------------------------------------------------


def ended(suite: Suite) -> tuple[Evaluation, Evaluation]:
    """An own evaluation and its verification, which has ended; nobody has drawn the consequences."""
    own = completed_own(suite=suite)
    again = rerun_of(own)
    sweep()
    work_off(again)
    for step in (steps.aggregate, steps.summarise):
        again.refresh_from_db()
        assert step(again)
    again.refresh_from_db()
    assert (again.state, again.verification.verdict) == ("completed", "open")
    return own, again


class Killed(BaseException):
    pass


def die(*_, **__):
    raise Killed


@pytest.mark.parametrize("broken", ["publish_again", "explain", "notify_of_verdict"])
def test_who_dies_while_drawing_the_verdict_leaves_nothing_behind(suite, monkeypatch, broken):
    own, again = ended(suite)
    with monkeypatch.context() as patched:
        patched.setattr(verification, broken, die)
        with pytest.raises(Killed), transaction.atomic():
            verification.settle(again.pk)
    assert reason(own) == "awaiting_verification"
    assert verification.open_among([again.pk])
    assert not Snapshot.objects.exists()
    sweep()
    own.refresh_from_db()
    assert (own.reason, Snapshot.objects.count()) == ("verified", 1)


def test_who_dies_while_completing_loses_no_verification(suite, monkeypatch):
    own = make_own(suite=suite)
    work_off(own)
    with monkeypatch.context() as patched:
        patched.setattr(verification, "begin", die)
        with pytest.raises(Killed), transaction.atomic():
            sweep()
    sweep()
    own.refresh_from_db()
    assert own.state == EvaluationState.COMPLETED
    assert rerun_of(own).state == EvaluationState.QUEUED


@pytest.mark.django_db(transaction=True)
def test_a_verdict_is_drawn_once_by_however_many_processes(suite):
    own, again = ended(suite)
    assert in_threads(lambda: verification.settle(again.pk), count=4) == []
    assert reason(own) == "verified"
    before = (Snapshot.objects.count(), OutboxMessage.objects.count(), Verification.objects.values().get())
    assert before[0] == 1
    assert verification.settle(again.pk) is False
    assert reconcile(again.pk) is False
    sweep()
    assert (Snapshot.objects.count(), OutboxMessage.objects.count(), Verification.objects.values().get()) == before


@pytest.mark.django_db(transaction=True)
def test_owners_who_ask_twice_at_once_get_one_verification(suite):
    own = completed_own(suite=suite)
    run(rerun_of(own), answer=faulty(suite))
    owner = own.submission.submitted_by
    errors = in_threads(lambda: verification.order(user=owner, evaluation=own), count=4)
    assert [type(error) for error in errors] == [NotPossibleError] * 3
    assert own.verifications.filter(state="queued").count() == 1
