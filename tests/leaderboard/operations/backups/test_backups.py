"""Backups of a site that works, restored into an empty database, and damaged objects that are repaired from them."""

import json
import os
import shutil
import stat
import subprocess
import sys
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from evaluator.core.values import Artefact, MediaType
from evaluator.execution.engine.store import LocalStore
from leaderboard.boards.models import Snapshot
from leaderboard.evaluations.models import TaskResult
from leaderboard.evaluations.results.objects import server_store
from leaderboard.operations.monitoring.figures import DatabaseFigures
from leaderboard.operations.web.monitoring import views
from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from leaderboard.queue.leasing import leases
from leaderboard.queue.reconcile import sweep
from leaderboard.queue.workers.finishing import deliver
from tests.leaderboard.factories import make_evaluation, make_record, make_suite
from tests.leaderboard.operations.backups.helpers import delivered_record, run, uploaded_checkpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_store")]

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def empty_database(postgres_url):
    """The URL of a database with nothing in it."""
    name = "restored"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name}")
        yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def finished_evaluation():
    """One on the board, with its records in the store."""
    evaluation = make_evaluation(suite=make_suite(slug="backed-up", runnable=12))
    sweep()
    while lease := leases.lease(worker="w", evaluation_id=evaluation.pk):
        records = [make_record(task, suite="backed-up") for task in lease.tasks]
        deliver(attempt_id=lease.attempt.pk, records=records, store=server_store(split=""))
        leases.complete(lease.attempt.pk)
    sweep()
    return evaluation


def manage(*arguments, database, data):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLANARENA_", "DJANGO_"))}
    environment = kept | {"DATABASE_URL": database, "PLANARENA_DATA": str(data), "PLANARENA_DEMO": "1"}
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_what_was_published_is_there_after_a_restore(tmp_path, empty_database, launcher):
    evaluation, checkpoint = finished_evaluation(), uploaded_checkpoint(tmp_path / "weights")
    waiting = make_evaluation(suite=make_suite(slug="waiting"))
    content = Snapshot.objects.get().content
    digests = set(TaskResult.objects.exclude(record_digest="").values_list("record_digest", flat=True))
    assert digests
    call_command("back_up", tmp_path / "backup")

    done = manage("restore", str(tmp_path / "backup"), database=empty_database, data=tmp_path / "new")
    assert done.returncode == 0, done.stderr
    assert "All records of results are present." in done.stdout
    with psycopg.connect(empty_database) as restored:
        assert restored.execute("SELECT stored FROM boards_snapshot").fetchone()[0] == content
        states = dict(restored.execute("SELECT id, state FROM evaluations_evaluation").fetchall())
        assert states == {evaluation.pk: "completed", waiting.pk: "queued"}
        with pytest.raises(psycopg.Error, match="completed"):
            # The triggers are there again, too.
            restored.execute("UPDATE evaluations_evaluation SET state = 'queued' WHERE state = 'completed'")
    assert digests <= set(LocalStore(tmp_path / "new/store/public").digests())
    assert "Uploaded checkpoints: 1 copied, 0 were there." in done.stdout
    restored_checkpoints = CheckpointStore(tmp_path / "new" / "store" / "checkpoints")
    assert restored_checkpoints.read(digest=checkpoint, start=0, most=100) == b"weights"
    with pytest.raises(CommandError, match="Restore into an empty one"):
        call_command("restore", tmp_path / "backup")


def test_a_dump_that_was_cut_off_changes_nothing(tmp_path):
    finished_evaluation()
    call_command("back_up", tmp_path / "backup")
    dump = next((tmp_path / "backup").glob("*.dump"))
    dump.write_bytes(dump.read_bytes()[:-1])
    with pytest.raises(CommandError, match="missing, truncated or changed"):
        call_command("restore", tmp_path / "backup")
    assert Snapshot.objects.count() == 1


