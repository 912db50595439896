"""Fetching leaves both released files or none."""

import hashlib

import pytest

from evaluator.suites.lumos.commands import RELEASED
from evaluator.suites.lumos.sql.source import RELEASE
from evaluator.suites.released_files import MANIFEST, FetchError
from tests.evaluator.intercode_data import need_intercode


def contents():
    folder = need_intercode()
    return {file.name: (folder / file.name).read_bytes() for file in RELEASE.files}


def test_the_pinned_digests_are_those_of_the_released_files():
    found = contents()
    assert {file.name: (file.sha256, file.bytes) for file in RELEASE.files} == {
        name: (hashlib.sha256(content).hexdigest(), len(content)) for name, content in found.items()
    }


def test_files_are_downloaded_from_the_pinned_commit(tmp_path):
    asked = []
    found = contents()

    def download(file):
        asked.append(file.url)
        return found[file.name]

    RELEASE.fetch(download=download, target=tmp_path)
    assert RELEASE.problem_of(tmp_path) is None
    base = "https://raw.githubusercontent.com/princeton-nlp/intercode/c3e46d8/data/sql/spider/"
    assert asked == [base + "ic_spider_dev.json", base + "ic_spider_dbs.sql"]


def test_a_file_that_is_not_the_released_one_leaves_nothing_behind(tmp_path):
    with pytest.raises(FetchError, match=r"is not the released ic_spider_dev\.json: 5 bytes"):
        RELEASE.fetch(download=lambda file: b"sorry", target=tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_the_command_takes_a_folder_and_files_changed_later_are_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    assert RELEASE.fetched_folder() is None
    assert "run `planarena suites fetch intercode-sql`" in RELEASE.problem_of(RELEASE.folder)
    written = RELEASED["intercode-sql"](need_intercode())
    assert set(written) == {RELEASE.folder / file.name for file in RELEASE.files}
    assert (RELEASE.folder / MANIFEST).is_file()
    assert RELEASE.fetched_folder() == RELEASE.folder
    (RELEASE.folder / "ic_spider_dbs.sql").write_text("-- changed")
    assert "ic_spider_dbs.sql was changed after it was fetched" in RELEASE.problem_of(RELEASE.folder)
    (RELEASE.folder / "ic_spider_dbs.sql").unlink()
    assert "cannot be read" in RELEASE.problem_of(RELEASE.folder)
    assert RELEASE.fetched_folder() is None
