"""Redis in earnest: what is not acknowledged comes again, and the crash points of all that has to do with messages."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
import redis

from tests.crash.driving import Ground, kill, site, wait_until
from tests.crash.matrix import ALL, ONLY, chosen, points, run_points, undisturbed
from tests.redis_server import DATABASES, redis_server

MESSAGING = frozenset({"celery", "beat"})
"""What other processes do depends on the broker only where they publish."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_server() as url:
        yield url


@pytest.fixture
def fresh(server: str) -> Callable[[], str]:
    """A function that gives the address of an empty database."""
    numbers = itertools.cycle(range(1, DATABASES))

    def make() -> str:
        url = f"{server}/{next(numbers)}"
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        return url

    return make


@pytest.mark.timeout(7200 if ALL else 1800)
def test_whoever_is_killed_the_rows_are_those_of_an_undisturbed_run(ground: Ground, fresh):
    runs = [undisturbed(ground=ground, journey=name, broker=fresh) for name in ("by_messages", "by_sweeps")]
    wanted = [
        (run, point)
        for run, point in chosen(runs)
        if ALL or point.effect.role in MESSAGING or point.effect.name.startswith("broker")
    ]
    print(f"\n{sum(len(points(run.effects)) for run in runs)} crash points found, {len(wanted)} tried", flush=True)
    assert ONLY or len(wanted) >= 40
    problems = run_points(ground=ground, wanted=wanted, broker=fresh)
    assert not problems, "\n".join(problems)


def test_the_message_of_a_task_that_was_killed_in_its_middle_comes_again(ground: Ground, fresh):
    broker = fresh()
    with site(ground=ground, broker=broker, extra={"LAUNCHER": "tests.crash.roles.stuck_launcher"}) as going:
        going.start("web")
        first = going.start("celery")
        going.submit()
        stuck = going.run.folder / "stuck"
        wait_until(stuck.exists, what="a task is in its middle")
        with redis.Redis.from_url(broker) as client:
            assert client.hlen("unacked") == 1
            kill(first)
            stuck.unlink()
            (going.run.folder / "free").touch()
            # Beat never runs here: only the message can bring it on.
            going.finish(sweeps=False)
            wait_until(lambda: not client.hlen("unacked"), what="every message is acknowledged")
        assert going.restarts == 1
        received = (going.run.folder / "celery.log").read_text().count("reconcile_evaluation")
        assert received >= 2
        assert going.states() == ["completed"]


def test_settings_for_redis_outlast_the_longest_task(tmp_path):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PLANARENA_")},
        "PLANARENA_DEMO": "1",
        "PLANARENA_DATA": str(tmp_path),
        "DATABASE_URL": "postgresql://localhost/arena",
        "BROKER_URL": "redis://localhost/0",
        "DJANGO_SETTINGS_MODULE": "leaderboard.site.settings",
    }
    program = """
import django
django.setup()
from leaderboard.site.celery import app
from leaderboard.evaluations import tasks
conf = app.conf
assert conf.broker_connection_retry_on_startup is True
assert conf.broker_transport_options["visibility_timeout"] > 2 * conf.task_time_limit, conf.broker_transport_options
for task in (tasks.reconcile_evaluation, tasks.sweep, tasks.stop_orphans):
    assert task.acks_late and task.reject_on_worker_lost, task
print("as wanted")
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "as wanted", done.stderr
