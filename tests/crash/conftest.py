"""One warm process and one template database for all runs."""

from collections.abc import Iterator

import pytest

from tests.crash.driving import Ground, prepared


@pytest.fixture(scope="session")
def ground(postgres_url: str) -> Iterator[Ground]:
    """What runs are made of."""
    with prepared(postgres_url) as made:
        yield made
