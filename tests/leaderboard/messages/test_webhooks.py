"""Webhooks: signed, never redirected, never to a private address."""

import hashlib
import hmac
import json
import tracemalloc
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from django.core import mail
from django.utils import timezone

from leaderboard.messages import dispatching, webhooks
from leaderboard.messages import dispatching as services
from leaderboard.messages.models import Kind, OutboxMessage, Webhook
from leaderboard.messages.webhooks import encrypt_secret
from leaderboard.platform.problems import FieldErrors
from leaderboard.submissions import services as evaluations
from tests.fakes.connect_proxy import connect_proxy, connections_seen
from tests.fakes.hostile_server import SLOW_ANSWERS, gzip_bomb, hostile_server
from tests.fakes.serving import in_a_thread
from tests.leaderboard.factories import make_evaluation, make_user
from tests.leaderboard.platform.api.helpers import client_of

pytestmark = pytest.mark.django_db
SECRET = "a secret of both"


class Receiver(HTTPServer):
    """Keeps what it receives and answers `status`."""

    def __init__(self) -> None:
        self.received: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 204
        self.says = b""
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(self.server.says)))
        self.end_headers()
        self.wfile.write(self.server.says)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    with in_a_thread(server):
        yield server


@pytest.fixture
def webhook(receiver, settings) -> Webhook:
    settings.DEMO = True
    return Webhook.objects.create(owner=make_user(), url=receiver.url, secret=encrypt_secret(SECRET))


def message(webhook: Webhook) -> OutboxMessage:
    return OutboxMessage.objects.create(
        kind=Kind.WEBHOOK, payload={"webhook": str(webhook.pk), "event": {"state": "failed"}}
    )


