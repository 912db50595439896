"""Fixtures of the site's tests."""

from collections.abc import Iterator

import pytest

from leaderboard.api.throttling import forget_refused
from leaderboard.evaluations.presenters import forget_gathered
from leaderboard.evaluations.task_rows import forget_rows
from tests.fakes.launcher import FakeLauncher, reset_launcher


@pytest.fixture
def launcher() -> FakeLauncher:
    """The launcher that the site uses in this test, with nothing started yet."""
    return reset_launcher()


@pytest.fixture(autouse=True)
def nothing_kept_in_memory() -> Iterator[None]:
    """Each test begins with processes that remember no suite and no evaluation: its database is another one."""
    yield
    forget_rows()
    forget_gathered()
    forget_refused()
