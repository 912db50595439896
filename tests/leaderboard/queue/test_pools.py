"""What each worker pool may lease, how many workers it needs, and how workers of pools take turns."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gpu_jobs.launchers.pools import Needs, pool_of, pools_from
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, Shard, ShardState
from leaderboard.planners.kinds import KINDS
from leaderboard.planners.models import Planner
from leaderboard.queue.leasing import leases
from leaderboard.queue.leasing.worker_pools import must_give_way
from leaderboard.queue.pools import (
    Demand,
    demand_of,
    evaluations_without_pool,
    needs_of,
    pool_named,
    scaled_for,
    tag_of,
    tags_sharing,
    taken_by,
)
from tests.leaderboard.factories import make_evaluation, make_submission, make_suite, make_user
from tests.leaderboard.planners.test_kinds import FIELDS

pytestmark = pytest.mark.django_db
LAUNCHING = EvaluationState.LAUNCHING
CPU, GPU, MODELS = "cpu", "gpu", "models"


@pytest.fixture(autouse=True)
def _pools(settings, launcher):
    settings.TASKS_PER_SHARD = settings.PLANNING_TASKS_PER_SHARD = 1
    settings.WORKER_POOLS = pools_from("""[
        {"name": "cpu", "takes": ["judged"], "endpoints": true, "most": 3},
        {"name": "gpu", "takes": ["executed", "judged"], "most": 8},
        {"name": "models", "takes": ["executed", "judged", "models"], "endpoints": false}
    ]""")


@pytest.fixture
def judged():
    suite = make_suite(slug="judged", runnable=5)
    suite.conditions = {**suite.conditions, "experts": False}
    suite.save()
    return suite


@pytest.fixture
def executed():
    return make_suite(slug="executed", runnable=5)


def entered(suite, *, kind="bundled") -> Evaluation:
    """An evaluation of a new user's planner of this kind, ready to be leased."""
    more = {} if kind == "bundled" else {"kind": "endpoint", "bundled_name": "", "endpoint_url": "http://p.example/"}
    submission = make_submission(suite=suite, user=make_user(), **more)
    if kind not in {"bundled", "endpoint"}:
        # Past the services, which would ask a hub or want files.
        columns = dict.fromkeys(("endpoint_url", "bundled_name", "model_id", "checkpoint_digest", "plans_digest"), "")
        Planner.objects.filter(pk=submission.planner_id).update(kind=kind, **columns | FIELDS[kind])
    Evaluation.objects.filter(submission=submission).update(state=LAUNCHING)
    return Evaluation.objects.get(submission=submission)


def leased(evaluation: Evaluation, *, pool: str, worker: str = "w") -> leases.Lease:
    found = leases.lease(worker=worker, evaluation_id=evaluation.pk, pool=(tag_of(pool),))
    assert found is not None
    return found


def demand(name: str) -> Demand:
    pool = pool_named(name)
    assert pool is not None
    return demand_of(pool)


@pytest.mark.parametrize("kind", list(KINDS))
def test_conditions_on_the_database_are_those_of_pools(judged, executed, settings, kind):
    for suite in (judged, executed):
        evaluation = entered(suite, kind=kind)
        needs = needs_of(evaluation)
        one = Evaluation.objects.filter(pk=evaluation.pk)
        takes = {pool.name for pool in settings.WORKER_POOLS if one.filter(taken_by(pool.name)).exists()}
        assert takes == {pool.name for pool in settings.WORKER_POOLS if pool.runs(needs)}
        first = pool_of(needs=needs, pools=settings.WORKER_POOLS)
        scaled = {pool.name for pool in settings.WORKER_POOLS if one.filter(scaled_for(pool)).exists()}
        assert scaled == ({first.name} if first else set())
        assert needs.executed == suite.runs_experts


def test_which_kinds_need_what(judged):
    def needs(kind):
        return needs_of(entered(judged, kind=kind))

    assert needs("endpoint") == needs("chat") == Needs(executed=False, endpoint=True)
    assert needs("hub") == needs("checkpoint") == Needs(executed=False, model=True)
    assert needs("bundled") == needs("agent") == Needs(executed=False)


