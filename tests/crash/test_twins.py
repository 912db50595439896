"""Two workers with one name and one token, a Redis that comes back empty, and clocks that jump."""

import signal
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
import redis

from tests.crash.clocks import JUMP
from tests.crash.driving import Ground, kill, site, travel, wait_until
from tests.crash.test_scenarios import PACE, attempts, results, snapshot, started
from tests.redis_server import redis_server

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def expected(ground: Ground):
    """What an undisturbed run comes to."""
    with site(ground=ground, instrumented=False) as going:
        return travel(site=going, journey="by_messages").outcome


def test_a_worker_that_wakes_up_beside_its_twin_changes_nothing(ground: Ground, expected):
    nobody = {"LAUNCHER": "tests.fakes.launcher.fake_launcher"}
    with site(ground=ground, instrumented=False, pace=PACE, extra=nobody) as going:
        going.start("web")
        going.start("celery")
        sleeper = going.start("second_worker")
        going.submit()
        wait_until(lambda: results(going), what="a first result")
        kill(sleeper, signal.SIGSTOP)
        twin = going.start("second_worker")
        going.finish(sweeps=True)
        assert attempts(going).count("lost") == 1
        assert {row[0] for row in going.query("SELECT worker FROM evaluations_attempt")} == {"by-hand"}
        rows = snapshot(going)
        kill(twin, signal.SIGTERM)
        kill(sleeper, signal.SIGCONT)
        log = going.run.folder / "second_worker.log"
        wait_until(lambda: "the attempt is over: lost" in log.read_text(), what="the late worker is told")
        assert snapshot(going) == rows
        assert going.outcome() == expected


def test_redis_ends_and_comes_back_empty(ground: Ground, expected):
    with redis_server() as url, site(ground=ground, instrumented=False, pace=PACE, broker=f"{url}/0") as going:
        started(going)
        with redis.Redis.from_url(url) as client, suppress(redis.ConnectionError):
            client.shutdown(nosave=True)
        before = results(going)
        wait_until(lambda: results(going) > before, what="workers go on without a broker")
        with redis_server(urlsplit(url).port or 0):
            going.finish(sweeps=True)
            assert going.outcome() == expected


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_clocks_of_web_server_and_workers_jump_by_an_hour(ground: Ground, expected, seconds):
    with site(ground=ground, instrumented=False, pace=PACE) as going:
        started(going)
        (going.run.folder / JUMP).write_text(str(seconds))
        going.finish(sweeps=True)
        assert attempts(going) == ["completed", "completed"], "a live lease was taken away"
        assert going.outcome() == expected
