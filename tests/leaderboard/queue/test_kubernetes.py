"""The site with workers on Kubernetes: reconciler, database and launcher, against an API server over HTTP."""

import json
import os
import signal
import threading
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from gpu_jobs.exits import REFUSED
from gpu_jobs.launchers.kubernetes import KubernetesLauncher, build_job
from leaderboard.evaluations.models import Evaluation, EvaluationState
from leaderboard.queue import orphans, reconcile, tasks
from leaderboard.queue.launching import evaluation_facts, kubernetes_launcher
from leaderboard.queue.management.commands import watch_kubernetes
from leaderboard.queue.workers.launches import EvaluationEnrolments
from leaderboard.submissions import services
from tests.fakes.kubernetes_api import FakeKubernetesApi, Fault
from tests.fakes.kubernetes_cluster import FakeCluster, disrupted, exits, starts, unschedulable
from tests.gpu_jobs.kubernetes.making import EVALUATION, IMAGE, make_facts, make_settings
from tests.leaderboard.factories import let_time_pass, make_evaluation, make_lease, make_submission

pytestmark = pytest.mark.django_db

_CURRENT: list[KubernetesLauncher] = []


def launcher_of_the_test() -> KubernetesLauncher:
    """What PLANARENA_LAUNCHER would name."""
    return _CURRENT[-1]


