"""A site whose store is a bucket."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leaderboard.evaluations.results import objects
from leaderboard.planners import checkpoint_stores
from tests.fakes.launcher import FakeLauncher
from tests.fakes.s3.server import FakeS3


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeS3]:
    """The service, with the bucket `arena` and the user of this process."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    # Pages of three keys, so that every list has several.
    with FakeS3(page=3).serving() as fake:
        monkeypatch.setenv("PLANARENA_S3_ENDPOINT", fake.url)
        yield fake


@pytest.fixture
def site_in(settings, tmp_path: Path, launcher: FakeLauncher) -> Iterator[Callable[[str], None]]:
    """Puts the site's stores into a bucket, below the prefix of an `s3://` URL; the site's folders are empty."""

    def put(url: str) -> None:
        settings.STORE_URL, settings.STORE_DIR = url, tmp_path / "store"
        settings.UPLOADS_DIR = tmp_path / "uploads"
        _forget_buckets()

    yield put
    _forget_buckets()


@pytest.fixture
def bucket(s3: FakeS3, site_in: Callable[[str], None]) -> FakeS3:
    """The service, which holds the site's stores."""
    site_in("s3://arena/site")
    return s3


def _forget_buckets() -> None:
    for kept in (objects._bucket, checkpoint_stores.bucket_of):
        kept.cache_clear()