def test_a_pool_needs_a_worker_for_each_shard_that_may_be_leased_or_is_held(judged, executed):
    evaluation = entered(executed)
    assert demand(GPU) == Demand(workers=5, models=0, open_shards=5)
    assert demand(CPU) == demand(MODELS) == Demand(workers=0, models=0, open_shards=0)
    lease = leased(evaluation, pool=GPU)
    assert demand(GPU) == Demand(workers=5, models=0, open_shards=5)
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.FAILED, detail="x")
    assert demand(GPU).workers == 5, "it is due again in a moment"


@pytest.mark.parametrize(
    ("kind", "workers"), [("bundled", 3), ("endpoint", 1)], ids=["as many as it may have", "one for the canary"]
)
def test_it_asks_for_no_more_workers_than_may_work(judged, kind, workers):
    entered(judged, kind=kind)
    assert demand(CPU) == Demand(workers=workers, models=0, open_shards=5)


def test_model_servers_are_counted_with_the_workers_that_need_them(executed):
    evaluation = entered(executed, kind="checkpoint")
    entered(executed)
    assert demand(MODELS) == Demand(workers=1, models=1, open_shards=5)
    leased(evaluation, pool=MODELS)
    assert demand(MODELS) == Demand(workers=1, models=1, open_shards=5)


def test_a_shard_is_counted_where_it_is_held(judged):
    """A pool with idle workers may take what another one is scaled for."""
    evaluation = entered(judged)
    leased(evaluation, pool=GPU)
    assert demand(GPU) == Demand(workers=1, models=0, open_shards=0)
    Shard.objects.filter(state=ShardState.PENDING).update(state=ShardState.DONE)
    assert demand(CPU) == Demand(workers=0, models=0, open_shards=1)


def test_what_nobody_may_lease_needs_no_worker(executed, settings):
    evaluation = entered(executed)
    Shard.objects.filter(number=0).update(tries=settings.SHARD_TRIES)
    assert demand(GPU).workers == 4
    for state in (EvaluationState.ON_HOLD, EvaluationState.AGGREGATING, EvaluationState.CANCELLED):
        Evaluation.objects.filter(pk=evaluation.pk).update(state=state)
        assert demand(GPU) == Demand(workers=0, models=0, open_shards=0), state


def test_evaluations_that_no_pool_takes_are_counted(executed, settings):
    entered(executed)
    assert evaluations_without_pool() == 0
    entered(executed, kind="endpoint")
    assert evaluations_without_pool() == 1
    settings.WORKER_POOLS = ()
    assert evaluations_without_pool() == 0, "workers are processes of this machine"


def test_pools_that_take_the_same_suites_share_their_work(settings):
    assert tags_sharing(CPU) == ["@cpu", "@gpu", "@models"]
    settings.WORKER_POOLS = pools_from(
        '[{"name": "cpu", "takes": ["judged"]}, {"name": "gpu", "takes": ["executed", "models"]}]'
    )
    assert tags_sharing(CPU) == ["@cpu"]
    assert tags_sharing("removed") == ["@removed"]


@pytest.mark.parametrize(("waits_on", "gives_way"), [("judged", True), ("executed", False)])
def test_a_slow_planner_gives_way_only_to_what_its_pool_may_run(judged, executed, waits_on, gives_way):
    slow = entered(judged, kind="endpoint")
    lease = leased(slow, pool=CPU)
    entered({"judged": judged, "executed": executed}[waits_on])
    past = timezone.now() - timedelta(seconds=60)
    Attempt.objects.update(leased_at=past, phase="planning")
    Shard.objects.filter(state=ShardState.PENDING).update(available_at=past)
    attempt = Attempt.objects.get(pk=lease.attempt.pk)
    attempt.now = timezone.now()
    assert must_give_way(attempt) is gives_way


def test_workers_of_a_pool_serve_users_in_turns(judged):
    mine, yours = make_evaluation(state=LAUNCHING, suite=judged), make_evaluation(state=LAUNCHING, suite=judged)
    served = [leases.lease(worker="w", pool=(tag_of(CPU),), scope=taken_by(CPU)) for _ in range(4)]
    assert [one.evaluation.pk for one in served if one] == [mine.pk, yours.pk, mine.pk, yours.pk]
