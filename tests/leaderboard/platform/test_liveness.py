"""Signs of life of processes that no probe asks by HTTP."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from leaderboard.platform.liveness import ALIVE_FILE, Pulse, alive_file
from tests.redis_server import redis_server
from tests.rings import usual
from tests.silent import AWAY

CELERY = ("-m", "celery", "-A", "leaderboard.platform.celery:app")


def test_the_sign_of_life_is_a_file(tmp_path, monkeypatch):
    monkeypatch.delenv(ALIVE_FILE, raising=False)
    alive_file()()
    monkeypatch.setenv(ALIVE_FILE, str(tmp_path / "alive"))
    alive_file()()
    assert (tmp_path / "alive").exists()


def test_a_process_lives_while_its_loop_turns_or_waits_for_the_broker(tmp_path, monkeypatch):
    now, path = [0.0], tmp_path / "alive"
    monkeypatch.setenv(ALIVE_FILE, str(path))
    pulse = Pulse(clock=lambda: now[0])

    def lives():
        path.unlink(missing_ok=True)
        pulse.beat()
        return path.exists()

    assert lives(), "it has no broker yet"
    pulse.turn()
    now[0] = 60.0
    assert lives()
    now[0] = 100.0
    assert not lives(), "its loop hangs"
    pulse.wait_for_broker()
    now[0] = 10_000.0
    assert lives(), "its broker is away, however long"


def test_nobody_loads_the_kubernetes_client_who_does_not_use_it():
    code = "import gpu_jobs.launchers, gpu_jobs.__main__, sys; raise SystemExit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


@contextmanager
def process(*arguments, broker, folder):
    """One of Celery's, whose sign of life is the file `alive`; one that an earlier process left is there already."""
    (folder / "alive").touch()
    os.utime(folder / "alive", (1, 1))
    environment = {
        **os.environ, ALIVE_FILE: str(folder / "alive"), "BROKER_URL": broker, "PLANARENA_DATA": str(folder),
        "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    }  # fmt: skip
    running = subprocess.Popen([sys.executable, *CELERY, *arguments], env=environment, stderr=subprocess.PIPE)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def wait_for_sign(folder, running, since):
    path = folder / "alive"
    until = time.monotonic() + 90
    while not (path.exists() and path.stat().st_mtime > since):
        assert running.poll() is None, running.stderr.read()
        assert time.monotonic() < until, "no sign of life"
        time.sleep(0.1)
    return path.stat().st_mtime


WORKER, BEAT = ("worker", "--concurrency=1"), ("beat",)


@pytest.mark.parametrize(
    ("arguments", "how"), usual([(one, how) for one in (WORKER, BEAT) for how in AWAY], of=[(WORKER, next(iter(AWAY)))])
)
def test_a_process_of_the_queue_gives_signs_of_life_without_broker_and_database(arguments, how, tmp_path):
    with AWAY[how]() as port, process(*arguments, broker=f"redis://127.0.0.1:{port}/0", folder=tmp_path) as running:
        first = wait_for_sign(tmp_path, running, since=1)
        assert wait_for_sign(tmp_path, running, since=first) > first


@pytest.mark.full
def test_a_worker_gives_signs_of_life_while_its_broker_goes_away(tmp_path):
    with redis_server() as url:
        running = process("worker", "--concurrency=1", broker=f"{url}/0", folder=tmp_path)
        worker = running.__enter__()
        connected = wait_for_sign(tmp_path, worker, since=1)
    try:
        sign = connected
        for _ in range(2):
            sign = wait_for_sign(tmp_path, worker, since=sign)
    finally:
        running.__exit__(None, None, None)
