"""Redis in earnest: what is not acknowledged comes again."""

import os
import subprocess
import sys

import pytest
import redis

from tests.crash.driving import Ground, kill, site, wait_until
from tests.redis_server import redis_server

pytestmark = pytest.mark.full


def test_the_message_of_a_task_that_was_killed_in_its_middle_comes_again(ground: Ground):
    stuck_launcher = {"LAUNCHER": "tests.crash.roles.stuck_launcher"}
    with redis_server() as broker, site(ground=ground, broker=f"{broker}/0", extra=stuck_launcher) as going:
        going.start("web")
        first = going.start("celery")
        going.submit()
        stuck = going.run.folder / "stuck"
        wait_until(stuck.exists, what="a task is in its middle")
        with redis.Redis.from_url(f"{broker}/0") as client:
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
        "DJANGO_SETTINGS_MODULE": "leaderboard.platform.settings",
    }
    program = """
import django
django.setup()
from leaderboard.platform.celery import app
from leaderboard.queue import tasks
conf = app.conf
assert conf.broker_connection_retry_on_startup is True
assert conf.broker_transport_options["visibility_timeout"] > 2 * conf.task_time_limit, conf.broker_transport_options
for task in (tasks.reconcile_evaluation, tasks.sweep, tasks.stop_workers):
    assert task.acks_late and task.reject_on_worker_lost, task
print("as wanted")
"""
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "as wanted", done.stderr
