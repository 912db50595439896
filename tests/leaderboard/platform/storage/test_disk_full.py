"""A site whose disks are full: said to owners and operators, nothing is lost, and it goes on once there is room."""

import errno
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import psycopg
import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from django.test import Client

from evaluator.core.values import encode
from gpu_jobs import bundles
from leaderboard.evaluations.models import Attempt, TaskResult
from leaderboard.evaluations.results import objects
from leaderboard.evaluations.results.objects import server_store
from leaderboard.platform.health import DISK_FULL
from leaderboard.platform.storage import disk_space
from leaderboard.queue.models import OwnWorkerRun
from tests.leaderboard.factories import make_record, make_submission, make_user
from tests.leaderboard.platform.api.helpers import ApiClient, worker_client, worker_with
from tests.leaderboard.queue.workers.test_tokens import launching, lease, own_evaluation, token_of
from tests.leaderboard.serving import server

pytestmark = pytest.mark.django_db


@contextmanager
def small_disk(*, mount_point: Path, size: str = "256k") -> Iterator[Path]:
    """A tmpfs of so many bytes. It is mounted in a namespace of its own, where that takes no privileges, and reached
    through the process that holds it."""
    mount_point.mkdir(parents=True)
    script = 'mount -t tmpfs -o size="$2" tmpfs "$1" && echo mounted && exec cat'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(mount_point), size]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "mounted\n"
        yield Path(f"/proc/{holder.pid}/root") / mount_point.relative_to("/")
        holder.communicate()


def fill(folder: Path) -> Path:
    """Take all the room that a small disk has left; delete the file to make room again."""
    path = folder / "ballast"
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


TEXT = "t" * 5000


@pytest.fixture
def disk(tmp_path, settings, launcher):
    objects._store.cache_clear()
    disk_space._failed.clear()
    with small_disk(mount_point=tmp_path / "disk") as folder:
        settings.STORE_DIR, settings.UPLOADS_DIR = folder / "store", tmp_path
        settings.DISK_RESERVE_BYTES = 1
        yield folder
    objects._store.cache_clear()
    disk_space._failed.clear()


class Case:
    """An evaluation of the site's worker, which holds a lease."""

    def __init__(self) -> None:
        self.evaluation = make_submission(user=make_user("ada")).evaluations.get()
        launching(self.evaluation)
        self.lease = lease(worker_client()).json()
        self.path = f"worker/attempts/{self.lease['attempt']}/"
        self.client = ApiClient(self.lease["token"])

    def send(self, *texts: str):
        path = f"{self.path}objects/"
        return self.client.post_bytes(path, bundles.pack(encode(text) for text in texts), bundles.CONTENT_TYPE)

    def deliver(self):
        records = [make_record(task, suite=self.evaluation.suite.slug) for task in self.lease["tasks"]]
        body = {"results": [record.model_dump(mode="json") for record in records]}
        return self.client.post(f"{self.path}results/", body)

    def waiting(self) -> str:
        owner = Client()
        owner.force_login(self.evaluation.submission.submitted_by)
        page = owner.get(f"/evaluations/{self.evaluation.pk}/").content.decode()
        place = owner.get(f"/api/v1/evaluations/{self.evaluation.pk}/place/").json()
        why = place["why"] or ""
        assert not why or why.replace("'", "&#x27;") in page
        return why


def files(disk):
    return sorted(path.name for path in disk.rglob("*") if path.is_file())


def test_what_has_no_room_is_refused_leaves_nothing_and_is_taken_once_there_is_room(disk):
    case, ballast = Case(), fill(disk)
    Attempt.objects.update(stalls_at=Now() + timedelta(seconds=1))
    before = files(disk)
    for answer in (case.send(TEXT), case.deliver()):
        assert (answer.status_code, answer.json()["code"]) == (503, "disk_full"), answer.content
        assert answer.headers["Retry-After"] == "15"
    assert files(disk) == before, "neither a part of an object nor a temporary file"
    assert not TaskResult.objects.exists()
    assert Attempt.objects.filter(stalls_at__gt=Now() + timedelta(seconds=60)).exists(), "it does not stall"
    ballast.unlink()
    assert case.send(TEXT).json()["kept"] == 1
    assert case.deliver().status_code == 200
    assert server_store(split="public").get(encode(TEXT).digest).data == TEXT.encode()
    assert TaskResult.objects.count() == len(case.lease["tasks"])


def test_owner_operator_and_probe_read_why(disk):
    case = Case()
    assert (Client().get("/health/ready").status_code, case.waiting()) == (200, "")
    ballast = fill(disk)
    ready = Client().get("/health/ready?now")
    assert (ready.status_code, ready.content) == (503, b"disk full: store\n")
    assert Client().get("/health/live").status_code == 200
    assert Client().get("/health/ready?disks=0").status_code == 200, "for probes that decide who gets requests"
    assert case.waiting() == f"{DISK_FULL} Without room: store."
    assert "Without room: store." in Client().get("/status/").content.decode()
    assert json.loads(Client().get("/api/v1/status/").content)["code"] == "disk_full"
    ballast.unlink()
    assert Client().get("/health/ready?again").status_code == 200
    assert case.waiting() == ""


def test_an_own_worker_is_not_charged_for_what_had_no_room(disk):
    ada = make_user("ada")
    own_evaluation(ada)
    leased = lease(worker_with(token_of(ada)["token"])).json()
    ballast = fill(disk)
    path, body = f"worker/attempts/{leased['attempt']}/objects/", bundles.pack([encode(TEXT)])
    for _ in range(2):
        assert ApiClient(leased["token"]).post_bytes(path, body, bundles.CONTENT_TYPE).status_code == 503
    ballast.unlink()
    assert ApiClient(leased["token"]).post_bytes(path, body, bundles.CONTENT_TYPE).status_code == 200
    assert OwnWorkerRun.objects.get().uploaded_bytes == len(TEXT)


def test_a_database_without_room_is_the_same_reason(disk, monkeypatch):
    case = Case()

    def full(*_, **__):
        raise OperationalError("could not extend file") from psycopg.errors.DiskFull("could not extend file")

    monkeypatch.setattr("leaderboard.queue.web.worker_api.results.deliver", full)
    answer = case.deliver()
    assert (answer.status_code, answer.json()["code"]) == (503, "disk_full")
    assert Client().get("/health/ready?now").content == b"disk full: database\n"


def test_a_page_whose_view_has_no_room_says_so(disk, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("leaderboard.operations.web.monitoring.views.checked_status", full)
    answer = Client(raise_request_exception=False).get("/status/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "15")
    assert "disk is full" in answer.content.decode()


def test_a_body_that_cannot_be_spooled_is_refused(disk, settings):
    settings.FILE_UPLOAD_TEMP_DIR, settings.FILE_UPLOAD_MAX_MEMORY_SIZE = str(disk), 100
    fill(disk)
    with server() as url:
        answer = httpx.post(f"{url}/accounts/login/", content=b"x" * 5000, timeout=30)
        program = httpx.post(f"{url}/api/v1/quota/", content=b"x" * 5000, timeout=30)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "15")
    assert (program.status_code, program.json()["code"]) == (503, "disk_full")
