"""What a real worker process knows while it works on hidden data for a planner with a secret header, and where."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from django.conf import settings as site_settings

from gpu_jobs.launchers.local import LocalLauncher
from leaderboard.catalog import hidden_data
from leaderboard.evaluations.models import Attempt, AttemptState, Evaluation, TaskResult
from leaderboard.queue.launching import local_launcher
from leaderboard.queue.models import AttemptToken, WorkerToken
from leaderboard.queue.reconcile import sweep
from tests.leaderboard.factories import make_season, make_submission, make_suite
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)
HEADER = "the-value-of-the-secret-header"
MASTER = {
    "HIDDEN_SEED": "5eed" * 16, "SECRET_KEY": "the-key-that-signs-the-sessions-of-this-site",
    "WORKER_TOKEN": "the-worker-token-of-this-site",
}  # fmt: skip
ENVIRONMENT = {
    "PLANARENA_HIDDEN_SEED": MASTER["HIDDEN_SEED"], "PLANARENA_SECRET_KEY": MASTER["SECRET_KEY"],
    "PLANARENA_WORKER_TOKEN": MASTER["WORKER_TOKEN"], "PLANARENA_SECRETS_KEY": "the-key-of-users-secrets",
    "PLANARENA_WEBHOOK_KEY": "the-key-of-webhooks-secrets", "DATABASE_URL": "postgresql://a:password-of-the-database@h/d",
    "AWS_SECRET_ACCESS_KEY": "the-key-of-the-site-s-store", "PLANARENA_FAKE_PACE": "0.5",
}  # fmt: skip
NOBODYS = (*MASTER.values(), *[value for name, value in ENVIRONMENT.items() if name != "PLANARENA_FAKE_PACE"])
"""Secrets that a worker knows in no way."""
COMMAND = (sys.executable, "-m", "tests.fakes.worker", "worker")


def sweep_until(condition: Callable[[], bool], *, seconds: float = 30) -> None:
    """What Celery's beat does, until the condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, [*Evaluation.objects.values("state", "reason_text"), *Attempt.objects.values()]
        sweep()
        time.sleep(0.1)


def memory_of(process: psutil.Process) -> bytes:
    """All that the process can write to: what it keeps."""
    found = []
    with Path(f"/proc/{process.pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines():
            start, end = (int(one, 16) for one in re.match(r"(\w+)-(\w+)", line).groups())
            if line.split()[1].startswith("rw") and end - start < 256 * 1024 * 1024:
                memory.seek(start)
                try:
                    found.append(memory.read(end - start))
                except OSError:
                    continue
    return b"".join(found)


def shown_of(process: psutil.Process) -> Iterator[tuple[str, bytes]]:
    """Environment, command line and every file that the process has open, by what it is."""
    home = Path(f"/proc/{process.pid}")
    for name in ("environ", "cmdline"):
        yield name, (home / name).read_bytes()
    for descriptor in (home / "fd").iterdir():
        target = str(descriptor.readlink())
        assert not target.startswith("pipe:") or descriptor.name in {"1", "2"}, "the pipe of its secrets is still open"
        if descriptor.is_file():
            yield target, descriptor.read_bytes()


@pytest.fixture
def working(settings, tmp_path, monkeypatch):
    """A worker process that the site's own launcher has started, in the middle of a hidden evaluation."""
    for name, value in MASTER.items():
        setattr(settings, name, value)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    settings.SPLIT, settings.DEMO = "hidden", True
    settings.DATA_DIR, settings.STORE_DIR = tmp_path / "data", tmp_path / "server-store"
    settings.LAUNCHER = "leaderboard.queue.launching.local_launcher"
    fake = partial(LocalLauncher, command=COMMAND)
    monkeypatch.setattr("leaderboard.queue.launching.LocalLauncher", fake)
    with server() as url:
        settings.API_URL = url
        planner = {"kind": "endpoint", "bundled_name": "", "endpoint_url": "http://127.0.0.1:9/"}
        header = {"header_name": "X-Key", "header_value": HEADER}
        suite = make_suite(slug="openagi", runnable=8)
        make_season()
        submission = make_submission(suite=suite, **planner, **header)
        evaluation = submission.evaluations.get()
        try:
            sweep_until(lambda: TaskResult.objects.filter(evaluation=evaluation).exists())
            attempt = Attempt.objects.filter(state=AttemptState.LIVE).first() or Attempt.objects.latest("leased_at")
            found = [one for one in psutil.process_iter(["cmdline"]) if attempt.worker in (one.info["cmdline"] or [])]
            # The guard of its limits has the same arguments behind its own, and no secret.
            (process,) = [one for one in found if not any("guard" in part for part in one.info["cmdline"])]
            yield evaluation, process
        finally:
            local_launcher().stop_all()


def test_the_seed_and_the_header_are_in_its_memory_only_and_the_site_s_secrets_nowhere(working, tmp_path):
    evaluation, process = working
    enrolment = WorkerToken.objects.get()
    assert (enrolment.owner, enrolment.expires_at is None) == (None, False), "its token ends by itself"
    seed = hidden_data.seed_of(evaluation)
    memory = memory_of(process)
    assert seed.encode() in memory, "it works on hidden data"
    assert HEADER.encode() in memory, "it calls the planner with its header"
    for secret in NOBODYS:
        assert secret.encode() not in memory, secret
    shown = dict(shown_of(process))
    sweep_until(lambda: Evaluation.objects.filter(pk=evaluation.pk, state="completed").exists())
    assert Evaluation.objects.get().provenance["season"] == "1"
    assert set(AttemptToken.objects.values_list("token", flat=True)) == {enrolment.pk}
    folder = site_settings.DATA_DIR / "workers"
    shown |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(name.endswith(".log") for name in shown)
    for name, content in shown.items():
        for secret in (*NOBODYS, seed, HEADER):
            assert secret.encode() not in content, (name, secret)
        assert b"paw_" not in content, name
        assert b"pas_" not in content, name
