"""Uploads with a ticket through the real server: nothing is read without one, and their volume has its bounds."""

import asyncio
import hashlib
import os
import socket
import time
from datetime import timedelta

import httpx
import pytest
from django.db.models.functions import Now

from leaderboard.people.services import create_token
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.planners.models import CheckpointUpload
from leaderboard.platform.models import UploadTicket
from leaderboard.platform.uploads import services
from leaderboard.wiring.asgi import application
from leaderboard.wiring.body_limits import LARGE_BODY
from tests.fakes.checkpoints import tiny_files, zipped
from tests.leaderboard.factories import make_user
from tests.leaderboard.operations.monitoring.test_logs import wait_until
from tests.leaderboard.platform.http.test_body_limits import GIB, PATIENCE, announce
from tests.leaderboard.serving import server
from tests.leaderboard.threads import in_threads

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(settings, tmp_path):
    settings.STORE_DIR, settings.UPLOADS_DIR = tmp_path / "store", tmp_path / "uploads"
    settings.UPLOADS_DIR.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(settings.UPLOADS_DIR)
    with server() as url:
        yield f"{url}/api/v1"


@pytest.fixture
def ada():
    return make_user("ada")


@pytest.fixture
def token(ada):
    return {"Authorization": f"Bearer {create_token(user=ada).token}"}


def ask(site, token, size):
    return httpx.post(f"{site}/uploads/", json={"bytes": size}, headers=token, timeout=PATIENCE)


def send(site, ticket, content, **headers):
    given = {"Authorization": f"Bearer {ticket['secret']}", **headers}
    return httpx.put(f"{site}/uploads/{ticket['id']}/", content=content, headers=given, timeout=PATIENCE)


def left_over(settings):
    return [path.name for path in settings.UPLOADS_DIR.iterdir()]


def nothing_is_left(settings):
    """The file goes after the answer."""
    wait_until(lambda: left_over(settings) == [])
    return True


def test_a_checkpoint_comes_with_a_ticket_and_is_kept_by_its_digest(site, token, ada, settings):
    data = zipped()
    asked = ask(site, token, len(data))
    assert asked.status_code == 201, asked.text
    ticket = asked.json()
    assert ticket["url"] == f"{site}/uploads/{ticket['id']}/"
    answer = send(site, ticket, data)
    assert (answer.status_code, answer.json().get("digest")) == (201, hashlib.sha256(data).hexdigest()), answer.text
    assert checkpoint_store().path(answer.json()["digest"]).read_bytes() == data
    assert CheckpointUpload.objects.get(owner=ada).bytes == len(data)
    assert nothing_is_left(settings)
    assert not UploadTicket.objects.exists()
    # It is good for one upload.
    assert send(site, ticket, data).status_code == 401


def test_what_has_come_is_kept_although_its_sender_went_away_before_the_answer(ada, settings, tmp_path, caplog):
    settings.STORE_DIR, settings.UPLOADS_DIR = tmp_path / "store", tmp_path
    data = zipped()
    ticket = services.ask(owner_id=ada.pk, address="a", size=len(data))
    messages = iter([{"type": "http.request", "body": data, "more_body": False}])

    async def receive():
        return next(messages, {"type": "http.disconnect"})

    async def send(_message):
        pass

    path = f"/api/v1/uploads/{ticket.row.pk}/"
    scope = {
        "type": "http", "method": "PUT", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {ticket.secret}".encode())],
    }  # fmt: skip
    asyncio.run(application(scope, receive, send))
    assert CheckpointUpload.objects.get(owner=ada).bytes == len(data)
    assert list(tmp_path.glob("*.upload")) == []
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_what_is_no_checkpoint_ends_the_ticket_and_leaves_nothing(site, token, settings):
    ticket = ask(site, token, 5).json()
    answer = send(site, ticket, b"12345")
    assert (answer.status_code, answer.json()["errors"]) == (400, {"file": ["This is no zip, or only a part of one."]})
    assert nothing_is_left(settings)
    assert not UploadTicket.objects.exists()


def test_of_an_upload_without_its_ticket_nothing_is_read(site, token, settings):
    ticket = ask(site, token, GIB).json()
    for name, headers in (
        (ticket["id"], {}),
        (ticket["id"], {"Authorization": "Bearer pau_x"}),
        (ticket["id"], token),
        ("00000000-0000-4000-8000-000000000000", {"Authorization": f"Bearer {ticket['secret']}"}),
    ):
        assert announce(site, f"/api/v1/uploads/{name}/", method="PUT", **headers)[0] == 401
    assert nothing_is_left(settings)


def test_another_size_than_the_ticket_s_is_refused(site, token, settings):
    ticket = ask(site, token, 1000).json()
    secret = {"Authorization": f"Bearer {ticket['secret']}"}
    assert announce(site, f"/api/v1/uploads/{ticket['id']}/", method="PUT", **secret)[0] == 400
    assert send(site, ticket, iter([b"x" * 600, b"x" * 600])).status_code == 413
    wait_until(lambda: UploadTicket.objects.filter(claimed_at=None).exists())
    assert send(site, ticket, iter([b"x" * 600])).status_code == 400
    assert nothing_is_left(settings)