@pytest.fixture
def cluster(settings):
    """A cluster that this installation launches workers in."""
    settings.LAUNCHER = f"{__name__}.launcher_of_the_test"
    with FakeKubernetesApi().serving() as api:
        cluster = FakeCluster(api)
        launcher = KubernetesLauncher(
            client=api.client(), settings=make_settings(), enrolments=EvaluationEnrolments(valid=timedelta(hours=1)),
            facts=evaluation_facts, now=lambda: cluster.now,
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


def test_an_evaluation_gets_one_job_whose_pod_takes_its_tasks(cluster):
    evaluation = settle(make_evaluation())
    cluster.tick()
    assert settle(evaluation).launch_handle == f"planarena-{evaluation.pk}-g1"
    pod = cluster.api.all("pods")[0]["metadata"]["name"]
    make_lease(evaluation, worker=pod)
    assert settle(evaluation).state == EvaluationState.RUNNING
    assert len(cluster.api.all("jobs")) == 1


def test_its_owner_reads_what_the_cluster_says(cluster):
    cluster.fate = unschedulable
    evaluation = settle(make_evaluation())
    cluster.tick()
    settle(evaluation)
    assert evaluation.state == EvaluationState.LAUNCHING
    assert "No machine of the cluster has room for the worker at present." in evaluation.reason_text
    cluster.fate = starts
    cluster.later(30)
    cluster.later(30)
    assert settle(evaluation).state == EvaluationState.LAUNCHING


def test_an_evaluation_waits_for_a_full_cluster_for_days(cluster):
    cluster.fate = unschedulable
    evaluation, sentences = settle(make_evaluation()), []
    for _ in range(30):
        cluster.later(3600)
        settle(evaluation)
        # As if the database's clock had gone with the cluster's; rows of older releases have a deadline, too.
        let_time_pass(evaluation)
        assert evaluation.state == EvaluationState.LAUNCHING
        sentences.append(evaluation.reason_text)
    assert sum("No machine of the cluster has room for the worker" in sentence for sentence in sentences) >= 25
    cluster.fate = starts
    for _ in range(3):
        cluster.later(60)
        settle(evaluation)
    assert [pod["status"]["phase"] for pod in cluster.api.all("pods")].count("Running") == 1


def test_a_job_that_the_cluster_refuses_ends_the_evaluation_with_the_cluster_s_words(cluster):
    words = 'admission webhook "vjob.kb.io" denied the request: the queue is not for this namespace'
    cluster.api.faults.extend([Fault(), Fault(method="POST", status=403, message=words)])
    evaluation = settle(make_evaluation())
    assert (evaluation.state, evaluation.reason) == (EvaluationState.FAILED, "launch_given_up")
    assert f"The cluster refuses the worker (403): {words}." in evaluation.reason_text


def test_an_api_server_that_is_away_ends_no_evaluation(cluster):
    cluster.api.faults.extend([Fault(status=401)] * 2)
    evaluation = settle(make_evaluation())
    assert evaluation.state == EvaluationState.LAUNCHING
    assert "refuses to tell about the workers (401)" in evaluation.reason_text
    cluster.api.faults.clear()
    settle(evaluation)
    assert len(cluster.api.all("jobs")) == 1


def test_the_tasks_of_a_preempted_pod_go_to_another(cluster):
    evaluation = settle(make_evaluation())
    cluster.tick()
    pod = cluster.api.all("pods")[0]["metadata"]["name"]
    lease = make_lease(evaluation, worker=pod)
    cluster.fate = disrupted("PreemptionByScheduler")
    cluster.tick()
    settle(evaluation)
    assert "it made way for work of higher priority" in evaluation.reason_text
    cluster.later(1)
    fresh = next(one for one in cluster.api.all("pods") if one["status"]["phase"] == "Running")
    evaluation.shards.update(available_at=evaluation.created)
    assert make_lease(evaluation, worker=fresh["metadata"]["name"]).attempt.pk != lease.attempt.pk


def test_a_cancelled_evaluation_leaves_no_job(cluster):
    evaluation, other = settle(make_evaluation()), settle(make_evaluation())
    services.cancel(evaluation=evaluation)
    assert orphans.stop_orphans(launcher_of_the_test()) == [f"planarena-{evaluation.pk}-g1"]
    assert [job["metadata"]["name"] for job in cluster.api.all("jobs")] == [f"planarena-{other.pk}-g1"]


def test_a_cancelled_evaluation_s_job_is_deleted_without_waiting_for_the_sweep(cluster):
    evaluation, other = settle(make_evaluation()), settle(make_evaluation())
    cluster.tick()
    services.cancel(evaluation)
    tasks.stop_workers(str(evaluation.pk))
    tasks.stop_workers(str(evaluation.pk))
    cluster.tick()
    assert [job["metadata"]["name"] for job in cluster.api.all("jobs")] == [f"planarena-{other.pk}-g1"]


@pytest.mark.parametrize("code", [int(code) for code in REFUSED])
def test_a_worker_that_would_refuse_again_fails_the_evaluation_with_a_sentence(cluster, code):
    cluster.fate = exits(code)
    evaluation = settle(make_evaluation())
    for _ in range(10):
        cluster.tick()
        settle(evaluation)
    assert (evaluation.state, evaluation.reason) == (EvaluationState.FAILED, "launch_given_up")
    assert "does not fit the site" in evaluation.reason_text


def test_a_job_without_a_row_is_stopped(cluster):
    evaluation = settle(make_evaluation())
    Evaluation.objects.filter(pk=evaluation.pk).delete()
    assert len(orphans.stop_orphans(launcher_of_the_test())) == 1
    assert cluster.api.all("jobs") == []


def test_a_row_without_its_job_gets_another(cluster):
    evaluation = settle(make_evaluation())
    cluster.api.remove("jobs", evaluation.launch_handle)
    settle(evaluation)
    assert len(cluster.api.all("jobs")) == 1


def test_the_job_follows_from_the_evaluation():
    bundled = make_evaluation()
    assert evaluation_facts(str(bundled.pk)).calls_endpoint is False
    endpoint = make_submission(
        kind="endpoint", bundled_name="", endpoint_url="https://planner.example.org/"
    ).evaluations.get()
    facts = evaluation_facts(str(endpoint.pk))
    assert facts.calls_endpoint is True
    assert facts.open_shards == endpoint.shards.count()
    job = build_job(facts=facts, generation=1, settings=make_settings())
    assert job["spec"]["template"]["metadata"]["labels"]["planarena.io/egress"] == "endpoint"


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
    monkeypatch.setenv("PLANARENA_KUBERNETES_IMAGE", IMAGE)
    monkeypatch.setenv("PLANARENA_KUBERNETES_CONTEXT", "tests")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    kubernetes_launcher.cache_clear()
    yield monkeypatch
    kubernetes_launcher.cache_clear()


def test_the_environment_makes_the_launcher(cluster, environment, settings):
    settings.LAUNCHER = "leaderboard.queue.launching.kubernetes_launcher"
    evaluation = settle(make_evaluation())
    assert [job["metadata"]["name"] for job in cluster.api.all("jobs")] == [evaluation.launch_handle]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PLANARENA_KUBERNETES_IMAGE", "", "PLANARENA_KUBERNETES_IMAGE is not set"),
        ("PLANARENA_KUBERNETES_CONTEXT", "", "there are no credentials for a cluster"),
        ("PLANARENA_KUBERNETES_CONTEXT", "another", "there are no credentials for a cluster"),
    ],
)
def test_a_launcher_that_cannot_be_made_says_why(environment, name, value, said):
    environment.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=said):
        kubernetes_launcher()
    with pytest.raises(CommandError, match=said):
        call_command("watch_kubernetes")


def test_what_changes_in_the_cluster_is_reconciled_soon(cluster, environment):
    noticed = []

    def reconcile_soon(evaluation_id):
        noticed.append(evaluation_id)
        os.kill(os.getpid(), signal.SIGTERM)

    environment.setattr(watch_kubernetes, "reconcile_soon", reconcile_soon)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    later = threading.Timer(0.5, lambda: cluster.api.put("jobs", a_job()))
    later.start()
    try:
        call_command("watch_kubernetes")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert set(noticed) == {EVALUATION}


def a_job():
    return build_job(facts=make_facts(), generation=1, settings=make_settings())
