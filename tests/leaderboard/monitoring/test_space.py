"""Figures of volumes and of the pool of database connections."""

import shutil
from collections import namedtuple

import psycopg_pool
import pytest
from prometheus_client import generate_latest

from leaderboard.monitoring import volumes
from leaderboard.monitoring.connections import PoolWatch
from leaderboard.monitoring.registry import REGISTRY

Usage = namedtuple("Usage", "total used free")


def test_volumes_are_those_of_the_folders_even_before_a_folder_is_made(settings, monkeypatch, tmp_path):
    settings.STORE_DIR = tmp_path / "not" / "yet"
    asked = []
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or Usage(1000, 900, 60))
    found = {(s.name, s.labels["volume"]): s.value for family in volumes.space_figures() for s in family.samples}
    assert found["planarena_volume_free_bytes", "store"] == 60
    assert found["planarena_volume_size_bytes", "store"] == 1000
    assert {volume for _, volume in found} == {"data", "store", "uploads"}
    assert tmp_path in asked


@pytest.fixture
def shown():
    def value(name: str, **labels) -> float:
        return REGISTRY.get_sample_value(f"planarena_database_{name}", labels) or 0.0

    return value


def test_the_pool_tells_what_is_used_and_who_waits(shown):
    watch, timeouts, waited = PoolWatch(), shown("timeouts_total"), shown("wait_seconds_total")
    watch.note({"pool_size": 6, "pool_available": 2, "pool_max": 10, "requests_waiting": 3, "requests_wait_ms": 500})
    assert (shown("connections", state="used"), shown("connections", state="idle")) == (4, 2)
    assert (shown("connections_max"), shown("waiting")) == (10, 3)
    assert shown("wait_seconds_total") == waited + 0.5
    watch.note({"pool_size": 1, "pool_max": 10, "requests_wait_ms": 750, "requests_errors": 2})
    assert (shown("connections", state="used"), shown("connections", state="idle"), shown("waiting")) == (1, 0, 0)
    assert (shown("timeouts_total"), shown("wait_seconds_total")) == (timeouts + 2, waited + 0.75)
    # Opened again: it counts from 0, and these counters do not fall.
    watch.note({"pool_size": 1, "pool_max": 10, "requests_errors": 1})
    assert shown("timeouts_total") == timeouts + 2
    assert b"planarena_database_waiting 0.0" in generate_latest(REGISTRY)


def test_the_statistics_of_the_pool_have_these_names():
    with psycopg_pool.ConnectionPool("host=127.0.0.1 port=1", min_size=1, max_size=7) as pool:
        with pytest.raises(psycopg_pool.PoolTimeout):
            pool.getconn(timeout=0.05)
        stats = pool.get_stats()
    assert {"pool_size", "pool_available", "pool_max", "requests_waiting", "requests_wait_ms"} <= set(stats)
    assert stats["requests_errors"] == 1
