"""Fetching and unpacking uploaded checkpoints on a worker."""

import hashlib
import os
import subprocess
import sys

import pytest

from evaluator.sandbox.admission.rules import ModelRefusedError
from gpu_jobs.checkpoints import KEPT, CheckpointCache, CheckpointError
from gpu_jobs.contract import CheckpointPlanner, Lease
from tests.fakes.api import LEASE

PIECE = 10_000


class FakeSite:
    """Gives the bytes of checkpoints by their digests; `cut` of them are lost at the end of each."""

    def __init__(self, *files: bytes):
        self.files = {hashlib.sha256(data).hexdigest(): data for data in files}
        self.asked = []
        self.alter = bytes

    def checkpoint(self, *, lease, digest, start):
        self.asked.append((lease.attempt, digest, start))
        return self.alter(self.files[digest])[start : start + PIECE]


def planner(data: bytes) -> CheckpointPlanner:
    digest = hashlib.sha256(data).hexdigest()
    return CheckpointPlanner(kind="checkpoint", digest=digest, bytes=len(data), strategy="hugginggpt")


def lease_of(wanted: CheckpointPlanner) -> Lease:
    return Lease.model_validate({**LEASE, "planner": wanted.model_dump()})


@pytest.fixture
def data():
    from tests.fakes.checkpoints import zipped

    return zipped()


def get(cache: CheckpointCache, data: bytes):
    return cache.folder(lease_of(planner(data)), planner(data))


def test_it_is_fetched_once_and_unpacked(tmp_path, data):
    from tests.fakes.checkpoints import tiny_files

    site = FakeSite(data)
    cache = CheckpointCache(client=site, folder=tmp_path)
    for _ in range(2):
        folder = get(cache, data)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == tiny_files()
    starts = [start for _, _, start in site.asked]
    assert starts == [*range(0, len(data), PIECE), len(data)]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name], "the zip is gone"


@pytest.mark.parametrize(
    "alter", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"x" + data[1:], lambda _: b""]
)
def test_what_is_not_what_was_announced_is_not_used(tmp_path, data, alter):
    site = FakeSite(data)
    site.alter = alter
    cache = CheckpointCache(client=site, folder=tmp_path)
    with pytest.raises(CheckpointError, match="differs from the site's announcement"):
        get(cache, data)
    assert not list(tmp_path.rglob("*.*"))
    site.alter = bytes
    assert get(cache, data).is_dir()


def test_what_never_ends_is_cut_off(tmp_path, data):
    site = FakeSite(data)
    site.checkpoint = lambda **_: b"x" * PIECE
    with pytest.raises(CheckpointError):
        get(CheckpointCache(client=site, folder=tmp_path), data)


def test_what_the_site_should_have_refused_is_refused(tmp_path):
    from tests.fakes.checkpoints import zipped

    data = zipped(modeling_own__py=b"x")
    with pytest.raises(ModelRefusedError, match="is a program"):
        get(CheckpointCache(client=FakeSite(data), folder=tmp_path), data)
    assert not list(tmp_path.rglob("*.*"))


def test_those_used_last_stay(tmp_path):
    from tests.fakes.checkpoints import zipped

    many = [zipped(README__md=bytes([number])) for number in range(KEPT + 1)]
    cache = CheckpointCache(client=FakeSite(*many), folder=tmp_path)
    for age, data in enumerate([*many[:KEPT], many[0], many[KEPT]]):
        os.utime(get(cache, data), (age, age))
    left = {path.name for path in (tmp_path / str(os.getpid())).iterdir()}
    assert left == {planner(data).digest for data in (many[0], *many[2:])}


def test_it_leaves_nothing_behind_and_clears_up_after_the_killed(tmp_path, data):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / str(dead.pid) / ("a" * 64)).mkdir(parents=True)
    (tmp_path / str(os.getppid())).mkdir()
    cache = CheckpointCache(client=FakeSite(data), folder=tmp_path)
    get(cache, data)
    cache.close()
    assert [path.name for path in tmp_path.iterdir()] == [str(os.getppid())]
