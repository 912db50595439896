"""The site's store and checkpoints in a bucket: damage is kept and repaired, backups are whole, garbage may return."""

import json
import time
from datetime import UTC, datetime

import pytest
from django.core.management import CommandError
from django.test import Client

from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import ObjectMissingError, StoreUnavailableError
from leaderboard.evaluations.results.objects import server_store
from leaderboard.operations.backups.garbage import collect_garbage
from leaderboard.operations.backups.services import restore
from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from tests.fakes.s3.server import Fault
from tests.leaderboard.operations.backups.helpers import delivered_record, run, uploaded_checkpoint

pytestmark = [pytest.mark.django_db(transaction=True)]

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def record(bucket) -> str:
    return delivered_record()


def text(number):
    return Artefact(data=f"text {number}".encode(), media_type=MediaType.TEXT)


def path_of(digest, *, store="public", folder="objects"):
    return f"/arena/site/{store}/{folder}/{digest[:2]}/{digest[2:]}"


def damage(s3, digest, *, store="public"):
    """Another byte, as a broken disk of the service leaves it: its checksum is what it was."""
    path = path_of(digest, store=store)
    s3.objects[path] = s3.objects[path]._replace(data=b"!" + s3.objects[path].data[1:])
    return s3.objects[path].data


def test_records_are_shown_from_the_bucket_and_damaged_ones_kept_in_quarantine(bucket, record, tmp_path):
    assert bucket.names("/public/objects/") == [path_of(record)]
    assert Client().get(f"/objects/{record}").content == bucket.objects[path_of(record)].data
    assert not [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    left = damage(bucket, record)
    assert Client().get(f"/objects/{record}").status_code == 404
    assert bucket.names("/objects/") == []
    (kept,) = bucket.names(f"/public/quarantine/{record}.")
    assert bucket.objects[kept].data == left
    (entry,) = server_store(split="").quarantine.entries()
    assert (entry.digest, entry.reason[:14], entry.size) == (record, "has the digest", len(left))


def test_bytes_that_were_damaged_on_the_way_stay_where_they_are(bucket, record):
    whole = bucket.objects[path_of(record)]
    damage(bucket, record)

    def heals(method, name):
        if method == "GET" and sum(one == (method, name) for one in bucket.requests) == 2:
            bucket.objects[path_of(record)] = whole

    bucket.requests.clear()
    bucket.fault = heals
    assert server_store(split="").get(record).data == whole.data
    assert bucket.names("/quarantine/") == []


def test_an_object_that_the_service_never_checked_is_read_before_it_counts(bucket):
    store = server_store(split="")
    good, bad = store.put(text(1)), store.put(text(2))
    damage(bucket, bad)
    for digest in (good, bad):
        bucket.objects[path_of(digest)] = bucket.objects[path_of(digest)]._replace(sha256="")
    assert store.has(good)
    assert not store.has(bad)
    assert store.lacking([good, bad, "0" * 64]) == [bad, "0" * 64]
    assert len(bucket.names(f"/public/quarantine/{bad}.")) == 1


def test_a_damaged_object_that_cannot_be_copied_is_not_deleted(bucket, record):
    left = damage(bucket, record)
    bucket.fault = lambda method, name: Fault.REFUSED if "/quarantine/" in name else None
    assert Client().get(f"/objects/{record}").status_code == 404
    assert bucket.objects[path_of(record)].data == left


def test_backups_copy_the_bucket_into_a_folder_and_repair_puts_back_what_it_lost(bucket, record, tmp_path):
    folder = tmp_path / "backup"
    others = [server_store(split="").put(text(number)) for number in range(7)]
    hidden = server_store(split="hidden").put(text(100))
    run("back_up", folder)
    manifest = json.loads((folder / "backup.json").read_text())
    assert (manifest["objects"]["public"]["new"], manifest["objects"]["hidden"]["new"]) == (8, 1)
    good = bucket.objects[path_of(record)].data
    damage(bucket, record)
    del bucket.objects[path_of(others[0])]
    del bucket.objects[path_of(hidden, store="hidden")]
    with pytest.raises(CommandError, match=f"Lost: 1 record .public/{record}"):
        run("check_store")
    with pytest.raises(CommandError, match="have lost 1 record"):
        run("back_up", folder)
    said = run("repair_store", "--from", folder)
    assert "Store public: 2 objects put back." in said
    assert "Records that are still missing: 0." in said
    assert bucket.objects[path_of(record)].data == good
    assert server_store(split="hidden").has(hidden)
    run("back_up", folder)


def test_what_is_in_quarantine_and_good_after_all_is_put_back(bucket, record, tmp_path):
    run("back_up", tmp_path / "backup")
    bucket.objects[f"/arena/site/public/quarantine/{record}.123"] = bucket.objects.pop(path_of(record))
    (tmp_path / "backup/public/objects" / record[:2] / f"{record[2:]}.txt").unlink()
    assert "Records that are still missing: 0." in run("repair_store", "--quick", "--from", tmp_path / "backup")
    assert server_store(split="").get(record).digest == record


def test_a_restored_site_has_its_objects_in_the_bucket(bucket, record, tmp_path, monkeypatch):
    hidden = server_store(split="hidden").put(text(1))
    run("back_up", tmp_path / "backup")
    bucket.objects.clear()
    # This database is the one of the backup already.
    monkeypatch.setattr("leaderboard.operations.backups.services.database.restore", lambda *, source: source)
    restored = restore(folder=tmp_path / "backup", report=lambda _: None)
    assert (restored.damaged, restored.newly_lost()) == ([], [])
    assert bucket.names("/objects/") == sorted([path_of(record), path_of(hidden, store="hidden")])


def test_a_bucket_that_does_not_answer_is_never_taken_for_an_empty_one(bucket, record, tmp_path):
    bucket.fault = lambda _method, _name: Fault.REFUSED
    with pytest.raises(StoreUnavailableError, match="refuses to"):
        server_store(split="").has(record)
    with pytest.raises(CommandError, match="bucket refuses"):
        run("check_store", "--quick")
    with pytest.raises(CommandError, match="bucket refuses"):
        run("back_up", tmp_path / "backup")
    assert not (tmp_path / "backup/backup.json").exists()


def age(bucket, part):
    for name in bucket.names(part):
        bucket.objects[name] = bucket.objects[name]._replace(modified=LONG_AGO)


def test_garbage_is_deleted_by_the_second_collection_and_what_is_named_stays(bucket, record):
    garbage = [server_store(split="").put(text(number)) for number in range(5)]
    young = server_store(split="").put(text(10))
    age(bucket, "/objects/")
    bucket.objects[path_of(young)] = bucket.objects[path_of(young)]._replace(
        modified=datetime.fromtimestamp(time.time(), tz=UTC)
    )
    assert collect_garbage(dry_run=True, report=lambda _: None).count == 5
    assert len(bucket.names("/objects/")) == 7
    assert collect_garbage(dry_run=False, report=lambda _: None).count == 5
    assert bucket.names("/objects/") == sorted([path_of(record), path_of(young)])
    assert bucket.names("/collected/") == sorted(path_of(digest, folder="collected") for digest in garbage)
    assert collect_garbage(dry_run=False, report=lambda _: None).count == 0
    assert len(bucket.names("/collected/")) == 5
    age(bucket, "/collected/")
    collect_garbage(dry_run=False, report=lambda _: None)
    assert bucket.names("/collected/") == []


def test_garbage_that_a_result_names_while_it_is_collected_is_put_back(bucket):
    store = server_store(split="")
    asked, named, read = (store.put(text(number)) for number in range(3))
    age(bucket, "/objects/")
    store.collect(keep=set(), before=time.time() - 60, dry_run=False)
    assert bucket.names("/objects/") == []
    assert store.has(asked)
    assert store.get(read) == text(2)
    age(bucket, "/collected/")
    store.collect(keep={named}, before=time.time() - 60, dry_run=False)
    assert bucket.names("/objects/") == sorted(path_of(digest) for digest in (asked, named, read))


def test_a_text_that_is_no_digest_never_becomes_a_key(bucket):
    store = server_store(split="")
    for text_ in ("../hidden/objects/ab", "..", "", "A" * 64, "0" * 63 + "/"):
        assert not store.has(text_)
        with pytest.raises(ObjectMissingError):
            store.get(text_)
    assert bucket.requests == []


WEIGHTS = bytes(range(256)) * 40


@pytest.fixture
def digest(bucket, tmp_path) -> str:
    return uploaded_checkpoint(tmp_path / "weights", WEIGHTS)


def test_it_is_read_piece_by_piece_from_a_prefix_of_its_own(bucket, digest):
    store = checkpoint_store()
    assert bucket.names() == [f"/arena/site/checkpoints/objects/{digest[:2]}/{digest[2:]}"]
    assert store.digests() == [digest]
    assert store.size(digest) == len(WEIGHTS)
    assert store.read(digest=digest, start=100, most=50) == WEIGHTS[100:150]
    assert store.read(digest=digest, start=len(WEIGHTS) - 3, most=50) == WEIGHTS[-3:]
    assert store.read(digest=digest, start=len(WEIGHTS), most=50) == b""
    assert store.read(digest="0" * 64, start=0, most=50) is None
    assert (store.size("0" * 64), store.size("../x")) == (0, 0)
    store.remove(digest)
    assert bucket.names() == []


def test_damage_is_set_aside_and_put_back_from_a_backup(bucket, digest, tmp_path, settings):
    folder = tmp_path / "backup"
    run("back_up", folder)
    assert CheckpointStore(folder / "checkpoints").is_whole(digest)
    (name,) = bucket.names()
    bucket.objects[name] = bucket.objects[name]._replace(data=b"altered")
    assert "Uploaded checkpoints: 1 put back." in run("repair_store", "--from", folder)
    assert checkpoint_store().is_whole(digest)
    (kept,) = bucket.names("/checkpoints/quarantine/")
    assert bucket.objects[kept].data == b"altered"
    assert "repaired  checkpoints/" in run("check_store")
    checkpoint_store().remove(digest)
    with pytest.raises(CommandError, match=f"checkpoints/{digest}"):
        run("back_up", tmp_path / "another")
    assert [*settings.UPLOADS_DIR.iterdir()] == []
