"""What goes wrong for a while, with nobody killed at a chosen instruction. The end is that of an undisturbed run."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from django.core.exceptions import ImproperlyConfigured

from leaderboard.platform import embedded
from tests.crash.driving import Ground, Site, kill, site, travel, wait_until, with_template
from tests.crash.roles import JUMP
from tests.redis_server import redis_server

pytestmark = pytest.mark.full
PACE = 0.3
"""Seconds for a task, so that there is a middle."""


@pytest.fixture(scope="module")
def expected(ground: Ground) -> dict[str, Any]:
    """What an undisturbed run comes to."""
    with site(ground=ground, instrumented=False) as going:
        return travel(site=going, journey="by_messages").outcome


def started(going: Site) -> None:
    """Site and queue run, a planner is submitted, and at least one task has a result."""
    going.start("web")
    going.start("celery")
    going.submit()
    wait_until(lambda: results(going), what="a first result")


def results(going: Site) -> int:
    return int(going.query("SELECT count(*) FROM evaluations_taskresult WHERE outcome = 'scored'")[0][0])


def attempts(going: Site) -> list[str]:
    return [row[0] for row in going.query("SELECT state FROM evaluations_attempt ORDER BY leased_at")]


def test_the_database_is_restarted_in_the_middle(ground: Ground, expected, tmp_path):
    url = embedded.start(tmp_path)
    try:
        own = with_template(zygote=ground.zygote, postgres_url=url)
        with site(ground=own, instrumented=False, pace=PACE) as going:
            started(going)
            # At once and without writing anything back, as a machine that loses its power.
            (postmaster,) = (tmp_path / "postgres" / "postmaster.pid").read_text().splitlines()[:1]
            kill(int(postmaster), signal.SIGQUIT)
            wait_until(lambda: not (tmp_path / "postgres" / "postmaster.pid").exists(), what="PostgreSQL ended")
            wait_until(lambda: starts_again(tmp_path), what="PostgreSQL starts again")
            with suppress(psycopg.OperationalError):
                going.query("SELECT 1")
            going.finish(sweeps=True)
            assert going.outcome() == expected
    finally:
        embedded.stop(tmp_path)


def starts_again(folder: Path) -> bool:
    """It does not while a process of the killed one still ends."""
    try:
        return bool(embedded.start(folder))
    except ImproperlyConfigured:
        return False


def test_the_broker_is_emptied_again_and_again(ground: Ground, expected):
    with site(ground=ground, instrumented=False, pace=PACE) as going:
        messages = going.run.folder / "messages"
        _lose_all_messages(going, lambda: [message.unlink(missing_ok=True) for message in messages.iterdir()])
        assert going.outcome() == expected


def test_redis_is_emptied_again_and_again(ground: Ground, expected):
    with redis_server() as url, site(ground=ground, instrumented=False, pace=PACE, broker=f"{url}/0") as going:
        _lose_all_messages(going, redis.Redis.from_url(f"{url}/0").flushall)
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


def _lose_all_messages(going: Site, empty: Callable[[], object]) -> None:
    going.start("web")
    going.submit()
    empty()
    going.start("celery")
    going.tick()
    wait_until(lambda: results(going), what="a first result")
    while not all(row[0] == "done" for row in going.query("SELECT state FROM evaluations_shard")):
        empty()
        time.sleep(0.05)
    empty()
    going.finish(sweeps=True)


def test_the_api_is_away_for_longer_than_a_lease_lasts(ground: Ground, expected):
    with site(ground=ground, instrumented=False, pace=PACE) as going:
        started(going)
        kill(going.pids.pop("web"))
        # A lease of 3 seconds and twice that without a site stand for 60 seconds and two minutes.
        until = time.monotonic() + 2 * going.run.lease_seconds
        while time.monotonic() < until:
            going.tick()
            time.sleep(0.5)
        assert attempts(going) == ["lost"]
        going.start("web")
        going.finish(sweeps=True)
        assert going.outcome() == expected


@pytest.mark.parametrize("is_twin", [False, True])
def test_a_worker_that_wakes_up_after_its_lease_went_to_another_changes_nothing(ground: Ground, expected, is_twin):
    """The other one may have the same name and token."""
    launcher = "tests.fakes.launcher.fake_launcher" if is_twin else "tests.crash.roles.forgiving_launcher"
    with site(ground=ground, instrumented=False, pace=PACE, extra={"LAUNCHER": launcher}) as going:
        twin = going.start("second_worker") if is_twin else 0
        started(going)
        sleeper = twin or going.workers()[0]
        kill(sleeper, signal.SIGSTOP)
        before = results(going)
        other = going.start("second_worker")
        going.finish(sweeps=True)
        assert "lost" in attempts(going)
        assert before < results(going) == 5
        rows = snapshot(going)
        if is_twin:
            kill(other, signal.SIGTERM)
        kill(sleeper, signal.SIGCONT)
        log = next(going.run.folder.glob("second_worker.log" if is_twin else "workers/local-*.log"))
        wait_until(lambda: "the attempt has ended: lost" in log.read_text(), what="the late worker is told")
        assert snapshot(going) == rows
        assert going.outcome() == expected


def test_a_worker_that_hangs_but_sends_heartbeats_is_killed_and_another_one_ends_its_tasks(ground: Ground, expected):
    bounds = {"PREPARE_SECONDS": 3, "PLAN_SECONDS": 1, "EXECUTE_SECONDS": 1}
    with site(ground=ground, instrumented=False, pace=3600, extra=bounds) as going:
        going.start("web")
        going.start("celery")
        going.submit()
        wait_until(lambda: attempts(going) == ["live"], what="the first lease")
        (hung,) = going.workers()
        going.run = replace(going.run, pace=0.0)
        going.run.save()
        going.finish(sweeps=True)
        assert attempts(going)[0] == "lost"
        assert going.query("SELECT loss FROM evaluations_attempt ORDER BY leased_at LIMIT 1") == [("stalled",)]
        assert hung not in going.workers()
        assert going.outcome() == expected


def snapshot(going: Site) -> list[Any]:
    """Every row that late results could change, times and ids included."""
    tables = ("taskresult", "attempt", "shard", "evaluation")
    return [going.query(f"SELECT * FROM evaluations_{table} ORDER BY id") for table in tables]


@pytest.mark.parametrize("ahead", [300.0, -300.0])
@pytest.mark.parametrize("whose", ["worker_clock_ahead", "web_clock_ahead"])
def test_a_clock_is_five_minutes_off(ground: Ground, expected, whose, ahead):
    with site(ground=ground, instrumented=False, pace=PACE, **{whose: ahead}) as going:
        started(going)
        # Sweeps run on the host whose clock is right: they take nothing from the worker that lives.
        going.finish(sweeps=True)
        assert going.outcome() == expected
        assert attempts(going) == ["completed", "completed"]


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_clocks_of_web_server_and_workers_jump_by_an_hour(ground: Ground, expected, seconds):
    with site(ground=ground, instrumented=False, pace=PACE) as going:
        started(going)
        (going.run.folder / JUMP).write_text(str(seconds))
        going.finish(sweeps=True)
        assert attempts(going) == ["completed", "completed"], "a live lease was taken away"
        assert going.outcome() == expected


@pytest.mark.parametrize("ahead", [300.0, -300.0])
def test_a_worker_dies_where_the_clocks_of_the_site_s_hosts_differ(ground: Ground, expected, ahead):
    with site(ground=ground, instrumented=False, pace=PACE, web_clock_ahead=ahead) as going:
        started(going)
        (worker,) = going.workers()
        # It stops answering, and its launcher sees it run: only its lease can tell.
        kill(worker, signal.SIGSTOP)
        going.start("second_worker")
        going.finish(sweeps=True, seconds=60)
        assert "lost" in attempts(going)
        assert going.outcome() == expected
        kill(worker)
