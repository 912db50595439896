"""Further runs: tasks drawn when the first run has ended, queued like any evaluation, and waited for."""

from html import unescape

import pytest
from django.urls import reverse

from evaluator.core.records import Outcome
from evaluator.core.signatures.statements import tasks_digest
from leaderboard.boards.models import EvaluationSignature, Snapshot
from leaderboard.boards.signing.proofs import evaluation_proof
from leaderboard.evaluations.models import Evaluation, EvaluationReason, EvaluationState, Shard
from leaderboard.planners.models import Planner
from leaderboard.platform.problems import FieldErrors
from leaderboard.queue.agents import door
from leaderboard.queue.further_runs import may_be_asked_again
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.own import runs_on_own_worker
from leaderboard.quotas.models import EntryReason, QuotaBalance, QuotaEntry
from leaderboard.quotas.services import QuotaExceededError, refund
from leaderboard.submissions import services
from tests.leaderboard.boards.signing.boards import mismatches, verified
from tests.leaderboard.factories import make_record, make_submission, make_suite, make_user
from tests.leaderboard.queue import verifying

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_store", "launcher")]


@pytest.fixture(autouse=True)
def asks_again(settings):
    settings.FURTHER_RUNS = 2


def entered(*, bundled_name="random-valid", tasks=100, **options):
    return make_submission(suite=make_suite(runnable=tasks), bundled_name=bundled_name, **options).evaluations.get()


def answering(evaluation, *, tool="Image Denoising", score=0.5, outcome=Outcome.SCORED):
    def answer(task):
        record = make_record(task, suite=evaluation.suite.slug, score=score, outcome=outcome)
        plan = {"steps": [{"id": "s1", "tool": tool}], "answers": ["s1.image"], "subgoals": None}
        return record.model_copy(update={"plan": plan})

    return answer


def run(evaluation, **answer):
    return verifying.run(evaluation, answer=answering(evaluation, **answer))


def again(evaluation):
    evaluation.refresh_from_db()
    return evaluation


def tasks_of(run):
    return {key for keys in Shard.objects.filter(evaluation=run).values_list("task_keys", flat=True) for key in keys}


def test_a_planner_that_samples_is_asked_twice_more_for_a_random_tenth_before_it_is_ranked():
    evaluation = run(entered())
    assert (evaluation.state, evaluation.reason) == (EvaluationState.AGGREGATING, EvaluationReason.ASKED_AGAIN)
    assert "10 of them" in evaluation.reason_text
    second, third = evaluation.further_runs
    assert [(one.repetition, one.tasks_total, one.samples) for one in (second, third)] == [
        (2, 10, evaluation.samples), (3, 10, evaluation.samples)
    ]  # fmt: skip
    assert tasks_of(second) == tasks_of(third)
    assert not Snapshot.objects.exists()
    run(second, tool="Image Deblurring", score=0.25)
    assert again(evaluation).state == EvaluationState.AGGREGATING
    run(third)
    assert (again(evaluation).state, evaluation.reason) == (EvaluationState.COMPLETED, EvaluationReason.PUBLISHED)
    assert again(second).reason == EvaluationReason.FURTHER_RUN
    assert evaluation.summary["runs"] == {
        "claim": "", "verdict": "varies", "runs": 3, "tasks": 10, "differing": 10, "asked": 20, "why": "",
    }  # fmt: skip
    assert Snapshot.objects.count() == 1


def test_the_drawn_tasks_differ_between_equal_submissions():
    samples = [frozenset(tasks_of(run(entered()).further_runs[0])) for _ in range(3)]
    assert len(set(samples)) > 1


def test_a_deterministic_planner_is_checked_on_a_few_tasks():
    evaluation = run(entered(bundled_name="gold"))
    [check] = evaluation.further_runs
    assert check.tasks_total == 8
    run(check)
    assert again(evaluation).state == EvaluationState.COMPLETED
    assert (evaluation.summary["runs"]["claim"], evaluation.summary["runs"]["verdict"]) == ("known", "deterministic")


def test_an_answer_that_differs_contradicts_the_claim_and_has_tasks_drawn():
    evaluation = run(entered(bundled_name="gold"))
    run(evaluation.further_runs[0], tool="Image Deblurring")
    assert again(evaluation).state == EvaluationState.AGGREGATING
    _, second, third = evaluation.further_runs
    assert [(one.repetition, one.tasks_total) for one in (second, third)] == [(3, 10), (4, 10)]
    run(second)
    run(third)
    report = again(evaluation).summary["runs"]
    assert (evaluation.state, report["verdict"], report["differing"] >= 8) == (
        EvaluationState.COMPLETED,
        "contradicted",
        True,
    )


