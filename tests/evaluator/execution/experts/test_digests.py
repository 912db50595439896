"""Digests of files: each file is read once, and again when it changed, weekly, or when asked."""

import os

import pytest

from evaluator.execution.experts import weights
from evaluator.execution.experts.weights import FileDigests, WeightsError, verify_weights, weights_digest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "SETTLED_SECONDS", -60)
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


@pytest.fixture
def read(monkeypatch):
    """The sizes of the files that were read, in bytes."""
    sizes, digest = [], weights.file_digest
    monkeypatch.setattr(weights, "file_digest", lambda path: sizes.append(path.stat().st_size) or digest(path))
    return sizes


def test_weights_are_read_once_however_often_they_are_loaded(folder, read):
    expected = weights_digest(folder)
    for _ in range(4):
        verify_weights(folder=folder, expected=expected)
    assert sum(read) == 9


@pytest.mark.parametrize("change", ["bytes", "times", "another file", "another file of the same times"])
def test_weights_that_changed_are_refused(folder, read, change):
    expected, path = weights_digest(folder), folder / "model.safetensors"
    verify_weights(folder=folder, expected=expected)
    found = path.stat()
    if change.startswith("another file"):
        (folder / "other").write_bytes(b"WEIGHTS")
        (folder / "other").replace(path)
    else:
        path.write_bytes(b"more weights" if change == "bytes" else b"WEIGHTS")
    if change != "another file":
        # Whoever changes a file can set its time of change, but not the one that its system keeps.
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    with pytest.raises(WeightsError, match="are not those of the profile"):
        verify_weights(folder=folder, expected=expected)


def test_a_file_is_read_again_after_a_week_or_when_asked(folder, read, monkeypatch):
    path, digests = folder / "model.safetensors", FileDigests()
    now = 0.0
    monkeypatch.setattr(weights.time, "monotonic", lambda: now)
    for seconds, times in ((0, 1), (weights.DIGEST_SECONDS - 1, 1), (weights.DIGEST_SECONDS, 2)):
        now = seconds
        digests(path)
        assert len(read) == times
    digests.forget()
    digests(path)
    assert len(read) == 3


def test_a_file_of_this_moment_may_change_within_a_tick_and_is_not_remembered(folder, read, monkeypatch):
    monkeypatch.setattr(weights, "SETTLED_SECONDS", 60)
    digests = FileDigests()
    assert digests(folder / "config.json") == digests(folder / "config.json")
    assert read == [2, 2]


def test_the_oldest_digests_are_forgotten(folder, read, monkeypatch):
    monkeypatch.setattr(weights, "MOST_DIGESTS", 1)
    digests = FileDigests()
    for name in ("config.json", "model.safetensors", "model.safetensors", "config.json"):
        digests(folder / name)
    assert read == [2, 7, 2]
