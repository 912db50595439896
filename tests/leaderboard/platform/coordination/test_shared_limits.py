"""Limits hold for several processes of the site together, in PostgreSQL and in Redis."""

import asyncio
import json
from datetime import timedelta

import httpx
import pytest
from django.core.cache import caches
from django.db.models.functions import Now
from django.test import Client, RequestFactory

from leaderboard.evaluations.web import live
from leaderboard.platform.coordination import locks
from leaderboard.platform.coordination.cache import PostgresCache, count_up, prune
from leaderboard.platform.coordination.redis_cache import SharedRedisCache
from leaderboard.platform.http.addresses import address_of, address_of_scope
from leaderboard.platform.models import CacheEntry, Slot
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.operations.monitoring.test_logs import wait_until
from tests.leaderboard.serving import server
from tests.leaderboard.threads import in_threads
from tests.redis_server import redis_server

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def redis_url():
    with redis_server() as url:
        yield f"{url}/0"


def redis_cache(url):
    options = {
        "serializer": "leaderboard.platform.coordination.redis_cache.JsonSerializer",
        "socket_connect_timeout": 1,
    }
    return SharedRedisCache(url, {"OPTIONS": options, "KEY_PREFIX": "planarena"})


@pytest.fixture(params=["postgres", "redis"])
def cache(request, redis_url):
    yield (made := PostgresCache("", {}) if request.param == "postgres" else redis_cache(redis_url))
    made.clear()


class TestCache:
    def test_values_come_back_until_they_expire(self, cache):
        cache.set("key", [1.5, "two", None], timeout=100)
        assert cache.get("key") == [1.5, "two", None]
        assert cache.get("nothing", "default") == "default"
        assert cache.delete("key") is True
        assert cache.get("key") is None

        cache.set("k" * 230, {"a": 7}, timeout=60)
        assert (cache.get("k" * 230), cache.get("k" * 229)) == ({"a": 7}, None)

    def test_what_is_there_is_not_added_again(self, cache):
        assert cache.add("key", 1, timeout=100) is True
        assert cache.add("key", 2, timeout=100) is False
        assert (cache.get("key"), cache.incr("key", 3), cache.touch("key", 50)) == (1, 4, True)
        with pytest.raises(ValueError, match="nothing"):
            cache.incr("nothing")

    def test_no_count_is_lost_among_threads(self, cache):
        assert in_threads(lambda: [cache.count_up("key", seconds=60) for _ in range(10)], count=6) == []
        value, left = cache.count_up("key", seconds=60)
        assert value == 61
        assert 50 < left <= 60

    def test_one_of_many_adds_the_key(self, cache):
        added = []
        assert in_threads(lambda: added.append(cache.add("lock", 1, timeout=60)), count=6) == []
        assert sorted(added) == [False] * 5 + [True]


def test_a_counter_begins_again_when_it_has_expired():
    cache = PostgresCache("", {})
    assert [cache.count_up("key", seconds=60).value for _ in range(3)] == [1, 2, 3]
    CacheEntry.objects.update(expires_at=Now())
    assert (cache.get("key"), cache.add("other", 1, timeout=0)) == (None, True)
    prune()
    assert not CacheEntry.objects.exists()
    assert cache.count_up("key", seconds=60).value == 1


def test_without_its_redis_the_site_counts_in_postgresql():
    away = redis_cache("redis://127.0.0.1:1/0")
    assert [away.count_up("key", seconds=60).value for _ in range(2)] == [1, 2]
    away.set("other", "kept", timeout=60)
    assert (away.get("other"), CacheEntry.objects.count()) == ("kept", 2)


def test_clearing_the_cache_leaves_the_messages_of_the_queue(redis_url):
    made = redis_cache(redis_url)
    client = made._cache.get_client(write=True)
    client.set("celery-message", "x")
    made.set("key", {"a": 1})
    assert json.loads(client.get(made.make_key("key"))) == {"a": 1}
    made.clear()
    assert (made.get("key"), client.get("celery-message")) == (None, b"x")


