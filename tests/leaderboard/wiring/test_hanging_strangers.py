"""An attacker whose names and servers never answer holds up nobody else: the whole site, served for real.

What hangs here hangs until the test ends it, so that every answer before that is one that waited for nothing.
"""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import httpx
import pytest
from django.conf import settings as site_settings

from evaluator.network import name_resolution, ssrf_guard
from evaluator.network.name_resolution import NameResolver
from leaderboard.messages.models import Webhook
from leaderboard.people.services import create_token
from tests.leaderboard.factories import make_suite, make_user
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db(transaction=True)
FLOOD = 45
SHARE = 4
assert FLOOD > site_settings.REQUESTS_AT_ONCE, "more than the site has request threads"


def headers_of(user):
    return {"Authorization": f"Bearer {create_token(user=user, scopes=['read', 'submit', 'manage']).token}"}


@pytest.fixture
def hang():
    """Ends what hangs."""
    over = threading.Event()
    yield over
    over.set()


@pytest.fixture
def names(monkeypatch, settings, hang):
    """The real checks of addresses, with name servers that never answer for names below `hang.example`."""
    settings.EVALUATOR = "leaderboard.catalog.library.Library"

    def look_up(host, port):
        if host.endswith("hang.example"):
            hang.wait(60)
        return ["8.8.8.8"]

    resolver = NameResolver(share=SHARE, look_up=look_up)
    monkeypatch.setattr(name_resolution, "NAMES", resolver)
    # Longer than the test: what is answered was not answered because of it.
    monkeypatch.setattr(ssrf_guard, "RESOLVE_SECONDS", 60.0)
    return resolver


def test_webhooks_at_names_that_do_not_resolve_hold_a_share_and_nobody_else_waits(names, hang):
    make_suite(slug="openagi")
    eve, ada = headers_of(make_user("eve")), headers_of(make_user("ada"))
    with server() as site, ThreadPoolExecutor(FLOOD) as attackers:

        def attack(number):
            body = {"url": f"https://{number}.hang.example/hook"}
            return httpx.post(f"{site}/api/v1/webhooks/", json=body, headers=eve, timeout=90).status_code

        flood = [attackers.submit(attack, number) for number in range(FLOOD)]
        answered = wait_for(flood, count=FLOOD - SHARE)
        assert names.load() == (SHARE, SHARE)
        # Those over the share are added unchecked, as far as a user may have webhooks.
        assert sorted(set(answered)) == [201, 400]
        for path in ("/", "/accounts/login/", "/boards/openagi/"):
            assert httpx.get(f"{site}{path}", timeout=60, follow_redirects=True).status_code == 200
        body = {"url": "https://ada.example/hook"}
        assert httpx.post(f"{site}/api/v1/webhooks/", json=body, headers=ada, timeout=60).status_code == 201
        assert sum(call.done() for call in flood) == FLOOD - SHARE, "the attack is still under way"
        hang.set()
        wait(flood)
    assert Webhook.objects.filter(owner__username="ada").count() == 1


def wait_for(calls, *, count):
    """The results of the first `count` calls that end."""
    done = set()
    while len(done) < count:
        done, _ = wait(calls, timeout=0.05)
    return [call.result() for call in done]
