"""Fetching the released files of GSM8K and SVAMP."""

import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.suites.lumos.maths import source
from evaluator.suites.released_files import FetchError, PublicFile

ROOT = Path(__file__).resolve().parents[5]


@pytest.fixture
def release(tmp_path, monkeypatch):
    """A release of two small files, and their contents."""
    monkeypatch.setenv("PLANARENA_DATA", str(tmp_path / "data"))
    contents = {"a.json": b"[1]", "b.json": b"[2]"}
    files = tuple(
        PublicFile(name=name, base="https://example.org", sha256=hashlib.sha256(content).hexdigest(), bytes=3)
        for name, content in contents.items()
    )
    return replace(source.RELEASE, files=files), contents


def test_files_are_downloaded_and_verified(release):
    release, contents = release
    assert "holds no fetched files; run `planarena suites fetch lumos`" in release.problem_of(release.folder)
    release.fetch(download=lambda file: contents[file.name], target=release.folder)
    assert release.problem_of(release.folder) is None
    (release.folder / "b.json").write_bytes(b"[3]")
    assert "b.json was changed after it was fetched" in release.problem_of(release.folder)
    (release.folder / "b.json").unlink()
    assert "cannot be read" in release.problem_of(release.folder)


def test_a_wrong_download_leaves_nothing_behind(release):
    release, _ = release
    with pytest.raises(FetchError, match=r"https://example.org/a.json is not the released a.json: 5 bytes"):
        release.fetch(download=lambda file: b"sorry", target=release.folder)
    assert not release.folder.exists()


def test_files_are_taken_from_a_folder(release, tmp_path):
    release, contents = release
    with pytest.raises(FetchError, match=r"a.json cannot be read"):
        release.take(folder=tmp_path, target=release.folder)
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    assert set(release.take(folder=tmp_path, target=release.folder)) == set(contents)
    assert release.problem_of(release.folder) is None


def test_the_pinned_digests_are_those_of_the_released_files(released):
    for file in source.RELEASE.files:
        content = (released / file.name).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.bytes)
        assert file.url.startswith(f"https://raw.githubusercontent.com/allenai/lumos/{source.RELEASE.commit}")


def test_the_command_takes_the_released_files(released, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "evaluator", "suites", "fetch", "lumos", "--from", str(released)],
        cwd=ROOT, env={"PLANARENA_DATA": str(tmp_path), "PATH": ""}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert source.RELEASE.files[0].sha256 in done.stdout
    assert (tmp_path / "suites" / "lumos" / "manifest.json").is_file()
