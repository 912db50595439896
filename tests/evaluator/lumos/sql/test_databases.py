"""The databases are built once, whole, and built again if they were damaged."""

import threading

import pytest

from evaluator.lumos.sql.databases import CacheError, open_databases
from evaluator.lumos.sql.dump import DumpError
from tests.evaluator.lumos.sql.conftest import SMALL


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump.sql"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_the_cache_has_one_file_for_each_database_and_nothing_else(dump, tmp_path):
    found = open_databases(dump=dump, cache=tmp_path / "cache")
    assert sorted(path.name for path in found.folder.iterdir()) == ["Other.sqlite", "Zoo.sqlite", "manifest.json"]
    assert list((tmp_path / "cache").iterdir()) == [found.folder]


def test_the_second_time_nothing_is_written(dump, tmp_path):
    first = open_databases(dump=dump, cache=tmp_path / "cache")
    before = first.path("Zoo").stat()
    second = open_databases(dump=dump, cache=tmp_path / "cache")
    assert (second.digest, second.folder) == (first.digest, first.folder)
    assert second.path("Zoo").stat() == before


@pytest.mark.parametrize("damage", [b"", b"x"])
def test_a_damaged_file_is_built_again(dump, tmp_path, damage):
    found = open_databases(dump=dump, cache=tmp_path / "cache")
    whole = found.path("Zoo").read_bytes()
    found.path("Zoo").write_bytes(damage)
    assert open_databases(dump=dump, cache=tmp_path / "cache").path("Zoo").read_bytes() == whole
    found.path("Zoo").unlink()
    assert open_databases(dump=dump, cache=tmp_path / "cache").path("Zoo").read_bytes() == whole


def test_another_dump_has_another_folder(dump, tmp_path):
    first = open_databases(dump=dump, cache=tmp_path / "cache")
    dump.write_text(SMALL.replace("'Cat'", "'Lion'"), encoding="utf-8")
    second = open_databases(dump=dump, cache=tmp_path / "cache")
    assert first.folder != second.folder
    assert first.digest != second.digest


def test_whoever_builds_at_the_same_time_gets_the_same(dump, tmp_path):
    folders = []
    threads = [
        threading.Thread(target=lambda: folders.append(open_databases(dump=dump, cache=tmp_path / "cache").folder))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(folders) == 6
    assert len(set(folders)) == 1
    assert list((tmp_path / "cache").iterdir()) == [folders[0]]


def test_a_missing_dump_and_an_unusable_cache_are_sentences(dump, tmp_path):
    with pytest.raises(CacheError, match="No such file"):
        open_databases(dump=tmp_path / "nothing.sql", cache=tmp_path / "cache")
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cannot be built in"):
        open_databases(dump=dump, cache=tmp_path / "file")
    dump.write_bytes(b"\xff")
    with pytest.raises(CacheError, match="not UTF-8"):
        open_databases(dump=dump, cache=tmp_path / "cache")
    dump.write_text("nonsense;")
    with pytest.raises(DumpError):
        open_databases(dump=dump, cache=tmp_path / "cache")
