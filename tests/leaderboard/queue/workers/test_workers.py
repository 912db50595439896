"""Real worker processes, started by the local launcher, against a real server; only the experts are fake."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest
from django.conf import settings as django_settings

from evaluator.records import ArtefactReference
from evaluator.values import encode
from gpu_jobs.client import ApiClient
from gpu_jobs.exits import REFUSED, Exit
from gpu_jobs.launchers import LocalLauncher
from gpu_jobs.worker import Worker
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, EvaluationState, TaskResult
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.launches import LocalEnrolments
from tests.fakes.runner import FakeRunner, score_of
from tests.leaderboard.factories import make_evaluation, make_suite
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)

_COMMAND = (sys.executable, "-m", "tests.fakes.worker", "worker")
_LAUNCHER: dict[str, LocalLauncher] = {}


def local_fake_launcher() -> LocalLauncher:
    """Named by the setting LAUNCHER."""
    return _LAUNCHER["current"]


def make_launcher(*, folder: Path, url: str, pace: float) -> LocalLauncher:
    environment = {**os.environ, "PLANARENA_FAKE_PACE": str(pace)}
    return LocalLauncher(
        folder=folder / "workers", api_url=url, store=folder / "store", workers=1, environment=environment,
        enrolments=LocalEnrolments(),
        home=django_settings.BASE_DIR if hasattr(django_settings, "BASE_DIR") else Path.cwd(), command=_COMMAND,
    )  # fmt: skip


@pytest.fixture
def site(settings, tmp_path):
    """A function that serves the site with a launcher of workers with this pace."""
    settings.LAUNCHER = f"{__name__}.local_fake_launcher"
    settings.STORE_DIR = tmp_path / "server-store"
    with server() as url:

        def start(pace: float) -> LocalLauncher:
            _LAUNCHER["current"] = make_launcher(folder=tmp_path, url=url, pace=pace)
            return _LAUNCHER["current"]

        yield start
        _LAUNCHER["current"].stop_all()


def sweep_until(condition: Callable[[], bool], *, seconds: float = 30) -> None:
    """What Celery's beat does, until the condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, [*Evaluation.objects.values("state", "reason_text"), *Attempt.objects.values()]
        sweep()
        time.sleep(0.1)


def is_completed(evaluation: Evaluation) -> bool:
    evaluation.refresh_from_db()
    return evaluation.state == EvaluationState.COMPLETED


def scores(evaluation: Evaluation) -> dict[str, float]:
    return dict(TaskResult.objects.filter(evaluation=evaluation).values_list("task__key", "score"))


def worker_pid() -> int:
    worker = Attempt.objects.get(state=AttemptState.LIVE).worker
    found = [p.pid for p in psutil.process_iter(["cmdline"]) if worker in (p.info["cmdline"] or [])]
    assert len(found) == 1
    return found[0]


def test_a_killed_worker_is_noticed_at_once_and_its_tasks_end_as_if_nothing_had_happened(site):
    site(pace=0.3)
    evaluation = make_evaluation(suite=make_suite(runnable=8))
    sweep_until(lambda: TaskResult.objects.filter(evaluation=evaluation).count() >= 2)
    os.kill(worker_pid(), signal.SIGKILL)
    done_before = set(scores(evaluation))
    site(pace=0.0)
    sweep_until(lambda: is_completed(evaluation))
    lost = Attempt.objects.get(state=AttemptState.LOST)
    assert lost.ended_at < lost.expires_at, "the launcher knows that the process is gone, however long its lease lasts"
    assert evaluation.provenance["workers"] == [{"fake": True}]
    assert scores(evaluation) == {str(number): score_of(str(number)) for number in range(8)}
    assert sorted(Attempt.objects.values_list("state", flat=True)) == ["completed", "lost"]
    again = Attempt.objects.get(state=AttemptState.COMPLETED)
    assert done_before.isdisjoint(again.results.values_list("task__key", flat=True))


@pytest.mark.full
def test_a_worker_that_is_told_to_stop_hands_over_and_exits_with_143(site, tmp_path):
    launcher = site(pace=0.3)
    evaluation = make_evaluation(suite=make_suite(runnable=8), state=EvaluationState.LAUNCHING)
    worker = subprocess.Popen(
        [*_COMMAND, "--url", launcher._api_url, "--store", str(tmp_path / "own")],
        env={**launcher._environment, "PLANARENA_WORKER_TOKEN": django_settings.WORKER_TOKEN}, cwd=launcher._home,
    )  # fmt: skip
    until = time.monotonic() + 20
    while TaskResult.objects.filter(evaluation=evaluation).count() < 2:
        assert time.monotonic() < until
        time.sleep(0.05)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=10) == 143
    attempt = Attempt.objects.get()
    assert (attempt.state, attempt.reason) == ("failed", "released: the worker was told to stop")
    shard = attempt.shard
    assert (shard.state, shard.tries) == ("pending", 0)
    site(pace=0.0)
    sweep_until(lambda: is_completed(evaluation))
    assert len(scores(evaluation)) == 8