def test_the_next_backup_copies_only_what_is_new(tmp_path, capsys):
    finished_evaluation()
    folder = tmp_path / "backup"
    call_command("back_up", folder)
    server_store(split="hidden").put(Artefact(data=b"new", media_type=MediaType.TEXT))
    call_command("back_up", folder, keep=1)
    objects = json.loads((folder / "backup.json").read_text())["objects"]
    assert objects["public"]["new"] == 0
    assert objects["public"]["there"] > 0
    assert objects["hidden"] == {"new": 1, "new_bytes": 3, "there": 0}
    assert len(list(folder.glob("*.dump"))) == 1


def test_a_damaged_object_is_named_and_everything_else_is_copied(tmp_path):
    finished_evaluation()
    store = settings.STORE_DIR / "public"
    damaged = sorted((store / "objects").rglob("*.txt"))[0]
    damaged.write_bytes(b"something else")
    count = len(list(LocalStore(store).digests()))
    digest = server_store(split="hidden").put(Artefact(data=b"a picture", media_type=MediaType.PNG))
    next(server_store(split="hidden").path.rglob("*.png")).write_bytes(b"a pitcure")
    for lost in (f"have lost 1 record .*{damaged.stem}", "1 other object", f"hidden/{digest}"):
        with pytest.raises(CommandError, match=lost):
            call_command("back_up", tmp_path / "backup")
    assert len(list(LocalStore(tmp_path / "backup/public").digests())) == count - 1
    # It is not whole, so that `restore` does not take it by mistake.
    assert not (tmp_path / "backup/backup.json").exists()
    assert (tmp_path / "backup/incomplete.json").exists()


def test_nobody_else_on_the_machine_reads_a_backup_or_the_password_in_a_command_line(tmp_path, monkeypatch):
    def mode_of(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    seen, run = [], subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **options: seen.append(command) or run(command, **options))
    monkeypatch.setitem(connection.settings_dict, "PASSWORD", "not to be seen")
    folder = tmp_path / "backups"
    folder.mkdir(mode=0o755)
    call_command("back_up", str(folder))
    assert seen
    assert all("not to be seen" not in argument for command in seen for argument in map(str, command))
    (dump,) = folder.glob("database-*.dump")
    assert (mode_of(dump), mode_of(folder / "hidden")) == (0o600, 0o700)
    call_command("back_up", str(tmp_path / "made"))
    assert mode_of(tmp_path / "made") == 0o700


def test_a_folder_without_a_manifest_that_names_its_dump_is_refused(tmp_path):
    with pytest.raises(CommandError, match=r"there is no backup\.json"):
        call_command("restore", tmp_path)
    (tmp_path / "backup.json").write_text("[]")
    with pytest.raises(CommandError, match="this release reads"):
        call_command("restore", tmp_path)
    others = ({"name": "../elsewhere.dump", "sha256": ""}, {"name": "/etc/passwd"}, {"name": "database-1.dump"})
    for dump in (None, {}, *others):
        (tmp_path / "backup.json").write_text(json.dumps({"version": "backup/1", "made": "today", "dump": dump}))
        with pytest.raises(CommandError, match="names no dump of this folder"):
            call_command("restore", tmp_path)


def test_a_backup_is_read_without_being_restored_and_damage_is_named(tmp_path, capsys):
    finished_evaluation()
    folder = tmp_path / "backup"
    with pytest.raises(CommandError, match="has no whole backup"):
        call_command("check_backup", folder)
    call_command("back_up", folder)
    call_command("check_backup", folder)
    said = capsys.readouterr().out
    assert "tables with data" in said
    assert said.endswith("The backup is whole.\n")
    damaged = sorted((folder / "public" / "objects").rglob("*.txt"))[0]
    damaged.write_bytes(b"something else")
    with pytest.raises(CommandError, match="1 problem in the backup"):
        call_command("check_backup", folder)
    assert f"public/{damaged.parent.name}{damaged.stem} is damaged" in capsys.readouterr().out
    call_command("back_up", folder)
    call_command("check_backup", folder)
    for path in folder.glob("database-*.dump"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CommandError, match="1 problem in the backup"):
        call_command("check_backup", folder)


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
    with pytest.raises(CommandError, match="has no backup: it has none of the folders public, hidden, checkpoints"):
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