def test_an_event_is_signed_with_its_time_by_the_secret_that_is_shown_and_not_kept(receiver, settings):
    settings.DEMO = True
    owner = make_user()
    shown = webhooks.add_webhook(owner=owner, url=receiver.url)
    assert shown.secret not in Webhook.objects.get().secret
    dispatching.post_webhook(message(Webhook.objects.get()))
    ((_, headers, body),) = receiver.received
    assert json.loads(body) == {"state": "failed"}
    signed = headers["X-PlanArena-Timestamp"].encode() + b"." + body
    expected = hmac.new(shown.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-PlanArena-Signature"] == f"sha256={expected}"
    assert headers["X-PlanArena-Delivery"]


def test_a_secret_from_another_key_sends_nothing_and_says_why(webhook, receiver, settings):
    settings.WEBHOOK_KEYS = ["another key of this site"]
    waiting = message(webhook)
    assert services.dispatch() == 0
    waiting.refresh_from_db()
    assert "PLANARENA_SECRET_KEY_BEFORE" in waiting.last_error
    assert receiver.received == []


@pytest.mark.parametrize("status", [302, 307, 400, 503])
def test_any_other_answer_is_tried_again_and_no_redirect_is_followed(webhook, receiver, status):
    receiver.status, receiver.says = status, b'{"detail": "The signature is <b>wrong</b>."}' + b" " * 10_000
    kind = "transient" if status == 503 else "permanent"
    waiting = message(webhook)
    assert services.dispatch() == 0
    waiting.refresh_from_db()
    assert (waiting.sent_at, waiting.given_up_at) == (None, None)
    assert waiting.last_error.endswith(f"HTTP {status} ({kind}): The signature is <b>wrong</b>")
    assert [path for path, _, _ in receiver.received] == ["/hook"]


def test_a_private_address_is_never_called(webhook, receiver, settings):
    settings.DEMO = False
    with pytest.raises(dispatching.PermanentError, match="loopback, private or reserved"):
        dispatching.post_webhook(message(webhook))
    assert receiver.received == []


def test_the_owner_s_webhooks_and_nobody_else_s_are_told(webhook, receiver):
    Webhook.objects.create(owner=make_user(), url=receiver.url, secret=encrypt_secret("another"))
    evaluation = make_evaluation(user=webhook.owner)
    evaluations.cancel(evaluation)
    OutboxMessage.objects.exclude(kind=Kind.WEBHOOK).delete()
    assert services.dispatch() == 1
    ((_, _, body),) = receiver.received
    assert json.loads(body)["evaluation"] == str(evaluation.pk)
    assert json.loads(body)["state"] == "cancelled"


def due(webhook: Webhook) -> OutboxMessage:
    """A message that is tried now, whatever came before."""
    Webhook.objects.update(rests_until=None)
    return message(webhook)


class TestReceiversThatDoNotAnswer:
    def test_one_that_did_not_take_a_message_rests_for_all_messages(self, webhook, receiver):
        receiver.status = 503
        for _ in range(5):
            message(webhook)
        assert services.dispatch() == 0
        assert len(receiver.received) == 1, "the others would take as long, and keep everybody waiting"
        tries = sorted(OutboxMessage.objects.values_list("tries", flat=True))
        assert tries == [0, 0, 0, 0, 1]
        webhook.refresh_from_db()
        rested = OutboxMessage.objects.filter(tries=0).values_list("available_at", flat=True)
        assert set(rested) == {webhook.rests_until}

    def test_it_rests_longer_each_time_and_is_as_before_when_it_takes_one(self, webhook, receiver):
        receiver.status = 500
        rests = []
        for _ in range(3):
            due(webhook)
            services.dispatch()
            webhook.refresh_from_db()
            rests.append(round((webhook.rests_until - timezone.now()).total_seconds()))
            OutboxMessage.objects.all().delete()
        assert rests == [5, 10, 20]
        receiver.status = 204
        due(webhook)
        assert services.dispatch() == 1
        webhook.refresh_from_db()
        assert (webhook.failures, webhook.failing_since, webhook.rests_until) == (0, None, None)

    def test_one_that_takes_nothing_for_days_is_switched_off_and_its_owner_told_once(self, webhook, receiver):
        receiver.status = 500
        due(webhook)
        services.dispatch()
        Webhook.objects.update(failing_since=timezone.now() - webhooks.DISABLED_AFTER)
        for _ in range(2):
            due(webhook)
            services.dispatch()
        webhook.refresh_from_db()
        assert not webhook.active
        services.dispatch()
        (sent,) = mail.outbox
        assert sent.to == [webhook.owner.email]
        assert "no delivery succeeded for 5 days" in sent.body

    def test_one_that_is_gone_is_switched_off_at_once_until_its_owner_tests_it(self, webhook, receiver):
        receiver.status = 410
        message(webhook)
        services.dispatch()
        webhook.refresh_from_db()
        assert not webhook.active
        receiver.received.clear()
        with pytest.raises(dispatching.PermanentError, match="disabled"):
            dispatching.post_webhook(message(webhook))
        assert receiver.received == []
        OutboxMessage.objects.all().delete()
        receiver.status = 204
        assert not webhooks.send_test(owner=make_user(), webhook_id=webhook.pk)
        assert webhooks.send_test(owner=webhook.owner, webhook_id=webhook.pk)
        assert services.dispatch() == 1
        webhook.refresh_from_db()
        assert (webhook.active, webhook.failures, len(receiver.received)) == (True, 0, 1)


def test_the_compressed_body_of_an_answer_is_not_read(webhook):
    with hostile_server(gzip_bomb()) as server:
        webhook.url = server.url
        webhook.save()
        tracemalloc.start()
        try:
            dispatching.post_webhook(message(webhook))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 16 * 1024 * 1024
    assert b"accept-encoding: identity\r\n" in server.requests[0].lower()


@pytest.mark.parametrize("does", ["drips its headers", "goes on continuing"])
def test_a_receiver_that_never_ends_its_headers_is_left_at_the_deadline(webhook, monkeypatch, does):
    monkeypatch.setattr(dispatching, "WEBHOOK_SECONDS", 0.5)
    with hostile_server(SLOW_ANSWERS[does]) as server:
        webhook.url = server.url
        webhook.save()
        with pytest.raises(httpx.TimeoutException):
            dispatching.post_webhook(message(webhook))


def test_an_event_goes_through_the_egress_proxy_and_by_no_other_way(receiver, settings, monkeypatch):
    webhook = Webhook.objects.create(
        owner=make_user(), url="http://93.184.215.14:8443/hook", secret=encrypt_secret(SECRET)
    )
    waiting = message(webhook)
    settings.DEMO = False
    with connect_proxy(receiver.url) as proxy:
        monkeypatch.setenv("PLANARENA_EGRESS_PROXY", proxy.url)
        with connections_seen() as seen:
            dispatching._post_signed(webhook=webhook, message=waiting)
        dispatching.post_webhook(waiting)
    assert set(proxy.asked) == {"CONNECT 93.184.215.14:8443"}
    assert set(seen) == {proxy.port}
    assert len(receiver.received) == 2


def test_a_port_of_another_service_is_refused_when_it_is_added_and_when_it_is_called(settings):
    settings.DEMO, settings.EVALUATOR = False, "leaderboard.catalog.library.Library"
    says = "Port 25 may not be called; this site calls ports 80, 443, 1024-65535 only."
    with pytest.raises(FieldErrors) as caught:
        webhooks.add_webhook(owner=make_user(), url="http://8.8.8.8:25/")
    assert caught.value.errors == {"url": [says]}
    old = Webhook.objects.create(owner=make_user(), url="http://8.8.8.8:25/", secret=encrypt_secret(SECRET))
    with pytest.raises(dispatching.PermanentError, match="Port 25 may not be called"):
        dispatching.post_webhook(message(old))


def test_receivers_that_hang_have_a_share_of_a_dispatch_and_those_of_others_are_served(monkeypatch):
    """By a clock that only the receivers of one user move."""
    eve, ada = make_user("eve"), make_user("ada")
    now, posted = [0.0], []
    monkeypatch.setattr(services.time, "monotonic", lambda: now[0])

    def post(sent):
        owner = Webhook.objects.get(pk=sent.payload["webhook"]).owner
        posted.append(owner.username)
        if owner == eve:
            now[0] += dispatching.WEBHOOK_SECONDS
            raise dispatching.NotAcceptedError("nothing came")

    monkeypatch.setattr(dispatching, "post_webhook", post)
    for number in range(webhooks.MOST_WEBHOOKS):
        message(Webhook.objects.create(owner=eve, url=f"https://{number}.example", secret=encrypt_secret(SECRET)))
    message(Webhook.objects.create(owner=ada, url="https://ada.example", secret=encrypt_secret(SECRET)))
    assert services.dispatch() == 1
    assert posted == ["eve", "ada"]
    services.dispatch()
    assert posted == ["eve", "ada", "eve"], "what was left out is due in the next one"


def test_by_the_api_one_is_added_tried_out_listed_without_its_secret_and_removed():
    ada, eve = client_of(make_user("ada")), client_of(make_user("eve"))
    made = ada.post("webhooks/", {"url": "https://example.org/hook"})
    assert made.status_code == 201
    path = f"webhooks/{made.json()['id']}/"
    assert (eve.post(f"{path}test/").status_code, ada.post(f"{path}test/").status_code) == (404, 202)
    (row,) = ada.get("webhooks/").json()
    assert (row["url"], [one["state"] for one in row["deliveries"]]) == ("https://example.org/hook", ["waiting"])
    assert made.json()["secret"] not in str(row)
    assert eve.get("webhooks/").json() == []
    assert (eve.delete(path).status_code, ada.delete(path).status_code) == (404, 204)
    assert not Webhook.objects.exists()
    answer = ada.post("webhooks/", {"url": "http://private.example.org/"})
    assert (answer.status_code, "private" in answer.json()["errors"]["url"][0]) == (400, True)