def test_endpoints_may_declare_determinism():
    def claimed(*, deterministic):
        data = services.SubmissionData(
            planner=verifying.planner_data(kind="endpoint", endpoint_url="https://example.org/plan", bundled_name=""),
            suites=[make_suite(runnable=100).slug],
            deterministic=deterministic,
        )
        submission = services.submit(services.validate(user=make_user(), data=data))
        return run(submission.evaluations.get())

    assert [one.tasks_total for one in claimed(deterministic=True).further_runs] == [8]
    assert [one.tasks_total for one in claimed(deterministic=False).further_runs] == [10, 10]


def test_further_runs_are_not_charged_and_in_no_list():
    evaluation = run(entered())
    assert QuotaEntry.objects.count() == 1
    assert list(Evaluation.objects.all()) == [evaluation]
    assert not evaluation.members.exists(), "they are no members of a reliability profile"


def test_a_run_on_hold_is_resumed_like_any_evaluation_and_the_first_one_waits():
    evaluation = run(entered())
    second, third = evaluation.further_runs
    run(third)
    run(second, outcome=Outcome.INFRA_FAULT)
    assert again(second).state == EvaluationState.ON_HOLD
    sweep()
    assert again(evaluation).state == EvaluationState.AGGREGATING
    services.resume(second)
    run(again(second))
    assert again(evaluation).state == EvaluationState.COMPLETED


def test_without_results_of_further_runs_the_evaluation_says_that_it_has_one_run():
    evaluation = run(entered())
    for one in evaluation.further_runs:
        services.cancel(one, by=evaluation.submission.submitted_by)
    sweep()
    report = again(evaluation).summary["runs"]
    assert (evaluation.state, report["verdict"], report["runs"]) == (EvaluationState.COMPLETED, "one_run", 1)
    assert report["why"] == "Run 2: Cancelled by its owner."


def test_cancelling_an_evaluation_cancels_its_further_runs():
    evaluation = run(entered())
    services.cancel(evaluation)
    assert {(one.state, one.reason) for one in evaluation.further_runs} == {
        (EvaluationState.CANCELLED, EvaluationReason.CANCELLED_TOO)
    }


def test_a_lost_message_only_costs_time_and_no_deadline_ends_the_wait():
    evaluation = run(entered())
    assert evaluation.state_deadline is None
    for _ in range(3):
        sweep()
    assert evaluation.further_runs.count() == 2
    assert again(evaluation).state == EvaluationState.AGGREGATING


def test_a_site_that_asks_no_planner_again_says_so(settings):
    settings.FURTHER_RUNS = 0
    evaluation = run(entered())
    assert evaluation.state == EvaluationState.COMPLETED
    assert evaluation.summary["runs"]["verdict"] == "one_run"
    assert evaluation.summary["runs"]["why"] == "This site asks no planner again."


def test_further_runs_of_an_own_worker_run_there_as_well():
    evaluation = verifying.make_own(suite=make_suite(runnable=40), bundled_name="random-valid")
    run(evaluation)
    runs = list(evaluation.further_runs)
    assert len(runs) == 2
    assert all(runs_on_own_worker(one.pk) for one in runs)
    for one in runs:
        run(one)
    assert again(evaluation).state == EvaluationState.COMPLETED
    assert evaluation.verifications.exists()


def test_the_row_and_the_signed_results_have_the_further_runs():
    evaluation = run(entered())
    second, third = evaluation.further_runs
    run(second, score=0.25)
    run(third)
    [row] = Snapshot.objects.get().content["rows"]
    assert row["asked"] == {"claim": "", "verdict": "varies", "runs": 3, "tasks": 10, "differing": 0}
    proof = evaluation_proof(evaluation=again(evaluation), shows_records=True, shows_tasks=True)
    entries = {entry.task: entry for entry in proof.tasks if entry.further}
    assert entries.keys() == tasks_of(second)
    assert {tuple(one.score for one in entry.further) for entry in entries.values()} == {(0.25, 0.5)}
    assert (
        tasks_digest(evaluation=str(evaluation.pk), tasks=proof.tasks) == EvaluationSignature.objects.get().tasks_digest
    )


