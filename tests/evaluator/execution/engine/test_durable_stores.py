"""Stores that are no cache: a power cut leaves nothing empty under a good name, and damage is set aside."""

import errno
import os
from pathlib import Path

import pytest

from evaluator.core.values import Artefact, MediaType, encode
from evaluator.execution.engine.store import LocalStore, ObjectDamagedError, ObjectMissingError


class Disk:
    """Notes which files and folders were flushed, and what was renamed before its bytes were."""

    def __init__(self, monkeypatch):
        self._fsync, self._replace = os.fsync, os.replace
        self.flushed: set[int] = set()
        self.renamed_unflushed: list[Path] = []
        self.unflushed_folders: set[int] = set()
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(os, "replace", self.replace)

    def fsync(self, descriptor):
        self._fsync(descriptor)
        inode = os.fstat(descriptor).st_ino
        self.flushed.add(inode)
        self.unflushed_folders.discard(inode)

    def replace(self, source, target):
        if Path(source).stat().st_ino not in self.flushed:
            self.renamed_unflushed.append(Path(target))
        self._replace(source, target)
        self.unflushed_folders.add(Path(target).parent.stat().st_ino)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def text(number, *, length=100):
    return encode(f"{number:03d}".ljust(length, "x"))


def path_of(store, digest):
    (path,) = store.path.glob(f"objects/{digest[:2]}/{digest[2:]}.*")
    return path


@pytest.mark.parametrize("count", [1, 100])
def test_objects_are_flushed_before_they_get_their_name_and_their_folders_after(tmp_path, disk, count):
    store = LocalStore(tmp_path / "new" / "store", durable=True)
    digests = store.put_all([text(number) for number in range(count)])
    assert [store.get(digest) for digest in digests] == [text(number) for number in range(count)]
    assert disk.renamed_unflushed == []
    assert disk.unflushed_folders == set()
    # New folders, too, are names in their parents.
    assert {folder.stat().st_ino for folder in (tmp_path, tmp_path / "new")} <= disk.flushed


def test_nothing_gets_a_name_when_the_disk_refuses_a_flush(tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    tmp_path.joinpath("objects").mkdir()
    store = LocalStore(tmp_path, durable=True)
    with pytest.raises(OSError, match="Input/output error"):
        store.put_all([text(1), text(2)])
    assert list(store.digests()) == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_damaged_object_is_set_aside_with_its_name_and_reason(tmp_path):
    store = LocalStore(tmp_path, durable=True)
    digest = store.put(text(1))
    path_of(store, digest).write_bytes(b"damaged")
    with pytest.raises(ObjectDamagedError, match=digest):
        store.get(digest)
    with pytest.raises(ObjectMissingError):
        store.get(digest)
    assert not store.has(digest)
    (entry,) = store.quarantine.entries()
    assert (entry.digest, entry.size, entry.path.read_bytes()) == (digest, 7, b"damaged")
    assert entry.reason == f"has the digest {Artefact(data=b'damaged', media_type=MediaType.TEXT).digest}"
    assert list(store.digests()) == []


def test_a_cache_does_not_flush_and_removes_damaged_objects(tmp_path, disk):
    store = LocalStore(tmp_path)
    path_of(store, store.put(text(1))).write_bytes(b"damaged")
    assert disk.flushed == set()
    with pytest.raises(ObjectDamagedError):
        store.get(text(1).digest)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("durable", [True, False])
def test_an_empty_file_under_a_good_name_is_written_again(tmp_path, durable):
    store = LocalStore(tmp_path, durable=durable)
    digest = store.put(text(1))
    path_of(store, digest).write_bytes(b"")
    store.put(text(1))
    assert store.get(digest) == text(1)
    assert len(store.quarantine.entries()) == durable


def test_an_empty_file_is_no_object_but_that_of_an_empty_text(tmp_path):
    store = LocalStore(tmp_path, durable=True)
    digest, empty = store.put(text(1)), store.put(encode(""))
    path_of(store, digest).write_bytes(b"")
    assert (store.has(digest), store.has(empty)) == (False, True)


def test_a_good_copy_written_while_the_damage_is_noticed_stays(tmp_path):
    store = LocalStore(tmp_path, durable=True)
    digest = store.put(text(1))
    # Somebody read damaged bytes, and somebody else put the good ones back before the first one acted.
    assert not store.quarantine.take(path=path_of(store, digest), digest=digest, reason="has another digest")
    assert store.get(digest) == text(1)
    assert store.quarantine.entries() == []


def test_a_file_that_the_disk_cannot_read_is_set_aside(tmp_path, monkeypatch):
    store = LocalStore(tmp_path, durable=True)
    digest = store.put(text(1))
    broken = path_of(store, digest).stat().st_ino
    opened = Path.read_bytes

    def read_bytes(path):
        if path.stat().st_ino == broken:
            raise OSError(errno.EIO, "Input/output error")
        return opened(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    monkeypatch.setattr("evaluator.execution.engine.quarantine.has_digest", lambda *_, **__: False)
    with pytest.raises(ObjectDamagedError, match="cannot be read from the disk"):
        store.get(digest)
    assert [entry.digest for entry in store.quarantine.entries()] == [digest]