def test_a_sender_that_stops_is_cut_off_and_the_ticket_is_good_for_another_try(site, token, settings, monkeypatch):
    monkeypatch.setattr(services, "PATIENCE_SECONDS", 0.3)
    data = zipped()
    ticket = ask(site, token, len(data)).json()
    path, secret = f"/api/v1/uploads/{ticket['id']}/", {"Authorization": f"Bearer {ticket['secret']}"}
    assert announce(site, path, method="PUT", size=len(data), sent=data[:100], **secret)[0] == 408
    assert nothing_is_left(settings)
    monkeypatch.undo()
    wait_until(lambda: UploadTicket.objects.filter(claimed_at=None).exists())
    assert send(site, ticket, data).status_code == 201


def test_a_sender_that_goes_away_leaves_no_file(site, token, settings):
    ticket = ask(site, token, GIB).json()
    address = httpx.URL(site)
    head = f"PUT /api/v1/uploads/{ticket['id']}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {GIB}\r\n"
    with socket.create_connection((address.host, address.port), timeout=PATIENCE) as connection:
        connection.sendall(f"{head}Authorization: Bearer {ticket['secret']}\r\n\r\n".encode() + b"x" * 100_000)
        wait_until(lambda: left_over(settings) == [f"{ticket['id']}.upload"])
        # While it comes in, nobody else uploads with the ticket.
        assert send(site, ticket, b"x").status_code == 409
    wait_until(lambda: left_over(settings) == [])


class TestLimits:
    def test_a_user_has_a_few_open_and_learns_when_to_come_back(self, site, token):
        assert [ask(site, token, 10).status_code for _ in range(services.MOST_PER_USER)] == [201] * 4
        refused = ask(site, token, 10)
        assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (429, "no_room", "60")
        UploadTicket.objects.update(expires_at=Now())
        assert ask(site, token, 10).status_code == 201

    def test_so_has_an_address_with_all_its_users(self):
        for number in range(services.MOST_PER_ADDRESS):
            services.ask(owner_id=make_user(f"u{number}").pk, address="10.0.0.1", size=1)
        with pytest.raises(services.NoRoomError, match="Your address has 8 open uploads"):
            services.ask(owner_id=make_user().pk, address="10.0.0.1", size=1)
        services.ask(owner_id=make_user().pk, address="10.0.0.2", size=1)

    def test_all_together_never_take_more_than_the_volume_s_quota(self, settings):
        settings.UPLOADS_QUOTA = 100
        users = [make_user(f"u{number}") for number in range(6)]
        numbers = iter(range(6))

        def one() -> None:
            number = next(numbers)
            services.ask(owner_id=users[number].pk, address=f"10.0.0.{number}", size=30)

        assert [type(error) for error in in_threads(one, count=6)] == [services.NoRoomError] * 3
        assert sum(UploadTicket.objects.values_list("room", flat=True)) == 90

    def test_a_size_beyond_the_largest_checkpoint_gets_no_ticket(self, site, token, settings):
        assert ask(site, token, settings.MAX_CHECKPOINT_BYTES + 1).status_code == 413
        assert ask(site, token, 0).status_code == 400
        assert ask(site, {}, 10).status_code == 401

    def test_a_large_form_takes_room_while_it_is_read(self, site, token, ada, settings):
        data = zipped({**tiny_files(), "README.md": os.urandom(2 * LARGE_BODY)})
        seen = []
        take = services.reserve

        def watched(**asked):
            row = take(**asked)
            seen.append((row.owner_id, row.room >= 2 * len(data)))
            return row

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(services, "reserve", watched)
            answer = httpx.post(f"{site}/checkpoints/", files={"file": ("m.zip", data)}, headers=token, timeout=60)
        assert (answer.status_code, seen) == (201, [(ada.pk, True)]), answer.text
        wait_until(lambda: not UploadTicket.objects.exists())

    def test_a_large_form_without_room_is_refused_before_it_is_read(self, site, token, ada):
        for _ in range(services.MOST_PER_USER):
            services.reserve(owner_id=ada.pk, address="elsewhere", size=1)
        status, answer = announce(site, "/api/v1/checkpoints/", size=3_000_000, **token)
        assert (status, "retry-after: 60" in answer) == (429, True)

    def test_a_full_volume_is_said_and_nothing_is_left(self, site, token, settings, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("leaderboard.platform.uploads.receiving._keep", full)
        ticket = ask(site, token, 5).json()
        answer = send(site, ticket, b"12345")
        assert (answer.status_code, answer.json()["code"]) == (503, "no_room")
        wait_until(lambda: left_over(settings) == [])


def test_the_sweep_removes_what_killed_processes_left(settings, tmp_path, ada):
    settings.UPLOADS_DIR = tmp_path
    kept = services.ask(owner_id=ada.pk, address="a", size=1).row
    gone = services.ask(owner_id=ada.pk, address="a", size=1).row
    UploadTicket.objects.filter(pk=gone.pk).update(expires_at=Now() - timedelta(seconds=1))
    old, new = tmp_path / "old.upload", tmp_path / "new.upload"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (time.time() - 4000, time.time() - 4000))
    assert services.sweep() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["new.upload"]
    assert list(UploadTicket.objects.values_list("pk", flat=True)) == [kept.pk]


def test_a_user_who_may_not_sign_in_any_more_uploads_nothing(ada):
    ticket = services.ask(owner_id=ada.pk, address="a", size=1)
    ada.is_active = False
    ada.save()
    assert services.find(ticket_id=ticket.row.pk, secret=ticket.secret) is None
