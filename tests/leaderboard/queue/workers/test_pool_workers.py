"""A worker pool as a whole: KEDA asks the served site how many workers it needs, the cluster starts a pod, whose real
worker process reads the token that the launcher has written; only the cluster and the experts are fake."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from django.conf import settings as django_settings

from gpu_jobs.launchers.kubernetes import KubernetesLauncher
from gpu_jobs.launchers.pools import pools_from
from leaderboard.evaluations.models import Attempt, Evaluation, EvaluationState, TaskResult
from leaderboard.queue.launching import needs_by_id
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.launches import PoolEnrolments
from tests.fakes.kubernetes.api import FakeKubernetesApi, Json
from tests.fakes.kubernetes.cluster import FakeCluster, FakeKeda, starts
from tests.fakes.runner import score_of
from tests.gpu_jobs.kubernetes.making import install, make_settings, scaled_object, token_in
from tests.leaderboard.factories import make_evaluation, make_suite, make_user
from tests.leaderboard.serving import server

pytestmark = [pytest.mark.full, pytest.mark.django_db(transaction=True)]

_CURRENT: list[KubernetesLauncher] = []
_TOKEN = "the-token-of-the-scaler"


def launcher_of_the_test() -> KubernetesLauncher:
    """What PLANARENA_LAUNCHER would name."""
    return _CURRENT[-1]


class Nodes:
    """Run the workers of pods as processes, with the Secret of their pool as a file."""

    def __init__(self, api: FakeKubernetesApi, *, folder: Path, url: str) -> None:
        self._api = api
        self._folder = folder
        self._url = url
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.started: list[str] = []

    def fate(self, cluster: FakeCluster, pod: Json) -> None:
        """Start a pod's worker."""
        starts(cluster, pod)
        name = pod["metadata"]["name"]
        if name in self.processes:
            return
        command = [sys.executable, "-m", "tests.fakes.worker", "worker", "--url", self._url, "--name", name]
        command += ["--token-file", str(self._folder / "token"), "--store", str(self._folder / name)]
        environment = {**os.environ, "PLANARENA_FAKE_PACE": "0.02"}
        environment.pop("PLANARENA_WORKER_TOKEN", None)
        self.processes[name] = subprocess.Popen(command, env=environment, cwd=django_settings.BASE_DIR)
        self.started.append(name)

    def sync(self) -> None:
        """What kubelets do: Secrets become files, and deleted pods' processes are ended."""
        (self._folder / "token").write_text(token_in(self._api))
        present = {pod["metadata"]["name"] for pod in self._api.all("pods")}
        for name in [name for name in self.processes if name not in present]:
            self._end(name)

    def close(self) -> None:
        for name in list(self.processes):
            self._end(name)

    def _end(self, name: str) -> None:
        process = self.processes.pop(name)
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def pool(settings, tmp_path) -> Iterator[tuple[FakeCluster, Nodes]]:
    """The pool `gpu` of at most one worker, with nothing running."""
    settings.LAUNCHER = f"{__name__}.launcher_of_the_test"
    settings.STORE_DIR = tmp_path / "server-store"
    settings.METRICS_TOKEN = _TOKEN
    settings.TASKS_PER_SHARD = 2
    settings.WORKER_POOLS = pools = pools_from('[{"name": "gpu", "most": 1}]')
    with server() as url, FakeKubernetesApi().serving() as api:
        cluster = FakeCluster(api)
        install(api, replicas=0)
        api.put("scaledobjects", scaled_object(most=1))
        FakeKeda(cluster, fetch=lambda asked: demand(asked, site=url))
        nodes = Nodes(api, folder=tmp_path, url=url)
        cluster.fate = nodes.fate
        launcher = KubernetesLauncher(
            client=api.client(), settings=make_settings(pools=pools), enrolments=PoolEnrolments(), needs=needs_by_id,
            clock=lambda: cluster.now.timestamp(),
        )  # fmt: skip
        _CURRENT.append(launcher)
        yield cluster, nodes
        nodes.close()
        _CURRENT.pop()


def demand(asked: str, *, site: str) -> Json:
    """What the site answers KEDA."""
    path = asked.removeprefix("http://planarena-web.planarena.svc:8000")
    answer = httpx.get(f"{site}{path}", headers={"Authorization": f"Bearer {_TOKEN}"})
    answer.raise_for_status()
    return answer.json()


def run_until(condition: Callable[[], bool], *, pool: tuple[FakeCluster, Nodes], seconds: float = 60) -> None:
    """What the cluster, its nodes and Celery's beat do, until the condition holds."""
    cluster, nodes = pool
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, [*Evaluation.objects.values("state", "reason_text"), *Attempt.objects.values()]
        sweep()
        nodes.sync()
        cluster.later(15)
        time.sleep(0.2)


def are_completed() -> bool:
    return not Evaluation.objects.exclude(state=EvaluationState.COMPLETED).exists()


def test_two_users_evaluations_share_one_pod_in_turns_and_it_goes_when_they_are_done(pool):
    cluster, nodes = pool
    run_until(lambda: True, pool=pool)
    cluster.later(60)
    assert cluster.running() == [], "nothing waits"
    suite = make_suite(runnable=12)
    ada, ben = make_evaluation(user=make_user("ada"), suite=suite), make_evaluation(user=make_user("ben"), suite=suite)
    run_until(are_completed, pool=pool)
    attempts = Attempt.objects.order_by("leased_at").values_list("shard__evaluation", "worker", "pool")
    (pod,) = {worker for _, worker, _ in attempts}
    assert nodes.started == [pod]
    assert {tuple(of) for _, _, of in attempts} == {("@gpu",)}
    served = [evaluation for evaluation, _, _ in attempts]
    assert served.count(ada.pk) == served.count(ben.pk) == 6
    assert all(one != other for one, other in pairwise(served)), "in turns"
    for evaluation in (ada, ben):
        scores = dict(TaskResult.objects.filter(evaluation=evaluation).values_list("task__key", "score"))
        assert scores == {str(number): score_of(str(number)) for number in range(12)}
    cluster.later(8 * 60, ticks=32)
    nodes.sync()
    assert cluster.running() == []
    assert nodes.processes == {}
