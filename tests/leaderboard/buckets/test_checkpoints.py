"""Uploaded checkpoints in the site's bucket."""

import pytest
from django.core.management import CommandError

from leaderboard.planners.checkpoint_stores import CheckpointStore
from leaderboard.planners.checkpoints import checkpoint_store
from tests.leaderboard.backups.helpers import run, uploaded_checkpoint

pytestmark = pytest.mark.django_db(transaction=True)

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
