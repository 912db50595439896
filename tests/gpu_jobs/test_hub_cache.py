"""Bounding what a hub's models take on the disk."""

import os
import subprocess
import sys

import pytest

from gpu_jobs.hub_cache import HubCache


def fetch(cache: HubCache, repo: str, *, size: int = 1000, used: float | None = None) -> None:
    """What the hub's client leaves: a file, and a link to it."""
    with cache.held(repo) as folder:
        inside = folder / f"models--{repo.replace('/', '--')}"
        (inside / "blobs").mkdir(parents=True, exist_ok=True)
        (inside / "snapshots").mkdir(exist_ok=True)
        (inside / "blobs" / "b").write_bytes(b"x" * size)
        if not (inside / "snapshots" / "model.safetensors").is_symlink():
            (inside / "snapshots" / "model.safetensors").symlink_to(inside / "blobs" / "b")
    if used is not None:
        os.utime(cache.folder / "in-use" / inside.name, (used, used))


def left(cache: HubCache) -> set[str]:
    return {path.name.removeprefix("models--") for path in cache.folder.glob("models--*")}


def test_those_used_longest_ago_go_when_there_are_too_many_bytes(tmp_path):
    cache = HubCache(folder=tmp_path, most_bytes=2500)
    fetch(cache, "a/one", used=1)
    fetch(cache, "a/two", used=2)
    assert left(cache) == {"a--one", "a--two"}
    fetch(cache, "a/one", used=3)
    fetch(cache, "a/three", used=4)
    assert left(cache) == {"a--one", "a--three"}


def test_one_that_is_larger_than_all_stays_while_it_is_used(tmp_path):
    cache = HubCache(folder=tmp_path, most_bytes=100)
    fetch(cache, "a/one")
    assert left(cache) == {"a--one"}
    fetch(cache, "a/two")
    assert left(cache) == {"a--two"}


@pytest.mark.full
def test_what_another_process_has_in_use_stays(tmp_path):
    cache = HubCache(folder=tmp_path, most_bytes=100)
    fetch(cache, "a/one")
    code = (
        "import sys; from pathlib import Path; from gpu_jobs.hub_cache import HubCache\n"
        f"with HubCache(folder=Path({str(tmp_path)!r})).held('a/one'):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "held\n"
    fetch(cache, "a/two")
    assert left(cache) == {"a--one", "a--two"}
    other.communicate("")
    fetch(cache, "a/two")
    assert left(cache) == {"a--two"}


def test_a_fetch_that_fails_removes_nothing_and_lets_go(tmp_path):
    cache = HubCache(folder=tmp_path, most_bytes=100)
    fetch(cache, "a/one")
    with pytest.raises(OSError, match="full"), cache.held("a/two"):
        raise OSError("full")
    assert left(cache) == {"a--one"}
    fetch(cache, "a/two")
    assert left(cache) == {"a--two"}