def test_the_site_has_no_cache_of_each_process():
    assert isinstance(caches["default"], PostgresCache)
    assert count_up("key", seconds=60).value == 1
    assert PostgresCache("", {}).count_up("key", seconds=60).value == 2


class TestStreams:
    def test_a_stream_that_ends_gives_its_slot_back(self, settings):
        settings.STREAMS_PER_ADDRESS = 1
        evaluation = make_evaluation(state="launching")
        with server() as url:
            for _ in range(2):
                with httpx.stream("GET", f"{url}/evaluations/{evaluation.pk}/events/", timeout=10) as response:
                    assert response.status_code == 200
                    # Kept: an iterator that is let go of closes its stream, which gives the slot back.
                    parts = response.iter_raw()
                    assert next(parts)
                    assert Slot.objects.count() == 1
                wait_until(lambda: not Slot.objects.exists())

    def test_slots_of_open_streams_are_renewed_together(self, monkeypatch):
        open_one, lost_one = locks.take_slots({"a": 9}), locks.take_slots({"a": 9})
        Slot.objects.filter(holder=open_one).update(expires_at=Now() + timedelta(seconds=5))
        Slot.objects.filter(holder=lost_one).update(expires_at=Now())
        renew = live._renew

        async def renewed_once():
            found = live._OpenSlots()
            monkeypatch.setattr(live, "_renew", lambda holders: renew(holders) or found._holders.clear())
            found.add(open_one)
            await found._task

        monkeypatch.setattr(locks, "RENEW_SLOTS_SECONDS", 0)
        asyncio.run(renewed_once())
        assert Slot.objects.get(expires_at__gt=Now() + timedelta(seconds=30)).holder == open_one
        assert Slot.objects.count() == 1

    def test_a_user_has_a_limit_at_whatever_address(self, settings):
        settings.STREAMS_PER_USER, settings.STREAMS_PER_ADDRESS = 1, 0
        user = make_user("ada")
        evaluation = make_evaluation(state="launching")
        assert locks.take_slots(live.groups_of(reader=user, address="10.0.0.1")) is not None
        client = Client()
        client.force_login(user)
        assert client.get(f"/evaluations/{evaluation.pk}/events/").status_code == 429
        assert Slot.objects.count() == 1


class TestSlots:
    def test_there_is_never_one_too_many(self):
        taken = []
        assert in_threads(lambda: taken.append(locks.take_slots({"a": 3, "b": 9})), count=8) == []
        assert sum(holder is not None for holder in taken) == 3
        assert Slot.objects.filter(group="b").count() == 3

    def test_whoever_gets_none_of_one_group_takes_none_of_the_others(self):
        assert locks.take_slots({"b": 1}) is not None
        assert locks.take_slots({"a": 1, "b": 1}) is None
        assert not Slot.objects.filter(group="a").exists()
        # A minute after its process was killed, nobody renews it.
        Slot.objects.update(expires_at=Now())
        assert locks.take_slots({"a": 1, "b": 1}) is not None


class TestAddresses:
    @pytest.mark.parametrize(
        ("proxies", "remote", "forwarded", "counted"),
        [
            (0, "192.0.2.1", "", "192.0.2.1"),
            (0, "192.0.2.1", "198.51.100.7", "192.0.2.1"),
            (1, "192.0.2.1", "203.0.113.5, 198.51.100.7", "198.51.100.7"),
            (1, "192.0.2.1", "", "192.0.2.1"),
            (0, "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
            (0, "::ffff:192.0.2.1", "", "192.0.2.1"),
        ],
    )
    def test_a_caller_counts_by_the_address_that_proxies_of_ours_saw(
        self, settings, proxies, remote, forwarded, counted
    ):
        settings.PROXIES = proxies
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        assert address_of(RequestFactory().get("/", REMOTE_ADDR=remote, headers=headers)) == counted
        raw = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
        assert address_of_scope({"headers": raw, "client": (remote, 1)}) == counted
