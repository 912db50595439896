"""Damaged objects of the site's stores: kept in quarantine, named by backups, and repaired from them."""

import json
import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from evaluator.values import Artefact, MediaType
from leaderboard.monitoring import views
from leaderboard.monitoring.figures import DatabaseFigures
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.results.objects import server_store
from tests.leaderboard.backups.helpers import delivered_record, run, uploaded_checkpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]


@pytest.fixture
def record(own_store) -> str:
    return delivered_record()


def file_of(digest: str) -> Path:
    store = server_store(split="")
    return store.path / "objects" / digest[:2] / f"{digest[2:]}.txt"


def damage(digest: str) -> bytes:
    """Flip one byte, as a dying disk does, and return what is left."""
    data = bytearray(file_of(digest).read_bytes())
    data[0] ^= 0xFF
    file_of(digest).write_bytes(data)
    return bytes(data)


def test_a_backup_fails_for_a_damaged_artefact_that_was_found_before(tmp_path):
    digest = server_store(split="hidden").put(Artefact(data=b"a picture", media_type=MediaType.PNG))
    next(server_store(split="hidden").path.rglob("*.png")).write_bytes(b"a pitcure")
    with pytest.raises(CommandError, match="1 other object"):
        run("back_up", tmp_path / "backup")
    with pytest.raises(CommandError, match=f"hidden/{digest}"):
        run("back_up", tmp_path / "backup")


def test_backups_that_lack_records_never_replace_a_whole_one(record, tmp_path):
    folder = tmp_path / "backup"
    run("back_up", folder, "--keep", 1)
    whole, manifest = sorted(folder.glob("database-*.dump")), (folder / "backup.json").read_bytes()
    # The volume with the backup's objects is another one than before.
    shutil.rmtree(folder / "public")
    file_of(record).unlink()
    for _ in range(3):
        with pytest.raises(CommandError, match=r"The last whole backup, of .* is kept"):
            run("back_up", folder, "--keep", 1)
    assert sorted(folder.glob("database-*.dump")) == whole
    assert (folder / "backup.json").read_bytes() == manifest
    # They do not fill the disk either, and are named as what they are.
    (incomplete,) = folder.glob("incomplete-*.dump")
    assert json.loads((folder / "incomplete.json").read_text())["dump"]["name"] == incomplete.name


def test_a_record_that_the_backup_has_is_put_back_by_repair_store(record, tmp_path):
    folder = tmp_path / "backup"
    run("back_up", folder)
    good = file_of(record).read_bytes()
    damage(record)
    Client().get(f"/objects/{record}")
    with pytest.raises(CommandError, match=f"This backup has it: repair.*repair_store --from {folder}.*is whole"):
        run("back_up", folder)
    assert "Records that are still missing: 0." in run("repair_store", "--from", folder)
    assert file_of(record).read_bytes() == good
    assert Client().get(f"/objects/{record}").content == good
    run("back_up", folder)


def test_damage_that_nobody_has_read_is_found_by_repair_store(record, tmp_path):
    with pytest.raises(CommandError, match="holds no backup: it has none of the folders public, hidden, checkpoints"):
        run("repair_store", "--from", tmp_path)
    run("back_up", tmp_path / "backup")
    good = file_of(record).read_bytes()
    left = damage(record)
    assert "1 damaged" in run("repair_store", "--from", tmp_path / "backup")
    assert file_of(record).read_bytes() == good
    (kept,) = server_store(split="").quarantine.entries()
    assert kept.path.read_bytes() == left


def test_a_damaged_copy_in_the_backup_is_not_put_back(record, tmp_path):
    folder = tmp_path / "backup"
    run("back_up", folder)
    (copy,) = [path for path in (folder / "public").rglob("*.txt") if record[2:] in path.name]
    copy.write_bytes(copy.read_bytes()[:-1])
    damage(record)
    with pytest.raises(CommandError, match=f"Still lost: 1 record .public/{record}"):
        run("repair_store", "--from", folder)
    assert not server_store(split="").has(record)


def test_a_loss_that_was_accepted_is_listed_in_the_manifest_and_backups_succeed(record, tmp_path):
    folder = tmp_path / "backup"
    file_of(record).unlink()
    with pytest.raises(CommandError, match="--allow-missing"):
        run("back_up", folder)
    assert "1 lost objects are not in it" in run("back_up", folder, "--allow-missing")
    assert json.loads((folder / "backup.json").read_text())["missing"] == [{"store": "public", "digest": record}]
    # What was incomplete is superseded.
    assert not [*folder.glob("incomplete*")]


def test_check_store_lists_the_quarantine_with_a_limit(record):
    store = server_store(split="")
    run("check_store")
    for number in range(3):
        digest = store.put(Artefact(data=f"text {number}".encode(), media_type=MediaType.TEXT))
        file_of(digest).write_bytes(b"")
    out = StringIO()
    with pytest.raises(CommandError, match="Lost: 3 other objects"):
        call_command("check_store", "--limit", 2, stdout=out)
    assert "Store public: 4 objects read, 3 damaged." in out.getvalue()
    assert "In quarantine: 3, the newest 2:" in out.getvalue()
    assert out.getvalue().count(" lost  public/") == 2


def test_metrics_count_what_is_lost_until_it_is_repaired(record, tmp_path, settings, monkeypatch):
    monkeypatch.setattr(views, "_FIGURES", DatabaseFigures(cache_seconds=0))
    settings.METRICS_TOKEN = "the-token-of-these-tests"

    def lost() -> str:
        text = Client().get("/metrics", headers={"Authorization": f"Bearer {settings.METRICS_TOKEN}"}).content.decode()
        return next(line for line in text.splitlines() if line.startswith('planarena_store_lost{store="public"}'))

    run("back_up", tmp_path / "backup")
    assert lost().endswith(" 0.0")
    damage(record)
    Client().get(f"/objects/{record}")
    assert lost().endswith(" 1.0")
    run("repair_store", "--from", tmp_path / "backup")
    assert lost().endswith(" 0.0")


def test_a_damaged_checkpoint_is_set_aside_and_put_back(tmp_path):
    digest = uploaded_checkpoint(tmp_path / "weights")
    run("back_up", tmp_path / "backup")
    checkpoint_store().path(digest).write_bytes(b"altered")
    assert "Uploaded checkpoints: 1 put back." in run("repair_store", "--from", tmp_path / "backup")
    assert checkpoint_store().path(digest).read_bytes() == b"weights"
    checkpoint_store().remove(digest)
    with pytest.raises(CommandError, match=f"checkpoints/{digest}"):
        run("back_up", tmp_path / "another")
