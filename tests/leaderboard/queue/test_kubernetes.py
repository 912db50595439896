"""The site with worker pools on Kubernetes: reconciler, database and launcher, against an API server over HTTP."""

import json
import os
import signal
import threading
import time
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from gpu_jobs.launchers.kubernetes.launcher import KubernetesLauncher
from gpu_jobs.launchers.pools import pools_from
from leaderboard.evaluations.models import Attempt, EvaluationState
from leaderboard.queue import reconcile
from leaderboard.queue.launching import PoolEnrolments, kubernetes_launcher, needs_by_id
from leaderboard.queue.leasing import leases
from leaderboard.queue.management.commands import watch_kubernetes
from tests.fakes.kubernetes.api import FakeKubernetesApi
from tests.fakes.kubernetes.cluster import COST, FakeCluster, disrupted, restarts_after, starts, unschedulable
from tests.gpu_jobs.kubernetes.making import GPU, POOLS, install, make_settings, token_in
from tests.leaderboard.factories import holder, let_time_pass, make_evaluation, make_lease

pytestmark = pytest.mark.django_db

_CURRENT: list[KubernetesLauncher] = []


def launcher_of_the_test() -> KubernetesLauncher:
    """What PLANARENA_LAUNCHER would name."""
    return _CURRENT[-1]


@pytest.fixture
def cluster(settings):
    """A cluster with this installation's pool of GPUs."""
    settings.LAUNCHER = f"{__name__}.launcher_of_the_test"
    settings.WORKER_POOLS = pools_from(POOLS)
    with FakeKubernetesApi().serving() as api:
        cluster = FakeCluster(api)
        install(api)
        install(api, pool="cpu", replicas=0)
        launcher = KubernetesLauncher(
            client=api.client(), settings=make_settings(), enrolments=PoolEnrolments(), needs=needs_by_id,
            clock=lambda: cluster.now.timestamp(),
        )  # fmt: skip
        _CURRENT.append(launcher)
        yield cluster
        _CURRENT.pop()


def settle(evaluation):
    for _ in range(5):
        if not reconcile.reconcile(evaluation.pk):
            break
    evaluation.refresh_from_db()
    return evaluation


def test_all_evaluations_are_launched_with_the_pool_whose_pod_takes_their_tasks(cluster):
    evaluation, other = make_evaluation(), make_evaluation()
    cluster.tick()
    assert settle(evaluation).launch_handle == settle(other).launch_handle == GPU
    (pod,) = cluster.running()
    make_lease(evaluation, worker=pod)
    assert settle(evaluation).state == EvaluationState.RUNNING
    assert settle(other).state == EvaluationState.LAUNCHING
    assert cluster.running() == [pod]


def test_an_evaluation_waits_for_days_and_starts_once_the_cluster_can(cluster):
    cluster.fate = unschedulable
    evaluation = settle(make_evaluation())
    for _ in range(4):
        cluster.later(12 * 3600)
        settle(evaluation)
        # As if the database's clock had gone with the cluster's.
        let_time_pass(evaluation)
        assert (evaluation.state, evaluation.reason) == (EvaluationState.LAUNCHING, "launch_failed")
    cluster.fate = starts
    cluster.later(60)
    assert settle(evaluation).reason == "waiting_for_worker"


def test_an_evaluation_that_runs_waits_for_days_when_its_pods_are_taken_away(cluster):
    cluster.tick()
    evaluation = settle(make_evaluation())
    lease = make_lease(evaluation, worker=cluster.running()[0])
    leases.give_up(attempt_id=lease.attempt.pk, how=leases.GivenUp.RELEASED, detail="preempted")
    cluster.fate = unschedulable
    cluster.api.remove("pods", cluster.running()[0])
    for _ in range(5):
        Attempt.objects.update(ended_at=F("ended_at") - timedelta(hours=7))
        let_time_pass(evaluation)
        cluster.later(7 * 3600)
        settle(evaluation)
        assert (evaluation.state, evaluation.reason) == (EvaluationState.RUNNING, "launch_failed")
        assert "No machine of the cluster has room" in evaluation.reason_text
        assert evaluation.state_deadline > timezone.now() + timedelta(hours=5)


def test_the_tasks_of_a_preempted_pod_go_to_another(cluster):
    cluster.tick()
    evaluation = settle(make_evaluation())
    lease = make_lease(evaluation, worker=cluster.running()[0])
    cluster.fate = disrupted("PreemptionByScheduler")
    pod = cluster.pods()[0]
    cluster.fate(cluster, pod)
    cluster.later(10)
    settle(evaluation)
    assert "it was preempted by work of higher priority" in evaluation.reason_text
    lease.attempt.refresh_from_db()
    assert (lease.attempt.state, lease.attempt.loss) == ("lost", "disrupted")
    (fresh,) = cluster.running()
    evaluation.shards.update(available_at=evaluation.created)
    assert make_lease(evaluation, worker=fresh).attempt.pk != lease.attempt.pk


