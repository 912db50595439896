"""Jobs: bounded for each user, fair between users, and ended whatever becomes of the process that runs them."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now

from leaderboard.platform.problems import FieldErrors, ProblemError
from leaderboard.queue import jobs
from leaderboard.queue.jobs import JobKind, Runner, TooManyJobsError, accept
from leaderboard.queue.models import Job, JobState
from tests.leaderboard.factories import make_user

pytestmark = pytest.mark.django_db


def echo(user, request):
    return {"user": user.username, "said": request}


@pytest.fixture
def kind(monkeypatch):
    """Registers a kind of job."""

    def make(run=echo, **options):
        options = {"seconds": 5, "at_once": 3, "share": 1, "unfinished": 2} | options
        made = JobKind(name="test", noun="tests", run=run, **options)
        monkeypatch.setitem(jobs.KINDS, "test", made)
        return made

    return make


def test_a_job_is_run_once_and_forgets_its_request_unless_its_kind_keeps_it(kind):
    ada = make_user("ada")
    made = kind()
    job = accept(kind=made, owner=ada, request={"secret": "s3cr3t"})
    assert "s3cr3t" not in Job.objects.get().request
    assert jobs.run_next(made)
    assert not jobs.run_next(made)
    job.refresh_from_db()
    assert (job.state, job.result, job.request) == ("done", {"user": "ada", "said": {"secret": "s3cr3t"}}, "")
    made = kind(keeps_request=True)
    job = accept(kind=made, owner=ada, request=[1])
    jobs.run_next(made)
    job.refresh_from_db()
    assert jobs.request_of(job) == [1]


def test_a_user_has_so_many_unfinished_and_others_have_theirs(kind):
    ada, made = make_user("ada"), kind()
    first, _ = (accept(kind=made, owner=ada, request=n) for n in range(2))
    with pytest.raises(TooManyJobsError, match="2 unfinished tests") as refused:
        accept(kind=made, owner=ada, request=2)
    assert (refused.value.status, refused.value.headers()) == (429, {"Retry-After": "5"})
    accept(kind=made, owner=make_user("bob"), request=0)
    Job.objects.filter(pk=first.pk).update(deadline=Now())
    accept(kind=made, owner=ada, request=3)


def test_users_take_turns_and_none_runs_more_than_its_share(kind):
    ada, bob, made = make_user("ada"), make_user("bob"), kind(unfinished=9)
    for number in range(3):
        accept(kind=made, owner=ada, request=number)
    accept(kind=made, owner=bob, request=0)
    first, second = jobs.claim(made), jobs.claim(made)
    assert [job.owner for job in (first, second)] == [ada, bob]
    assert jobs.claim(made) is None, "both run their share"
    jobs.run(first, kind=made)
    jobs.run(second, kind=made)
    accept(kind=made, owner=bob, request=1)
    third = jobs.claim(made)
    assert (third.owner, jobs.request_of(third)) == (ada, 1)
    jobs.run(third, kind=made)
    assert jobs.claim(made).owner == bob, "he began last before she did"


class Refusal(ProblemError):
    status = 503
    code = "away"

    def facts(self):
        return {"who": "hub"}


def test_why_a_job_failed_is_kept_for_its_owner(kind):
    invalid = {"status": 400, "code": "invalid", "detail": "url: No.", "errors": {"url": ["No."]}}
    internal = {"status": 500, "code": "internal_error", "detail": "Internal error. Try again later."}
    for error, problem in (
        (FieldErrors({"url": ["No."]}), invalid),
        (Refusal("Away."), {"status": 503, "code": "away", "detail": "Away.", "who": "hub"}),
        (ValueError("s3cr3t"), internal),
    ):

        def fail(user, request, error=error):
            raise error

        made = kind(run=fail)
        job = accept(kind=made, owner=make_user(), request=0)
        jobs.run_next(made)
        job.refresh_from_db()
        assert (job.state, job.problem) == ("failed", problem)


@pytest.mark.parametrize("was_started", [False, True])
@pytest.mark.parametrize("swept", [False, True])
def test_an_abandoned_job_fails_at_its_deadline_whoever_looks_first(kind, was_started, swept):
    ended = []
    made = kind(ended=lambda job, request: ended.append((job.state, job.started is not None, request)))
    ada = make_user("ada")
    job = accept(kind=made, owner=ada, request="asked")
    claimed = jobs.claim(made) if was_started else None
    Job.objects.filter(pk=job.pk).update(deadline=Now())
    for _ in range(2):
        if swept:
            jobs.sweep()
    found = jobs.find(owner=ada, kind="test", job_id=job.pk)
    assert (found.state, found.problem["code"], found.request) == ("failed", "interrupted", "")
    if claimed is not None:
        jobs.run(claimed, kind=made)
        assert Job.objects.get().state == JobState.FAILED, "a result that comes too late changes nothing"
    assert jobs.claim(made) is None
    assert ended == [("failed", was_started, "asked")]


def test_only_its_owner_finds_a_job_and_not_for_ever(kind):
    ada, made = make_user("ada"), kind()
    job = accept(kind=made, owner=ada, request=0)
    assert jobs.find(owner=make_user("eve"), kind="test", job_id=job.pk) is None
    assert jobs.find(owner=ada, kind="another", job_id=job.pk) is None
    jobs.run_next(made)
    assert jobs.find(owner=ada, kind="test", job_id=job.pk).state == "done"
    Job.objects.update(finished=Now() - jobs.KEPT - timedelta(seconds=1))
    assert jobs.find(owner=ada, kind="test", job_id=job.pk) is None
    jobs.sweep()
    assert not Job.objects.exists()


def test_of_the_ended_jobs_of_a_user_only_the_newest_are_kept(kind, monkeypatch):
    monkeypatch.setattr(jobs, "KEPT_PER_USER", 2)
    ada, made = make_user("ada"), kind()
    for number in range(4):
        accept(kind=made, owner=ada, request=number)
        jobs.run_next(made)
    assert sorted(job.result["said"] for job in Job.objects.all()) == [2, 3]


@pytest.mark.django_db(transaction=True)
class TestRunner:
    def test_a_user_whose_jobs_hang_keeps_its_share_of_the_threads_only(self, kind):
        over, done = threading.Event(), threading.Event()

        def run(user, request):
            if user.username == "eve":
                over.wait(60)
            else:
                done.set()
            return request

        made = kind(run=run, unfinished=9, at_once=3, share=2)
        runner = Runner({"test": made}, poll_seconds=60)
        runner.start()
        eve, ada = make_user("eve"), make_user("ada")
        try:
            for number in range(9):
                accept(kind=made, owner=eve, request=number)
            accept(kind=made, owner=ada, request=0)
            assert done.wait(30), "she waits for none of these"
            states = list(Job.objects.filter(owner=eve).values_list("state", flat=True))
            assert (states.count("running"), states.count("waiting")) == (2, 7)
        finally:
            over.set()
            runner.stop()
            connection.close()

    def test_the_process_that_runs_jobs_ends_those_that_others_abandoned(self, kind):
        ended = threading.Event()
        made = kind(ended=lambda job, request: ended.set() if request == "abandoned" else None, unfinished=9)
        ada = make_user("ada")
        accept(kind=made, owner=ada, request="abandoned")
        jobs.claim(made)
        Job.objects.update(deadline=Now())
        runner = Runner({"test": made}, poll_seconds=60)
        runner.start()
        try:
            runner.wake()
            assert ended.wait(30)
        finally:
            runner.stop()
        assert Job.objects.get().problem["code"] == "interrupted"

    def test_what_waits_behind_a_share_is_run_when_one_ends(self, kind):
        over, order = threading.Event(), []

        def run(user, request):
            order.append(request)
            if request == 4:
                over.set()
            return request

        made = kind(run=run, unfinished=9)
        runner = Runner({"test": made}, poll_seconds=60)
        runner.start()
        ada = make_user("ada")
        try:
            for number in range(5):
                accept(kind=made, owner=ada, request=number)
            assert over.wait(30)
        finally:
            runner.stop()
        assert order == [0, 1, 2, 3, 4]
