"""One arena for all end-to-end tests that only read or add."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.arena import Arena, started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test waits for the arena, which takes longer than any other test may."""
    for item in items:
        if "end_to_end" in item.path.parts:
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """A demo that has published its three planners."""
    with started(tmp_path_factory.mktemp("arena") / "data") as running:
        running.wait_published()
        yield running
