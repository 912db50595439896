"""The site's store in the bucket of a real service: signatures, checksums, copies and lists are as S3's are."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.core.management import call_command
from django.test import Client

from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import ObjectDamagedError, ObjectMissingError
from leaderboard.evaluations.results import objects
from leaderboard.evaluations.results.objects import server_store
from leaderboard.operations.backups.garbage import collect_garbage
from tests.fakes.s3.seaweed import BUCKET, SeaweedFS, seaweed
from tests.leaderboard.buckets import test_uploads
from tests.leaderboard.buckets.test_uploads import offered, picture, refuses_other_requests, send

pytestmark = pytest.mark.django_db(transaction=True)

given, api = test_uploads.given, test_uploads.api


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[SeaweedFS]:
    with seaweed(tmp_path_factory.mktemp("seaweed")) as running:
        yield running


@pytest.fixture
def bucket(service, site_in, tmp_path: Path, monkeypatch) -> SeaweedFS:
    """The service, which holds the site's stores below a prefix of this test's."""
    for name, value in service.environment.items():
        monkeypatch.setenv(name, value)
    site_in(f"s3://{BUCKET}/{tmp_path.name}")
    return service


@pytest.fixture
def path_of(tmp_path):
    """Where an object is in the bucket."""
    return lambda digest, store="public": f"{tmp_path.name}/{store}/objects/{digest[:2]}/{digest[2:]}"


def text(number):
    return Artefact(data=f"text {number}".encode(), media_type=MediaType.TEXT)


def test_what_is_put_is_there_and_nothing_else_and_damage_goes_into_quarantine(bucket, path_of, tmp_path):
    store, hidden = server_store(split=""), server_store(split="hidden")
    digests = [store.put(text(number)) for number in range(5)]
    assert [store.get(digest) for digest in digests] == [text(number) for number in range(5)]
    assert store.lacking([*digests, "0" * 64]) == ["0" * 64]
    with pytest.raises(ObjectMissingError):
        store.get("0" * 64)
    assert not hidden.has(digests[0])
    assert bucket.names(f"{tmp_path.name}/public/objects/") == sorted(path_of(digest) for digest in digests)
    bucket.replace(path_of(digests[1]), b"!ext 1")
    with pytest.raises((ObjectDamagedError, ObjectMissingError)):
        store.get(digests[1])
    (kept,) = bucket.names(f"{tmp_path.name}/public/quarantine/")
    assert kept.startswith(f"{tmp_path.name}/public/quarantine/{digests[1]}.")
    (entry,) = store.quarantine.entries()
    assert (entry.digest, entry.size) == (digests[1], 6)


def test_it_refuses_everything_but_the_bytes_that_were_offered(bucket, given, tmp_path):
    wanted = picture(1)
    found = offered(given, wanted)
    refuses_other_requests(found, wanted=wanted)
    assert bucket.names(f"{tmp_path.name}/") == []
    assert send(found, wanted.data) == 200
    assert server_store(split="public").get(wanted.digest) == wanted


@pytest.mark.full
def test_browsers_are_led_to_one_picture_and_to_nothing_else(bucket, settings, monkeypatch):
    monkeypatch.setenv("PLANARENA_S3_PUBLIC_ENDPOINT", bucket.url)
    settings.STORE_ORIGIN = bucket.url
    objects._bucket.cache_clear()
    shown, other = (server_store(split="public").put(picture(number)) for number in (1, 2))
    answer = Client().get(f"/objects/{shown}", headers={"Sec-Fetch-Dest": "image"})
    url = answer["Location"]
    found = httpx.get(url)
    assert (found.status_code, found.content) == (200, picture(1).data)
    assert found.headers["Content-Type"] == "image/png"
    assert found.headers["Content-Disposition"] == "inline"
    changed = (
        url.replace("image%2Fpng", "text%2Fhtml"),
        url.replace("/public/", "/hidden/"),
        url.replace(f"{shown[:2]}/{shown[2:]}", f"{other[:2]}/{other[2:]}"),
        url.partition("?")[0],
    )
    assert [httpx.get(one).status_code for one in changed] == [403] * 4
    assert httpx.put(url, content=b"x").status_code == 403


@pytest.mark.full
def test_backups_garbage_and_repair(bucket, tmp_path, path_of):
    store, folder = server_store(split=""), tmp_path / "backup"
    lost, garbage = store.put(text(1)), store.put(text(2))
    call_command("back_up", folder)
    bucket.delete(path_of(lost))
    call_command("repair_store", "--from", folder)
    assert store.get(lost) == text(1)
    # Nothing names these two, but both are young.
    assert collect_garbage(dry_run=False, report=lambda _: None).count == 0
    store.collect(keep={lost}, before=time.time() + 60, dry_run=False)
    assert bucket.names(f"{tmp_path.name}/public/objects/") == [path_of(lost)]
    assert bucket.names(f"{tmp_path.name}/public/collected/") == [path_of(garbage).replace("/objects/", "/collected/")]
    # It comes back when it is asked for before the second collection.
    assert store.get(garbage) == text(2)
