"""A cluster for each test."""

from collections.abc import Iterator

import pytest

from tests.fakes.kubernetes.api import FakeKubernetesApi
from tests.fakes.kubernetes.cluster import FakeCluster


@pytest.fixture
def api() -> Iterator[FakeKubernetesApi]:
    """A fake API server."""
    with FakeKubernetesApi().serving() as fake:
        yield fake


@pytest.fixture
def cluster(api: FakeKubernetesApi) -> FakeCluster:
    """What the cluster does with its Jobs."""
    return FakeCluster(api)
