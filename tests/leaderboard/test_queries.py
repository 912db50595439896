"""How many queries every page and every list takes: few, and as many on a large site as on a small one."""

import pytest
from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.db import connection, reset_queries
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.leaderboard.worlds import World, make_world
from tests.memory import forget_everything
from tests.routes import MOST_QUERIES, admin_addresses, site_addresses, table

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600), pytest.mark.usefixtures("own_store")]


ENDED_RUNNING_VERIFIED = (0, 1, 5)
"""The first two of a suite that executes plans, the last of one that judges them."""


def clients(world: World) -> dict[str, Client]:
    found = {name: Client() for name in ("owner", "member", "staff", "anonymous")}
    for name in ("owner", "member", "staff"):
        found[name].force_login(getattr(world, name))
    return found


def queries_of(client: Client, path: str) -> tuple[int, int]:
    """Status and number of queries of a process that has just been started."""
    forget_everything()
    # Django's log of queries forgets the oldest of more than 9,000, so that a full one counts none.
    reset_queries()
    with CaptureQueriesContext(connection) as queries:
        response = client.get(path)
    return response.status_code, len(queries)


def counted_site(world: World, *, full: bool) -> dict[str, int]:
    """Queries by reader, route, and number of the address; an address that several things share is asked once.

    In a full run others than the owner read, too: they see less of the same pages.
    """
    asked: set[str] = set()
    found: dict[str, int] = {}
    asking = clients(world)
    read = world.things if full else [world.things[number] for number in ENDED_RUNNING_VERIFIED]
    for number, things in enumerate(read):
        for place, address in enumerate(site_addresses(things)):
            if address.path in asked:
                continue
            asked.add(address.path)
            readers = ("owner",) if not full else ("owner", "anonymous") if number == 0 else ("owner", "member")
            for reader in ("staff",) if address.by_staff else readers:
                status, queries = queries_of(asking[reader], address.path)
                assert reader == "anonymous" or status in {200, 286}, f"{reader}: {status} from {address.path}"
                assert status < 500, address.path
                found[f"{address.route} for {reader} ({number}.{place})"] = queries
    return found


def counted_admin(world: World) -> dict[str, int]:
    found: dict[str, int] = {}
    client = clients(world)["staff"]
    for address in admin_addresses(staff=world.staff, rows=world.rows):
        status, queries = queries_of(client, address.path)
        assert status == 200, f"{status} from {address.path}"
        name = address.route + address.path.partition("?")[2].partition("=")[0]
        found[name] = max(queries, found.get(name, 0))
    return found


def differing(small: dict[str, int], large: dict[str, int]) -> list[str]:
    common = small.keys() & large.keys()
    return [f"{key}: {small[key]} with few rows, {large[key]} with many" for key in common if small[key] != large[key]]


def too_many(counted: dict[str, int]) -> list[str]:
    limits = {name: route.limit for name, route in table().items()}
    return [
        f"{key}: {queries} queries"
        for key, queries in counted.items()
        if queries > limits.get(key.partition(" ")[0], MOST_QUERIES)
    ]


def test_pages_and_lists_take_few_queries_and_no_more_with_three_times_the_rows(full):
    small = counted_site(make_world(1), full=full)
    large = counted_site(make_world(3), full=full)
    assert len(small) > 150
    problems = differing(small, large) + too_many(large)
    assert not problems, "\n" + "\n".join(problems)


@pytest.mark.full
def test_the_operators_lists_take_few_queries_and_no_more_with_three_times_the_rows():
    # Read once per process, by whichever page is the first.
    ContentType.objects.get_for_models(*apps.get_models())
    small = counted_admin(make_world(1))
    large = counted_admin(make_world(3))
    assert len(small) > 60
    problems = differing(small, large) + too_many(large)
    assert not problems, "\n" + "\n".join(problems)
