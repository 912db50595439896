"""The canary: one task runs first, alone, and what it comes to decides about the others."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from evaluator.core.records import Outcome, Reason
from evaluator.execution.engine.store import MemoryStore
from leaderboard.evaluations.models import Attempt, Evaluation, Shard
from leaderboard.queue import canary, steps, unreachable
from leaderboard.queue.canary import Ending, Verdict, judge
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import reconcile, sweep
from leaderboard.queue.workers.finishing import deliver
from leaderboard.quotas.models import QuotaEntry
from leaderboard.submissions import services
from tests.leaderboard.factories import expire, make_lease, make_record, make_submission, make_suite, rows

TIMEOUT = Ending(Outcome.PLANNER_FAULT, Reason.PLANNER_TIMEOUT)
NOT_JSON = Ending(Outcome.PLANNER_FAULT, Reason.INVALID_RESPONSE)
SCORED = Ending(Outcome.SCORED, "")
AWAY = Ending(Outcome.INFRA_FAULT, Reason.ENDPOINT_UNAVAILABLE)
EXPERT_FAILED = Ending(Outcome.INFRA_FAULT, Reason.EXPERT_FAILED)
LOST = Ending(Outcome.PLANNER_FAULT, Reason.ENDED_WORKER)
TWO_TASKS_PER_SHARD = pytest.mark.usefixtures("two_tasks_per_shard")


@pytest.fixture
def two_tasks_per_shard(settings, launcher):
    settings.TASKS_PER_SHARD = 2


class TestJudging:
    def test_whoever_answers_is_measured_whatever_the_plan_is_worth(self):
        for reason in set(Reason) - canary.BROKEN - unreachable.AWAY:
            for outcome in (Outcome.PLANNER_FAULT, Outcome.INFRA_FAULT):
                assert judge([[Ending(outcome, reason)]]) is Verdict.FAN_OUT, reason

    def test_whoever_does_not_answer_is_asked_twice(self):
        for reason in canary.BROKEN:
            silent = [Ending(Outcome.PLANNER_FAULT, reason)]
            assert judge([silent]) is Verdict.ASK_AGAIN, reason
            assert judge([silent, silent]) is Verdict.BROKEN, reason
            assert judge([silent, [SCORED]]) is Verdict.FAN_OUT, reason

    def test_whoever_cannot_be_reached_is_left_to_the_owner(self):
        for reason in unreachable.AWAY:
            away = [Ending(Outcome.INFRA_FAULT, reason)]
            assert judge([away]) is judge([[TIMEOUT], away]) is Verdict.AWAY, reason

    @pytest.mark.parametrize(
        ("tries", "verdict"),
        [
            # Two different faults do not prove that all tasks would fail.
            ([[TIMEOUT], [NOT_JSON]], Verdict.FAN_OUT),
            ([[TIMEOUT, SCORED]], Verdict.FAN_OUT),
            ([[TIMEOUT, TIMEOUT]], Verdict.ASK_AGAIN),
            # Whoever loses a worker after some answers is no less broken.
            ([[SCORED, LOST]], Verdict.ASK_AGAIN),
            ([[SCORED, LOST], [LOST]], Verdict.BROKEN),
            ([[]], Verdict.FAN_OUT),
        ],
    )
    def test_canaries_of_several_tasks(self, tries, verdict):
        assert judge(tries) is verdict


def make(*, runnable: int = 6, endpoint: bool = True) -> Evaluation:
    """An evaluation of a planner behind HTTP that is launching, with two tasks per shard."""
    planner = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "https://planner.example.org/plan"}
    submission = make_submission(suite=make_suite(runnable=runnable, not_run=1), **(planner if endpoint else {}))
    steps.launch(submission.evaluations.get())
    return submission.evaluations.get()


def work(evaluation: Evaluation, *endings: Ending) -> list[str]:
    """Run the next shard; its tasks end as told, or are scored."""
    lease = make_lease(evaluation)
    records = []
    for number, task in enumerate(lease.tasks):
        ending = endings[number] if number < len(endings) else SCORED
        record = make_record(task, suite=evaluation.suite.slug, outcome=Outcome(ending.outcome), score=0.0)
        if ending.reason:
            record = record.model_copy(update={"reason": Reason(ending.reason), "reason_text": f"Said {task}."})
        records.append(record)
    deliver(attempt_id=lease.attempt.pk, records=records, store=MemoryStore())
    leases.complete(lease.attempt.pk)
    evaluation.refresh_from_db()
    return lease.tasks


def swept(evaluation: Evaluation) -> tuple[str, str]:
    """State and reason after a sweep."""
    sweep()
    evaluation.refresh_from_db()
    return evaluation.state, evaluation.reason


def rest(evaluation: Evaluation) -> None:
    """Let the time pass for which its shards rest."""
    Shard.objects.filter(evaluation=evaluation).update(available_at=evaluation.created)


def resume(evaluation: Evaluation) -> None:
    """What its owner does about faults of the infrastructure."""
    sweep()
    services.resume(evaluation)
    sweep()
    evaluation.refresh_from_db()


def dead_endpoint() -> Evaluation:
    """An evaluation of 20 tasks and one that cannot run, whose endpoint was dead from the beginning."""
    evaluation = make(runnable=20)
    assert work(evaluation, AWAY) == ["0"]
    assert evaluation.reason == "canary_retry"
    assert leases.lease(worker="w") is None, "it rests"
    rest(evaluation)
    assert work(evaluation, AWAY) == ["0"]
    swept(evaluation)
    return evaluation


@TWO_TASKS_PER_SHARD
@pytest.mark.django_db
class TestRunning:
    def test_the_first_task_runs_alone_and_then_the_others(self):
        evaluation = make()
        first = make_lease(evaluation)
        evaluation.refresh_from_db()
        assert first.tasks == ["0"]
        assert evaluation.reason == "canary"
        assert leases.lease(worker="another") is None
        leases.give_up(attempt_id=first.attempt.pk, how=leases.GivenUp.RELEASED, detail="it was stopped")
        assert work(evaluation) == ["0"]
        assert (evaluation.leasable_shards, evaluation.reason) == (None, "running")
        assert [make_lease(evaluation).tasks for _ in range(3)] == [["1"], ["2", "3"], ["4", "5"]]

    def test_a_broken_planner_fails_after_two_tasks_with_what_it_answered_and_its_workers_are_stopped(
        self, celery_messages, django_capture_on_commit_callbacks
    ):
        evaluation = make()
        stop = ("stop_workers", str(evaluation.pk))
        with django_capture_on_commit_callbacks(execute=True):
            work(evaluation, NOT_JSON)
        assert stop not in celery_messages
        assert (evaluation.state, evaluation.reason) == ("running", "second_canary")
        assert "Said 0." in evaluation.reason_text
        second = make_lease(evaluation)
        assert leases.lease(worker="another") is None, "the second task runs alone, too"
        leases.give_up(attempt_id=second.attempt.pk, how=leases.GivenUp.RELEASED, detail="it was stopped")
        evaluation.refresh_from_db()
        with django_capture_on_commit_callbacks(execute=True):
            assert work(evaluation, NOT_JSON) == ["1"]
        assert celery_messages.count(stop) == 1
        assert (evaluation.state, evaluation.reason) == ("failed", "canary_failed")
        assert "Said 1." in evaluation.reason_text
        assert leases.lease(worker="w") is None
        assert list(QuotaEntry.objects.values_list("amount", flat=True)) == [1], "its own fault is not refunded"

    def test_a_planner_that_answers_the_second_time_runs_fully(self):
        evaluation = make()
        work(evaluation, TIMEOUT)
        work(evaluation)
        work(evaluation)
        work(evaluation)
        assert swept(evaluation)[0] == "completed"
        assert rows(evaluation)["0"] == ("planner_fault", 0.0)

    def test_an_infra_fault_is_tried_again_before_the_others_follow(self, settings):
        settings.SHARD_TRIES = 2
        evaluation = make()
        work(evaluation, EXPERT_FAILED)
        assert (evaluation.reason, list(rows(evaluation))) == ("canary_retry", ["x0"])
        assert "Said 0." in evaluation.reason_text
        assert leases.lease(worker="w") is None, "it waits a little"
        rest(evaluation)
        work(evaluation, EXPERT_FAILED)
        assert rows(evaluation)["0"] == ("infra_fault", None)
        assert evaluation.leasable_shards is None
        assert work(evaluation) == ["1"]

    def test_what_its_worker_did_not_settle_the_reconciler_does(self, monkeypatch):
        evaluation = make()
        monkeypatch.setattr(leases.canary, "act_on_canaries", lambda evaluation: False)
        work(evaluation)
        monkeypatch.undo()
        assert evaluation.leasable_shards == 1
        assert reconcile(evaluation.pk) is True
        evaluation.refresh_from_db()
        assert evaluation.leasable_shards is None
        assert steps.settle_canary(evaluation) is False

    def test_what_is_resumed_has_a_canary_again(self):
        evaluation = make()
        work(evaluation)
        for _ in range(3):
            work(evaluation, EXPERT_FAILED, EXPERT_FAILED)
        resume(evaluation)
        first = make_lease(evaluation)
        assert first.tasks == ["1"]
        assert leases.lease(worker="another") is None
        leases.give_up(attempt_id=first.attempt.pk, how=leases.GivenUp.RELEASED, detail="it was stopped")
        evaluation.refresh_from_db()
        assert work(evaluation) == ["1"]
        assert [make_lease(evaluation).tasks for _ in range(2)] == [["2"], ["3", "4"]]

    def test_few_resumed_tasks_need_no_canary(self):
        evaluation = make()
        for _ in range(3):
            work(evaluation)
        work(evaluation, EXPERT_FAILED, EXPERT_FAILED)
        resume(evaluation)
        assert make_lease(evaluation).tasks == ["4", "5"]

    def test_a_canary_after_a_resume_never_fails_what_was_scored_before(self):
        evaluation = make()
        for _ in range(2):
            work(evaluation)
        for _ in range(2):
            work(evaluation, EXPERT_FAILED, EXPERT_FAILED)
        resume(evaluation)
        assert [work(evaluation, NOT_JSON), work(evaluation, NOT_JSON)] == [["2"], ["3"]]
        assert swept(evaluation)[0] == "on_hold"
        assert rows(evaluation)["0"] == ("scored", 0.0)
        assert leases.lease(worker="w") is None


@TWO_TASKS_PER_SHARD
@pytest.mark.django_db
class TestUnreachable:
    def test_a_dead_endpoint_is_asked_for_one_task_and_then_waits_for_its_owner_who_resumes_it(self):
        evaluation = dead_endpoint()
        assert (evaluation.state, evaluation.reason) == ("on_hold", "planner_unavailable")
        assert "20 of 21 tasks" in evaluation.reason_text
        assert "Said 0." in evaluation.reason_text
        assert leases.lease(worker="w") is None
        asked = evaluation.results.filter(outcome="infra_fault", attempt__isnull=False)
        assert [result.task.key for result in asked] == ["0"]
        assert evaluation.results.get(task__key="7").reason_text == "Not asked: Said 0."
        resume(evaluation)
        assert work(evaluation) == ["0"]
        assert sorted(task for _ in range(10) for task in work(evaluation)) == sorted(str(key) for key in range(1, 20))
        assert swept(evaluation)[0] == "completed"

    def test_an_endpoint_that_dies_in_the_middle_is_not_asked_for_the_rest(self):
        evaluation = make(runnable=20)
        for _ in range(3):
            work(evaluation)
        for _ in range(3):
            work(evaluation, AWAY, AWAY)
        assert leases.lease(worker="w") is None
        assert swept(evaluation) == ("on_hold", "planner_unavailable")
        outcomes = dict(evaluation.results.values_list("task__key", "outcome"))
        assert [outcomes[str(number)] for number in range(4)] == ["scored"] * 4
        assert services.resume(evaluation) == 16

    def test_an_endpoint_that_is_away_now_and_then_is_asked_for_all(self):
        evaluation = make(runnable=20)
        for _ in range(2):
            work(evaluation)
        for _ in range(9):
            work(evaluation, AWAY)
        assert swept(evaluation)[0] == "on_hold"
        assert not evaluation.results.filter(reason_text__startswith="Not asked").exists()


@TWO_TASKS_PER_SHARD
@pytest.mark.django_db
class TestLosingWorkers:
    @pytest.fixture(autouse=True)
    def _launcher(self, launcher):
        self.launcher = launcher

    def kill(self, evaluation: Evaluation) -> list[str]:
        """Let the worker die that runs the next shard."""
        lease = make_lease(evaluation, worker=f"worker {len(self.launcher.dead)}")
        self.launcher.dead[lease.attempt.worker] = "its process ended"
        sweep()
        evaluation.refresh_from_db()
        return lease.tasks

    def test_a_planner_that_ends_or_hangs_the_worker_of_both_first_tasks_fails_after_two(self):
        evaluation = make(runnable=20)
        assert self.kill(evaluation) == ["0"]
        assert make_lease(evaluation).tasks == ["1"]
        Attempt.objects.filter(state="live").update(stalls_at=timezone.now())
        assert swept(evaluation) == ("failed", "canary_ended_workers")
        assert "no progress for" in evaluation.reason_text
        assert leases.lease(worker="w") is None
        assert rows(evaluation)["0"] == ("planner_fault", 0.0)
        assert list(QuotaEntry.objects.values_list("amount", flat=True)) == [1], "its own fault is not refunded"

    def test_a_first_task_whose_worker_was_lost_once_runs_again_with_the_others(self):
        evaluation = make()
        assert self.kill(evaluation) == ["0"]
        assert evaluation.reason == "second_canary"
        assert work(evaluation) == ["1"]
        assert [work(evaluation) for _ in range(3)] == [["2", "3"], ["4", "5"], ["0"]]
        assert swept(evaluation)[0] == "completed"

    def test_workers_that_fall_silent_with_those_of_others_say_nothing_about_the_planner(self):
        evaluation = make()
        other = make(endpoint=False)
        expire(make_lease(other, worker="b"))
        lease = make_lease(evaluation, worker="a")
        expire(lease)
        assert leases.lose_overdue(lease.attempt.pk)
        assert make_lease(evaluation, worker="c").tasks == ["0"]

    def test_workers_that_the_cluster_takes_away_or_their_owner_switches_off_say_nothing_about_the_planner(self):
        evaluation = make()
        lease = make_lease(evaluation)
        assert steps.lose_attempts([steps.LostAttempt(lease.attempt.pk, "it was evicted", disrupted=True)])
        own = make_lease(evaluation, worker="own:laptop")
        assert own.tasks == ["0"]
        expire(own)
        sweep()
        assert make_lease(evaluation, worker="own:laptop").tasks == ["0"]
        assert leases.lost_workers(evaluation) == 0

    @pytest.mark.parametrize("endpoint", [True, False])
    def test_no_evaluation_loses_more_workers_than_the_limit(self, settings, endpoint):
        settings.LOST_WORKERS = 4
        evaluation = make(runnable=20, endpoint=endpoint)
        work(evaluation)
        for _ in range(4):
            self.kill(evaluation)
        assert leases.lease(worker="w") is None
        assert swept(evaluation) == ("on_hold", "workers_lost")
        assert "its process ended" in evaluation.reason_text

    def test_workers_that_fall_silent_together_while_the_site_is_away_do_not_stop_an_evaluation(self, settings):
        settings.LOST_WORKERS = 4
        evaluation = make(runnable=20, endpoint=False)
        for number in range(6):
            expire(make_lease(evaluation, worker=f"worker {number}"))
        sweep()
        assert leases.lost_workers(evaluation) == 1
        assert make_lease(evaluation, worker="back").tasks

    def test_workers_that_fall_silent_one_after_the_other_stop_an_evaluation(self, settings):
        settings.LOST_WORKERS = 3
        evaluation = make(runnable=20, endpoint=False)
        for number in range(3):
            expire(make_lease(evaluation, worker=f"worker {number}"))
            sweep()
            Attempt.objects.filter(state="lost").update(ended_at=F("ended_at") - timedelta(minutes=10))
        assert swept(evaluation) == ("on_hold", "workers_lost")

    def test_resumed_it_may_lose_one_more(self, settings):
        settings.LOST_WORKERS = 2
        evaluation = make(runnable=20, endpoint=False)
        self.kill(evaluation)
        self.kill(evaluation)
        sweep()
        evaluation.refresh_from_db()
        assert services.resume(evaluation) == 20
        sweep()
        self.kill(evaluation)
        assert swept(evaluation) == ("on_hold", "workers_lost")


@pytest.mark.django_db
class TestWithout:
    @pytest.mark.parametrize(
        ("per_shard", "canaries", "endpoint", "first"),
        [(2, 1, False, ["0", "1"]), (8, 1, True, ["0", "1", "2", "3", "4", "5"]), (2, 0, True, ["0", "1"])],
        ids=["bundled planner", "one shard", "switched off"],
    )
    def test_nothing_goes_first(self, settings, per_shard, canaries, endpoint, first):
        settings.TASKS_PER_SHARD, settings.CANARY_TASKS = per_shard, canaries
        evaluation = make(endpoint=endpoint)
        assert make_lease(evaluation).tasks == first
        assert evaluation.leasable_shards is None