def test_what_a_worker_held_is_lost_when_it_was_started_again_in_its_pod(cluster):
    cluster.tick()
    evaluation = settle(make_evaluation())
    (pod,) = cluster.running()
    lease = make_lease(evaluation, worker=pod)
    cluster.now = timezone.now() + timedelta(minutes=2)
    cluster.fate = restarts_after(137, reason="OOMKilled")
    cluster.tick()
    settle(evaluation)
    lease.attempt.refresh_from_db()
    assert (lease.attempt.state, lease.attempt.reason) == ("lost", "it ran out of memory")
    evaluation.shards.update(available_at=evaluation.created)
    again = make_lease(evaluation, worker=pod)
    Attempt.objects.filter(pk=again.attempt.pk).update(leased_at=F("leased_at") + timedelta(minutes=2))
    cluster.later(10)
    settle(evaluation)
    again.attempt.refresh_from_db()
    assert again.attempt.state == "live", "it was leased after the restart"


def test_the_sweep_gives_a_pool_its_token_and_marks_busy_pods(cluster):
    cluster.scale(GPU, 2)
    cluster.tick()
    busy, idle = cluster.running()
    evaluation = settle(make_evaluation())
    token = token_in(cluster.api)
    worker = holder(token)
    assert worker is not None
    assert worker.pool(suites=None, evaluation_id=None) == ["@gpu"]
    leases.lease(worker=busy, scope=worker.scope)
    cluster.later(10)
    reconcile.sweep()
    costs = {pod["metadata"]["name"]: pod["metadata"]["annotations"].get(COST) for pod in cluster.pods()}
    assert costs == {busy: "100", idle: None}
    assert settle(evaluation).state == EvaluationState.RUNNING
    assert token_in(cluster.api) == token


@pytest.fixture
def environment(cluster, tmp_path, monkeypatch):
    """The variables of an installation outside the cluster, and its kubeconfig."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
        "clusters": [{"name": "tests", "cluster": {"server": cluster.api.url}}],
        "users": [{"name": "tests", "user": {"token": "of-the-tests"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("PLANARENA_KUBERNETES_POOLS", POOLS)
    monkeypatch.setenv("PLANARENA_KUBERNETES_CONTEXT", "tests")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    kubernetes_launcher.cache_clear()
    yield monkeypatch
    kubernetes_launcher.cache_clear()


def test_the_environment_makes_the_launcher(cluster, environment, settings):
    settings.LAUNCHER = "leaderboard.queue.launching.kubernetes_launcher"
    cluster.tick()
    assert settle(make_evaluation()).launch_handle == GPU


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PLANARENA_KUBERNETES_POOLS", "", "PLANARENA_KUBERNETES_POOLS is not set"),
        ("PLANARENA_KUBERNETES_CONTEXT", "another", "there are no credentials for a cluster"),
    ],
)
def test_a_launcher_that_cannot_be_made_says_why(environment, name, value, said):
    environment.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=said):
        kubernetes_launcher()
    with pytest.raises(CommandError, match=said):
        call_command("watch_kubernetes")


def test_a_pod_that_changes_in_the_cluster_is_told_of_soon(cluster, environment):
    noticed = []

    def reconcile_soon(pod):
        noticed.append(pod)
        # Once: the next might come when nobody handles the signal any more.
        if len(noticed) == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    def change_once_watched() -> None:
        while not any("watch=" in path for _, path in cluster.api.requests):
            time.sleep(0.02)
        cluster.tick()

    environment.setattr(watch_kubernetes, "reconcile_soon", reconcile_soon)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    change = threading.Thread(target=change_once_watched, daemon=True)
    change.start()
    try:
        call_command("watch_kubernetes")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    change.join()
    assert noticed
    assert set(noticed) <= {pod["metadata"]["name"] for pod in cluster.pods()}


def test_the_evaluations_of_a_changed_pod_s_worker_are_reconciled(
    celery_messages, cluster, django_capture_on_commit_callbacks
):
    cluster.tick()
    evaluation, other = settle(make_evaluation()), settle(make_evaluation())
    make_lease(evaluation, worker="planarena-pool-gpu-5d8f7c9b6d-00001")
    celery_messages.clear()
    with django_capture_on_commit_callbacks(execute=True):
        watch_kubernetes.reconcile_soon("planarena-pool-gpu-5d8f7c9b6d-00001")
        watch_kubernetes.reconcile_soon("planarena-pool-gpu-5d8f7c9b6d-00002")
    assert celery_messages == [("reconcile_evaluation", str(evaluation.pk))]
    assert other.pk != evaluation.pk
