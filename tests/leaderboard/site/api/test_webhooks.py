"""One's webhooks through the API: the same rules as on the page."""

import pytest

from leaderboard.notifications.models import Kind, OutboxMessage, Webhook
from tests.leaderboard.factories import make_user
from tests.leaderboard.site.api.helpers import ApiClient, client_of

pytestmark = pytest.mark.django_db


def test_one_is_added_tried_out_listed_and_removed():
    ada, eve = client_of(make_user("ada")), client_of(make_user("eve"))
    made = ada.post("webhooks/", {"url": "https://example.org/hook"})
    assert made.status_code == 201
    path = f"webhooks/{made.json()['id']}/"
    assert eve.post(f"{path}test/").status_code == 404
    assert ada.post(f"{path}test/").status_code == 202
    assert OutboxMessage.objects.get().kind == Kind.WEBHOOK
    listed = ada.get("webhooks/").json()
    assert [(row["url"], [one["state"] for one in row["deliveries"]]) for row in listed] == [
        ("https://example.org/hook", ["waiting"])
    ]
    assert made.json()["secret"] not in str(listed)
    assert eve.get("webhooks/").json() == []
    assert eve.delete(path).status_code == 404
    assert ada.delete(path).status_code == 204
    assert not Webhook.objects.exists()
    assert ApiClient().get("webhooks/").status_code == 401


def test_a_wrong_address_is_named():
    answer = client_of(make_user()).post("webhooks/", {"url": "http://private.example.org/"})
    assert answer.status_code == 400
    assert "private" in answer.json()["errors"]["url"][0]
