"""Released files are pinned by digest, fetched whole or not at all, and used only while they are as fetched."""

import hashlib
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from evaluator.arc.source import RELEASE as ARC
from evaluator.cli.main import app
from evaluator.lumos.maths.source import RELEASE as MATHS
from evaluator.lumos.questions.source import RELEASE as QUESTIONS
from evaluator.lumos.sql.source import RELEASE as SQL
from evaluator.network.released_files import FetchError, PublicFile
from tests.evaluator.core.suites.released_data import need

RELEASES = {
    "arc": (ARC, "arc"), "lumos": (MATHS, "lumos"), "lumos-questions": (QUESTIONS, "lumos"),
    "intercode-sql": (SQL, "intercode_sql"),
}  # fmt: skip
"""Each with the name of its folder in the test data."""


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A release of two small files, one of them in a folder, and their contents."""
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path / "data"))
    contents = {"a.json": b"[1]", "deep/b.json": b"[2]"}
    files = tuple(
        PublicFile(name=name, base="https://example.org", sha256=hashlib.sha256(content).hexdigest(), bytes=3)
        for name, content in contents.items()
    )
    return replace(MATHS, files=files), contents


def test_files_are_downloaded_and_verified_and_not_used_once_they_changed(release):
    release, contents = release
    assert release.fetched_folder() is None
    assert "holds no fetched files; run `planarena suites fetch lumos`" in release.problem_of(release.folder)
    release.fetch(download=lambda file: contents[file.name], target=release.folder)
    assert (release.folder / "deep" / "b.json").read_bytes() == b"[2]"
    assert release.problem_of(release.folder) is None
    assert release.fetched_folder() == release.folder
    (release.folder / "deep" / "b.json").write_bytes(b"[3]")
    assert "b.json was changed after it was fetched" in release.problem_of(release.folder)
    (release.folder / "deep" / "b.json").unlink()
    assert "cannot be read" in release.problem_of(release.folder)
    assert release.fetched_folder() is None


def test_a_wrong_download_leaves_nothing_behind(release):
    release, _ = release
    for content in (b"sorry", b"[9]"):
        said = f"https://example.org/a.json is not the released a.json: {len(content)} bytes"
        with pytest.raises(FetchError, match=said):
            release.fetch(download=lambda file, content=content: content, target=release.folder)
        assert not release.folder.exists()


def test_files_are_taken_from_a_folder(release, tmp_path):
    release, contents = release
    with pytest.raises(FetchError, match=r"a.json cannot be read"):
        release.take(folder=tmp_path, target=release.folder)
    (tmp_path / "deep").mkdir()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    assert set(release.take(folder=tmp_path, target=release.folder)) == set(contents)
    assert release.problem_of(release.folder) is None


@pytest.mark.parametrize("name", RELEASES)
def test_the_pinned_digests_are_those_of_the_released_files(name):
    release, beside = RELEASES[name]
    folder = need(release, beside=beside)
    for file in release.files:
        content = (folder / file.name).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.bytes)
        assert file.url.startswith("https://raw.githubusercontent.com/")
        assert f"/{release.commit}" in file.url


@pytest.mark.parametrize("name", RELEASES)
def test_the_command_takes_the_released_files(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path))
    release, beside = RELEASES[name]
    done = CliRunner().invoke(app, ["suites", "fetch", name, "--from", str(need(release, beside=beside))])
    assert done.exit_code == 0, done.output
    assert release.files[0].sha256 in done.stdout or done.stdout.startswith(f"{len(release.files)} files, all with")
    assert release.fetched_folder() == tmp_path / "suites" / release.name