def test_the_margin_of_the_runs_is_in_the_row_and_on_the_page_and_follows_from_the_signed_results(client):
    evaluation = run(entered())
    for number, one in enumerate(evaluation.further_runs):
        run(one, score=0.25 + 0.5 * number)
    [row] = Snapshot.objects.get().content["rows"]
    margins = row["uncertainty"]
    assert (margins["asked"], margins["times"], margins["passes"]) == (10, 3, None)
    assert margins["flips"]["mean"] == pytest.approx(1.0)
    # Of each task asked again the variance is 0.0625; one task more counts 0.25. That is more than the margin over
    # requests, which contains that of the runs, since all tasks score alike in the first run.
    assert margins["requests"] < 1.96 * ((0.0625 * 10 + 0.25) / 11 / 100) ** 0.5
    assert margins["runs"] == margins["requests"]
    page = client.get(reverse("evaluations:detail", args=[evaluation.pk])).content.decode()
    assert f"The same planner again: ± {margins['runs']:.3f} (10 tasks asked at least 3 times)." in unescape(page)
    assert "Two runs of a task score differently in 100 %" in page
    report = verified(f"/boards/{evaluation.suite.slug}/")
    # The fake evaluator of these tests has no intervals: only its means follow from the results.
    assert [text for text in mismatches(report) if "the interval of overall" not in text] == []
    assert any("paired tests" in finding.text for finding in report.findings)


def test_the_one_run_of_a_planner_that_may_vary_has_no_range_of_ranks(settings, client):
    settings.FURTHER_RUNS = 0
    evaluation = run(entered())
    [row] = Snapshot.objects.get().content["rows"]
    assert (row["rank"], row["rank_low"], row["rank_high"], row["uncertainty"]["runs"]) == (None, None, None, None)
    page = client.get(reverse("boards:row", args=[evaluation.suite.slug, evaluation.pk])).content.decode()
    assert "The same planner again: unknown, since it was asked once and may answer otherwise" in page
    assert "asked once, may vary" in client.get(reverse("boards:board", args=[evaluation.suite.slug])).content.decode()


def test_who_asks_for_more_is_charged_for_it_and_refunded_together():
    user = make_user()
    data = services.SubmissionData(
        planner=verifying.planner_data(), suites=[make_suite(runnable=20).slug], asked_again="half"
    )
    evaluation = services.submit(services.validate(user=user, data=data)).evaluations.get()
    assert QuotaEntry.objects.get().amount == 2
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {2}
    run(evaluation)
    assert [one.tasks_total for one in evaluation.further_runs] == [10, 10], "whatever is known of the planner"
    refund(evaluation_id=evaluation.pk, reason=EntryReason.NOTHING_RAN)
    assert set(QuotaBalance.objects.values_list("used", flat=True)) == {0}


def test_who_has_too_little_quota_left_for_more_submits_nothing(settings):
    settings.QUOTA_PER_DAY = 2
    data = services.SubmissionData(planner=verifying.planner_data(), suites=[make_suite().slug], asked_again="all")
    with pytest.raises(QuotaExceededError):
        services.submit(services.validate(user=make_user(), data=data))
    assert not Evaluation.objects.exists()


def test_only_planners_that_the_site_does_not_know_are_declared():
    data = services.SubmissionData(planner=verifying.planner_data(), suites=[make_suite().slug], deterministic=True)
    with pytest.raises(FieldErrors, match="A bundled planner needs no such claim"):
        services.validate(user=make_user(), data=data)


def test_an_agent_gets_the_tasks_of_further_runs_one_run_after_the_other_at_the_same_address():
    evaluation = run(entered(tasks=20))
    Planner.objects.update(kind="agent", bundled_name="")
    user = evaluation.submission.submitted_by_id
    second, third = evaluation.further_runs

    def served(evaluation_id=None):
        return door._evaluation(user_id=user, evaluation_id=evaluation_id).pk

    assert served() == served(evaluation.pk) == second.pk
    assert served(third.pk) == third.pk
    assert may_be_asked_again(again(evaluation))
    Planner.objects.update(kind="bundled", bundled_name="random-valid")
    run(second)
    Planner.objects.update(kind="agent", bundled_name="")
    assert served() == third.pk
    assert may_be_asked_again(again(second)), "the third run follows"
    Planner.objects.update(kind="bundled", bundled_name="random-valid")
    run(third)
    Planner.objects.update(kind="agent", bundled_name="")
    assert served() == evaluation.pk
    assert not may_be_asked_again(again(third))