class ManyArtefacts(FakeRunner):
    """Four artefacts for each task."""

    def _record(self, *, lease, task):
        record = super()._record(lease=lease, task=task)
        inputs = {}
        for number in range(3):
            artefact = encode(f"input {number} of {task}")
            self.store.put(artefact)
            inputs[str(number)] = ArtefactReference(digest=artefact.digest, media_type=artefact.media_type)
        return record.model_copy(update={"samples": [record.samples[0].model_copy(update={"inputs": inputs})]})


def test_an_evaluation_costs_few_requests(site):
    url = site(pace=0.0)._api_url
    evaluation = make_evaluation(suite=make_suite(runnable=40), state=EvaluationState.LAUNCHING)
    calls: Counter[str] = Counter()
    client = ApiClient(url=url, token=django_settings.WORKER_TOKEN)
    client._client.event_hooks = {"request": [lambda request: calls.update([kind_of(request)])]}
    assert Worker(client=client, runner=ManyArtefacts(), name="w", idle_seconds=0.0).run() == Exit.IDLE
    sweep_until(lambda: is_completed(evaluation))
    shards = 5
    # The first shard is asked for; the others come with the end of the one before. The last call gets none.
    assert (calls["session"], calls["lease"]) == (1, 2)
    assert calls["finish"] == shards
    assert calls["complete"] + calls["log"] == 0
    # 160 artefacts, which were 160 requests when each went alone.
    assert shards <= calls["POST objects"] <= 3 * shards
    assert calls["PUT objects"] == 0
    assert calls.total() < 50


def kind_of(request: httpx.Request) -> str:
    """What a call of the worker is for."""
    parts = request.url.path.split("/worker/")[1].strip("/").split("/")
    if len(parts) == 1:
        return parts[0]
    if parts[2] == "objects" and parts[3:] != ["missing"]:
        return f"{request.method} objects"
    return "/".join(parts[2:])


EXITS = [
    ("not the worker token", (), Exit.TOKEN_REFUSED),
    ("", (), Exit.MISCONFIGURED),
    ("any", ("--store", "gopher://x/y"), Exit.MISCONFIGURED),
    ("any", ("--no-such-option",), Exit.USAGE),
]


@pytest.mark.full
@pytest.mark.parametrize(("token", "options", "code"), EXITS)
def test_a_worker_that_would_fail_again_says_so_by_its_exit_code(site, token, options, code):
    launcher = site(pace=0.0)
    ended = subprocess.run(
        [*_COMMAND, "--url", launcher._api_url, *options],
        env={**launcher._environment, "PLANARENA_WORKER_TOKEN": token}, cwd=launcher._home, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == code
    assert ended.returncode in REFUSED


@pytest.mark.full
def test_cancelling_stops_the_process_through_the_launcher(site):
    from leaderboard.queue import stopping
    from leaderboard.submissions import services

    launcher = site(pace=60)
    evaluation = make_evaluation(suite=make_suite(runnable=8))
    sweep_until(lambda: Attempt.objects.filter(state=AttemptState.LIVE).exists())
    process = psutil.Process(worker_pid())
    services.cancel(evaluation)
    stopping.stop_workers(evaluation_id=evaluation.pk, launching=launcher)
    # It asks the site whether the attempt is over, since it may have another one by the time that it is told.
    sweep_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.full
def test_a_worker_that_hangs_and_sends_heartbeats_is_stopped_and_another_one_takes_its_tasks(site, settings):
    from leaderboard.queue import tasks

    settings.PREPARE_SECONDS, settings.PLAN_SECONDS, settings.EXECUTE_SECONDS, settings.LEASE_SECONDS = 2, 1, 1, 4
    site(pace=60)
    evaluation = make_evaluation(suite=make_suite(runnable=2))
    sweep_until(lambda: Attempt.objects.filter(state=AttemptState.LIVE).exists())
    hung, process = Attempt.objects.get(), psutil.Process(worker_pid())
    sweep_until(lambda: Attempt.objects.get(pk=hung.pk).state == AttemptState.LOST)
    hung.refresh_from_db()
    assert hung.loss == "stalled"
    assert hung.expires_at > hung.ended_at, "its heartbeats came until the end"
    assert process.is_running()
    launcher = site(pace=0.0)
    tasks.replace_worker(hung.worker, str(evaluation.pk))
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    assert launcher.alive(handle=hung.worker).alive is False
    sweep_until(lambda: is_completed(evaluation))
    assert scores(evaluation) == {str(number): score_of(str(number)) for number in range(2)}
